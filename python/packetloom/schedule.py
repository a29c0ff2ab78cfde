"""Which cases a campaign runs, and in which order: a shard's share of them, and seeds in rounds until they suffice."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from packetloom import _core
from packetloom.confidence import half_interval
from packetloom.errors import PacketloomError
from packetloom.rows import CaseRow, row_label
from packetloom.scenario import Parameter, Plan, Precision

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several shares of a campaign; counted from 1."""

    index: int
    count: int

    @staticmethod
    def parse(text: str) -> Shard:
        """Reads `2/8`."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        if not match:
            raise PacketloomError(f"--shard {text}: write it as i/n, for example 2/8 for the second of eight shards")
        index, count = int(match[1]), int(match[2])
        if not 1 <= index <= count:
            raise PacketloomError(f"--shard {text}: out of range; shards of {count} are 1/{count} to {count}/{count}")
        return Shard(index, count)

    def __str__(self) -> str:
        """As a part of a folder's name."""
        return f"shard-{self.index}-of-{self.count}"

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """Every n-th item: neighbours, which cost alike, go to different shards."""
        return items[self.index - 1 :: self.count]


class _Point:
    """A point of the grid: the cases that differ in nothing but the seed."""

    def __init__(self, cases: Sequence[_core.Case], precision: Precision) -> None:
        self.cases = cases
        self._precision = precision
        self._asked = 0
        self._values: dict[str, float | None] = {}

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What its cases have in common."""
        return {name: value for name, value in self.cases[0].parameters.items() if name != "seed"}

    def finish(self, row: CaseRow) -> None:
        """A case of this point is finished."""
        value = row.counters.get(f"slowdown_{self._precision.statistic}")
        self._values[row.case_id] = None if value is None else float(value)

    def next_round(self) -> Sequence[_core.Case]:
        """The cases of the next round, once those of the last are finished and if it takes any."""
        asked = self.cases[: self._asked]
        if any(case.id not in self._values for case in asked) or (asked and self.reached() <= self._precision.within):
            return ()
        # Half as many again: to look after each single seed would stop too soon, by luck, and keep one core busy.
        wanted = self._asked + (self._asked + 1) // 2 if self._asked else self._precision.first_seeds
        self._asked = min(wanted, len(self.cases))
        return self.cases[len(asked) : self._asked]

    def unasked(self) -> Sequence[_core.Case]:
        """The cases that belong to no round yet."""
        return self.cases[self._asked :]

    def reached(self) -> float:
        """Half the interval after the seeds so far, as a fraction of the mean."""
        values = [value for case in self.cases[: self._asked] if (value := self._values.get(case.id)) is not None]
        if not values:
            return 0.0  # no flow finishes: more seeds would add nothing
        return half_interval(values) / (sum(values) / len(values))


class Schedule:
    """The cases to run. With a precision, which further seeds there are follows from the finished ones."""

    def __init__(self, plan: Plan, shard: Shard | None, finished: Mapping[str, CaseRow]) -> None:
        self.total = 0
        self.finished = 0
        self.waiting_of: Counter[Parameter] = Counter()
        self.seeds_asked: Counter[str] = Counter()
        self._precision = plan.precision
        self._done = dict(finished)
        self._waiting: deque[_core.Case] = deque()
        self._points: dict[str, _Point] = {}
        if plan.precision is None:
            self._ask(shard.of(plan.cases) if shard else plan.cases)
            return
        points = list(_by_point(plan.cases).items())
        for key, cases in shard.of(points) if shard else points:
            self._points[key] = _Point(cases, plan.precision)
            self._advance(self._points[key])

    @property
    def waiting(self) -> int:
        """How many cases have yet to be taken."""
        return len(self._waiting)

    def waiting_ids(self) -> Iterator[str]:
        """The cases that have yet to be taken."""
        return (case.id for case in self._waiting)

    def take(self) -> _core.Case:
        """The next case to run."""
        case = self._waiting.popleft()
        self.waiting_of[case.parameters["scheme"]] -= 1
        return case

    def finish(self, row: CaseRow) -> None:
        """A case is finished; that may call for further seeds."""
        self.finished += 1
        self._done[row.case_id] = row
        point = self._points.get(point_key(row.parameters)) if self._points else None
        if point:
            point.finish(row)
            self._advance(point)

    def ask_again(self, ids: Container[str]) -> None:
        """Queues those of these cases that belong to no round yet and are in the folder all the same."""
        for point in self._points.values():
            self._ask([case for case in point.unasked() if case.id in ids])

    def imprecise(self) -> list[str]:
        """What all the seeds that it may have do not make precise enough, a line each."""
        if self._precision is None:
            return []
        wanted = f"{self._precision.statistic} slowdown within {100 * self._precision.within:g} %"
        found = ((point, point.reached()) for point in self._points.values())
        return [
            f"{row_label(point.parameters)}: {wanted} takes more than {len(point.cases)} seeds; "
            f"it is known to {100 * reached:.2g} %"
            for point, reached in found
            if reached > self._precision.within
        ]

    def _ask(self, cases: Sequence[_core.Case]) -> list[CaseRow]:
        """Puts cases in line, and gives the rows of those that are finished already."""
        done = []
        for case in cases:
            self.total += 1
            self.seeds_asked[point_key(case.parameters)] += 1
            if case.id in self._done:
                done.append(self._done[case.id])
                self.finished += 1
            else:
                self._waiting.append(case)
                self.waiting_of[case.parameters["scheme"]] += 1
        return done

    def _advance(self, point: _Point) -> None:
        while cases := point.next_round():
            for row in self._ask(cases):
                point.finish(row)


def point_key(parameters: Mapping[str, Parameter]) -> str:
    """What the cases of a point of the grid have in common."""
    return json.dumps({name: value for name, value in parameters.items() if name != "seed"})


def _by_point(cases: Sequence[_core.Case]) -> dict[str, list[_core.Case]]:
    points: dict[str, list[_core.Case]] = {}
    for case in cases:
        points.setdefault(point_key(case.parameters), []).append(case)
    return points
