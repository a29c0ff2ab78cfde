"""The page: every test with its figures and tables, what was not measured, and what numbers can be compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.fabric_bench.catalogue import DRAFTS, NOT_COVERED, Draft, Scale, Test
from packetloom.fabric_bench.comparability import HEADER
from packetloom.fabric_bench.tables import Table, cell, headline
from packetloom.pages.html import Page
from packetloom.pages.panels import Curve, Panel, panel_json
from packetloom.stats.curves import style_at

MOST_ROWS = 16
"""Longer tables open on a click."""
MOST_PANELS = 4
MOST_CURVES = 8
UNITS = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}
WIDE = 8.0
"""A range of x values that is drawn on a logarithmic axis."""


def write_page(
    output: Path,
    scale: Scale,
    found: Mapping[Test, Sequence[Table]],
    compared: Sequence[Sequence[str]],
    notes: Iterable[str] = (),
) -> Path:
    """Writes the page of these tests."""
    page = Page("AI fabric benchmark")
    page.text(
        "The tests of the IETF's individual drafts on benchmarking AI fabrics, run in packetloom. The drafts are not "
        "standards, and none of their values is a pass mark; those shown are references. Everything here is simulated."
    )
    page.text(f"Scale: {scale}. Results of two fabrics can be compared where the comparability table agrees.")
    for note in notes:
        page.text(note, note=True)
    _add_headlines(page, found)
    for draft in dict.fromkeys(test.draft for test in found):
        page.heading(f"{draft.capitalize()}: {DRAFTS[draft]}")
        for test, tables in found.items():
            if test.draft == draft:
                _add_test(page, test, scale, tables)
    page.heading("Comparability")
    page.text(
        "Two numbers can be compared where all of this is equal; otherwise the difference has to be named. N: hosts "
        "that take part. S_fabric: bytes across the fabric's edge in one repetition, for each participant that sends, "
        "headers and what is sent again not counted. All of it is in tables/comparability.csv, too."
    )
    for test in found:
        rows = [row[1:] for row in compared if row[0] == test.id]
        with page.fold(f"{test.id}: {len(rows)} rows"):
            page.table(HEADER[1:], rows, text_columns=len(HEADER) - 1, prose=True)
    _add_rest(page, list(dict.fromkeys(test.draft for test in found)))
    output.parent.mkdir(parents=True, exist_ok=True)
    page.write(output)
    return output


def _add_headlines(page: Page, found: Mapping[Test, Sequence[Table]]) -> None:
    """The numbers that an engineer asks for first, schemes side by side."""
    lines = [(test, line) for test, tables in found.items() for table in tables if (line := headline(table))]
    schemes = list(dict.fromkeys(scheme for _, (_, values) in lines for scheme in values))
    if not lines:
        return
    page.heading("At a glance")
    rows = [[test.id, what, *(values.get(scheme, "–") for scheme in schemes)] for test, (what, values) in lines]
    page.table(["test", "number", *schemes], rows, text_columns=2, prose=True)
    page.text("Each at the test's last point: its largest N, size, load or overlap.", note=True)


def _add_test(page: Page, test: Test, scale: Scale, tables: Sequence[Table]) -> None:
    page.heading(", ".join(test.sections), 3, test.id)
    page.text(f"{test.id}: {test.measures}.")
    for table in tables:
        if table.frame.is_empty():
            continue
        panels = panels_of(table)
        if panels:
            name = f"{test.id}-{table.of.name}"
            drawn = [panel_json(panel) for panel in panels]
            page.chart({"name": name, "title": table.of.title, "panels": drawn, "columns": 2})
        header, rows = table.laid_out()
        hidden = page.fold(f"{table.of.title}: {len(rows)} rows") if len(rows) > MOST_ROWS else nullcontext()
        if len(rows) <= MOST_ROWS:
            page.text(table.of.title)
        with hidden:
            page.table(header, rows, text_columns=text_columns(table, header))
        for note in table.notes():
            page.text(note, note=True)
    page.list([*(f"not measured: {what}" for what in test.not_measured), *not_run(test, scale)])


def not_run(test: Test, scale: Scale) -> list[str]:
    """Which of the draft's cells were not run at this scale, and why."""
    return [f"not run at scale {scale}: {what}" for what in test.not_run.get(scale, ())]


def _add_rest(page: Page, drafts: Sequence[Draft]) -> None:
    page.heading("Sections of the drafts without a test here")
    rows = [[draft, section, why] for draft in drafts for section, why in NOT_COVERED[draft].items()]
    page.table(["draft", "section", "why"], rows, text_columns=3, prose=True)


def text_columns(table: Table, header: Sequence[str]) -> int:
    """How many columns come before the first measured one."""
    return next((place for place, name in enumerate(header) if name not in table.of.keys), len(header))


def panels_of(table: Table) -> list[Panel]:
    """The table's figure: a panel for each value of the first key that is left, a curve for each of the rest."""
    if not table.of.drawn or table.frame.is_empty():
        return []
    x, y = table.of.drawn
    frame = table.frame
    if x not in frame.columns or y not in frame.columns:
        return []
    others = [key for key in table.of.keys if key != x and key in frame.columns and frame[key].n_unique() > 1]
    by = others[0] if len(others) > 1 and frame[others[0]].n_unique() <= MOST_PANELS else None
    groups = (
        [("", frame)] if by is None else [(f"{by} {cell(v[0])}", g) for v, g in frame.group_by(by, maintain_order=True)]
    )
    panels = [_panel(title, group, x, y, [key for key in others if key != by]) for title, group in groups]
    return [panel for panel in panels if panel is not None]


def _panel(title: str, frame: pl.DataFrame, x: str, y: str, series: Sequence[str]) -> Panel | None:
    curves, places = [], set()
    groups: Iterable[tuple[Any, pl.DataFrame]] = (
        frame.group_by(series, maintain_order=True) if series else [((), frame)]
    )
    for place, (values, group) in enumerate(groups):
        points = sorted(
            (number(one), float(value))
            for one, value in group.select(x, y).iter_rows()
            if one is not None and value is not None
        )
        if points:
            label = ", ".join(_named(key, value) for key, value in zip(series, values, strict=True)) or y
            at, heights = zip(*points, strict=True)
            curves.append(Curve(label, style_at(place), at, heights))
            places |= set(at)
    if len(curves) > MOST_CURVES or len(places) < 2:
        return None
    wide = min(places) > 0 and max(places) / min(places) > WIDE
    unit = " (B)" if isinstance(frame[x][0], str) else ""
    return Panel(title, f"{x}{unit}", y, curves, log_x=wide)


def _named(key: str, value: Any) -> str:
    """A curve's name: a number needs its key, a name says enough."""
    return cell(value) if isinstance(value, str) else f"{key} {cell(value)}"


def number(value: Any) -> float:
    """A key as a place on an axis: sizes such as "64 KB" by their bytes."""
    if isinstance(value, str):
        digits, _, unit = value.partition(" ")
        return float(digits) * UNITS[unit]
    return float(value)
