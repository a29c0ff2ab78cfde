"""How requests to a served model fared: time to first token, time between tokens, and what of them the network took."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common.percentiles import p99, quantile
from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame

PERCENTILES = (50, 99)
SCHEMA = {
    "label": pl.String,
    "load": pl.Float64,
    "seed": pl.Int64,
    "requests": pl.Int64,
    "unfinished": pl.Int64,
    **{f"ttft_{name}_ns": pl.Float64 for name in ("mean", "p50", "p99")},
    **{f"tbt_{name}_ns": pl.Float64 for name in ("mean", "p50", "p99")},
    "tbt_max_p99_ns": pl.Float64,
    "latency_mean_ns": pl.Float64,
    "ttft_network": pl.Float64,
    "tbt_network": pl.Float64,
    "latency_network": pl.Float64,
}


def serving(results: SomeResults) -> pl.DataFrame:
    """The requests that count, a row for each case that has any.

    `tbt_*_ns` are of each request's mean time between two tokens, `tbt_max_p99_ns` is of its longest. `*_network` is
    the share that the network has in the mean: what it is beyond that of the same requests where the network takes no
    time. Percentiles interpolate linearly.
    """
    several = as_list(results)
    rows = []
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("requests"):
            rows.append((renamed.get(row.label, row.label), row.load, row.seed, *_of(polars_frame(table))))
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _of(table: pl.DataFrame) -> tuple[float, ...]:
    counted = table.filter("measured")
    ttft, gaps, longest, latency = (
        _known(counted, f"{name}_ns") for name in ("ttft", "tbt_mean", "tbt_max", "latency")
    )
    return (
        counted.height,
        counted.height - len(latency),
        *_mean_and_percentiles(ttft),
        *_mean_and_percentiles(gaps),
        p99(longest),
        _mean(latency),
        *(network_share(counted, name) for name in ("ttft", "tbt_mean", "latency")),
    )


def network_share(table: pl.DataFrame, name: str) -> float:
    """The share of a mean time that is beyond the mean of the same requests where the network takes no time."""
    both = table.select(f"{name}_ns", f"free_{name}_ns").filter(~pl.any_horizontal(pl.all().is_nan()))
    whole = both[f"{name}_ns"].to_numpy().sum()
    return 1.0 - float(both[f"free_{name}_ns"].to_numpy().sum() / whole) if whole else math.nan


def percentile_of(table: pl.DataFrame, column: str, percent: float) -> float:
    """A percentile of the requests that count; NaN if there are none."""
    return quantile(_known(table.filter("measured"), column), percent / 100)


def _known(table: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return table[column].drop_nans().to_numpy()


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _mean_and_percentiles(values: NDArray[np.float64]) -> Sequence[float]:
    return _mean(values), *(quantile(values, percent / 100) for percent in PERCENTILES)
