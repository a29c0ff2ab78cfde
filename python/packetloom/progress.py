"""What a person sees while a campaign runs: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

import numpy as np

from packetloom import _core
from packetloom.quantities import axis_text
from packetloom.results import CaseRow
from packetloom.scenario import Parameter

if TYPE_CHECKING:
    from rich.progress import TaskID

RATE_WINDOW_S = 5.0
LOG_PERIOD_S = 10.0

Parameters = Mapping[str, Parameter]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a campaign is."""

    total: int
    finished: int
    running: list[tuple[str, float]]
    packet_hops: int
    remaining_s: float | None

    @property
    def done(self) -> float:
        """Cases done, a running one counted by its part."""
        return self.finished + sum(fraction for _, fraction in self.running)


class Reporter(Protocol):
    """Is told how a campaign goes."""

    def start(self, total: int, resumed: int, folder: Path) -> None:
        """A campaign begins; `resumed` of its cases were finished before."""

    def update(self, snapshot: Snapshot) -> None:
        """Some time has passed."""

    def finished(self, label: str, row: CaseRow, outcome: _core.Outcome) -> None:
        """A case is finished and on disk."""

    def close(self) -> None:
        """The campaign ends."""


class SilentReporter:
    """Says nothing."""

    def start(self, total: int, resumed: int, folder: Path) -> None: ...

    def update(self, snapshot: Snapshot) -> None: ...

    def finished(self, label: str, row: CaseRow, outcome: _core.Outcome) -> None: ...

    def close(self) -> None: ...


class LogReporter:
    """Plain lines, for a log file or a pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._rate = RateMeter()
        self._logged_at = time.monotonic()

    def start(self, total: int, resumed: int, folder: Path) -> None:
        self._say(opening(total, resumed, folder))

    def update(self, snapshot: Snapshot) -> None:
        rate = self._rate.add(snapshot.packet_hops)
        if time.monotonic() - self._logged_at >= LOG_PERIOD_S:
            self._logged_at = time.monotonic()
            self._say(
                f"{snapshot.finished}/{snapshot.total} cases done, {len(snapshot.running)} running, "
                f"{rate_text(rate)}, {duration_text(snapshot.remaining_s)} left"
            )

    def finished(self, label: str, row: CaseRow, outcome: _core.Outcome) -> None:
        self._say(f"done: {label}: {outcome_text(row, outcome)}")

    def close(self) -> None:
        self._stream.flush()

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class TerminalReporter:
    """A live display: a bar for all, and a line for each running case."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._rate = RateMeter()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self._all: TaskID | None = None
        self._cases: dict[str, TaskID] = {}

    def start(self, total: int, resumed: int, folder: Path) -> None:
        self._progress.console.print(opening(total, resumed, folder), markup=False)
        self._all = self._progress.add_task("all cases", total=total, completed=resumed, note="")
        self._progress.start()

    def update(self, snapshot: Snapshot) -> None:
        assert self._all is not None
        note = (
            f"{snapshot.finished}/{snapshot.total} done, {len(snapshot.running)} running, "
            f"{rate_text(self._rate.add(snapshot.packet_hops))}, {duration_text(snapshot.remaining_s)} left"
        )
        self._progress.update(self._all, completed=snapshot.done, note=note)
        for label in self._cases.keys() - {label for label, _ in snapshot.running}:
            self._progress.remove_task(self._cases.pop(label))
        for label, fraction in snapshot.running:
            if label not in self._cases:
                self._cases[label] = self._progress.add_task(f"  {label}", total=1.0, note="")
            self._progress.update(self._cases[label], completed=fraction)

    def finished(self, label: str, row: CaseRow, outcome: _core.Outcome) -> None:
        self._progress.console.print(f"done: {label}: {outcome_text(row, outcome)}", markup=False)

    def close(self) -> None:
        self._progress.stop()


def reporter_for(stream: TextIO) -> Reporter:
    """A live display if the stream is a terminal, otherwise plain lines."""
    return TerminalReporter() if stream.isatty() else LogReporter(stream)


class RateMeter:
    """A rate over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> float:
        """Notes a count, and gives the rate."""
        now = time.monotonic()
        self._samples.append((now, count))
        while now - self._samples[0][0] > RATE_WINDOW_S and len(self._samples) > 2:
            self._samples.popleft()
        began, before = self._samples[0]
        return max(0.0, (count - before) / (now - began)) if now > began else 0.0


def estimate_remaining_s(
    finished: Sequence[tuple[Parameters, Mapping[str, int | float]]],
    running: Sequence[tuple[Parameters, float, float]],
    waiting: Sequence[Parameters],
    workers: int,
) -> float | None:
    """The time left: a case is taken to last as long as others of its scheme did, or, failing that, as any did."""
    known: dict[Parameter, list[float]] = {}
    for parameters, counters in finished:
        known.setdefault(parameters.get("scheme"), []).append(float(counters.get("wall_s", 0.0)))
    for parameters, elapsed_s, fraction in running:
        if fraction > 0.01:
            known.setdefault(parameters.get("scheme"), []).append(elapsed_s / fraction)
    every = [duration for durations in known.values() for duration in durations]
    if not every:
        return None

    def expected(parameters: Parameters) -> float:
        durations = known.get(parameters.get("scheme"), every)
        return sum(durations) / len(durations)

    begun = [max(0.0, (1.0 - fraction) * expected(parameters)) for parameters, _, fraction in running]
    total = sum(begun) + sum(expected(parameters) for parameters in waiting)
    return max([total / workers, *begun])


def case_label(case: _core.Case) -> str:
    """A case in a few words: its scheme and what sets it apart."""
    parts = [
        axis_text(name, value) for name, value in case.parameters.items() if name != "scheme" and value is not None
    ]
    return " ".join([str(case.parameters["scheme"]), *parts])


def opening(total: int, resumed: int, folder: Path) -> str:
    """The first line of a campaign."""
    again = f", {resumed} of them finished before" if resumed else ""
    return f"{total} case{'s' if total != 1 else ''}{again}; results in {folder}"


def outcome_text(row: CaseRow, outcome: _core.Outcome) -> str:
    """A finished case in a line."""
    slowdown = np.asarray(outcome.flows["slowdown"], dtype=float)
    counted = slowdown[np.asarray(outcome.flows["measured"], dtype=bool) & ~np.isnan(slowdown)]
    mean = f"mean slowdown {counted.mean():.3g}, " if counted.size else ""
    warning = "".join(f"; {text}" for text in row.warnings)
    return f"{len(slowdown):,} flows, {mean}{row.counters.get('wall_s', 0.0):.1f} s{warning}"


def rate_text(hops_per_s: float) -> str:
    """Packet-hops per second, short."""
    return f"{hops_per_s / 1e6:.1f} M hops/s"


def duration_text(seconds: float | None) -> str:
    """A duration, short."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
