"""Slowdowns under load by size, over the time that its authors have for a message alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, drawn
from packetloom.validate.peers.flow_lists import P99_NEEDS_FLOWS, SizeRange
from packetloom.validate.peers.sird.runs import (
    BEFORE_HOSTS,
    HOSTS_PER_LEAF,
    UNMARKED,
    draws_of,
    our_peaks,
    scenario_of,
    source_of,
    their_peak,
)

# Payload bytes, as their lists were made, over what hosts' links carry.
LOADS = {
    "w3_50": "W3 at load 0.45",
    "w3_70": "W3 at load 0.65",
    "w4_70": "W4 at load 0.68",
    f"w4_70{UNMARKED}": "W4 at load 0.68 without senders' marks",
    "w4_85": "W4 at load 0.91",
    "ws_50": "web search at load 0.56",
    "ws_70": "web search at load 0.68",
}
# The largest of so many queues is a tail of tails: as HomaL4Protocol's rows have it.
QUEUE_WITHIN = 0.15
# Of a packet, of a BDP with headers, of eight.
SIZE_RANGES = (
    SizeRange("all", 0, float("inf")),
    SizeRange("≤ 1458 B", 0, 1_458),
    SizeRange("1458 B-100 KB", 1_458, 100_000),
    SizeRange("100-800 KB", 100_000, 800_000),
    SizeRange("> 800 KB", 800_000, float("inf")),
)
HOST_GBPS = 100
Statistic = Callable[[pl.Series], float]
# Links' delays in a rack, and those of two more.
RACK_NS, ACROSS_NS = 2_500, 3_500


def load_comparisons() -> list[Check]:
    """One for each."""
    return [_check(run, f"SIRD's ns-2, SIRD, {text}") for run, text in LOADS.items()]


def _check(run: str, title: str) -> Check:
    def rows(results: Mapping[str, Results]) -> list[Row]:
        draws = [draw.select("size_bytes", *slowdowns()) for draw in draws_of(run, results["it"])]
        peaks = Draws((their_peak(run, BEFORE_HOSTS),), our_peaks(results["it"], BEFORE_HOSTS))
        what = f"{title}: {BEFORE_HOSTS}"
        return [*_by_size(run, title, draws), drawn(what, what, source_of(run), peaks, QUEUE_WITHIN)]

    return Check(f"sird-{run}", lambda folder: {"it": scenario_of(run, folder)}, rows)


def slowdowns() -> tuple[pl.Expr, pl.Expr]:
    """SIRD's own: without headers, and without what a switch takes to store a packet."""
    in_rack = pl.col("src") // HOSTS_PER_LEAF == pl.col("dst") // HOSTS_PER_LEAF
    alone = pl.col("size_bytes") * 8 / HOST_GBPS + pl.when(in_rack).then(RACK_NS).otherwise(ACROSS_NS)
    return (pl.col("theirs") / alone).alias("theirs"), (pl.col("fct_ns") / alone).alias("ours")


def _by_size(run: str, title: str, draws: list[pl.DataFrame]) -> Iterator[Row]:
    for size in SIZE_RANGES:
        of_size = pl.col("size_bytes").is_between(size.above, size.up_to, closed="right")
        parts = [draw.filter(of_size) for draw in draws]
        count = parts[0].height
        statistics: list[tuple[str, Statistic, float]] = [("mean slowdown", fmean, MEAN_WITHIN)] if count else []
        if count >= P99_NEEDS_FLOWS:
            statistics.append(("p99 of the slowdown", p99, P99_WITHIN))
        for name, statistic, within in statistics:
            what = f"{title}: {name}, {size.name}"
            both = Draws((statistic(parts[0]["theirs"]),), tuple(statistic(part["ours"]) for part in parts))
            yield drawn(what, what, source_of(run), both, within)
