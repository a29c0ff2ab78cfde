"""Training, test categories 5 and 6: job completion time, several tenants, scale, failures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.fabric_bench.cases import Case, seconds_of, size_of
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.collectives import BUS, operation_rows
from packetloom.fabric_bench.measures import algo_factor, mark_share, pauses_per_s
from packetloom.fabric_bench.tables import byte_text
from packetloom.stats.interference import factor, job_alone_ns, job_span_ns

STRETCH = 64
"""By how much quick makes the synthetic job smaller, computing and sending alike."""


def job_iterations(case: Case, source: int = 0) -> pl.DataFrame:
    """The repetitions of one job."""
    return case.frame("iterations").filter(pl.col("source") == source)


def job_time_s(iterations: pl.DataFrame) -> float:
    """The drafts' measured JCT: from the first iteration's start to the last one's end."""
    return job_span_ns(iterations) / 1e9


def jct_ratio(jct_s: float, iterations: int, compute_s: float, size: float, factor: float, rate: float) -> float:
    """Measured JCT over the roofline, iterations · (C + 8·S·f / B_acc)."""
    return jct_s / (iterations * (compute_s + 8 * size * factor / rate))


def overlap(jct_s: float, iterations: int, compute_s: float, size: float, factor: float, rate: float) -> float:
    """1 - (JCT - iterations · C) / (iterations · 8·S·f / B_acc)."""
    return 1 - (jct_s - iterations * compute_s) / (iterations * 8 * size * factor / rate)


def _synthetic(case: Case) -> Iterable[Row]:
    iterations = job_iterations(case)
    arrivals = case.arrivals()
    ranks, compute, size = int(arrivals["data"]), seconds_of(arrivals["forward"]), size_of(arrivals["gradients"])
    factor = algo_factor("all-reduce", ranks)
    numbers = (job_time_s(iterations), iterations.height, compute, size, factor, case.host_rate)
    yield {
        "N": ranks,
        "C (ms)": compute * 1e3,
        "S": byte_text(size),
        "balancing": case.scheme,
        "JCT ratio": jct_ratio(*numbers),
        "JCT (ms)": numbers[0] * 1e3,
        "roofline (ms)": numbers[0] * 1e3 / jct_ratio(*numbers),
        "overlap": overlap(*numbers),
        "iterations": iterations.height,
        "marks per 100 packets": 100 * mark_share(case),
        "PAUSE/s": pauses_per_s(case),
    }


def _tenants(case: Case) -> Iterable[Row]:
    """The first job's JCT beside the second over its JCT alone."""
    own = job_iterations(case)
    yield {
        "overlap (%)": int(case.part.rpartition("-")[2]),
        "balancing": case.scheme,
        "interference factor": factor(own),
        "JCT (us)": job_span_ns(own) / 1e3,
        "JCT alone (us)": job_alone_ns(own) / 1e3,
        "marks per 100 packets": 100 * mark_share(case),
        "PAUSE/s": pauses_per_s(case),
    }


LEAF_PORTS = 8
JOB_LEAVES = 4
JOB_PORTS = 4


def placed(first_leaf: int, first_port: int) -> list[int]:
    """A job's hosts: so many ports of so many leaves that follow each other."""
    return [
        (first_leaf + leaf) * LEAF_PORTS + first_port + port for leaf in range(JOB_LEAVES) for port in range(JOB_PORTS)
    ]


def _shared(leaves: int) -> Part:
    """The second job begins on the first job's last leaves, so many of them."""
    second = placed(JOB_LEAVES - leaves, JOB_PORTS)
    settings = (f"workload.1.arrivals.placement={second}",)
    return Part(f"overlap-{25 * leaves}", "multi-tenant", settings, (*settings, *TENANTS_FULL))


TENANTS_FULL = ("workload.0.arrivals.size=64MB", "workload.1.arrivals.size=64MB", "run.seeds=10")


def _fault_s(case: Case) -> float:
    return min(seconds_of(fault["at"]) for fault in case.spec["faults"])


def _failure(case: Case) -> Iterable[Row]:
    """The iteration that the failure hits, beside those that were over before it."""
    failed = _fault_s(case) * 1e9
    iterations = job_iterations(case).filter(pl.col("jct_ns").is_not_nan())
    ends = pl.col("start_ns") + pl.col("jct_ns")
    before = iterations.filter(ends <= failed)["jct_ns"]
    hit = iterations.filter((pl.col("start_ns") <= failed) & (ends > failed))["jct_ns"]
    after = iterations.filter(pl.col("start_ns") > failed)["jct_ns"]
    yield {
        "fails": FAILURES.get(case.part, case.part),
        "balancing": case.scheme,
        "steady JCT (us)": _us(before.mean()),
        "steady p99 (us)": _us(p99(before) if before.len() else None),
        "steady iterations": before.len(),
        "JCT of the iteration hit (us)": _us(hit.max()),
        "JCT afterwards (us)": _us(after.mean()),
        "packets lost": case.counter("lost"),
        "sent again": case.counter("retransmissions"),
        "timeouts": case.counter("timeouts"),
        "redistributed after (us)": redistributed_us(case),
        "finished": "yes" if iterations.height == case.arrivals()["repeat"] else "no",
    }


