"""Where the start of a run ends: MSER-5.

White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997; White, Cobb and
Spratt, Winter Simulation Conference 2000. What is cut off is what makes the standard error of the rest least. It looks
at no more than the first half: a minimum at its end says that the run is too short.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BATCH = 5


def truncation(values: FloatArray) -> int:
    """How many of the values to leave out at the start; half of them or so, if the run is too short."""
    batches = len(values) // BATCH
    if batches < 2:
        return 0
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    left = np.arange(batches, 0, -1)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    statistic = (squares - sums**2 / left) / left.astype(float) ** 2
    return int(np.argmin(statistic[: batches // 2 + 1])) * BATCH


def mean_over_seeds(several: Sequence[FloatArray]) -> FloatArray:
    """The n-th value, averaged over those seeds in which it is known, as Welch does; NaN where it is known in none."""
    length = min(map(len, several))
    together = np.array([one[:length] for one in several])
    known = ~np.isnan(together)
    count = known.sum(axis=0)
    total = np.where(known, together, 0.0).sum(axis=0)
    means: FloatArray = np.divide(total, count, out=np.full(length, np.nan), where=count > 0)
    return means
