"""Warnings of cases, short: each once, with the schemes and points that it hit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packetloom.store.case_rows import CaseRow

MOST_LINES = 12
MOST_PLACES = 3


def warnings_said(rows: Sequence[CaseRow]) -> list[str]:
    """A line for each kind of warning: where it came, and the first case's words. What differs in numbers is one."""
    kinds: dict[str, list[tuple[CaseRow, str]]] = {}
    for row in rows:
        for warning in row.warnings:
            kinds.setdefault(re.sub(r"[0-9][0-9,. ]*|host\S+", "#", warning)[:60], []).append((row, warning))
    lines = [f"{_places([row for row, _ in found], rows)}: {_first(found)}" for found in kinds.values()]
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"and {more} more kinds of warnings, in the column `warnings` of cases.parquet"]
    return lines


def stalls_said(rows: Sequence[CaseRow]) -> list[str]:
    """A line for each scheme and point that stalled: in which seeds, how much of it is missing, and why."""
    stalled: dict[str, list[CaseRow]] = {}
    for row in rows:
        if row.counters.get("stalled"):
            stalled.setdefault(_point(row), []).append(row)
    return [f"{point}{_seeds(found)}: {_missing(found)}; {_why(found[0])}" for point, found in stalled.items()]


def _why(row: CaseRow) -> str:
    return next(
        (one for one in row.warnings if one.startswith(("no progress", "deadlock"))), "".join(row.warnings[-1:])
    )


def _missing(rows: Sequence[CaseRow]) -> str:
    """How many flows started and did not end, and how many never started."""
    started, finished, never = (
        sum(int(row.counters.get(name, 0)) for row in rows)
        for name in ("flows_started", "flows_finished", "flows_never_started")
    )
    text = f"{started - finished:,} of {started + never:,} flows did not finish"
    return f"{text}, {never:,} never started" if never else text


def _first(found: Sequence[tuple[CaseRow, str]]) -> str:
    text = found[0][1]
    others = len({warning for _, warning in found}) - 1
    return f"{text} (and {others} more like it)" if others else text


def _places(rows: Sequence[CaseRow], every: Sequence[CaseRow]) -> str:
    """Which cases: all, or some schemes and points with their seeds."""
    if len({row.case_id for row in rows}) == len(every) > 1:
        return "every case"
    points: dict[str, list[CaseRow]] = {}
    for row in rows:
        points.setdefault(_point(row), []).append(row)
    texts = [f"{point}{_seeds(found)}" for point, found in points.items()]
    more = len(texts) - MOST_PLACES
    return "; ".join(texts[:MOST_PLACES]) + (f"; and {more} more points" if more > 0 else "")


def _point(row: CaseRow) -> str:
    return row.label if row.load is None else f"{row.label} at load {row.load:g}"


def _seeds(rows: Iterable[CaseRow]) -> str:
    seeds = list(dict.fromkeys(row.seed for row in rows if row.seed is not None))
    if not seeds:
        return ""
    shown = ", ".join(map(str, seeds[:5])) + (", ..." if len(seeds) > 5 else "")
    return f", seed{'s' if len(seeds) > 1 else ''} {shown}"
