"""Training, test category 4: collective operations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import polars as pl

from packetloom.fabric_bench.balancing import order_row
from packetloom.fabric_bench.cases import Case, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.measures import UPLINKS, algo_factor, mark_share, pauses_per_s, uplink_balance
from packetloom.fabric_bench.tables import byte_text

BUS = "BusBW (Gb/s)"
SUMMARY = "Collective Communication Library Bus Bandwidth Summary"


def operation_rows(case: Case) -> Iterable[Row]:
    """A row for each time that the operation was done, with what the case as a whole measured beside it."""
    jobs = case.frame("jobs", "ranks", "size_bytes", "operation", "algorithm", "jct_ns", "bus_gbps")
    uplinks = case.frame("ports", "tier", "utilisation").filter(pl.col("tier").is_in(UPLINKS))["utilisation"]
    whole: dict[str, Any] = {
        "marks per 100 packets": 100 * mark_share(case),
        "PAUSE/s": pauses_per_s(case),
        "uplinks busy (%)": 100 * float(uplinks.mean()) if len(uplinks) else None,  # type: ignore[arg-type]
    }
    for job in jobs.iter_rows(named=True):
        ranks, size = int(job["ranks"]), int(job["size_bytes"])
        seconds = job["jct_ns"] / 1e9
        least = 8 * size * algo_factor(job["operation"], ranks) / case.host_rate
        yield {
            "balancing": case.scheme,
            "algorithm": job["algorithm"],
            "N": ranks,
            "size": byte_text(size),
            BUS: job["bus_gbps"],
            "of B_acc (%)": 100 * job["bus_gbps"] * 1e9 / case.host_rate,
            "time (us)": seconds * 1e6,
            "time over roofline": seconds / least,
            **whole,
        }


def balance_rows(case: Case) -> Iterable[Row]:
    """How even the uplinks were, and what came out of order: nothing where the operation stays on one leaf."""
    balance = uplink_balance(case.frame("ports", "node", "tier", "tx_bytes"))
    if math.isnan(balance["JFI"]):
        return
    jobs = case.frame("jobs", "ranks", "size_bytes", "bus_gbps")
    yield {
        "size": byte_text(int(jobs["size_bytes"][0])),
        "N": int(jobs["ranks"][0]),
        "balancing": case.scheme,
        **balance,
        **order_row(source_flows(case, 0, "packets_sent", "retransmissions", "reordered")),
        "effective goodput (%)": 100 * float(jobs["bus_gbps"].mean()) * 1e9 / case.host_rate,  # type: ignore[arg-type]
    }


def _block(name: str, leaves: list[int], sizes: list[str], repeat: int, seeds: int) -> tuple[str, tuple[str, ...]]:
    quoted = ", ".join(f'"{size}"' for size in sizes)
    return name, (
        f"topology.leaves={leaves}",
        f"workload.0.arrivals.size=[{quoted}]",
        f"workload.0.arrivals.repeat={repeat}",
        f"run.seeds={seeds}",
    )


FULL = (
    _block("small", [1, 2, 4, 8], ["1MB", "8MB", "64MB"], 20, 5),
    _block("large", [1, 2, 4, 8], ["256MB", "1GB"], 2, 3),
    _block("largest", [1, 2, 4, 8], ["4GB"], 1, 3),
    _block("middle", [16, 32], ["1MB", "8MB", "64MB"], 5, 3),
    _block("middle-large", [16, 32], ["256MB", "1GB"], 1, 3),
    _block("middle-largest", [16, 32], ["4GB"], 1, 1),
    _block("many", [64, 128], ["1MB", "8MB", "64MB", "256MB"], 1, 3),
    _block("many-large", [64, 128], ["1GB"], 1, 1),
    _block("many-largest", [64, 128], ["4GB"], 1, 1),
)
NOT_RUN = {
    "quick": ("N = 64 to 1024 and S of 64 MB and more: minutes of simulation; full has most of them",),
    "full": (
        "100 iterations: 20 at most, and a single one where it takes up to 10^10 packet-hops; the tables say how "
        "many, and how much they varied",
    ),
}


def _beside_roce(frame: pl.DataFrame) -> pl.DataFrame:
    """The drafts' table of UET beside RoCE: a row for each size and N, with the differences in percent."""
    columns = {"NSCC, spraying": "UET RUD (Gb/s)", "NSCC, ROD": "UET ROD (Gb/s)", "DCQCN, ECMP": "RoCE RC (Gb/s)"}
    wide = frame.filter(pl.col("balancing").is_in(list(columns))).pivot(
        on="balancing", index=["size", "N", "algorithm"], values=BUS, maintain_order=True
    )
    wide = wide.rename(columns, strict=False)
    if not {*columns.values()} <= {*wide.columns}:
        return wide
    over = [
        (100 * (pl.col(f"UET {service} (Gb/s)") / pl.col("RoCE RC (Gb/s)") - 1)).alias(f"{service} over RoCE (%)")
        for service in ("RUD", "ROD")
    ]
    return wide.with_columns(over)


