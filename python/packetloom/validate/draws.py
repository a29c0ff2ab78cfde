"""Two samples where chance decides: what each of their runs gave, what each of ours gave, and what these say.

One draw beside the mean of others says little, and a band as wide as the spread of either is one that chance itself
makes wide. So a mean of ours counts as near theirs only if the interval of the difference lies within the bound that
was set before, whatever was drawn: the more chance there is, the less can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from packetloom.common.confidence import t_quantile

Span = tuple[float, float]

# Of some hundred rows that the test is made for, by chance one in ten times one would be told apart.
LEVEL = 0.001


@dataclass(frozen=True, slots=True)
class Draws:
    """The same statistic of each of their runs, and of each of ours."""

    theirs: tuple[float, ...]
    ours: tuple[float, ...]

    @property
    def means(self) -> tuple[float, float]:
        """Theirs and ours."""
        return fmean(self.theirs), fmean(self.ours)

    @property
    def reach(self) -> Span:
        """Our mean, give or take the 95 % interval of its difference from theirs.

        Student's t of two samples with the spread of both pooled, so that a single draw of theirs counts as one.
        """
        _, ours = self.means
        samples = len(self.theirs) + len(self.ours)
        freedom = samples - 2
        if freedom < 1:
            return -math.inf, math.inf
        spread = math.sqrt((_squares(self.theirs) + _squares(self.ours)) / freedom)
        half = t_quantile(freedom + 1) * spread * math.sqrt(1 / len(self.theirs) + 1 / len(self.ours))
        return ours - half, ours + half

    @property
    def p(self) -> float:
        """How probable it is that two samples of one distribution are as far apart (Kolmogorov and Smirnov, exact)."""
        from scipy.stats import ks_2samp

        return float(ks_2samp(self.theirs, self.ours, method="exact").pvalue)

    def text(self) -> str:
        """How many there are of each."""
        return f"{_count(self.theirs)} of theirs, {_count(self.ours)} of ours"


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _count(values: Sequence[float]) -> str:
    return "one draw" if len(values) == 1 else f"{len(values)} draws"
