"""Claims BF1 to BF3: Backpressure Flow Control beside DCQCN and HPCC, its queues, and too few of them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import (
    NO_LIMIT,
    PerSeed,
    Runs,
    Statistic,
    by_label,
    chosen,
    listed,
    mean,
    of_flows,
    ratio,
    tail,
)
from packetloom.reproduce.transports.measure import class_samples, largest

BFC, SIMULATOR = "BFC", "BFC, its simulator's"
WINDOW, MANY_QUEUES = "BFC, window", "BFC, 128 queues"
RIVALS = ("DCQCN", "DCQCN, window", "HPCC")
COLUMNS = ("source", "size_bytes", "slowdown")
# Of W4; the flows of incasts are the second source's.
BESIDE_INCASTS = pl.col("source") == 0
# As the authors' script has them, in packets of 1000 B: its first bin, and those above 768 packets.
SHORT = BESIDE_INCASTS & (pl.col("size_bytes") <= 3_000)
LONG = BESIDE_INCASTS & (pl.col("size_bytes") > 768_000)
SHORT_TAIL, LONG_MEAN = chosen(SHORT, tail("slowdown")), chosen(LONG, mean("slowdown"))
# What a link of 100 Gb/s carries in the round trip of a hop: twice 1 us, and a packet of 1048 B.
HOP_BDP_BYTES = (2_000 + 1_048 * 8 / 100) * 100 / 8


def against_end_to_end(runs: Runs) -> Iterator[Measured]:
    """BF1: how many times more the others' short flows wait at p99, and their long ones in the mean."""
    for what, statistic, least in (
        ("p99 of flows up to 3 KB", SHORT_TAIL, 2.0),
        ("mean of flows above 768 KB", LONG_MEAN, 1.3),
    ):
        found = _of_w4(runs, statistic)
        for other in RIVALS:
            for scheme in (BFC, SIMULATOR, WINDOW):
                times, name = ratio(found[other], found[scheme], what), f"{what}: {other} / {scheme}"
                yield times.measured(name, (least, NO_LIMIT)) if scheme == BFC else times.beside(name)


def a_hops_bdp(runs: Runs) -> Iterator[Measured]:
    """BF2: the longest that a queue of a switch's is, in BDPs of a hop."""
    for row, queues in class_samples(runs["bfc-incast"]):
        before_hosts = queues.filter(pl.col("peer").str.starts_with("host"))
        for where, some in (("any switch", queues), ("the leaves, before hosts", before_hosts)):
            decides = row.scheme == BFC and some is queues
            band = (0.0, 2.0)
            of_bdp = largest(some["queue_bytes"]) / HOP_BDP_BYTES
            yield Measured(f"{row.scheme}: longest queue of {where}, BDPs", of_bdp, band=band, decides=decides)


def too_few_queues(runs: Runs) -> Iterator[Measured]:
    """BF3: p99 with 32 queues over that with 128."""
    for what, which in {"all flows": pl.lit(True), "W4's": BESIDE_INCASTS, "incasts'": ~BESIDE_INCASTS}.items():
        found = _of_w4(runs, chosen(which, tail("slowdown")))
        times, name = ratio(found[BFC], found[MANY_QUEUES], what), f"p99 of {what}: 32 / 128 queues"
        yield times.measured(name, (0.0, 3.0)) if what == "all flows" else times.beside(name)


def _of_w4(runs: Runs, statistic: Statistic) -> dict[str, PerSeed]:
    return by_label(of_flows(runs["bfc-w4"], COLUMNS, statistic))


ABSTRACT, MEMORY = "BFC, abstract", "BFC, from memory"

CLAIMS = (
    Claim(
        "BF1",
        "tail latency of short flows 2.3 to 60 times lower, long flows' mean FCT 1.6 to 5 times better than "
        "end-to-end schemes",
        ABSTRACT,
        "≥ 2; ≥ 1.3 with 5 % incast",
        ("bfc-w4",),
        listed(against_end_to_end),
        choices=(
            "Their simulator's network, sizes and incasts. Short and long are as in their script: up to 3 packets, "
            "above 768. The numbers are slowdowns, as there. End-to-end schemes are DCQCN, the same with a window, "
            "and HPCC, and all of them decide."
        ),
    ),
    Claim(
        "BF2",
        "one hop's BDP of buffer a flow",
        MEMORY,
        "peak of a queue ≤ 2 BDPs of a hop",
        ("bfc-incast",),
        listed(a_hops_bdp),
        choices=(
            "A BDP of a hop is what 100 Gb/s carry in twice 1 us and a packet, 26 KB, also before links of 400 Gb/s. "
            "31 flows of 200 KB, a queue for each. Queues are sampled every 0.5 us."
        ),
        explanation=(
            "A queue is paused above 1.5 BDPs, and one more BDP comes until the pause acts: 2.5 BDPs, 65 KB, "
            "where all links have 100 Gb/s, and four times that before uplinks. Before the receiver 101 KB come "
            "over an uplink, and as much again where two flows of equal flow id share a queue."
        ),
    ),
    Claim(
        "BF3",
        "more active flows than queues: the tail rises, no collapse",
        MEMORY,
        "32 against 128 queues: p99 at most 3 times",
        ("bfc-w4",),
        listed(too_few_queues),
        choices="The slowdown of all flows of BF1's traffic, whose incasts of 100 are more than 32 queues.",
    ),
)
