"""Jain's index of fairness (R. Jain, D. Chiu, W. Hawe: DEC-TR-301, 1984)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def jain(shares: NDArray[np.float64]) -> float:
    """The square of the sum over n times the sum of squares: 1 if all are equal, 1 / n if one has everything.

    NaN if there are no shares, or all are 0.
    """
    squares = len(shares) * (shares**2).sum()
    return float(shares.sum() ** 2 / squares) if squares else float("nan")
