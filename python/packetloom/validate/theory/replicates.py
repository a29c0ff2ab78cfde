"""From replicates under different seeds to a row: a prediction holds if it lies in the measured interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from packetloom.common.confidence import half_interval
from packetloom.validate.comparison import Row
from packetloom.validate.draws import Span
from packetloom.validate.theory.schemes import schemes_of

# With thirty rows at 95 % one or two would differ by chance alone; at 99.9 % one does in 3 % of all tables.
CONFIDENCE = 0.999


def predicted(
    id: str, what: str, source: str, expected: float | Span, replicates: Sequence[float], known_to: float
) -> Row:
    """Holds if the expected value, or part of what is expected from where to where, lies in the measured interval.

    An interval wider than `known_to`, as a fraction of the mean, would agree with too much: then it does not hold.
    """
    span = expected if isinstance(expected, tuple) else (expected, expected)
    mean = float(np.mean(replicates))
    half = half_interval(replicates, CONFIDENCE)
    is_known = half <= known_to * abs(mean)
    return Row(
        id=f"theory-{id}",
        schemes=schemes_of(f"theory-{id}"),
        what=what,
        source=source,
        expected=span,
        measured=mean,
        interval=(mean - half, mean + half),
        band=(span[0] - half, span[1] + half) if is_known else (float("inf"), float("-inf")),
        rule=f"in the interval, and that within ± {known_to:.1%}",
        why="" if is_known else f"the interval is ± {half / abs(mean):.1%}: it takes more seeds to tell",
    )


def bounded(id: str, what: str, source: str, expected: Span, draws: Sequence[float]) -> Row:
    """Holds if every draw lies in what is expected from where to where; shows the least."""
    holds = all(expected[0] <= draw <= expected[1] for draw in draws)
    return Row(
        id=f"theory-{id}",
        schemes=schemes_of(f"theory-{id}"),
        what=what,
        source=source,
        expected=expected,
        measured=min(draws),
        band=expected if holds else (float("inf"), float("-inf")),
        rule="every draw within",
    )