def _us(nanoseconds: Any) -> float | None:
    return None if nanoseconds is None else float(nanoseconds) / 1e3


RECOVERED = 0.9
MEAN_SAMPLES = 5


def redistributed_us(case: Case) -> float | None:
    """From the failure until what hosts receive is back at nine tenths of what it was, as a mean of a few samples."""
    failed = _fault_s(case) * 1e9
    to_hosts = case.frame("ports", "port", "tier").filter(pl.col("tier").str.ends_with("to host"))
    series = case.frame("series", "port", "time_ns", "tx_bytes")
    if series.is_empty() or case.simulated_s * 1e9 <= failed:
        return None
    received = (
        series.filter(pl.col("port").is_in(to_hosts["port"].implode()))
        .group_by("time_ns")
        .agg(pl.col("tx_bytes").sum())
        .sort("time_ns")
        .with_columns(
            pl.col("tx_bytes").cast(pl.Float64).rolling_mean(MEAN_SAMPLES).shift(1 - MEAN_SAMPLES).alias("mean")
        )
        .drop_nulls()
    )
    steady = received.filter(pl.col("time_ns") < failed)["mean"].mean()
    later = received.filter(pl.col("time_ns") >= failed)
    low = later.filter(pl.col("mean") < RECOVERED * float(steady or 0.0))  # type: ignore[arg-type]
    if low.is_empty():
        return 0.0
    dip = float(low["time_ns"][0])
    back = later.filter((pl.col("time_ns") > dip) & (pl.col("mean") >= RECOVERED * float(steady or 0.0)))  # type: ignore[arg-type]
    return None if back.is_empty() else (float(back["time_ns"][0]) - failed) / 1e3


def _zero_impact(frame: pl.DataFrame) -> pl.DataFrame:
    """The draft's verdict: the iteration hit is within the steady iterations' p99; none where none was hit."""
    within = pl.col("JCT of the iteration hit (us)") <= pl.col("steady p99 (us)")
    was_hit = pl.col("JCT of the iteration hit (us)").is_not_null() | (pl.col("finished") == "no")
    verdict = pl.when(within).then(pl.lit("yes")).when(was_hit).then(pl.lit("no")).alias("zero impact")
    overhead = pl.col("JCT of the iteration hit (us)") / pl.col("steady JCT (us)")
    first = ["fails", "balancing", "zero impact", "hit over steady"]
    frame = frame.with_columns(overhead.alias("hit over steady"), verdict)
    return frame.select(*first, pl.exclude(first))


FAILURES = {
    "spine-uplink": "link spine to superspine",
    "leaf-uplink": "link leaf to spine",
    "spine": "a spine",
    "superspine": "a superspine",
}


def _failing(name: str, fault: str) -> Part:
    quick = (f"fault=[{fault}]",)
    at = '"8ms"'
    return Part(name, "link-failure", quick, (f"fault=[{fault.replace(QUICK_FAILURE, at)}]", *FAILURE_FULL))


QUICK_FAILURE = '"1.5ms"'
FAILURE_FULL = (
    "topology.pods=4",
    "topology.leaves=4",
    "topology.hosts_per_leaf=8",
    "workload.0.arrivals.size=16MB",
    "workload.0.arrivals.repeat=16",
    "run.seeds=5",
    "measure.series_interval=50us",
)
AFTER = f'at = {QUICK_FAILURE}, learn_after = "100us"'

