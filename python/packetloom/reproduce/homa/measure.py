"""Numbers of Homa's experiments: slowdowns by size, beside the authors' own; queues; what links carried."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.reproduce.measure import per_case
from packetloom.reproduce.samples import late_share_to_hosts
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

# Slowdowns by class of sizes of six transports, as HomaSimulation's authors published them; summed up from
# `inputs/homa-paper-reproduction/original-raw-data-from-paper.txt` of HomaL4Protocol-ns-3 at 3cac7119.
AUTHORS = Path(__file__).parent / "authors.csv"
WORKLOADS = {
    "w1": "FACEBOOK_KEY_VALUE",
    "w2": "GOOGLE_SEARCH_RPC",
    "w3": "GOOGLE_ALL_RPC",
    "w4": "FACEBOOK_HADOOP_ALL",
    "w5": "DCTCP",
}
# What the scenarios' loads come to with framing and grants.
REAL_LOADS = (0.5, 0.8)
LARGEST_JUDGED = 102_201


@dataclass(frozen=True, slots=True)
class Published:
    """What the authors print of messages of `low` to below `high` bytes."""

    low: int
    high: int
    mean: float
    p99: float


@cache
def published(experiment: str, load: float, transport: str) -> tuple[Published, ...]:
    """The classes of a workload and load."""
    with AUTHORS.open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["workload"], float(row["load"]), row["transport"]) == (WORKLOADS[experiment], load, transport)
        ]
    return tuple(
        Published(int(row["size_lo"]), int(row["size_hi"]), float(row["mean"]), float(row["avg_bin_p99"]))
        for row in rows
    )


def by_real_load(results: Results) -> Iterator[tuple[float, CaseRow, pl.DataFrame]]:
    """Each case's measured flows, with the load that the authors would call it."""
    loads = sorted({row.load for row in results.rows() if row.load is not None})
    for row, flows in per_case(results, ("size_bytes", "slowdown")):
        assert row.load is not None
        yield REAL_LOADS[loads.index(row.load)], row, flows


def in_class(flows: pl.DataFrame, low: float, high: float) -> pl.Series:
    """The slowdowns of messages of these sizes that ended."""
    chosen = flows.filter(pl.col("size_bytes") >= low, pl.col("size_bytes") < high)
    return chosen["slowdown"].drop_nans().drop_nulls()


def bin_p99(flows: pl.DataFrame, low: int, high: int, bins: int = 10) -> float:
    """As the authors have it: the mean of the 99th percentiles of bins of equally many messages by size."""
    chosen = flows.filter(pl.col("size_bytes") >= low, pl.col("size_bytes") < high, pl.col("slowdown").is_not_nan())
    ordered = chosen.sort("size_bytes")["slowdown"]
    bins = max(1, min(bins, len(ordered) // 200))
    edges = [round(nth * len(ordered) / bins) for nth in range(bins + 1)]
    parts = [ordered.slice(begin, end - begin) for begin, end in pairwise(edges)]
    return sum(p99(part) for part in parts) / len(parts)


def smallest_half(flows: pl.DataFrame) -> pl.Series:
    """The slowdowns of the smaller half of all messages."""
    median = flows["size_bytes"].median()
    return flows.filter(pl.col("size_bytes") <= median)["slowdown"].drop_nans()


def carried(results: Results) -> Iterator[tuple[CaseRow, float]]:
    """The share of the links to hosts that was used in the second half, without framing."""
    return late_share_to_hosts(results, "series", "tx_bytes", 10.0)
