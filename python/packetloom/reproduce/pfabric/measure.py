"""Slowdowns by scheme, load and flow size, on packetloom's clock and on the paper's."""

from __future__ import annotations

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.reproduce.measure import Interval, interval, links_between, ratio
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, over_seeds, polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

TCP, DCTCP, MIN_TCP, LINE_RATE, IDEAL = "TCP+DropTail", "DCTCP", "MinTCP+pFabric", "LineRate+pFabric", "Ideal"
PFABRIC = (MIN_TCP, LINE_RATE)
WORKLOADS = {"data-mining": "DM", "web-search": "WS"}
SMALL, MEDIUM, LARGE = (one.label for one in DEFAULT_BINS)
STATISTICS = {
    "mean": pl.col("slowdown").mean(),
    "p99": p99(pl.col("slowdown")),
    "sender's mean": pl.col("sender_slowdown").mean(),
    "sender's p99": p99(pl.col("sender_slowdown")),
}
COLUMNS = ("src", "dst", "size_bytes", "slowdown", "best_fct_ns", "sender_fct_ns", "source", "measured")
K = 6
# An ACK of 40 B takes 0.032 us at 10 Gb/s and 0.4 us of propagation per link.
ACK_NS_PER_LINK = 432


def short_name(scheme: str) -> str:
    """A scheme in a list of numbers."""
    return scheme.partition("+")[0]


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
        """How many times a scheme's slowdown is another's."""
        mine, theirs = (self.by_seed(one, load, bin, statistic).items() for one in (label, other))
        return ratio(mine, theirs, f"{label} against {other}, load {load:g}, {bin}")

    def by_seed(self, label: str, load: float, bin: str, statistic: str) -> dict[int, float]:
        """A scheme's slowdown in each seed that has flows of that size."""
        chosen = self._chosen(label, load, bin, statistic).select("seed", "value")
        return {seed: value for seed, value in chosen.iter_rows() if value is not None}

    def summary(self) -> pl.DataFrame:
        """As `packetloom.stats.summary.summary` has it, for tables and figures."""
        return over_seeds(self.per_seed.with_columns(pl.lit("slowdown").alias("metric")))

    def _chosen(self, label: str, load: float, bin: str, statistic: str) -> pl.DataFrame:
        wanted = {"label": label, "load": load, "bin": bin, "statistic": statistic}
        return self.per_seed.filter(*(pl.col(name) == value for name, value in wanted.items())).select(
            "seed", "value", "flows"
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
    best = pl.col("best_fct_ns") + links_between(K) * ACK_NS_PER_LINK
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
