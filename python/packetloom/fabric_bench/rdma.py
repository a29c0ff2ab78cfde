"""Training, test category 1: what RDMA gets out of the fabric without collectives."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from packetloom.fabric_bench.cases import Case, message_size, size_of, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.measures import throughput_gbps
from packetloom.fabric_bench.tables import byte_text

PROBE_SPREAD = ("min", "mean", "p50", "p95", "p99", "p99.9", "max")


def way(case: Case) -> str:
    """Whether traffic goes one way or both."""
    return "one way" if case.workload()["pattern"]["kind"] == "pair" else "both ways"


def _throughput(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns")
    ways = 1 if way(case) == "one way" else 2
    rate = throughput_gbps(flows)
    yield {
        "direction": way(case),
        "message": byte_text(message_size(case)),
        "QPs": case.arrivals()["concurrent"],
        "throughput (Gb/s)": rate,
        "efficiency (%)": 100 * rate * 1e9 / (ways * case.host_rate),
        "messages": flows.height,
    }


def _latency(case: Case) -> Iterable[Row]:
    fabric = "idle" if len(case.spec["workloads"]) == 1 else "loaded"
    flows = source_flows(case, 0, "fct_ns", "sender_fct_ns")
    for one_way, round_trip in flows.select("fct_ns", "sender_fct_ns").iter_rows():
        yield {
            "scheme": case.scheme,
            "fabric": fabric,
            "latency (us)": one_way / 1e3,
            "round trip, mean (us)": round_trip / 1e3,
        }


def _increase(frame: pl.DataFrame) -> pl.DataFrame:
    """The latency increase factor: a statistic on the loaded fabric over the same on the idle one."""
    column = "latency (us), mean"
    idle = frame.filter(pl.col("fabric") == "idle").select("scheme", pl.col(column).alias("idle"))
    ratio = (pl.col(column) / pl.col("idle")).alias("mean over idle mean")
    return frame.join(idle, on="scheme", how="left", maintain_order="left").with_columns(ratio).drop("idle")


def _burst(case: Case) -> Iterable[Row]:
    transport = case.transport
    size, fan_in = message_size(case), case.workload()["pattern"]["fan_in"]
    yield {
        "senders": fan_in,
        "burst of each (B)": size,
        "bytes": fan_in * size,
        "frames": fan_in * -(-size // size_of(transport["mss"])),
        "drops": case.counter("drops"),
    }


def _absorbed(frame: pl.DataFrame) -> pl.DataFrame:
    """For each number of senders the longest burst before the first one that lost something, and that one."""
    lines = []
    for _, bursts in frame.group_by("senders", maintain_order=True):
        bursts = bursts.sort("burst of each (B)")
        lossy = bursts["drops"].gt(0).arg_true()
        first = int(lossy[0]) if len(lossy) else bursts.height
        most = bursts.row(first - 1, named=True) if first else None
        lines.append(
            {
                "senders": bursts["senders"][0],
                "absorbed (MB)": most["bytes"] / 1e6 if most else None,
                "frames": int(most["frames"]) if most else None,
                "each sender's burst (MB)": most["burst of each (B)"] / 1e6 if most else None,
                "first loss at (MB)": bursts["bytes"][first] / 1e6 if first < bursts.height else None,
                "runs": bursts["runs"][0],
            }
        )
    return pl.DataFrame(lines)


TESTS = (
    Test(
        id="rdma-throughput",
        draft="training",
        sections=("Baseline Throughput",),
        measures="goodput of RDMA writes by size of message and queue pairs, one way and both ways",
        parts=(Part("writes", "rdma-throughput", (), ("run.duration=2ms",)),),
        tables=(
            TableOf(
                name="throughput",
                title="Throughput",
                rows=_throughput,
                keys=("direction", "message", "QPs"),
                lead="throughput (Gb/s)",
                layout=("QPs", "throughput (Gb/s)"),
                notes=(
                    "Both ways: the sum of both. A queue pair has one message outstanding, and hosts take no time of "
                    "their own for a message.",
                ),
                drawn=("message", "throughput (Gb/s)"),
            ),
            TableOf(
                name="efficiency",
                title="Efficiency: goodput over the link's rate",
                rows=_throughput,
                keys=("direction", "message", "QPs"),
                lead="efficiency (%)",
                layout=("QPs", "efficiency (%)"),
                reference="as a rule 90 % of the NIC's rate and more within a pod",
            ),
        ),
        not_measured=("the draft's 60 s at each rate: the simulated time is 100 us (quick) or 2 ms (full)",),
    ),
    Test(
        id="latency",
        draft="training",
        sections=("Latency Characterization",),
        measures="one-way latency of 64 B messages on an idle fabric and on a full one, and to the acknowledgement",
        parts=(
            Part("idle", "latency-idle", (), ("run.flows=10000", "run.seeds=20")),
            Part("loaded", "latency-loaded", (), ("run.flows=10000", "run.seeds=20")),
        ),
        tables=(
            TableOf(
                name="latency",
                title="One-way latency",
                rows=_latency,
                keys=("scheme", "fabric"),
                lead="latency (us)",
                spread=PROBE_SPREAD,
                headline="latency (us), p99.9",
                finish=_increase,
                notes=(
                    "From the message's start to its last byte at the receiver; round trip: to its acknowledgement at "
                    "the sender. The samples of all runs are pooled. "
                    "The draft wants 10,000 samples a run and 20 runs, which is what full does.",
                ),
            ),
        ),
    ),
    Test(
        id="burst-absorption",
        draft="training",
        sections=("Back-to-Back Burst Absorption",),
        measures="the longest burst at line rate from 2 to 32 senders to one receiver that loses nothing",
        parts=(Part("bursts", "burst-absorption"),),
        tables=(
            TableOf(
                name="bursts",
                title="Bursts absorbed",
                rows=_burst,
                keys=("senders", "burst of each (B)"),
                lead="drops",
                finish=_absorbed,
                notes=(
                    "All senders' bursts together, into a shared buffer of 32 MiB with a dynamic threshold of 1/8 for "
                    "each link that packets come by. Bursts grow by a fourth of an octave. Nothing in the case is "
                    "random, so one run says as much as the draft's 50.",
                ),
                drawn=("senders", "absorbed (MB)"),
            ),
        ),
    ),
)
