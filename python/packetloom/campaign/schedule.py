"""Which cases a campaign runs, and in which order: a shard's share of them; until they are precise enough, longer ones
first, then more seeds, in rounds."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from packetloom import _core
from packetloom.common.confidence import half_interval
from packetloom.common.quantities import in_percent
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import Parameter, Plan, Precision
from packetloom.scenario.run_lengths import by_traffic, longest_complete, point_key, traffic_text
from packetloom.store.case_rows import CaseRow, row_label

T = TypeVar("T")
MOST_NAMED = 2


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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What cases under the same traffic are, in one length: which are not steady, and whether longer ones may be."""

    unsteady: tuple[str, ...]
    can_be_steady: bool = True


Judge = Callable[[Sequence[_core.Case]], Judgement]
"""Judges finished cases, all under the same traffic."""


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

    @property
    def is_begun(self) -> bool:
        """Whether any of its cases has been asked for."""
        return self._asked > 0

    @property
    def first_round(self) -> Sequence[_core.Case]:
        """The cases of the seeds that it starts with."""
        return self.cases[: self._precision.first_seeds]

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


class _Traffic:
    """Schemes under the same traffic, which lasts for as long in all of them: longer until all are steady."""

    def __init__(self, lengths: Sequence[Sequence[_core.Case]], precision: Precision, done: Container[str]) -> None:
        self._lengths = [
            {key: _Point(cases, precision) for key, cases in _by_point(of_length).items()} for of_length in lengths
        ]
        first = [[case.id for case in self._first_round(nth)] for nth in range(len(lengths))]
        self._length = longest_complete(first, done) or 0
        self._is_settled = len(lengths) == 1
        self._judged = Judgement(())

    @property
    def points(self) -> Mapping[str, _Point]:
        """Its points, in the length that counts."""
        return self._lengths[self._length]

    @property
    def times(self) -> int:
        """How many times as long as written it lasts."""
        return int(2**self._length)

    def next_round(self, done: Container[str], judge: Judge) -> Sequence[_core.Case]:
        """The cases that are called for next, if it takes any: those of a new length, or more seeds."""
        if not self._is_settled:
            first = self._first_round(self._length)
            if all(case.id in done for case in first):
                self._judged = judge(first)
                is_longest = self._length + 1 == len(self._lengths)
                self._is_settled = not self._judged.unsteady or not self._judged.can_be_steady or is_longest
                self._length += not self._is_settled
        points = [point for point in self.points.values() if self._is_settled or not point.is_begun]
        return [case for point in points for case in point.next_round()]

    def superseded(self) -> list[str]:
        """The cases of other lengths, once it is known which one it takes."""
        if not self._is_settled:
            return []
        others = (points for nth, points in enumerate(self._lengths) if nth != self._length)
        return [case.id for points in others for point in points.values() for case in point.cases]

    def told(self) -> list[str]:
        """How long it lasted, where that is longer than written or not long enough."""
        where = traffic_text(next(iter(self.points.values())).parameters)
        lasted = f"{where}: {self.times} times as long as written" if self.times > 1 else f"{where}: as long as written"
        if not self._judged.unsteady:
            return [f"{lasted}, until steady"] if self.times > 1 else []
        named = ", ".join(self._judged.unsteady[:MOST_NAMED])
        more = f" and {len(self._judged.unsteady) - MOST_NAMED} more" if len(self._judged.unsteady) > MOST_NAMED else ""
        why = (
            "no more is allowed (run.precision.max_extensions)"
            if self._judged.can_be_steady
            else "links are offered what they carry or more, so no length is steady"
        )
        seeds = len(next(iter(self.points.values())).first_round)
        return [f"{lasted}, and not known to be steady by the first {seeds} seeds ({named}{more}): {why}"]

    def _first_round(self, length: int) -> list[_core.Case]:
        return [case for point in self._lengths[length].values() for case in point.first_round]


