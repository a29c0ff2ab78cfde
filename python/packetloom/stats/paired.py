"""Schemes compared seed by seed: in one seed all of them carry the same flows, so what that seed is like cancels out.

Of two schemes each seed gives one ratio (or one difference). The mean of their logarithms (of the differences), its
interval and its test are Student's t. Many comparisons are corrected by Holm's method (Scandinavian Journal of
Statistics 6, 1979): the chance that any of them is told apart by accident is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from packetloom import _core
from packetloom.common.confidence import CONFIDENCE, t_quantile

BySeed = Mapping[int, float]
Seed = TypeVar("Seed")
POWER = 0.8
"""The chance to tell a difference, if it is what it seems, that a number of seeds has to give."""
MOST_SEEDS = 1000
NO_SPREAD = 1e-12
"""Relative to the mean: what rounding leaves where all seeds are alike."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more one has than another: a ratio, or a difference. Without bounds and test for one seed."""

    is_ratio: bool
    value: float
    low: float | None
    high: float | None
    seeds: int
    mean: float
    """Of the logarithms of the ratios, or of the differences."""
    deviation: float | None
    p: float | None
    """Of the two-sided t test, before any correction; None where there is nothing to test: the same in every seed."""
    corrected: float | None = None
    """The p value after Holm's correction (`corrected_together`); None where nothing was corrected or tested."""
    comparisons: int = 1
    """How many were corrected together."""

    @property
    def is_told(self) -> bool:
        """Whether the seeds tell the two apart, after the correction."""
        return self.corrected is not None and self.corrected <= 1 - CONFIDENCE + 1e-12

    @property
    def seeds_needed(self) -> int | None:
        """How many seeds would probably tell them apart; None if more than a thousand, or if unknown."""
        return seeds_to_tell(self, self.comparisons)

    @property
    def doubt(self) -> str:
        """That the difference may be chance; of one whose interval alone would show it, among how many comparisons."""
        none = 1.0 if self.is_ratio else 0.0
        excludes_none = self.low is not None and self.high is not None and not self.low <= none <= self.high
        if self.comparisons > 1 and excludes_none:
            return f"may be chance as one of {self.comparisons} comparisons"
        return "may be chance"

    @property
    def is_same(self) -> bool:
        """Whether the two are the same in every seed, to the last bit."""
        return not self.mean and not self.deviation

    @property
    def is_exact(self) -> bool:
        """Whether every seed gave the same."""
        return self.deviation is not None and self.deviation <= NO_SPREAD * abs(self.mean)

    def flipped(self) -> Comparison:
        """How much more the other has than the one."""
        low, high = (None, None) if self.low is None or self.high is None else (self.high, self.low)
        value, low, high = (self._back(one) for one in (self.value, low, high))
        assert value is not None
        return replace(self, value=value, low=low, high=high, mean=-self.mean)

    def _back(self, one: float | None) -> float | None:
        return None if one is None else 1 / one if self.is_ratio else -one


def ratios_by_seed(one: Iterable[tuple[Seed, float]], other: Mapping[Seed, float]) -> list[tuple[Seed, float]]:
    """Each value of `one` over what `other` has in the same seed, where it has any: both saw the same flows."""
    return [(seed, value / other[seed]) for seed, value in one if seed in other]


def compare(one: BySeed, other: BySeed, *, ratio: bool = True) -> Comparison | None:
    """How much more `one` has than `other`, over the seeds that both have; None if there is none, or no ratio."""
    seeds = sorted(one.keys() & other.keys())
    mine, theirs = ({seed: float(values[seed]) for seed in seeds} for values in (one, other))
    if not seeds or (ratio and min(*mine.values(), *theirs.values()) <= 0):
        return None
    if ratio:
        found = np.log([value for _, value in ratios_by_seed(mine.items(), theirs)])
    else:
        found = np.array([mine[seed] - theirs[seed] for seed in seeds])
    mean = float(found.mean())
    back = math.exp if ratio else float
    if len(seeds) < 2:
        return Comparison(ratio, back(mean), None, None, 1, mean, None, None)
    deviation = float(found.std(ddof=1))
    half = t_quantile(len(seeds)) * deviation / math.sqrt(len(seeds))
    p = _p_value(mean, deviation, len(seeds)) if found.any() else None
    return Comparison(ratio, back(mean), back(mean - half), back(mean + half), len(seeds), mean, deviation, p)


def corrected_together(found: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, with the p values that Holm's method gives them for there being so many tests."""
    corrected = holm([one.p for one in found])
    tests = max(1, sum(one is not None for one in corrected))
    return [replace(one, corrected=p, comparisons=tests) for one, p in zip(found, corrected, strict=True)]


def _p_value(mean: float, deviation: float, seeds: int) -> float:
    if deviation <= NO_SPREAD * abs(mean):
        return 0.0
    return _core.student_two_sided_p(seeds - 1, mean / (deviation / math.sqrt(seeds)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Each p value as Holm's method corrects it for there being so many; what has none keeps none.

    Our own, because of the weight of a library: SciPy has no Holm, only methods for the false discovery rate, and its
    `scipy.stats` takes 1.5 CPU-s to import here; statsmodels, which has it, imports that and pandas. A test holds
    these lines to values worked out by hand.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        corrected[place] = largest
    return corrected


def seeds_to_tell(found: Comparison, comparisons: int = 1) -> int | None:
    """How many seeds would probably tell the two apart, if mean and spread are what they seem to be.

    Each of so many comparisons gets an equal part of the 5 %, which is Holm's first and strictest step. The chance is
    then 80 %. None if more than a thousand are needed, or if there is no spread to reckon with.
    """
    if found.deviation is None or not found.mean:
        return None
    effect = abs(found.mean) / found.deviation if found.deviation else float("inf")
    each = (1 - CONFIDENCE) / comparisons

    def tells(seeds: int) -> bool:
        needed = t_quantile(seeds, 1 - each) + t_quantile(seeds, 2 * POWER - 1)
        return effect * math.sqrt(seeds) >= needed

    if not tells(MOST_SEEDS):
        return None
    low, high = 1, MOST_SEEDS  # too few, enough: more seeds never need a larger effect
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high
