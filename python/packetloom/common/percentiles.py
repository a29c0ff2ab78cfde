"""Percentiles by one definition: linear between order statistics (type 7 of Hyndman and Fan, The American Statistician
50, 1996), as NumPy has it unless told otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
P99 = PERCENTILES["p99"]


def percentiles(values: NDArray[np.float64]) -> dict[str, float]:
    """Those of `PERCENTILES` by their names, of values without NaN; none of no values."""
    if not values.size:
        return {}
    return dict(zip(PERCENTILES, quantiles(values, list(PERCENTILES.values())).tolist(), strict=True))


def quantiles(
    values: NDArray[np.float64], shares: Sequence[float] | NDArray[np.float64], axis: int | None = None
) -> NDArray[np.float64]:
    """The values that these shares do not exceed, NaN left out, along an axis or of all; NaN of no values."""
    if not values.size:
        return np.full(len(shares), math.nan)
    found: NDArray[np.float64] = np.nanquantile(values, shares, axis=axis)
    return found


@overload
def quantile(values: pl.Expr, share: float) -> pl.Expr: ...
@overload
def quantile(values: NDArray[np.number] | pl.Series, share: float) -> float: ...
def quantile(values: NDArray[np.number] | pl.Series | pl.Expr, share: float) -> float | pl.Expr:
    """The value that this share does not exceed; NaN of no values. Of an array, NaN is left out: what did not end."""
    if isinstance(values, np.ndarray):
        return float(np.nanquantile(values, share)) if values.size else math.nan
    found = values.quantile(share, "linear")
    return math.nan if found is None else found


@overload
def p99(values: pl.Expr) -> pl.Expr: ...
@overload
def p99(values: NDArray[np.number] | pl.Series) -> float: ...
def p99(values: NDArray[np.number] | pl.Series | pl.Expr) -> float | pl.Expr:
    """The 99th percentile, as `quantile` has it."""
    return quantile(values, P99)
