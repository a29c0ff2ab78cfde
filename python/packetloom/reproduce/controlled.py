"""Means over few seeds, made more precise by a model that many seeds can be had of (a control variate).

How loaded a seed's network was by chance shows in a model without packets, too, and that is known from many seeds. So
what the simulated seeds have above the model's mean is taken off, as far as the model tells: the regression estimator
of double sampling (Cochran, Sampling Techniques, section 12.6). Its variance has two parts, that of the line and that
of the model's mean; their degrees of freedom are put together as Satterthwaite does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from packetloom.common.confidence import t_quantile
from packetloom.reproduce.measure import Interval

# With fewer the interval has the truth less often than 95 times in 100.
FEWEST = 5


def controlled(measured: Mapping[int, float], model: Mapping[int, float]) -> Interval:
    """The mean of what was measured, by seed, and its 95 % interval; `model` has more seeds, and those among them."""
    seeds = sorted(measured.keys() & model.keys())
    if len(seeds) < FEWEST:
        raise ValueError(f"{len(seeds)} seeds of both, and at least {FEWEST} are needed")
    y, x = (np.array([one[seed] for seed in seeds]) for one in (measured, model))
    every = np.array(list(model.values()))
    spread = float(np.square(x - x.mean()).sum())
    if spread == 0:  # it tells nothing
        of_mean = t_quantile(len(seeds)) * float(y.std(ddof=1)) / math.sqrt(len(seeds))
        return Interval(float(y.mean()), float(y.mean()) - of_mean, float(y.mean()) + of_mean)
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    shift = float(every.mean() - x.mean())
    residual = float(np.square(y - y.mean() - slope * (x - x.mean())).sum()) / (len(seeds) - 2)
    of_line = residual * (1 / len(seeds) + shift**2 / spread)
    of_model = slope**2 * float(every.var(ddof=1)) / len(every)
    variance = of_line + of_model
    value = float(y.mean()) + slope * shift
    if variance == 0:
        return Interval(value, value, value)
    freedom = variance**2 / (of_line**2 / (len(seeds) - 2) + of_model**2 / (len(every) - 1))
    half = t_quantile(freedom + 1) * math.sqrt(variance)
    return Interval(value, value - half, value + half)
