"""The results so far, a line per scheme, point of the grid and load: what the live table shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from packetloom import _core
from packetloom.common.quantities import said, significant
from packetloom.scenario.run_lengths import point_key
from packetloom.store.case_rows import CaseRow, label_of


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Of a job: how many repetitions there were, how many were done, and how long these took together."""

    all: int = 0
    done: int = 0
    took_ns: float = 0.0

    def __add__(self, other: Repetitions) -> Repetitions:
        return Repetitions(self.all + other.all, self.done + other.done, self.took_ns + other.took_ns)

    @property
    def text(self) -> str:
        """What one takes, and, where not all were done, how many were."""
        takes = said(self.took_ns / self.done, "ns") if self.done else ""
        undone = f"{self.all - self.done} of {self.all} not done" if self.done < self.all else ""
        return ", ".join(part for part in (takes, undone) if part)


def repetitions_in(table: pa.Table) -> dict[int, Repetitions]:
    """Those of each job in a case's table of iterations."""
    found: dict[int, Repetitions] = {}
    for source, took_ns in zip(table["source"].to_pylist(), table["jct_ns"].to_pylist(), strict=True):
        is_done = took_ns is not None and not math.isnan(took_ns)
        one = Repetitions(1, int(is_done), took_ns if is_done else 0.0)
        found[source] = found.get(source, Repetitions()) + one
    return found


@dataclass(slots=True)
class Standing:
    """One line: the mean over the finished seeds of each one's mean and p99 slowdown; of jobs, a repetition's time."""

    label: str
    load: float | None
    seeds: int = 0
    changed: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    repetitions: dict[int, Repetitions] = field(default_factory=dict)
    """Of each job, by its place among the workloads."""

    def add(self, row: CaseRow, jobs: Mapping[int, Repetitions]) -> None:
        """A seed more."""
        self.seeds += 1
        for source, more in jobs.items():
            self.repetitions[source] = self.repetitions.get(source, Repetitions()) + more
        if jobs:  # whose messages' slowdowns say nothing of them
            return
        for name in ("slowdown_mean", "slowdown_p99"):
            if name in row.counters:
                self._sums[name] = self._sums.get(name, 0.0) + row.counters[name]
                self._counts[name] = self._counts.get(name, 0) + 1

    def mean(self, name: str) -> float | None:
        """A statistic's mean over the seeds that have it."""
        return self._sums[name] / self._counts[name] if name in self._counts else None


class Standings:
    """All lines, in the scenario's order."""

    def __init__(self, cases: Sequence[_core.Case]) -> None:
        self._lines: dict[str, Standing] = {}
        self._changes = 0
        for case in cases:
            key = point_key(case.parameters)
            if key not in self._lines:
                load = case.parameters["load"]
                self._lines[key] = Standing(label_of(case.parameters), None if load is None else float(load))

    def add(self, row: CaseRow, jobs: Mapping[int, Repetitions]) -> None:
        """A case is finished, with these jobs."""
        line = self._lines[point_key(row.parameters)]
        self._changes += 1
        line.changed = self._changes
        line.add(row, jobs)

    def restart(self, points: Iterable[str]) -> None:
        """Longer cases take the place of these points' cases."""
        for key in points:
            self._lines[key] = Standing(self._lines[key].label, self._lines[key].load)

    def lines(self, asked: Mapping[str, int], most: int) -> list[tuple[Standing, int]]:
        """The lines, each with the number of seeds asked of it; of too many, those that changed last."""
        wanted = [(line, asked[key]) for key, line in self._lines.items() if key in asked]
        if len(wanted) > most:
            newest = sorted(wanted, key=lambda entry: entry[0].changed)[-most:]
            shown = {id(line) for line, _ in newest}
            wanted = [entry for entry in wanted if id(entry[0]) in shown]
        return wanted


def table_of(lines: Sequence[tuple[Standing, int]]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of the table of results so far: slowdowns of flows, what a repetition takes of jobs."""
    jobs = list(dict.fromkeys(source for line, _ in lines for source in line.repetitions))
    has_flows = not jobs or any(line.mean("slowdown_mean") is not None for line, _ in lines)
    slowdowns = {"mean slowdown": "slowdown_mean", "p99": "slowdown_p99"} if has_flows else {}
    several = len(jobs) > 1
    header = [
        *("scheme", "load", "seeds", *slowdowns),
        *(f"a repetition takes{f', workload {source}' if several else ''}" for source in jobs),
    ]
    return header, [
        [
            line.label,
            "" if line.load is None else f"{line.load:g}",
            f"{line.seeds}/{asked}",
            *(_cell(line.mean(name)) for name in slowdowns.values()),
            *(line.repetitions[source].text if source in line.repetitions else "" for source in jobs),
        ]
        for line, asked in lines
    ]


def _cell(number: float | None) -> str:
    return "" if number is None else significant(number, 3)
