"""What a tuning found, in the terminal."""

from __future__ import annotations

import shlex
from collections import Counter

from rich import box
from rich.table import Table

from packetloom.common.quantities import in_percent, said
from packetloom.common.terminal import console
from packetloom.tuning.outcome import Judged, Tuning
from packetloom.tuning.ranges import Dimension
from packetloom.tuning.sampler import FEWEST


def print_tuning(found: Tuning, dimensions: tuple[Dimension, ...]) -> None:
    """What mattered, the best point, and whether it holds."""
    out = console()
    for line in refused(found):
        out.print(line, markup=False)
    if found.importances:
        out.print(_importances(found, dimensions))
        out.print(
            "share: by PED-ANOVA, of all keys together; 95 % interval over resampled points; chance: how often a key "
            "that does not matter seems to matter as much",
            style="dim",
        )
    elif len(dimensions) > 1:
        out.print(f"What mattered can't be told: it takes at least {FEWEST} points that ran, and that differ.")
    if found.best is None:
        out.print("No point was allowed: widen the ranges, or ask for less with --require.")
        return
    seeds = found.held_out_seeds
    out.print(f"\nThe best point, for {found.goal}, on the held-out seeds {seeds[0]} to {seeds[-1]}:", markup=False)
    if found.judged:
        out.print(_judged(found.judged, in_ns="_ns." in found.goal))
        if all(one.verdict != "better" for one in found.judged):
            out.print("Nowhere is it shown to be better than the scenario's own values: keep those.")
    else:
        out.print("A held-out run has no such value, so it can't be judged.")
    if found.violated:
        out.print(f"What is required did not hold in {found.violated} held-out runs of it.")
    out.print(" ".join(f"--set {shlex.quote(one)}" for one in found.best), markup=False, soft_wrap=True)


def refused(found: Tuning) -> list[str]:
    """Which points are no scenario, and which are not allowed."""
    reasons = Counter(one.refusal for one in found.points if one.refusal)
    violating = sum(one.loss is not None and one.violation > 0 for one in found.points)
    lines = []
    if reasons:
        (reason, _), total = reasons.most_common(1)[0], sum(reasons.values())
        lines.append(f"{total} of {len(found.points)} points are no scenario: {reason}")
    if violating:
        lines.append(f"{violating} of {len(found.points)} points violate what is required, or leave flows unfinished.")
    return lines


def _importances(found: Tuning, dimensions: tuple[Dimension, ...]) -> Table:
    table = Table(
        title=f"What mattered, for {found.goal}", box=box.SIMPLE_HEAD, title_justify="left", title_style="bold"
    )
    table.add_column("key", overflow="fold")
    for heading in ("range", "share", "95 % interval", "chance"):
        table.add_column(heading, justify="right")
    table.add_column("")
    ranges = {one.key: one.text.partition("=")[2] for one in dimensions}
    short = short_keys(list(ranges))
    for one in found.importances:
        interval = f"{in_percent(one.low)} to {in_percent(one.high)}"
        said = "mattered" if one.is_told else "not told from chance"
        table.add_row(short[one.key], ranges[one.key], in_percent(one.share), interval, f"{one.p:.2g}", said)
    return table


def short_keys(keys: list[str]) -> dict[str, str]:
    """Keys by their last parts, as many of them as tell all apart."""
    for parts in range(1, max(key.count(".") for key in keys) + 1):
        short = {key: ".".join(key.split(".")[-parts:]) for key in keys}
        if len(set(short.values())) == len(keys):
            return short
    return {key: key for key in keys}


def _judged(judged: tuple[Judged, ...], *, in_ns: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("scheme", overflow="fold")
    for heading in ("own values", "tuned", "change", "95 % interval"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in judged:
        label = one.label if one.load is None else f"{one.label} at load {one.load:g}"
        found = one.comparison
        change, low, high = (change_text(value, found.is_ratio) for value in (found.value, found.low, found.high))
        own, tuned = (said(value, "ns", 4) if in_ns else f"{value:.4g}" for value in (one.own, one.tuned))
        table.add_row(label, own, tuned, change, f"{low} to {high}", one.verdict)
    return table


def change_text(value: float | None, is_ratio: bool) -> str:
    """How much more one has than the other."""
    if value is None:
        return "–"
    return in_percent(value - 1, signed=True) if is_ratio else f"{value:+.4g}"
