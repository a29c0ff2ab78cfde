"""Schemes compared seed by seed: in one seed all of them carry the same flows, so what that seed is like cancels out.

Of two schemes each seed gives one ratio (or one difference). The mean of their logarithms (of the differences), its
interval and its test are Student's t. Many comparisons are corrected by Holm's method (Scandinavian Journal of
Statistics 6, 1979): the chance that any of them is told apart by accident is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from packetloom import _core
from packetloom.common.confidence import CONFIDENCE, t_quantile

BySeed = Mapping[int, float]
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


def compare(one: BySeed, other: BySeed, *, ratio: bool = True) -> Comparison | None:
    """How much more `one` has than `other`, over the seeds that both have; None if there is none, or no ratio."""
    seeds = sorted(one.keys() & other.keys())
    mine, theirs = (np.array([values[seed] for seed in seeds], dtype=float) for values in (one, other))
    if not seeds or (ratio and (min(mine.min(), theirs.min()) <= 0)):
        return None
    found = np.log(mine / theirs) if ratio else mine - theirs
    mean = float(found.mean())
    back = math.exp if ratio else float
    if len(seeds) < 2:
        return Comparison(ratio, back(mean), None, None, 1, mean, None, None)
    deviation = float(found.std(ddof=1))
    half = t_quantile(len(seeds)) * deviation / math.sqrt(len(seeds))
    p = _p_value(mean, deviation, len(seeds)) if found.any() else None
    return Comparison(ratio, back(mean), back(mean - half), back(mean + half), len(seeds), mean, deviation, p)


def _p_value(mean: float, deviation: float, seeds: int) -> float:
    if deviation <= NO_SPREAD * abs(mean):
        return 0.0
    return _core.student_two_sided_p(seeds - 1, mean / (deviation / math.sqrt(seeds)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Each p value as Holm's method corrects it for there being so many; what has none keeps none."""
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
