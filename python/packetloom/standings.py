"""The results so far, a line per scheme, point of the grid and load: what the live table shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from packetloom import _core
from packetloom.lengths import point_key
from packetloom.rows import CaseRow, label_of


@dataclass(slots=True)
class Standing:
    """One line: the mean over the finished seeds of each one's mean and p99 slowdown."""

    label: str
    load: float | None
    seeds: int = 0
    changed: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, row: CaseRow) -> None:
        """A seed more."""
        self.seeds += 1
        if "iterations" in row.tables:  # of a job, whose messages' slowdowns say nothing of it
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

    def add(self, row: CaseRow) -> None:
        """A case is finished."""
        line = self._lines[point_key(row.parameters)]
        self._changes += 1
        line.changed = self._changes
        line.add(row)

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
