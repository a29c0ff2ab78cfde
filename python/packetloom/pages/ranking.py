"""How schemes compare under each condition, and which of the differences are told from chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np

from packetloom.common.quantities import significant
from packetloom.pages.drift_words import drift_of
from packetloom.pages.measures import Condition, Measure, Question
from packetloom.stats.paired import Comparison, compare, corrected_together

Pair = tuple[str, str]
Kind = Literal["best", "same", "alike", "untold", "drifting", "one seed", "alone", "nothing"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out under a condition, and of whom.

    `best`: one is, by more than chance and by more than what is called alike. `same`: the first are, to the last bit;
    `alike`: they differ by too little to be worth a word. `untold`: it may be chance that one is before the others.
    `drifting`: one of the first drifts over the run by more than they are apart. `one seed`: nothing is known of
    chance. `alone`: there is one only. `nothing` has ended.
    """

    kind: Kind
    leaders: tuple[str, ...] = ()
    """The first, and whatever it is not shown to be better than."""


class Answer:
    """What a question's results say. `pairs`: which schemes are compared, if not each with each other."""

    def __init__(self, question: Question, pairs: Sequence[Pair] | None = None) -> None:
        self.question = question
        self.pairs = tuple(combinations(question.rivals, 2)) if pairs is None else tuple(pairs)
        self._comparisons = {one.name: self._compared(one) for one in question.measures}

    def comparison(self, measure: Measure, condition: Condition, one: str, other: str) -> Comparison | None:
        """How `one` compares with `other`; uncorrected where a reference is part of it."""
        known = self._comparisons[measure.name]
        if (found := known.get((condition, one, other))) is not None:
            return found
        if (found := known.get((condition, other, one))) is not None:
            return found.flipped()
        return _compare(measure, condition, one, other)

    def tested(self, measure: Measure) -> int:
        """How many comparisons of a statistic are corrected for."""
        return sum(one.corrected is not None for one in self._comparisons[measure.name].values())

    def _compared(self, measure: Measure) -> Mapping[tuple[Condition, str, str], Comparison]:
        found = {
            (condition, one, other): comparison
            for condition, (one, other) in product(self.question.conditions, self.pairs)
            if (comparison := _compare(measure, condition, one, other)) is not None
        }
        return dict(zip(found, corrected_together(list(found.values())), strict=True))

    def ranked(self, measure: Measure, condition: Condition) -> list[tuple[str, float]]:
        """Those that can be best, from the best to the worst, with their means over the seeds that all of them have.
        What did not finish is best at nothing."""
        known = {
            one: own
            for one in self.question.rivals
            if (own := measure.values.get((one, condition))) and (one, condition) not in self.question.stopped
        }
        common = set.intersection(*(set(own) for own in known.values())) if known else set()
        means = {
            one: float(np.mean([value for seed, value in own.items() if seed in common or not common]))
            for one, own in known.items()
        }
        return sorted(means.items(), key=lambda entry: entry[1], reverse=not measure.lower_is_better)

    def first(self, measure: Measure, condition: Condition) -> str | None:
        """The one with the best mean, whatever chance may do."""
        ranked = self.ranked(measure, condition)
        return ranked[0][0] if ranked else None

    def margin(self, measure: Measure, condition: Condition, one: str, other: str) -> float:
        """The fraction below which a difference between the two is none."""
        return self.question.alike

    def is_small(self, measure: Measure, condition: Condition, one: str, other: str) -> bool:
        """Whether the two are alike: the difference is small and told from chance, or its whole interval is small, or
        nothing is known of chance."""
        found = self.comparison(measure, condition, one, other)
        if found is None:
            return False
        margin = self.margin(measure, condition, one, other)
        if not found.is_ratio and measure.unit != "share":  # a part of the other's, as of a limit that was found
            margin *= abs(measure.mean(other, condition) or 0.0)

        def is_within(value: float) -> bool:
            return (abs(math.log(value)) if found.is_ratio else abs(value)) < (
                math.log1p(margin) if found.is_ratio else margin
            )

        ends = [one for one in (found.low, found.high) if one is not None]
        return found.is_same or (is_within(found.value) and (found.is_told or all(map(is_within, ends))))

    def drift(self, measure: Measure, condition: Condition, one: str, other: str) -> tuple[str, float]:
        """Which of the two drifts further over the run, and how far, as a fraction of its mean."""
        drifts = {name: drift_of(self.question, measure, name, condition) for name in (one, other)}
        further = max(drifts, key=lambda name: drifts[name])
        return further, drifts[further]

    def is_within_drift(self, measure: Measure, condition: Condition, one: str, other: str) -> bool:
        """Whether the two are apart by no more than one of them drifts."""
        _, drift = self.drift(measure, condition, one, other)
        mine, theirs = measure.mean(one, condition), measure.mean(other, condition)
        if not drift or mine is None or theirs is None:
            return False
        return abs(mine - theirs) <= drift * min(abs(mine), abs(theirs))

    def is_beaten(self, measure: Measure, condition: Condition, one: str, by: str) -> bool:
        """Whether one is worse by more than chance, and by more than what is called alike."""
        found = self.comparison(measure, condition, one, by)
        if found is None or not found.is_told or self.is_small(measure, condition, one, by):
            return False
        return (found.mean > 0) == measure.lower_is_better

    def last(self, measure: Measure, condition: Condition, ranked: Sequence[str]) -> list[str]:
        """Of these, from the best to the worst, those that may be the worst: one, if nothing is known of chance."""
        *others, worst = ranked
        if self.question.seeds < 2:
            return [worst]
        return [*(one for one in others if not self.is_beaten(measure, condition, worst, one)), worst]

    def outcome(self, measure: Measure, condition: Condition) -> Outcome:
        """What came out under a condition."""
        ranked = [one for one, _ in self.ranked(measure, condition)]
        if not ranked:
            return Outcome("nothing")
        if len(ranked) == 1:
            return Outcome("alone", (ranked[0],))
        first, *others = ranked
        adrift = [one for one in others if self.is_within_drift(measure, condition, one, first)]
        leaders = (
            first,
            *(one for one in others if one in adrift or not self.is_beaten(measure, condition, one, first)),
        )
        beside = leaders[1:]
        compared = [self.comparison(measure, condition, one, first) for one in beside]
        small = tuple(one for one in beside if self.is_small(measure, condition, one, first))
        if beside and all(one is not None and one.is_same for one in compared):
            return Outcome("same", leaders)
        if others[0] in adrift:
            return Outcome("drifting", leaders if self.question.seeds > 1 else (first, *adrift))
        if self.question.seeds < 2:
            return Outcome("alike" if small else "one seed", (first, *small))
        if not beside:
            return Outcome("best", leaders)
        return Outcome("alike" if len(small) == len(beside) else "untold", leaders)

    def best(self, measure: Measure, condition: Condition) -> tuple[str, ...]:
        """What nothing is shown to be better than: several, where they are alike or not told apart."""
        return self.outcome(measure, condition).leaders

    def is_contrary(self, measure: Measure) -> bool:
        """Whether one is best by a statistic that is not among the best by the leading one."""
        lead, other = (self.outcome(one, self.typical(one)) for one in (self.question.lead, measure))
        return other.kind == "best" and not set(other.leaders) & set(lead.leaders)

    def alike(self, measure: Measure) -> list[tuple[Outcome, list[Condition]]]:
        """The conditions by what came out, those of the most common outcome first; of two that are as common, that of
        the hardest condition. The order of schemes that are equally good is of no matter, nor, where none is shown to
        be best, which beside the first may be."""
        groups: dict[tuple[Kind, frozenset[str]], tuple[Outcome, list[Condition]]] = {}
        for condition in self.question.conditions:
            found = self.outcome(measure, condition)
            leaders = found.leaders[:1] if found.kind in ("untold", "one seed") else found.leaders
            groups.setdefault((found.kind, frozenset(leaders)), (found, []))[1].append(condition)
        place = {condition: nth for nth, condition in enumerate(self.question.conditions)}
        most = sorted(groups.values(), key=lambda group: (len(group[1]), place[group[1][-1]]), reverse=True)
        return sorted(most, key=lambda group: group[0].kind == "nothing")

    def typical(self, measure: Measure) -> Condition:
        """The condition that is told first: the hardest of those that show what most of them show."""
        return self.alike(measure)[0][1][-1]


def _compare(measure: Measure, condition: Condition, one: str, other: str) -> Comparison | None:
    mine, theirs = (measure.values.get((entity, condition), {}) for entity in (one, other))
    return compare(mine, theirs, ratio=measure.by_ratio)


def comparison_text(found: Comparison, measure: Measure, *, signed: bool = False) -> tuple[str, str]:
    """A ratio or a difference, absolute unless signed, and its interval."""
    sign = -1.0 if found.value < 0 and not signed and not found.is_ratio else 1.0
    ends = [] if found.low is None or found.high is None else sorted((sign * found.low, sign * found.high))
    is_points = measure.unit == "share" and not found.is_ratio
    write = _ratio_text if found.is_ratio else _points_text if is_points else _count_text
    return f"{write(sign * found.value)}{' points' if is_points else ''}", " to ".join(map(write, ends))


def _ratio_text(value: float) -> str:
    return significant(value, 3) if value < 1e4 else f"{value:.1e}"


def _points_text(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:.1f}"  # never -0.0


def _count_text(value: float) -> str:
    return f"{value:,.3g}"