class Schedule:
    """The cases to run. With a precision, which further ones there are follows from the finished ones."""

    def __init__(self, plan: Plan, shard: Shard | None, finished: Mapping[str, CaseRow], judge: Judge) -> None:
        self.total = 0
        self.finished = 0
        self.waiting_of: Counter[Parameter] = Counter()
        self.seeds_asked: Counter[str] = Counter()
        self._precision = plan.precision
        self._done = dict(finished)
        self._waiting: deque[_core.Case] = deque()
        self._judge = judge
        self._several: list[_Traffic] = []
        self._traffic: dict[str, _Traffic] = {}
        self.restarted: list[str] = []
        """Points whose cases so far count no more, since longer ones have begun; whoever reads it empties it."""
        if plan.precision is None:
            self._ask(shard.of(plan.cases) if shard else plan.cases)
            return
        several = by_traffic(plan)
        for lengths in shard.of(several) if shard else several:
            traffic = _Traffic(lengths, plan.precision, self._done)
            self._several.append(traffic)
            self._traffic |= dict.fromkeys(traffic.points, traffic)
            self._advance(traffic)

    @property
    def waiting(self) -> int:
        """How many cases have yet to be taken."""
        return len(self._waiting)

    def waiting_cases(self) -> Iterator[_core.Case]:
        """The cases that have yet to be taken."""
        return iter(self._waiting)

    def take(self) -> _core.Case:
        """The next case to run."""
        case = self._waiting.popleft()
        self.waiting_of[case.parameters["scheme"]] -= 1
        return case

    def finish(self, row: CaseRow) -> None:
        """A case is finished; that may call for longer ones, or for further seeds."""
        self.finished += 1
        self._done[row.case_id] = row
        key = point_key(row.parameters) if self._traffic else ""
        if traffic := self._traffic.get(key):
            traffic.points[key].finish(row)
            self._advance(traffic)

    def counts(self, row: CaseRow) -> bool:
        """Whether a finished case is of the length that its traffic has now."""
        key = point_key(row.parameters) if self._traffic else ""
        traffic = self._traffic.get(key)
        return traffic is None or any(case.id == row.case_id for case in traffic.points[key].cases)

    def superseded(self) -> set[str]:
        """The cases that are of another length than the one that their traffic takes."""
        return {case_id for traffic in self._several for case_id in traffic.superseded()}

    def ask_again(self, ids: Container[str]) -> None:
        """Queues those of these cases that belong to no round yet and are in the folder all the same."""
        for point in self._points():
            self._ask([case for case in point.unasked() if case.id in ids])

    def lengths(self) -> list[str]:
        """What lasted longer than written until it was steady, and what did not get there, a line each."""
        return [line for traffic in self._several for line in traffic.told()]

    def imprecise(self) -> list[str]:
        """What all the seeds that it may have do not make precise enough, a line each."""
        if self._precision is None:
            return []
        wanted = f"{self._precision.statistic} slowdown within {100 * self._precision.within:g} %"
        found = ((point, point.reached()) for point in self._points())
        return [
            f"{row_label(point.parameters)}: {wanted} takes more than {len(point.cases)} seeds; "
            f"it is known to {in_percent(reached)}"
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

    def _advance(self, traffic: _Traffic) -> None:
        times = traffic.times
        while cases := traffic.next_round(self._done, self._judge):
            if traffic.times != times:
                times = traffic.times
                self.restarted += traffic.points
                for key in traffic.points:
                    self.seeds_asked[key] = 0
            for row in self._ask(cases):
                traffic.points[point_key(row.parameters)].finish(row)

    def _points(self) -> Iterator[_Point]:
        return (point for traffic in self._several for point in traffic.points.values())


def _by_point(cases: Sequence[_core.Case]) -> dict[str, list[_core.Case]]:
    points: dict[str, list[_core.Case]] = {}
    for case in cases:
        points.setdefault(point_key(case.parameters), []).append(case)
    return points
