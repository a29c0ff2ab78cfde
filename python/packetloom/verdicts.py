"""How schemes compare under each condition, and which of the differences are told from chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from packetloom.confidence import CONFIDENCE
from packetloom.paired import Comparison, compare, holm, seeds_to_tell
from packetloom.quantities import significant
from packetloom.questions import Condition, Measure, Question

SAME = 1e-12
"""Relative: what rounding may leave between two that are equally good."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much more `one` has than `other` under a condition, and whether that is told from chance."""

    found: Comparison
    corrected: float | None
    """The p value after Holm's correction; None with one seed."""
    comparisons: int

    @property
    def is_told(self) -> bool:
        """Whether the seeds tell the two apart."""
        return self.corrected is not None and self.corrected <= 1 - CONFIDENCE + 1e-12

    @property
    def seeds_needed(self) -> int | None:
        """How many seeds would probably tell them apart; None if more than a thousand, or if unknown."""
        return seeds_to_tell(self.found, self.comparisons)

    def flipped(self) -> Verdict:
        """How much more `other` has than `one`."""
        return replace(self, found=self.found.flipped())


Pair = tuple[str, str]


class Answer:
    """What a question's results say. `pairs`: which schemes are compared, if not each with each other."""

    def __init__(self, question: Question, pairs: Sequence[Pair] | None = None) -> None:
        self.question = question
        self.pairs = tuple(combinations(question.rivals, 2)) if pairs is None else tuple(pairs)
        self._verdicts = {one.name: self._compared(one) for one in question.measures}

    def verdict(self, measure: Measure, condition: Condition, one: str, other: str) -> Verdict | None:
        """How `one` compares with `other`; uncorrected where a reference is part of it."""
        known = self._verdicts[measure.name]
        if (found := known.get((condition, one, other))) is not None:
            return found
        if (found := known.get((condition, other, one))) is not None:
            return found.flipped()
        alone = _compare(measure, condition, one, other)
        return None if alone is None else Verdict(alone, None, 1)

    def tested(self, measure: Measure) -> int:
        """How many comparisons of a statistic are corrected for."""
        return sum(one.corrected is not None for one in self._verdicts[measure.name].values())

    def _compared(self, measure: Measure) -> Mapping[tuple[Condition, str, str], Verdict]:
        found = {
            (condition, one, other): comparison
            for condition, (one, other) in product(self.question.conditions, self.pairs)
            if (comparison := _compare(measure, condition, one, other)) is not None
        }
        corrected = holm([one.p for one in found.values()])
        tests = max(1, sum(one is not None for one in corrected))
        return {
            key: Verdict(comparison, p, tests) for (key, comparison), p in zip(found.items(), corrected, strict=True)
        }

    def ranked(self, measure: Measure, condition: Condition) -> list[tuple[str, float]]:
        """Those that can be best, from the best to the worst, with their means over the seeds that all of them have."""
        known = {one: own for one in self.question.rivals if (own := measure.values.get((one, condition)))}
        common = set.intersection(*(set(own) for own in known.values())) if known else set()
        means = {
            one: float(np.mean([value for seed, value in own.items() if seed in common or not common]))
            for one, own in known.items()
        }
        return sorted(means.items(), key=lambda entry: entry[1], reverse=not measure.lower_is_better)

    def best(self, measure: Measure, condition: Condition) -> list[str]:
        """Which are best: several, where they are equally so."""
        ranked = self.ranked(measure, condition)
        return [one for one, mean in ranked if abs(mean - ranked[0][1]) <= SAME * abs(ranked[0][1])]


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
    return f"{100 * value:.1f}"


def _count_text(value: float) -> str:
    return f"{value:,.3g}"
