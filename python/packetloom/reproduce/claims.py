"""Claims that others make, what we measure of them, and the verdict that follows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packetloom.common.files import write_json
from packetloom.errors import PacketloomError
from packetloom.stats.verdict import COLOURS, Verdict, lies_in
from packetloom.store.results import Results

# A number in a text, by its name and a format: "{DAQ, 40 workers|.0%}", "{p99|±.1f}"; a claim's only one has no name.
NUMBER_IN_TEXT = re.compile(r"\{([^{}|]*)\|(±?)([^{}|]+)\}")

# A number's value and its interval, as the JSON has them.
Numbers = Mapping[str, tuple[float, Sequence[float | None] | None]]

BESIDE = "beside the verdict"
"""What numbers that do not decide are called."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One number that a claim is about: its value, its interval over seeds, and the band it should fall in.

    One that does not decide stands beside the verdict: by another definition, or of a variant that was fitted.
    """

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    band: tuple[float, float] = (float("-inf"), float("inf"))
    decides: bool = True

    @property
    def holds(self) -> bool:
        """Whether the value lies in the band."""
        return lies_in(self.band, self.value)


class NotComparable(Exception):  # noqa: N818 it is a verdict, not an error
    """What we measure can't be held against the claim; the text says why, and numbers may stand beside it."""

    def __init__(self, reason: str, beside: Sequence[Measured] = ()) -> None:
        super().__init__(reason)
        self.beside = tuple(beside)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper that a measurement can confirm or contradict.

    `measure` gets the results of the experiments that the claim `needs`, by name, and gives one number or several;
    it raises `NotComparable` with the reason where that is so. `explanation` says what is known of why it may differ,
    with numbers that `measure` gave (`with_numbers`); `choices` what the paper leaves open and we chose, which is
    stated whatever the verdict.
    """

    id: str
    claim: str
    paper: str
    band: str
    needs: tuple[str, ...]
    measure: Callable[[Mapping[str, Results]], Sequence[Measured]]
    figures: tuple[str, ...] = ()
    explanation: str = ""
    choices: str = ""

    def why(self, verdict: Verdict, numbers: Numbers, reason: str = "") -> str:
        """What is known of why it does not hold, or why it is not comparable; and what is ours in it."""
        explained = "" if verdict == "holds" or reason else with_numbers(self.explanation, numbers, self.id)
        known = "" if verdict == "holds" else reason or explained or "Cause unknown."
        return " ".join(text for text in (known, self.choices) if text)


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim after the measurement; `reason` says why it is not comparable."""

    claim: Claim
    measured: tuple[Measured, ...]
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """Computed from the measurement: every number that decides must lie in its band."""
        if not self.deciding:
            return "not comparable"
        return "holds" if all(one.holds for one in self.deciding) else "differs"

    @property
    def deciding(self) -> tuple[Measured, ...]:
        """The numbers that the verdict is made of."""
        return tuple(one for one in self.measured if one.decides)

    @property
    def beside(self) -> tuple[Measured, ...]:
        """The others."""
        return tuple(one for one in self.measured if not one.decides)

    @property
    def outside(self) -> list[str]:
        """Which of several numbers make it differ."""
        return [one.what for one in self.deciding if not one.holds] if len(self.deciding) > 1 else []

    @property
    def why(self) -> str:
        """Why it is not comparable, or what is known of why it differs; and what is ours in it."""
        alone = len(self.deciding) == 1
        numbers = {"" if alone and one.decides else one.what: (one.value, _interval(one)) for one in self.measured}
        return self.claim.why(self.verdict, numbers, self.reason)

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON. One number stands alone, several by what they are."""
        return {
            "id": self.claim.id,
            "claim": self.claim.claim,
            "paper": self.claim.paper,
            "measured": self._by_name(lambda one: one.value),
            "interval": self._by_name(_interval),
            "bands": self._by_name(lambda one: [_finite(end) for end in one.band]),
            "band": self.claim.band,
            "verdict": self.verdict,
            **({"outside": self.outside} if self.outside else {}),
            **({"reason": self.why} if self.why else {}),
            **({"beside": {one.what: _number(one) for one in self.beside}} if self.beside else {}),
        }

    def measured_text(self, between: str = "; ", before_why: str = ". ") -> str:
        """The numbers for people, which of them are outside, what stands beside, and why."""
        numbers = between.join(_measured_text(one) for one in self.deciding)
        outside = f"outside the band: {', '.join(self.outside)}" if self.outside else ""
        beside = f"{BESIDE}: {between.join(_measured_text(one) for one in self.beside)}" if self.beside else ""
        return before_why.join(text for text in (numbers, outside, beside, self.why) if text)

    def _by_name(self, pick: Callable[[Measured], Any]) -> Any:
        if not self.deciding:
            return None
        if len(self.deciding) == 1:
            return pick(self.deciding[0])
        return {one.what: pick(one) for one in self.deciding}


def judge(claim: Claim, results: Mapping[str, Results]) -> Finding:
    """Measures a claim."""
    try:
        finding = Finding(claim, tuple(claim.measure(results)))
    except NotComparable as reason:
        finding = Finding(claim, tuple(replace(one, decides=False) for one in reason.beside), str(reason))
    for numbers in (finding.deciding, finding.beside):
        names = [one.what for one in numbers]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PacketloomError(f"{claim.id}: two numbers are called {twice!r}: give each a name of its own")
    return finding


def with_numbers(text: str, numbers: Numbers, id: str) -> str:
    """The text with the numbers that it names: so a reason has those of the run that it is about."""

    def number(found: re.Match[str]) -> str:
        name, with_half, form = found.groups()
        if name not in numbers:
            raise PacketloomError(f"{id}: its explanation names {name!r}, and no number is called so")
        value, interval = numbers[name]
        shown = f"{value:{form}}"
        if with_half and interval and None not in interval:
            low, high = (float(end or 0.0) for end in interval)
            shown += f" ± {(high - low) / 2:{form}}"
        return shown.replace("%", " %")

    return NUMBER_IN_TEXT.sub(number, text)


def print_findings(findings: Sequence[Finding]) -> None:
    """The claims as a table in the terminal."""
    from rich.table import Table
    from rich.text import Text

    from packetloom.common.terminal import console

    screen = console()
    table = Table(header_style="bold", show_lines=True)
    for heading in ("id", "claim", "in the paper", "measured", "band", "verdict"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        claim, verdict = finding.claim, finding.verdict
        texts = (claim.claim, claim.paper, finding.measured_text(), claim.band)
        table.add_row(claim.id, *texts, Text(verdict, style=COLOURS[verdict]))
    screen.print(table)
    screen.print(tally([finding.verdict for finding in findings]))


def tally(verdicts: Sequence[str]) -> str:
    """How many claims hold, and how many could not be judged."""
    unknown = verdicts.count("not comparable")
    more = f", {unknown} not comparable" if unknown else ""
    return f"{verdicts.count('holds')} of {len(verdicts)} claims hold{more}"


def write_findings(findings: Sequence[Finding], path: Path) -> None:
    """The claims as a JSON list."""
    write_json(path, [finding.to_dict() for finding in findings], "the claims")


def value_of(results: Results, label: str, load: float | None, bin: str, statistic: str) -> tuple[float, float, float]:
    """A slowdown statistic with its interval, for use in `measure`; `NotComparable` where there are no such flows."""
    import polars as pl

    from packetloom.stats.summary import summary

    rows = summary(results).filter(
        pl.col("label") == label,
        pl.col("load").eq_missing(pl.lit(load, pl.Float64)),
        pl.col("bin") == bin,
        pl.col("metric") == "slowdown",
        pl.col("statistic") == statistic,
    )
    if rows.height > 1:
        raise PacketloomError(f"{label} at load {load}: more than one {statistic} in {bin}")
    if rows.is_empty():
        raise NotComparable(f"no flows of {bin} under {label} at load {load}: too few flows were run")
    row = rows.row(0, named=True)
    low, high = row["low"], row["high"]
    return row["value"], row["value"] if low is None else low, row["value"] if high is None else high


def _interval(one: Measured) -> list[float | None] | None:
    return None if one.low is None else [one.low, one.high]


def _finite(end: float) -> float | None:
    """JSON has no infinity: an open end is null."""
    return end if math.isfinite(end) else None


def _number(one: Measured) -> dict[str, Any]:
    return {"measured": one.value, "interval": _interval(one)}


def _measured_text(one: Measured) -> str:
    interval = "" if one.low is None else f" ({one.low:.3g} to {one.high:.3g})"
    return f"{one.what} {one.value:.3g}{interval}".strip()
