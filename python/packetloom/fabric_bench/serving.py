"""Inference, test categories 3 and 8: experts, contention, and a failure while serving."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from packetloom.fabric_bench.cases import Case, seconds_of, size_of
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.inference import requests
from packetloom.fabric_bench.jobs import job_iterations, job_time_s
from packetloom.fabric_bench.measures import mark_share, pauses_per_s

CONFIGURATIONS = ((8, 2, 4096), (64, 4, 7168), (256, 2, 7168), (256, 8, 7168))
"""The draft's (experts, top-k, hidden size)."""
TOKENS = 128
BYTES_PER_VALUE = 2
GROUPS = (8, 16, 32, 48, 64, 96)


def _dispatch(case: Case) -> Iterable[Row]:
    arrivals = case.arrivals()
    iterations = job_iterations(case)
    sent = int(arrivals["tokens"]) * int(arrivals["top_k"]) * size_of(arrivals["bytes_per_token"])
    ranks = int(arrivals["ranks"])
    for nanoseconds in iterations["jct_ns"]:
        each = nanoseconds / 1e9 / 2
        factor = (ranks - 1) / ranks
        yield {
            "experts": arrivals["experts"],
            "top k": arrivals["top_k"],
            "hidden": size_of(arrivals["bytes_per_token"]) // BYTES_PER_VALUE,
            "ranks": ranks,
            "routing": "balanced" if not arrivals["skew"] else f"Zipf({arrivals['skew']:g})",
            "scheme": case.scheme,
            "bytes of a rank": sent,
            "dispatch and combine (us)": nanoseconds / 1e3,
            "BusBW (Gb/s)": 8 * sent * factor / each / 1e9,
            "time over roofline": each / (8 * sent * factor / case.host_rate),
            "marks per 100 packets": 100 * mark_share(case),
            "PAUSE/s": pauses_per_s(case),
        }


def _contention(case: Case) -> Iterable[Row]:
    for place, what in ((0, "experts' exchange"), (1, "transfer of caches")):
        if case.workload(place)["background"]:
            continue
        beside = "together" if case.part == "both" else "alone"
        jct = job_time_s(job_iterations(case, place))
        yield {"traffic": what, "scheme": case.scheme, "case": beside, "JCT (us)": jct * 1e6}


def _factors(frame: pl.DataFrame) -> pl.DataFrame:
    """JCT together over JCT alone."""
    alone = frame.filter(pl.col("case") == "alone").select("traffic", "scheme", pl.col("JCT (us)").alias("alone (us)"))
    together = frame.filter(pl.col("case") == "together").rename({"JCT (us)": "together (us)"}).drop("case")
    joined = together.join(alone, on=["traffic", "scheme"], how="left", maintain_order="left")
    factor = (pl.col("together (us)") / pl.col("alone (us)")).alias("interference factor")
    return joined.select("traffic", "scheme", factor, pl.exclude("traffic", "scheme"))


def _serving(case: Case) -> Iterable[Row]:
    failed = min(seconds_of(fault["at"]) for fault in case.spec["faults"]) * 1e9
    found = requests(case)
    for one in found.iter_rows(named=True):
        when = "1 before" if one["end_ns"] <= failed else "2 under way" if one["computed_ns"] <= failed else "3 after"
        yield {
            "scheme": case.scheme,
            "request": when,
            "TTFT (us)": (one["end_ns"] - one["start_ns"]) / 1e3,
            "transfer (us)": (one["came_ns"] - one["computed_ns"]) / 1e3,
            "packets lost": case.counter("lost"),
            "sent again": case.counter("retransmissions"),
        }


