"""From results to figures, and from the figures of a set to its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import ScenarioSource
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Known, Row
from packetloom.validate.hardware.catalogue import SETS
from packetloom.validate.hardware.figures import Figure, Summary
from packetloom.validate.hardware.measurements import SHIPPED, Measurement, file_of
from packetloom.validate.hardware.sets import HardwareSet

PREFIX = "hardware-"
STAYS_WITHIN = 0.1
"""A set that is missed has the error that was recorded, give or take a tenth of it."""


def set_names() -> list[str]:
    """Those of all sets' files."""
    return list(dict.fromkeys(one.file for one in SETS))


def hardware_comparisons(named: Sequence[str] = (), folder: Path | None = None) -> list[Check]:
    """The sets of these names, or all; with measurements of a folder instead of those that are shipped."""
    for name in named:
        if name not in (known := [*set_names(), *(one.name for one in SETS)]):
            raise PacketloomError(f"there is no set {name!r} of measurements: {meant(name, known)}")
    chosen = [one for one in SETS if not named or one.file in named or one.name in named]
    place = folder or SHIPPED
    present = [one for one in chosen if file_of(one.file, place).is_file()]
    missing = [one.file for one in chosen if one not in present]
    if not present or (named and missing):
        remedy = "name a folder that has it with --measurements" if folder is None else "it is read as SET.csv"
        raise PacketloomError(f"{place}: has no measurements of {', '.join(dict.fromkeys(missing))}; {remedy}")
    return [_comparison(one, place) for one in present]


def curves(measured: Sequence[Measurement]) -> list[list[Measurement]]:
    """Those that differ by their size alone, together; each in order of size."""
    found = sorted(measured, key=lambda one: (one.setting, one.size_bytes))
    return [list(group) for _, group in groupby(found, key=lambda one: one.setting)]


def _comparison(one: HardwareSet, folder: Path) -> Check:
    def named() -> list[tuple[str, list[Measurement]]]:
        return [(str(nth), curve) for nth, curve in enumerate(curves(one.measured(folder)))]

    def scenarios(_: Path) -> Mapping[str, ScenarioSource]:
        return {name: one.machine(curve) for name, curve in named()}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        figures = [
            Figure(measurement, one.value(measurement, results[name]), measurement.size_bytes >= one.judged_from)
            for name, curve in named()
            for measurement in curve
        ]
        return judged(one, figures)

    return Check(f"{PREFIX}{one.name}", scenarios, rows, quick=one.is_quick)


def judged(one: HardwareSet, figures: Sequence[Figure]) -> list[Row]:
    """What is asked of a set, and what it has; the first row has its figures."""
    summary = Summary.of(figures)
    more = {
        "set": one.file,
        "by": one.by,
        "constants": one.constants,
        "summary": asdict(summary),
        "figures": [figure.to_dict() for figure in figures],
    }
    missed = one.missed
    rows = [_row(one, "", "median error", one.median, summary.median, missed.median if missed else None, more)]
    if one.nine_of_ten is not None:
        known = missed.nine_of_ten if missed else None
        rows.append(_row(one, "-most", "error of nine in ten", one.nine_of_ten, summary.nine_of_ten, known, {}))
    return rows


def _row(
    one: HardwareSet, suffix: str, what: str, asked: float, found: float, known: float | None, more: dict[str, Any]
) -> Row:
    band = None if known is None else (known * (1 - STAYS_WITHIN), known * (1 + STAYS_WITHIN))
    return Row(
        id=f"{PREFIX}{one.name}{suffix}",
        what=f"{one.what}, by {one.by}: {what}",
        source=one.constants,
        expected=(0.0, asked),
        measured=found,
        band=(0.0, asked),
        rule=f"{asked:.0%} at most",
        known=Known(one.missed.why, band, "what was recorded, within a tenth") if one.missed and band else None,
        more=more,
    )
