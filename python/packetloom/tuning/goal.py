"""What a tuning is after: a statistic to make smaller or larger, and what must hold in every run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packetloom.errors import PacketloomError
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results
from packetloom.tuning import statistic
from packetloom.tuning.space import Sample
from packetloom.tuning.statistic import Statistic

REQUIREMENT = re.compile(r"\s*([^<>=]+?)\s*(<=|>=)\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*")
EXAMPLE = "cases.drops<=0"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A statistic that may not be above a bound, or below."""

    statistic: Statistic
    is_most: bool
    bound: float

    @property
    def text(self) -> str:
        """As a user writes it."""
        return f"{self.statistic.name}{'<=' if self.is_most else '>='}{self.bound:.10g}"

    def violation(self, value: float | None) -> float:
        """By how much a value is beyond the bound, as a part of it; 0 if it is not, infinite without a value."""
        if value is None:
            return math.inf
        beyond = value - self.bound if self.is_most else self.bound - value
        return max(0.0, beyond / (abs(self.bound) or 1.0))


@dataclass(frozen=True, slots=True)
class Goal:
    """What is optimised."""

    statistic: Statistic
    is_least: bool
    requirements: tuple[Requirement, ...]

    @property
    def text(self) -> str:
        """In a few words."""
        needs = "".join(f", with {one.text}" for one in self.requirements)
        return f"the {'least' if self.is_least else 'most'} {self.statistic.name}{needs}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a goal asks of one case."""

    value: float | None
    violation: float
    unfinished: float
    """Of all flows; 1 where the case stalled."""


def goal_of(minimise: str | None, maximise: str | None, require: Sequence[str]) -> Goal:
    """From what a user wrote; one of the two is to be named."""
    if (minimise is None) == (maximise is None):
        example = f"--minimise {statistic.EXAMPLE}"
        raise PacketloomError(f"name one statistic to minimise or to maximise, such as {example}")
    return Goal(
        statistic.parse(minimise or maximise or ""), minimise is not None, tuple(_requirement(one) for one in require)
    )


def measure(goal: Goal, results: Results, row: CaseRow) -> Measured:
    """What came of a case."""
    started = row.counters.get("flows_started", 0) + row.counters.get("flows_never_started", 0)
    unfinished = 1 - row.counters.get("flows_finished", 0) / started if started else 0.0
    violations = (one.violation(one.statistic.of(results, row)) for one in goal.requirements)
    return Measured(
        goal.statistic.of(results, row),
        max(violations, default=0.0),
        1.0 if row.counters.get("stalled") else float(unfinished),
    )


def loss(goal: Goal, point: Mapping[Sample, Measured], own: Mapping[Sample, float]) -> float | None:
    """How much worse a point is than the scenario's own values: the mean over loads, other axes and seeds of the ratio
    less 1; of the difference, where a value of the scenario's own is not above 0. None if a case has no value."""
    ratio = is_ratio(own)
    worse = []
    for sample, base in own.items():
        value = point[sample].value
        if value is None:
            return None
        worse.append(value / base - 1 if ratio else value - base)
    mean = sum(worse) / len(worse)
    return mean if goal.is_least else -mean


def is_ratio(own: Mapping[Sample, float]) -> bool:
    """Whether values are compared as ratios: where those of the scenario's own are all above 0."""
    return all(value > 0 for value in own.values())


def violation(point: Mapping[Sample, Measured], own: Mapping[Sample, Measured], alike: float) -> float:
    """By how much a point violates what is required; 0 if it does not.

    More unfinished flows than the scenario's own values leave, by more than `alike`, are a violation, too: what does
    not finish is in no statistic, and so flows that give up would look like flows that are fast.
    """
    lost = [max(0.0, one.unfinished - own[sample].unfinished - alike) for sample, one in point.items()]
    return max([*lost, *(one.violation for one in point.values())])


def _requirement(text: str) -> Requirement:
    found = REQUIREMENT.fullmatch(text)
    try:
        if not found:
            raise ValueError
        bound = float(found[3])
    except ValueError:
        raise PacketloomError(
            f"--require {text}: write it as STATISTIC<=NUMBER or STATISTIC>=NUMBER, such as {EXAMPLE}"
        ) from None
    return Requirement(statistic.parse(found[1]), found[2] == "<=", bound)
