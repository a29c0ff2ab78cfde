"""What the claims and figures are made of: statistics of the runs, each with its interval over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from packetloom.claims import Measured, NotComparable
from packetloom.results import CaseRow, Results
from packetloom.statistics import ALL_SIZES, DEFAULT_BINS, over_seeds, polars_frame

SMALL, MEDIUM, LARGE = (one.label for one in DEFAULT_BINS)
STATISTICS = {
    "mean": pl.col("slowdown").mean(),
    "p99": pl.col("slowdown").quantile(0.99, "linear"),
    "sender's mean": pl.col("sender_slowdown").mean(),
    "sender's p99": pl.col("sender_slowdown").quantile(0.99, "linear"),
}
COLUMNS = ("src", "dst", "size_bytes", "slowdown", "best_fct_ns", "sender_fct_ns", "source", "measured")
# An ACK of 40 B takes 0.032 us at 10 Gb/s and 0.4 us of propagation per link.
ACK_NS_PER_LINK = 432


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and its 95 % interval over seeds where there is more than one."""

    value: float
    low: float | None
    high: float | None

    def measured(self, what: str, band: tuple[float, float]) -> Measured:
        """The number as a claim's."""
        return Measured(what, self.value, self.low, self.high, band)


class Slowdowns:
    """Mean and p99 slowdown of each scheme, load, size bin and seed.

    Over all sizes only the first source's flows count: another is there to draw more small flows (data-mining.toml).
    Slowdown ends when the last byte is at the receiver; the sender's ends with the last ACK, as the times of the
    paper's ns-2 code do.
    """

    def __init__(self, results: Results) -> None:
        parts = [_of_case(row, polars_frame(flows)) for row, flows in results.partitions("flows", COLUMNS)]
        self.per_seed = pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA)

    @property
    def loads(self) -> list[float]:
        """The loads that were run, rising."""
        return [float(load) for load in self.per_seed["load"].unique().sort()]

    def of(self, label: str, load: float, bin: str, statistic: str) -> Interval:
        """A scheme's slowdown."""
        return interval(self._chosen(label, load, bin, statistic), f"{label}, load {load:g}, {bin}")

    def ratio(self, label: str, other: str, load: float, bin: str, statistic: str) -> Interval:
        """How many times a scheme's slowdown is another's, seed by seed: both saw the same flows."""
        mine, theirs = (self._chosen(one, load, bin, statistic) for one in (label, other))
        both = mine.join(theirs, on="seed", suffix="_other")
        ratios = both.select("seed", pl.col("value") / pl.col("value_other"), "flows")
        return interval(ratios, f"{label} against {other}, load {load:g}, {bin}")

    def summary(self) -> pl.DataFrame:
        """As `packetloom.statistics.summary` has it, for tables and figures."""
        return over_seeds(self.per_seed.with_columns(pl.lit("slowdown").alias("metric")))

    def _chosen(self, label: str, load: float, bin: str, statistic: str) -> pl.DataFrame:
        wanted = {"label": label, "load": load, "bin": bin, "statistic": statistic}
        return self.per_seed.filter(*(pl.col(name) == value for name, value in wanted.items())).select(
            "seed", "value", "flows"
        )


def interval(per_seed: pl.DataFrame, what: str) -> Interval:
    """The mean over seeds of the column `value`, and its interval."""
    per_seed = per_seed.filter(pl.col("value").is_not_null())
    if per_seed.is_empty():
        raise NotComparable(f"no flows to measure: {what}")
    row = over_seeds(per_seed).row(0, named=True)
    return Interval(row["value"], row["low"], row["high"])


def per_case(results: Results, columns: Sequence[str]) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Every case with these columns of its measured flows."""
    return [
        (row, polars_frame(flows).filter("measured"))
        for row, flows in results.partitions("flows", (*columns, "measured"))
    ]


def seeds_of(values: Sequence[tuple[int | None, float]]) -> pl.DataFrame:
    """One value per seed, for `interval`."""
    return pl.DataFrame(
        [(seed, value, 1) for seed, value in values],
        schema={"seed": pl.Int64, "value": pl.Float64, "flows": pl.Int64},
        orient="row",
    )


_SCHEMA = {
    "label": pl.String,
    "load": pl.Float64,
    "seed": pl.Int64,
    "bin": pl.String,
    "statistic": pl.String,
    "value": pl.Float64,
    "flows": pl.Int64,
}


def _of_case(row: CaseRow, flows: pl.DataFrame) -> pl.DataFrame:
    best = pl.col("best_fct_ns") + _links_between() * ACK_NS_PER_LINK
    measured = flows.filter("measured").with_columns(
        pl.col("slowdown").fill_nan(None), (pl.col("sender_fct_ns") / best).fill_nan(None).alias("sender_slowdown")
    )
    parts = {ALL_SIZES: measured.filter(pl.col("source") == 0)}
    parts |= {size.label: measured.filter(size.selects()) for size in DEFAULT_BINS}
    rows = [
        (row.label, row.load, row.seed, bin, statistic, part.select(expression).item(), part["slowdown"].count())
        for bin, part in parts.items()
        for statistic, expression in STATISTICS.items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _links_between() -> pl.Expr:
    """Links between two hosts of the k = 6 fat-tree: 3 hosts to an edge switch, 9 to a pod."""
    edge, pod = pl.col("src") // 3 == pl.col("dst") // 3, pl.col("src") // 9 == pl.col("dst") // 9
    return pl.when(edge).then(2).when(pod).then(4).otherwise(6)
