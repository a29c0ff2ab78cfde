"""How well a mean over seeds is known. It loads nothing heavy, because a campaign asks it while it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from packetloom import _core

CONFIDENCE = 0.95


def t_quantile(samples: float, confidence: float = CONFIDENCE) -> float:
    """Student's t for the two-sided interval of a mean of so many samples: degrees of freedom and one."""
    return _core.student_two_sided_t(samples - 1, 1 - confidence)


def half_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """Half the width of the confidence interval of the mean; infinite for fewer than two values."""
    if len(values) < 2:
        return float("inf")
    return t_quantile(len(values), confidence) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