def _collective(operation: str, section: str, more: tuple[Part, ...] = (), beside: tuple[TableOf, ...] = ()) -> Test:
    return Test(
        id=operation,
        draft="training",
        sections=(section, "UET Collective Communication Performance", SUMMARY),
        measures=f"bus bandwidth and time of an {operation} by size, N and load balancing",
        parts=(
            Part("quick", operation, (), None),
            *(Part(name, operation, None, settings) for name, settings in FULL),
            *more,
        ),
        tables=(
            TableOf(
                name="busbw",
                title=f"Bus bandwidth of the {operation}",
                rows=operation_rows,
                keys=("size", "N", "algorithm", "balancing"),
                lead=BUS,
                parts=("quick", *(name for name, _ in FULL)),
                spread=("mean", "p50", "p95", "p99", "min"),
                notes=(
                    "Percentiles are of the bandwidth itself, so the slowest iteration is the least. A repetition "
                    "begins at a rank as soon as that rank is done with the last one. Each message is a flow of its "
                    "own to ECMP's hash, so a ring's paths change from step to step.",
                ),
                reference="at least 90 % of the NIC's rate within a pod",
                drawn=("N", f"{BUS}, mean"),
                headline=f"{BUS}, mean",
            ),
            TableOf(
                name="uet",
                title="Bus bandwidth over UET and over RoCE",
                rows=operation_rows,
                keys=("size", "N", "algorithm", "balancing"),
                lead=BUS,
                parts=("quick", *(name for name, _ in FULL)),
                finish=_beside_roce,
                notes=(
                    "Under NSCC, UET RUD sprays and ROD keeps a message to one path; so does RoCE RC, under DCQCN with "
                    "PFC.",
                ),
            ),
            TableOf(
                name="balance",
                title="Load balancing under the operation",
                rows=balance_rows,
                keys=("size", "N", "balancing"),
                lead="effective goodput (%)",
                parts=("quick", *(name for name, _ in FULL)),
                notes=(
                    "MMR and JFI are over the uplinks of each leaf, the mean over leaves and the whole run, in which "
                    "collisions of single messages average out. One leaf has none in use. Effective goodput: "
                    "the mean bus bandwidth over B_acc.",
                ),
            ),
            *beside,
        ),
        not_run=NOT_RUN,  # type: ignore[arg-type]
    )


RAILS = Part(
    "rails",
    "all-reduce-rails",
    (),
    (
        "topology.servers=[16, 32]",
        "topology.servers_per_rail_switch=8",
        'workload.0.arrivals.size=["8MB", "64MB", "256MB"]',
        "run.seeds=3",
    ),
)

TESTS = (
    _collective(
        "all-reduce",
        "AllReduce Benchmark",
        (RAILS,),
        (
            TableOf(
                name="rails",
                title="The all-reduce on rails, flat and hierarchical",
                rows=operation_rows,
                keys=("size", "N", "algorithm", "balancing"),
                lead=BUS,
                parts=("rails",),
                spread=("mean", "p50", "p95", "p99", "min"),
                notes=(
                    "Eight accelerators a server. The hierarchical one's bus bandwidth can exceed the NIC's rate: most "
                    "of its bytes stay inside servers (see S_fabric). The ring leaves each server by one NIC.",
                ),
            ),
        ),
    ),
    _collective("all-to-all", "AlltoAll Benchmark"),
    _collective("all-gather", "AllGather Benchmark"),
)
