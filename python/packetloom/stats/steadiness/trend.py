"""Whether a statistic drifts over a run: the last third against the first, and the first tenth against the rest.

A run is cut into batches of equally many flows, and each batch has its mean over that of the run. Both contrasts are
weighed against how the batches vary at low frequencies: the cosines of 2 to 5 half periods, made orthogonal to both.
Where correlations are short beside the run, all of these projections have the same variance, and the ratio is
Student's t whatever the correlations are (Müller, "HAC corrections for strongly autocorrelated time series", Journal
of Business & Economic Statistics 32, 2014; Lazarus et al., "HAR inference", same journal 36, 2018). Batch means of
heavy tails are no normal variables, but a difference between two thirds that are distributed alike is symmetric, and
then the test's level is lower rather than higher. Several seeds share one trend: their projections, and how the
contrasts differ between them, add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from packetloom import _core
from packetloom.common.confidence import CONFIDENCE

FloatArray = NDArray[np.float64]

BATCHES = 30
"""A multiple of three and of ten."""
FREQUENCIES = 4
"""More of them tell smaller drifts apart, and take what is correlated over a longer part of the run for one: of M/D/1
at load 0.9 over only ten of its time constants, 4 call 6 to 7 % drifting that are steady, 8 call 11 %."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much higher one part of the run is than another, as a fraction of the run's mean."""

    value: float
    half: float
    """Half of its 95 % interval."""
    p: float
    """Of the two-sided t test."""


def contrasts(batches: FloatArray) -> tuple[Contrast, Contrast]:
    """The last third against the first, and the first tenth against the rest; `batches` has a row for each seed."""
    drift, start, others = _weights()
    relative = batches / batches.mean(axis=1, keepdims=True)
    noise = float(((relative @ others.T) ** 2).sum())
    return _contrast(relative, drift, noise), _contrast(relative, start, noise)


@cache
def _weights() -> tuple[FloatArray, FloatArray, FloatArray]:
    middles = (np.arange(BATCHES) + 0.5) / BATCHES
    third, tenth = BATCHES // 3, BATCHES // 10
    drift, start = np.zeros(BATCHES), np.full(BATCHES, -1 / (BATCHES - tenth))
    drift[:third], drift[-third:] = -1 / third, 1 / third
    start[:tenth] = 1 / tenth
    cosines = [np.cos(np.pi * halves * middles) for halves in range(2, 2 + FREQUENCIES)]
    orthonormal, _ = np.linalg.qr(np.array([np.ones(BATCHES), drift, start, *cosines]).T)
    return drift, start, orthonormal[:, 3:].T


def _contrast(relative: FloatArray, weights: FloatArray, noise: float) -> Contrast:
    seeds = len(relative)
    found = relative @ weights
    scale = float(weights @ weights)
    between = float(((found - found.mean()) ** 2).sum()) / scale
    freedom = seeds * FREQUENCIES + seeds - 1
    error = math.sqrt((noise + between) / freedom * scale / seeds)
    value = float(found.mean())
    if not error:
        return Contrast(value, 0.0, 1.0 if not value else 0.0)
    p = _core.student_two_sided_p(freedom, value / error)
    return Contrast(value, _core.student_two_sided_t(freedom, 1 - CONFIDENCE) * error, p)


def batch_means(values: FloatArray) -> FloatArray:
    """The means of as many batches, in the order of the values, of which some are NaN; NaN where a batch has none."""
    parts = np.array_split(values, BATCHES)
    return np.array([math.nan if np.isnan(part).all() else np.nanmean(part) for part in parts])
