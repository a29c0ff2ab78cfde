"""Inference, test categories 1, 2, 4 and 6: caches from prefill to decode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from packetloom.common.fairness import jain
from packetloom.fabric_bench.cases import Case, message_size, seconds_of, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.measures import lost_ppm, mark_share, pauses_per_s, throughput_gbps
from packetloom.fabric_bench.tables import byte_text

BYTES_PER_TOKEN = 40_960
"""At each of eight accelerators: 2 · 80 layers · 8 heads · 128 · 2 B over 8."""
PREFILL_US_PER_TOKEN = 35
PROMPTS = (128, 512, 1024, 2048, 4096, 8192, 16384)


def requests(case: Case, source: int = 0) -> pl.DataFrame:
    """Each prompt: when its prefill began and ended, its cache had come, and its first token was there, in ns.

    The n-th prompt of a prefill worker goes to the decode workers in turn, so its tokens are found by place.
    """
    arrivals = case.arrivals(source)
    prefill, decode = int(arrivals["prefill"]), int(arrivals["decode"])
    columns = ("source", "rank", "place", "name", "begin_ns", "end_ns")
    operations = case.frame("operations", *columns).filter(pl.col("source") == source)
    starts = operations.filter(pl.col("name") == "prefill").sort("rank", "place")
    starts = starts.with_columns(request=pl.int_range(pl.len()).over("rank")).select(
        "rank", "request", pl.col("begin_ns").alias("start_ns"), pl.col("end_ns").alias("computed_ns")
    )
    # The order in which kv-cache gives a decode worker its prompts: request by request, then by prefill worker.
    starts = starts.sort("request", "rank").with_columns(
        to=prefill + (pl.col("rank").cast(pl.Int64) + pl.col("request").cast(pl.Int64)) % decode
    )
    starts = starts.with_columns(nth=pl.int_range(pl.len()).over("to"))
    tokens = operations.filter(pl.col("name") == "first token").sort("rank", "place")
    tokens = tokens.with_columns(nth=pl.int_range(pl.len()).over("rank")).select(
        pl.col("rank").cast(pl.Int64).alias("to"), "nth", pl.col("begin_ns").alias("token_ns"), pl.col("end_ns")
    )
    came = operations.filter(pl.col("name").is_in(["receive keys and values", "first token"])).sort("rank", "place")
    came = came.with_columns(
        nth=(pl.col("name") == "first token").cum_sum().over("rank") - (pl.col("name") == "first token")
    ).filter(pl.col("name") != "first token")
    came = came.group_by(pl.col("rank").cast(pl.Int64).alias("to"), "nth").agg(pl.col("end_ns").max().alias("came_ns"))
    tokens = tokens.with_columns(pl.col("nth").cast(pl.Int64))
    came = came.with_columns(pl.col("nth").cast(pl.Int64))
    starts = starts.with_columns(pl.col("nth").cast(pl.Int64))
    return starts.join(tokens, on=["to", "nth"], maintain_order="left").join(
        came, on=["to", "nth"], maintain_order="left"
    )


def _transfer(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns")
    rate = throughput_gbps(flows)
    yield {
        "scheme": case.scheme,
        "cache": byte_text(message_size(case)),
        "QPs": case.arrivals()["messages"],
        "throughput (Gb/s)": rate,
        "of the link (%)": 100 * rate * 1e9 / case.host_rate,
        "transfer (us)": float((flows["start_ns"] + flows["fct_ns"]).max() - flows["start_ns"].min()) / 1e3,  # type: ignore[operator,arg-type]
    }


def _beside_load(case: Case) -> Iterable[Row]:
    for nanoseconds in source_flows(case, 0, "fct_ns")["fct_ns"]:
        yield {
            "scheme": case.scheme,
            "cache": byte_text(message_size(case)),
            "background (%)": 0 if case.part == "idle" else round(100 * (case.row.load or 0.0)),
            "transfer (us)": nanoseconds / 1e3,
        }


def _pairs(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "src", "size_bytes", "start_ns", "fct_ns", "goodput_gbps")
    each = flows["goodput_gbps"].to_list()
    yield {
        "scheme": case.scheme,
        "pairs": case.arrivals()["prefill"],
        "aggregate (Gb/s)": throughput_gbps(flows),
        "each, mean (Gb/s)": sum(each) / len(each),
        "each, least (Gb/s)": min(each),
        "JFI over pairs": jain(np.array(each)),
    }


def _incast(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns", "goodput_gbps")
    pauses = case.frame("pauses")
    yield {
        "scheme": case.scheme,
        "prefill workers": case.workload()["pattern"]["fan_in"],
        "throughput (Gb/s)": throughput_gbps(flows),
        "transfer, mean (us)": flows["fct_ns"].mean() / 1e3,  # type: ignore[operator]
        "transfer, last (us)": flows["fct_ns"].max() / 1e3,  # type: ignore[operator]
        "JFI over workers": jain(flows["goodput_gbps"].to_numpy()),
        "marks per 100 packets": 100 * mark_share(case),
        "PAUSE/s": pauses_per_s(case),
        "paused (us)": 0.0 if pauses.is_empty() else float((pauses["until_ns"] - pauses["from_ns"]).sum()) / 1e3,
        "loss (ppm)": lost_ppm(case),
        "trimmed": case.counter("trims"),
    }


def _first_tokens(case: Case) -> Iterable[Row]:
    tokens = round(seconds_of(case.arrivals()["prefill_time"]) * 1e6 / PREFILL_US_PER_TOKEN)
    decode = seconds_of(case.arrivals()["decode_time"])
    for one in requests(case).iter_rows(named=True):
        total, transfer = one["end_ns"] - one["start_ns"], one["came_ns"] - one["computed_ns"]
        yield {
            "prompt (tokens)": tokens,
            "scheme": case.scheme,
            "cache at each": byte_text(message_size(case)),
            "TTFT (ms)": total / 1e6,
            "prefill (ms)": (one["computed_ns"] - one["start_ns"]) / 1e6,
            "transfer (ms)": transfer / 1e6,
            "first decode (ms)": decode * 1e3,
            "transfer of TTFT (%)": 100 * transfer / total,
        }


def _pools(case: Case) -> Iterable[Row]:
    arrivals = case.arrivals()
    found = requests(case)
    took = float(found["end_ns"].max() - found["start_ns"].min()) / 1e9  # type: ignore[operator,arg-type]
    for one in found.iter_rows(named=True):
        yield {
            "pools": f"{arrivals['prefill']}P{arrivals['decode']}D",
            "scheme": case.scheme,
            "TTFT (ms)": (one["end_ns"] - one["start_ns"]) / 1e6,
            "transfer (ms)": (one["came_ns"] - one["computed_ns"]) / 1e6,
            "wait for decode (ms)": (one["token_ns"] - one["came_ns"]) / 1e6,
            "prompts/s": found.height / took,
        }


NO_LOAD = ("workload.1.start=10s", "run.loads=[0.1]")
FEW = ("workload.0.arrivals.repeat=6",)
MANY = (
    "workload.0.arrivals.repeat=20",
    "workload.0.arrivals.prefill_time=2ms",
    'workload.0.arrivals.size=["64KB", "1MB", "16MB"]',
    "run.seeds=10",
)
MOST_QUICK_TOKENS = 4096


def _prompt(tokens: int) -> tuple[str, ...]:
    return (
        f"workload.0.arrivals.size={tokens * BYTES_PER_TOKEN}B",
        f"workload.0.arrivals.prefill_time={tokens * PREFILL_US_PER_TOKEN}us",
    )


def _pool(prefill: int) -> Part:
    decode = 12 - prefill
    each = round(24 / prefill)
    settings: Any = (
        f"workload.0.arrivals.prefill={prefill}",
        f"workload.0.arrivals.decode={decode}",
        f"workload.0.arrivals.requests={each}",
    )
    full = (*settings[:2], f"workload.0.arrivals.requests={10 * each}")
    return Part(f"{prefill}p{decode}d", "xpyd", settings, full)


def _pairs_part(pairs: int) -> Part:
    settings = (f"workload.0.arrivals.prefill={pairs}", f"workload.0.arrivals.decode={pairs}")
    leaves = f"topology.leaves={max(2, -(-2 * pairs // 8))}"
    full = (*settings, leaves, "workload.0.arrivals.size=16MB", "run.seeds=10")
    return Part(f"pairs-{pairs}", "kv-pairs", (*settings, leaves) if pairs <= 32 else None, full)


TESTS = (
    Test(
        id="kv-throughput",
        draft="inference",
        sections=("Point-to-Point KV Cache Transfer Throughput",),
        measures="throughput of a cache's transfer by size and queue pairs",
        parts=(
            Part(
                "transfers",
                "kv-throughput",
                (),
                (
                    'workload.0.arrivals.size=["64KB", "256KB", "1MB", "4MB", "16MB", "64MB", "256MB", "1GB"]',
                    "workload.0.arrivals.messages=[1, 2, 4, 8, 16, 32, 64, 128]",
                ),
            ),
        ),
        tables=(
            TableOf(
                name="throughput",
                title="Throughput of a transfer",
                rows=_transfer,
                keys=("scheme", "cache", "QPs"),
                lead="throughput (Gb/s)",
                layout=("QPs", "throughput (Gb/s)"),
            ),
        ),
        not_run={"quick": ("256 MB and 1 GB: full has them",)},
    ),
    Test(
        id="kv-latency",
        draft="inference",
        sections=("KV Cache Transfer Latency", "Latency Sensitivity to Fabric Congestion"),
        measures="latency of transfers under 0 to 90 % of background load",
        parts=(
            Part("idle", "kv-latency", (*NO_LOAD, *FEW), (*NO_LOAD, *MANY)),
            Part("loaded", "kv-latency", FEW, MANY),
        ),
        tables=(
            TableOf(
                name="latency",
                title="Latency of a transfer by background load",
                rows=_beside_load,
                keys=("scheme", "cache", "background (%)"),
                lead="transfer (us)",
                spread=("mean", "p50", "p95", "p99", "max"),
                notes=(
                    "Background: of the hosts' links, between pairs drawn at random, flows of 1 MB. A transfer begins "
                    "every 300 us (quick) or 2 ms (full).",
                ),
                drawn=("background (%)", "transfer (us), mean"),
                headline="transfer (us), p99",
            ),
        ),
        not_run={
            "quick": ("16 MB and 256 MB: full has them",),
            "full": ("256 MB: it takes as long as 10^9 packet-hops of background, and several are needed",),
        },
    ),
    Test(
        id="kv-pairs",
        draft="inference",
        sections=("Concurrent KV Cache Transfer Scaling",),
        measures="1 to 128 pairs that transfer at once: aggregate throughput and fairness",
        parts=tuple(_pairs_part(pairs) for pairs in (1, 2, 4, 8, 16, 32, 64, 128)),
        tables=(
            TableOf(
                name="pairs",
                title="Concurrent transfers",
                rows=_pairs,
                keys=("pairs", "scheme"),
                lead="aggregate (Gb/s)",
                notes=("Prefill workers are on one half of the leaves, decode workers on the other, from 8 pairs on.",),
                drawn=("pairs", "JFI over pairs"),
                headline="JFI over pairs",
            ),
        ),
        not_run={"quick": ("64 and 128 pairs; caches have 4 MB instead of 16 MB",)},
    ),
    Test(
        id="kv-incast",
        draft="inference",
        sections=("ECN Marking Under Inference Incast", "PFC Behavior Under Bursty KV Cache Transfers"),
        measures="2 to 32 prefill workers that send to one decode worker, by ECN threshold",
        parts=(Part("incast", "kv-incast", (), ("workload.0.sizes.size=16MB", "run.seeds=10")),),
        tables=(
            TableOf(
                name="incast",
                title="Incast of caches",
                rows=_incast,
                keys=("prefill workers", "scheme"),
                lead="throughput (Gb/s)",
                notes=("Prefill workers are drawn at random. Paused: of all ports together.",),
                drawn=("prefill workers", "transfer, last (us)"),
            ),
        ),
    ),
    Test(
        id="ttft",
        draft="inference",
        sections=("End-to-End Disaggregated TTFT", "TTFT Under Varying Prompt Lengths"),
        measures="time to the first token by prompt length, split into prefill, transfer and first decode",
        parts=tuple(
            Part(f"tokens-{tokens}", "ttft", _prompt(tokens) if tokens <= MOST_QUICK_TOKENS else None, _prompt(tokens))
            for tokens in PROMPTS
        ),
        tables=(
            TableOf(
                name="ttft",
                title="Time to the first token",
                rows=_first_tokens,
                keys=("prompt (tokens)", "scheme"),
                lead="TTFT (ms)",
                notes=(
                    "Inputs, the example's assumptions: 40,960 B of keys and values a token at each of eight "
                    "accelerators, 35 us of prefill a token, 20 ms for the first token. The cache is sent when its "
                    "prefill is over, not layer by layer.",
                ),
                reference="a goal of the draft is a p99 below 500 ms",
                drawn=("prompt (tokens)", "transfer (ms)"),
                headline="TTFT (ms)",
            ),
        ),
        not_measured=("queueing of requests: each prompt finds its workers idle",),
        not_run={"quick": ("8192 and 16384 tokens: full has them",)},
    ),
    Test(
        id="xpyd",
        draft="inference",
        sections=("xPyD Ratio Optimization",),
        measures="twelve nodes shared out between prefill and decode: prompts a second, TTFT, transfer",
        parts=tuple(_pool(prefill) for prefill in (1, 2, 3, 4, 6, 8, 10, 11)),
        tables=(
            TableOf(
                name="pools",
                title="xPyD pools",
                rows=_pools,
                keys=("pools", "scheme"),
                lead="TTFT (ms)",
                spread=("mean", "p50", "p99", "max"),
                notes=(
                    "TTFT is from the prefill's start. Inputs, the example's assumptions: prompts of 1024 tokens, "
                    "40,960 B a token, 35 us of prefill a token, 20 ms for the first token.",
                ),
                reference="a goal of the draft is a p99 below 500 ms, and 50 ms between tokens",
            ),
        ),
        not_measured=(
            "prompts of Zipf-distributed length: kv-cache has one size for all prompts",
            "time between tokens: no token after the first is simulated",
        ),
    ),
)
