"""Statistics by scheme, load and flow size, each with its 95 % confidence interval over seeds.

A statistic (a mean, a percentile) is computed within each seed; its value here is the mean over seeds, and its
interval is Student's t interval of that mean. With one seed there is no interval. Only measured flows count: those
that the scenario's warm-up and cool-down leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.quantities import size_text

if TYPE_CHECKING:
    import pyarrow as pa

    from packetloom.results import CaseRow, Results

CONFIDENCE = 0.95
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
STATISTICS = ("mean", *PERCENTILES)
ALL_SIZES = "all"
FLOW_COLUMNS = (
    "src",
    "size_bytes",
    "fct_ns",
    "best_fct_ns",
    "slowdown",
    "goodput_gbps",
    "deadline_ns",
    "met_deadline",
    "measured",
)


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Flow sizes above one number of bytes, up to and with another."""

    above_bytes: float
    up_to_bytes: float

    @property
    def label(self) -> str:
        """As the papers write it: (100KB, 10MB]."""
        closing = ")" if self.up_to_bytes == float("inf") else "]"
        return f"({size_text(self.above_bytes)}, {size_text(self.up_to_bytes)}{closing}"

    def selects(self) -> pl.Expr:
        """The flows in this bin."""
        size = pl.col("size_bytes")
        return (size > self.above_bytes) & (size <= self.up_to_bytes)


def size_bins(*edges_bytes: float) -> tuple[SizeBin, ...]:
    """Bins that meet at these sizes; the first starts at 0, the last has no end."""
    if not edges_bytes or list(edges_bytes) != sorted(set(edges_bytes)) or edges_bytes[0] <= 0:
        raise PacketloomError(f"size bins need rising sizes above 0, for example 100e3, 10e6; got {edges_bytes}")
    edges = (0.0, *edges_bytes, float("inf"))
    return tuple(SizeBin(low, high) for low, high in itertools.pairwise(edges))


DEFAULT_BINS = size_bins(100e3, 10e6)  # pFabric §5.3: (0, 100KB], (100KB, 10MB], (10MB, ∞)


