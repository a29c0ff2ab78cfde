"""What a person sees while a campaign runs: a live view on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from packetloom import _core
from packetloom.campaign.interim_table import Standings
from packetloom.common import arguments
from packetloom.common.quantities import said
from packetloom.store.case_rows import CaseRow, row_label

LOG_PERIOD_S = 10.0
LONGEST_WARNING = 110
"""Letters of a warning in the line of its case."""
FEW_RUNNING = 2


@dataclass(frozen=True, slots=True)
class RunningCase:
    """A case that runs: what it is, the fraction done, and the time that was simulated."""

    label: str
    fraction: float
    simulated_ns: float

    @property
    def text(self) -> str:
        """How far it is, and what it is."""
        done = f"{100 * self.fraction:3.0f}%" if self.fraction else ""
        simulated = f"{said(self.simulated_ns, 'ns')} simulated" if self.simulated_ns else ""
        return " ".join(part for part in (done, self.label, simulated and f"({simulated})") if part)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a campaign is."""

    total: int
    finished: int
    running: list[RunningCase]
    hops_per_s: float
    cases_per_s: float
    remaining_s: float | None
    standings: Standings
    seeds_asked: Mapping[str, int]

    @property
    def waiting(self) -> int:
        """Cases that have not begun."""
        return max(0, self.total - self.finished - len(self.running))

    @property
    def done(self) -> float:
        """Cases done, a running one counted by its part."""
        return self.finished + sum(one.fraction for one in self.running)

    @property
    def text(self) -> str:
        """All of it in a line."""
        return (
            f"{self.finished} of {self.total} cases done, {len(self.running)} running, {self.waiting} waiting; "
            f"{rate_text(self)}; {duration_text(self.remaining_s)} left"
        )

    @property
    def log_text(self) -> str:
        """All of it in a line, with what runs, where that is one case or two."""
        few = self.running if len(self.running) <= FEW_RUNNING else []
        return "; ".join([self.text, *(one.text.strip() for one in few)])


class Reporter(Protocol):
    """Receives a campaign's progress."""

    def start(self, opening: str, total: int) -> None:
        """A campaign of so many cases begins."""

    def update(self, snapshot: Snapshot) -> None:
        """Some time has passed."""

    def finished(self, row: CaseRow) -> None:
        """A case is finished and on disk."""

    def close(self, notes: Sequence[str]) -> None:
        """The campaign ends; there may be something to say of it."""


class SilentReporter:
    """Says nothing."""

    def start(self, opening: str, total: int) -> None: ...

    def update(self, snapshot: Snapshot) -> None: ...

    def finished(self, row: CaseRow) -> None: ...

    def close(self, notes: Sequence[str]) -> None: ...


class LogReporter:
    """Plain lines, for a log file or a pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._logged_at = time.monotonic()

    def start(self, opening: str, total: int) -> None:
        self._say(opening)

    def update(self, snapshot: Snapshot) -> None:
        if time.monotonic() - self._logged_at >= LOG_PERIOD_S:
            self._logged_at = time.monotonic()
            self._say(snapshot.log_text)

    def finished(self, row: CaseRow) -> None:
        self._say(f"done: {row_label(row.parameters)}: {outcome_text(row)}")

    def close(self, notes: Sequence[str]) -> None:
        for note in notes:
            self._say(note)

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def reporter_for(stream: TextIO | None) -> Reporter:
    """A live view in a notebook or on a terminal, otherwise plain lines; nothing, if there is nowhere to say it."""
    if _in_notebook():
        from packetloom.pages.notebook import NotebookReporter

        return NotebookReporter()
    if stream is None:
        return SilentReporter()
    if stream.isatty():
        from packetloom.campaign.live import TerminalReporter

        return TerminalReporter()
    return LogReporter(stream)


def reporter_asked(progress: object) -> Reporter:
    """The reporter of a Python function whose argument `progress` is this."""
    return reporter_for(sys.stderr) if arguments.flag("progress", progress) else SilentReporter()


def _in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")


def case_label(case: _core.Case) -> str:
    """A case in a few words: its scheme and what sets it apart."""
    return row_label(case.parameters)


def opening(total: int, resumed: int, cached: int, cost: Sequence[str], folder: Path) -> str:
    """The first line of a campaign, and what there is to know of its cost."""
    again = f", {resumed} of them finished before" if resumed else ""
    known = f", {cached} known from earlier runs (--no-cache recomputes them)" if cached else ""
    return "\n".join([f"{total} case{'s' if total != 1 else ''}{again}{known}; results in {folder}", *cost])


def outcome_text(row: CaseRow) -> str:
    """A finished case in a line."""
    # Messages of jobs have slowdowns near 1, whatever their jobs take; so have those of requests.
    mean = None if {"iterations", "requests"} & set(row.tables) else row.counters.get("slowdown_mean")
    slowdown = "" if mean is None else f"mean slowdown {mean:.3g}, "
    warning = "".join(f"; {_short(text)}" for text in row.warnings)
    flows = row.counters.get("flows_started", 0)
    return f"{flows:,} flows, {slowdown}{row.counters.get('wall_s', 0.0):.1f} s{warning}"


def _short(warning: str) -> str:
    """A warning's beginning: the row of its case has all of it, and so have the page and the end of the run."""
    return warning if len(warning) <= LONGEST_WARNING else f"{warning[:LONGEST_WARNING].rpartition(' ')[0]} ..."


def rate_text(snapshot: Snapshot) -> str:
    """Packet-hops and cases per second, short."""
    cases = f", {snapshot.cases_per_s:.3g} cases/s" if snapshot.cases_per_s >= 1 else ""
    return f"{snapshot.hops_per_s / 1e6:.1f} M hops/s{cases}"


def duration_text(seconds: float | None) -> str:
    """A duration, short."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