def _experts(experts: int, top_k: int, hidden: int) -> Part:
    settings = (
        f"workload.0.arrivals.experts={experts}",
        f"workload.0.arrivals.top_k={top_k}",
        f"workload.0.arrivals.bytes_per_token={hidden * BYTES_PER_VALUE}B",
    )
    possible = [ranks for ranks in GROUPS if experts % ranks == 0]
    quick = [ranks for ranks in possible if ranks <= 32]
    full = (*settings, f"workload.0.arrivals.ranks={possible}", "topology.leaves=12", "run.seeds=5")
    return Part(f"experts-{experts}-{top_k}", "moe-dispatch", (*settings, f"workload.0.arrivals.ranks={quick}"), full)


LATER = "start=10s"

TESTS = (
    Test(
        id="moe-dispatch",
        draft="inference",
        sections=(
            "AllToAll Dispatch Throughput",
            "Routing Mode and Dispatch Mode Comparison",
            "Wide Expert Parallelism Scaling",
        ),
        measures="time and bus bandwidth of the tokens' way to their experts and back, by configuration and ranks",
        parts=tuple(_experts(*configuration) for configuration in CONFIGURATIONS),
        tables=(
            TableOf(
                name="dispatch",
                title="Dispatch and combine",
                rows=_dispatch,
                keys=("experts", "top k", "hidden", "routing", "ranks", "scheme"),
                lead="dispatch and combine (us)",
                spread=("mean", "max"),
                notes=(
                    "Bytes of a rank: tokens · k · hidden · bytes per value = B·k·H·P, with B = 128 and P = 2, what a "
                    "rank begins with, its own experts' share included. The draft's formula divides this by N and its "
                    "table does not; three of the table's four values are four times this product. Bus bandwidth: of "
                    "these bytes times (N-1)/N, each way.",
                ),
                drawn=("ranks", "dispatch and combine (us), mean"),
                headline="time over roofline",
            ),
        ),
        not_measured=(
            "expert choice and token drop: moe has top-k with even or Zipf popularity",
            "dispatch modes (low latency, normal): they differ in the library, not on the wire",
        ),
        not_run={
            "quick": ("64 and 96 ranks", "48 and 96 ranks: no number of the draft's experts can be shared out evenly"),
            "full": (
                "48 and 96 ranks, and more ranks than experts: these experts cannot be shared out evenly among them",
            ),
        },
    ),
    Test(
        id="moe-kv",
        draft="inference",
        sections=("Expert Parallelism and KV Cache Transfer Contention",),
        measures="experts' all-to-all and transfers of caches on the same links: each together over alone",
        parts=(
            Part("both", "moe-kv", (), ("run.seeds=10",)),
            Part(
                "experts-alone",
                "moe-kv",
                (f"workload.1.{LATER}", "workload.1.background=true"),
                (f"workload.1.{LATER}", "workload.1.background=true", "run.seeds=10"),
            ),
            Part(
                "caches-alone",
                "moe-kv",
                (f"workload.0.{LATER}", "workload.0.background=true"),
                (f"workload.0.{LATER}", "workload.0.background=true", "run.seeds=10"),
            ),
        ),
        tables=(
            TableOf(
                name="contention",
                title="Interference of experts and caches",
                rows=_contention,
                keys=("traffic", "scheme", "case"),
                lead="JCT (us)",
                finish=_factors,
                headline="interference factor",
            ),
        ),
    ),
    Test(
        id="serving-failure",
        draft="inference",
        sections=("Link Failure Convergence Impact on Serving",),
        measures="TTFT and transfers before, during and after a link's failure",
        parts=(Part("leaf-uplink", "serving-failure", (), ("run.seeds=20", "workload.0.arrivals.requests=50")),),
        tables=(
            TableOf(
                name="serving",
                title="Requests around the failure",
                rows=_serving,
                keys=("scheme", "request"),
                lead="TTFT (us)",
                spread=("mean", "p50", "p99", "max"),
                notes=(
                    "Under way: computed before the failure, first token after it. Inputs, the example's assumptions: "
                    "200 us of prefill, 50 us for the first token; switches learn of the failure after 100 us.",
                ),
            ),
        ),
        not_measured=("requests that a server drops or sends elsewhere: there is no model of a serving framework",),
    ),
)