def summary(results: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """A row per label (scheme and axes), load, size bin, metric and statistic: value, low, high, seeds, flows.

    Metrics: `slowdown` and `fct_ns` (of finished flows: mean, percentiles, and `cv`, the coefficient of variation),
    `goodput_gbps` (mean), `met_deadline` (the fraction of flows with a deadline that met it), `unfinished` (the
    fraction never finished), `server_share` (of all flows; `jain`: Jain's index over senders, see `jain_of_servers`).
    `low` and `high` are null with one seed.
    """
    axes = results.axes
    per_seed = [
        _with_parameters(_statistics_of(polars_frame(flows), bins), row, axes)
        for row, flows in results.partitions("flows", FLOW_COLUMNS)
    ]
    if not per_seed:
        raise PacketloomError(f"{results.path}: no case is finished yet, so there is nothing to sum up")
    return over_seeds(pl.concat(per_seed, how="diagonal_relaxed"))


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table for polars."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _with_parameters(statistics: pl.DataFrame, row: CaseRow, axes: Sequence[str]) -> pl.DataFrame:
    return statistics.select(
        pl.lit(row.label).alias("label"),
        pl.lit(row.scheme).alias("scheme"),
        pl.lit(row.load, dtype=pl.Float64).alias("load"),
        *(pl.lit(_axis_text(row.parameters.get(axis)), dtype=pl.String).alias(axis) for axis in axes),
        pl.lit(row.seed, dtype=pl.Int64).alias("seed"),
        pl.all(),
    )


def _axis_text(value: object) -> str | None:
    return None if value is None else str(value)


def _statistics_of(flows: pl.DataFrame, bins: Sequence[SizeBin]) -> pl.DataFrame:
    """The statistics of one case: bin, metric, statistic, value, flows."""
    measured = flows.filter(pl.col("measured")).with_columns(
        pl.col("slowdown", "fct_ns", "goodput_gbps", "deadline_ns").cast(pl.Float64).fill_nan(None)
    )
    parts = [(ALL_SIZES, measured), *((size.label, measured.filter(size.selects())) for size in bins)]
    rows = [row for label, part in parts for row in _rows_of(label, part)]
    return pl.DataFrame(
        rows,
        schema={
            "bin": pl.String,
            "metric": pl.String,
            "statistic": pl.String,
            "value": pl.Float64,
            "flows": pl.Int64,
        },
        orient="row",
    )


def _rows_of(label: str, flows: pl.DataFrame) -> list[tuple[str, str, str, float | None, int]]:
    """One bin's statistics. Percentiles interpolate linearly between order statistics, as numpy's do."""
    rows: list[tuple[str, str, str, float | None, int]] = []
    for metric in ("slowdown", "fct_ns"):
        values = flows[metric].drop_nulls()
        count = len(values)
        rows.append((label, metric, "mean", _number(values.mean()), count))
        for name, quantile in PERCENTILES.items():
            rows.append((label, metric, name, _number(values.quantile(quantile, "linear")), count))
        rows.append((label, metric, "cv", _variation(values), count))
    goodput = flows["goodput_gbps"].drop_nulls()
    rows.append((label, "goodput_gbps", "mean", _number(goodput.mean()), len(goodput)))
    met = flows.filter(pl.col("deadline_ns").is_not_null())["met_deadline"].cast(pl.Float64)
    rows.append((label, "met_deadline", "mean", _number(met.mean()), len(met)))
    unfinished = flows["fct_ns"].is_null().cast(pl.Float64)
    rows.append((label, "unfinished", "mean", _number(unfinished.mean()), len(unfinished)))
    if label == ALL_SIZES:
        rows.append((label, "server_share", "jain", jain_of_servers(flows), len(flows)))
    return rows


def jain_of_servers(flows: pl.DataFrame) -> float | None:
    """Jain's index over sending servers of their normalised throughput.

    A server's is the mean over its flows of the rate that a flow got over the one that it would have had alone, which
    is best_fct_ns / fct_ns. 1 is fair; 1 / n, where one of n servers gets everything. None, if no flow finished.
    """
    share = (pl.col("best_fct_ns") / pl.col("fct_ns")).cast(pl.Float64).fill_nan(None)
    of_server = flows.group_by("src").agg(share.mean().alias("share"))["share"].drop_nulls()
    squares = _number((of_server * of_server).sum())
    return float(of_server.sum()) ** 2 / (len(of_server) * squares) if squares else None


def _variation(values: pl.Series) -> float | None:
    deviation, mean = _number(values.std()), _number(values.mean())
    return deviation / mean if deviation is not None and mean else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def over_seeds(per_seed: pl.DataFrame) -> pl.DataFrame:
    """Replaces the column `seed`: the mean of `value` over seeds, its interval, and how many seeds and flows."""
    keys = [name for name in per_seed.columns if name not in ("seed", "value", "flows")]
    grouped = (
        per_seed.filter(pl.col("value").is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("value").mean(),
            pl.col("value").std(ddof=1).alias("deviation"),
            pl.len().cast(pl.Int64).alias("seeds"),
            pl.col("flows").sum(),
        )
    )
    half = _t_quantiles(grouped["seeds"]) * grouped["deviation"] / grouped["seeds"].cast(pl.Float64).sqrt()
    return grouped.select(
        *keys,
        "value",
        (pl.col("value") - half).alias("low"),
        (pl.col("value") + half).alias("high"),
        "seeds",
        "flows",
    )


def _t_quantiles(seeds: pl.Series) -> pl.Series:
    """Student's t for each number of seeds; null for one seed."""
    from scipy import stats

    quantile = {count: float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) for count in seeds.unique() if count > 1}
    return pl.Series([quantile.get(count) for count in seeds], dtype=pl.Float64)
