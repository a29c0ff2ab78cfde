"""What the claims and figures are made of: statistics of the runs, each with its interval over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from packetloom.claims import Measured, NotComparable
from packetloom.results import CaseRow, Results
from packetloom.statistics import ALL_SIZES, DEFAULT_BINS, over_seeds, polars_frame

SMALL, MEDIUM, LARGE = (one.label for one in DEFAULT_BINS)
STATISTICS = {"mean": pl.col("slowdown").mean(), "p99": pl.col("slowdown").quantile(0.99, "linear")}
ANY = (float("-inf"), float("inf"))


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
    """

    def __init__(self, results: Results) -> None:
        parts = [
            _of_case(row, polars_frame(flows))
            for row, flows in results.partitions("flows", ("size_bytes", "slowdown", "source", "measured"))
        ]
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
    measured = flows.filter("measured").with_columns(pl.col("slowdown").fill_nan(None))
    parts = {ALL_SIZES: measured.filter(pl.col("source") == 0)}
    parts |= {size.label: measured.filter(size.selects()) for size in DEFAULT_BINS}
    rows = [
        (row.label, row.load, row.seed, bin, statistic, part.select(expression).item(), part["slowdown"].count())
        for bin, part in parts.items()
        for statistic, expression in STATISTICS.items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")