TESTS = (
    Test(
        id="synthetic-jct",
        draft="training",
        sections=("Synthetic JCT Under Controlled Conditions",),
        measures="JCT over its roofline, of iterations that compute for C and reduce S bytes among N accelerators",
        parts=(
            *(
                Part(
                    f"n-{ranks}",
                    "synthetic-jct",
                    (f"topology.leaves={leaves}", f"workload.0.arrivals.data={ranks}"),
                    None,
                )
                for ranks, leaves in ((8, 1), (16, 2), (32, 4))
            ),
            *(
                Part(
                    f"n-{ranks}",
                    "synthetic-jct",
                    None,
                    (
                        f"topology.leaves={ranks // 8}",
                        f"workload.0.arrivals.data={ranks}",
                        'workload.0.arrivals.forward=["10ms", "50ms", "100ms", "500ms"]',
                        "workload.0.arrivals.gradients=256MB",
                        "workload.0.arrivals.repeat=2",
                    ),
                )
                for ranks in (64, 128, 256)
            ),
        ),
        tables=(
            TableOf(
                name="jct",
                title="JCT ratio",
                rows=_synthetic,
                keys=("N", "C (ms)", "S", "balancing"),
                lead="JCT ratio",
                notes=(
                    "Roofline: iterations · (C + 8·S·f/B_acc), f = 2(N-1)/N. Computing and sending do not overlap in "
                    "this test. quick has a 64th of the draft's C and S, so that their shares are the draft's.",
                ),
                reference="at most 1.05 is called excellent, above 1.15 significant overhead",
                drawn=("N", "JCT ratio"),
                headline="JCT ratio",
            ),
        ),
        not_run={
            "quick": ("N = 64 to 1024: full has 64 to 256",),
            "full": (
                "S = 1 GB and 4 GB, and N = 512 and 1024: up to 10^10 packet-hops an iteration of a cell, of which "
                "each seed needs several",
                "1000 iterations: 2 for each seed, and seeds until the ratio is known within 1 %, 20 at most",
            ),
        },
        most_seeds=20,
    ),
    Test(
        id="multi-tenant",
        draft="training",
        sections=("Multi-Tenant JCT Interference",),
        measures="JCT beside another job over JCT alone, as the jobs share 0 to 75 % of their leaves' uplinks",
        parts=tuple(_shared(leaves) for leaves in range(4)),
        tables=(
            TableOf(
                name="interference",
                title="Interference factor",
                rows=_tenants,
                keys=("overlap (%)", "balancing"),
                lead="interference factor",
                notes=(
                    "Overlap: of each job's leaves, those on which the other has hosts, too. Both jobs use all spines; "
                    "links are shared where leaves are.",
                ),
                drawn=("overlap (%)", "interference factor"),
                headline="interference factor",
            ),
        ),
    ),
    Test(
        id="fabric-scale",
        draft="training",
        sections=("Fabric Scale Limits",),
        measures="an all-reduce as N grows: time over its roofline, bus bandwidth, marks, pauses",
        parts=(
            Part("quick", "fabric-scale", (), None),
            Part(
                "full",
                "fabric-scale",
                None,
                (
                    "topology.leaves=[8, 16, 32, 64, 128]",
                    "workload.0.arrivals.size=1GB",
                    "workload.0.arrivals.repeat=1",
                    "run.seeds=2",
                ),
            ),
        ),
        tables=(
            TableOf(
                name="scale",
                title="The all-reduce as the fabric grows",
                rows=operation_rows,
                keys=("N", "size", "balancing"),
                lead=BUS,
                drawn=("N", "time over roofline"),
                headline="time over roofline",
            ),
        ),
        not_run={"quick": ("N = 128 to 1024 and 1 GB: quick has 4 MB up to N = 64",)},
        not_measured=("convergence of routing protocols after clearing them: switches have tables, not protocols",),
    ),
    Test(
        id="link-failure",
        draft="training",
        sections=("Link Failure Convergence", "Zero-Impact Failover Measurement"),
        measures="an all-reduce in which something fails: JCT of that iteration, packets lost, time to redistribute",
        parts=(
            _failing("spine-uplink", f'{{ kind = "link-down", between = ["aggregation0", "core0"], {AFTER} }}'),
            _failing("leaf-uplink", f'{{ kind = "link-down", between = ["leaf0", "aggregation0"], {AFTER} }}'),
            _failing("spine", f'{{ kind = "switch-down", node = "aggregation0", {AFTER} }}'),
            _failing("superspine", f'{{ kind = "switch-down", node = "core0", {AFTER} }}'),
        ),
        tables=(
            TableOf(
                name="failure",
                title="Failures in mid-collective",
                rows=_failure,
                keys=("fails", "balancing"),
                lead="JCT of the iteration hit (us)",
                finish=_zero_impact,
                headline="hit over steady",
                notes=(
                    "Steady: iterations that were over before the failure. Zero impact: the iteration hit is within "
                    "the steady p99; a dash where the job was over before the failure. Switches send into what is dead "
                    "until they learn of it, 100 us later (an assumption). Redistributed: until hosts receive nine "
                    "tenths of what they did before, as a mean of five samples.",
                ),
            ),
        ),
        not_measured=("for how long packets were lost: losses are counted, without their times",),
        not_run={"full": ("S = 1 GB: 16 MB, so that there are steady iterations to compare with",)},
    ),
)
