"""Statistics by scheme, load and flow size, each with its 95 % confidence interval over seeds.

A statistic (a mean, a percentile) is computed within each seed; its value here is the mean over seeds, and its
interval is Student's t interval of that mean. With one seed there is no interval. Only measured flows count: those
that the scenario's warm-up and cool-down leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common import arguments
from packetloom.common.columns import numbers_of
from packetloom.common.confidence import t_quantile
from packetloom.common.fairness import jain
from packetloom.common.percentiles import PERCENTILES, percentiles
from packetloom.common.quantities import size_said, size_text
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.store.case_rows import axes_of, parameter_column
from packetloom.store.results import Results

if TYPE_CHECKING:
    import pyarrow as pa

    from packetloom.store.case_rows import CaseRow

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


FloatArray = NDArray[np.float64]
Statistic = tuple[str, str, str, float | None, int]
"""Bin, metric, statistic, value, flows."""
SCHEMA = {
    "case": pl.Int64,
    "bin": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "value": pl.Float64,
    "flows": pl.Int64,
}


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

    @property
    def said(self) -> str:
        """As a person would say it: flows of 100 KB to 10 MB."""
        if self.up_to_bytes == float("inf"):
            return f"flows above {size_said(self.above_bytes)}"
        if not self.above_bytes:
            return f"flows up to {size_said(self.up_to_bytes)}"
        return f"flows of {size_said(self.above_bytes)} to {size_said(self.up_to_bytes)}"

    def selects(self) -> pl.Expr:
        """The flows in this bin."""
        size = pl.col("size_bytes")
        return (size > self.above_bytes) & (size <= self.up_to_bytes)


def size_bins(*edges_bytes: float) -> tuple[SizeBin, ...]:
    """Bins that meet at these sizes in bytes; the first starts at 0, the last has no end.

    Give them to `summary` and `report`. `ArgumentError` for sizes that do not rise.

    Example:
        >>> [one.label for one in packetloom.size_bins(100e3, 10e6)]
        ['(0, 100KB]', '(100KB, 10MB]', '(10MB, ∞)']
    """
    if not edges_bytes or list(edges_bytes) != sorted(set(edges_bytes)) or edges_bytes[0] <= 0:
        raise ArgumentError(f"size bins need rising sizes above 0, for example 100e3, 10e6; got {edges_bytes}")
    edges = (0.0, *edges_bytes, float("inf"))
    return tuple(SizeBin(low, high) for low, high in itertools.pairwise(edges))


DEFAULT_BINS = size_bins(100e3, 10e6)  # pFabric §5.3: (0, 100KB], (100KB, 10MB], (10MB, ∞)


def summary(results: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """A row per label (scheme and axes), load, size bin, metric and statistic: value, low, high, seeds, flows.

    Metrics: `slowdown` and `fct_ns` (of finished flows: mean, percentiles, and `cv`, the coefficient of variation),
    `goodput_gbps` (mean), `met_deadline` (the fraction of flows with a deadline that met it), `unfinished` (the
    fraction never finished), `server_share` (of all flows; `jain`: Jain's index over senders, see `jain_of_servers`).
    `steady` (`verdict`: 1 if the slowdown does not drift over the run, 0 if it does, null if the run is too short to
    tell; `drift`: the last third of the flows less the first, as a fraction of the mean). `low` and `high` are null
    with one seed, except those of the drift. `ArgumentError` for results, or bins, of another type.

    Example:
        >>> means = packetloom.summary(results).filter(bin="all", metric="slowdown", statistic="mean")
        >>> means.select("label", "load", "seeds").rows()
        [('TCP', 0.2, 2), ('TCP', 0.8, 2), ('DCTCP', 0.2, 2), ('DCTCP', 0.8, 2)]
    """
    from packetloom.stats.steadiness.column import with_steadiness

    return with_steadiness(over_seeds(by_seed(results, bins)), results, bins)


def by_seed(results: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """The same before seeds are averaged: a column `seed`, and neither intervals nor their number."""
    arguments.instance("results", results, Results, "a packetloom.Results")
    check_bins(bins)
    rows: list[CaseRow] = []
    statistics: list[tuple[int, Statistic]] = []
    for place, (row, flows) in enumerate(results.partitions("flows", FLOW_COLUMNS)):
        rows.append(row)
        # A stall kept them from starting; where the run's time was over, they are no part of it.
        never_started = int(row.counters.get("flows_never_started", 0)) if row.counters.get("stalled") else 0
        statistics += [(place, statistic) for statistic in _statistics_of(flows, bins, never_started)]
    if not rows:
        what = "no finished case can be read" if results.problems else "no case is finished yet"
        raise PacketloomError(f"{results.path}: {what}, so there is nothing to sum up")
    values = pl.DataFrame([(place, *statistic) for place, statistic in statistics], schema=SCHEMA, orient="row")
    parameters = _parameters(rows, results.parameter_types())
    return parameters.join(values, on="case", maintain_order="left_right").drop("case")


def check_bins(bins: object) -> None:
    """Refuses what are no size bins."""
    if not isinstance(bins, Sequence) or not all(isinstance(one, SizeBin) for one in bins):
        raise arguments.wrong("bins", bins, "a list of packetloom.stats.summary.SizeBin")


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table for polars."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _parameters(rows: Sequence[CaseRow], types: Mapping[str, type | None]) -> pl.DataFrame:
    """The parameters that identify cases, numbered by their place."""
    columns = {
        "case": pl.Series(range(len(rows)), dtype=pl.Int64),
        "label": pl.Series([row.label for row in rows], dtype=pl.String),
        "scheme": pl.Series([row.scheme for row in rows], dtype=pl.String),
        "load": pl.Series([row.load for row in rows], dtype=pl.Float64),
    }
    for axis in axes_of(rows):
        columns[axis] = pl.Series(parameter_column(rows, axis, types))
    return pl.DataFrame(columns | {"seed": pl.Series([row.seed for row in rows], dtype=pl.Int64)})


def _statistics_of(flows: pa.Table, bins: Sequence[SizeBin], never_started: int) -> list[Statistic]:
    """The statistics of one case. Flows that never started are of no size, and unfinished among all."""
    columns = {name: numbers_of(flows[name].combine_chunks()).astype(float) for name in FLOW_COLUMNS}
    measured = columns.pop("measured") == 1
    columns = {name: values[measured] for name, values in columns.items()}
    size = columns["size_bytes"]
    parts = [(ALL_SIZES, columns)]
    for bin in bins:
        inside = (size > bin.above_bytes) & (size <= bin.up_to_bytes)
        parts.append((bin.label, {name: values[inside] for name, values in columns.items()}))
    found = [statistic for label, part in parts for statistic in _statistics_in(label, part)]
    return [_with_never_started(one, never_started) for one in found] if never_started else found


def _with_never_started(statistic: Statistic, never_started: int) -> Statistic:
    bin, metric, name, value, flows = statistic
    if bin != ALL_SIZES or metric != "unfinished":
        return statistic
    every = flows + never_started
    return bin, metric, name, ((value or 0.0) * flows + never_started) / every, every


def _statistics_in(label: str, flows: Mapping[str, FloatArray]) -> Iterator[Statistic]:
    """One bin's statistics."""
    for metric in ("slowdown", "fct_ns"):
        values = flows[metric][~np.isnan(flows[metric])]
        yield label, metric, "mean", _mean(values), len(values)
        found = percentiles(values)
        for name in PERCENTILES:
            yield label, metric, name, found.get(name), len(values)
        yield label, metric, "cv", _variation(values), len(values)
    goodput = flows["goodput_gbps"][~np.isnan(flows["goodput_gbps"])]
    yield label, "goodput_gbps", "mean", _mean(goodput), len(goodput)
    met = flows["met_deadline"][~np.isnan(flows["deadline_ns"])]
    yield label, "met_deadline", "mean", _mean(met), len(met)
    unfinished = np.isnan(flows["fct_ns"])
    yield label, "unfinished", "mean", _mean(unfinished), len(unfinished)
    if label == ALL_SIZES:
        fairness = jain_of_servers(flows["src"], flows["best_fct_ns"] / flows["fct_ns"])
        yield label, "server_share", "jain", fairness, len(unfinished)


def jain_of_servers(src: FloatArray, share: FloatArray) -> float | None:
    """Jain's index over sending servers of their normalised throughput.

    `src` has each flow's sender, `share` the rate that it got over the one that it would have had alone, which is
    best_fct_ns / fct_ns; NaN, if it did not finish. A server's is the mean over its flows. 1 is fair; 1 / n, where one
    of n servers gets everything. None, if no flow finished.
    """
    finished = ~np.isnan(share)
    _, server = np.unique(src[finished], return_inverse=True)
    if not len(server):
        return None
    of_server = np.bincount(server, weights=share[finished]) / np.bincount(server)
    return jain(of_server)


def _variation(values: FloatArray) -> float | None:
    return float(values.std(ddof=1) / values.mean()) if len(values) > 1 else None


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


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
    quantile = {count: t_quantile(count) for count in seeds.unique() if count > 1}
    return pl.Series([quantile.get(count) for count in seeds], dtype=pl.Float64)
