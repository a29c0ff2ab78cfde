"""Training, test category 3: how evenly load balancing fills parallel links."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from packetloom.fabric_bench.cases import Case, message_size, size_of, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.measures import throughput_gbps, uplink_balance

FLOW_COLUMNS = ("size_bytes", "start_ns", "fct_ns", "packets_sent", "retransmissions", "reordered")


def order_row(flows: pl.DataFrame) -> dict[str, float]:
    """Packets out of order and sent again, of those sent."""
    sent = float(flows["packets_sent"].sum())
    return {
        "out of order (%)": 100 * float(flows["reordered"].sum()) / sent,
        "sent again (%)": 100 * float(flows["retransmissions"].sum()) / sent,
    }


def _utilisation(ports: pl.DataFrame) -> dict[str, float]:
    uplinks = ports.filter(pl.col("tier") == "leaf to spine")["utilisation"]
    return {
        "uplinks busy, mean (%)": 100 * float(uplinks.mean()),  # type: ignore[arg-type]
        "busiest (%)": 100 * float(uplinks.max()),  # type: ignore[arg-type]
    }


def _polarisation(case: Case) -> Iterable[Row]:
    ports = case.frame("ports", "node", "tier", "tx_bytes", "utilisation")
    rounds, size = case.arrivals()["rounds"], message_size(case)
    seen = not case.part.startswith("without")
    pairs = rounds if seen else int(size / BASE_BYTES[case.part])
    transport = case.transport
    packets = -(-size // size_of(transport["mss"]))
    flow_bytes = size + packets * size_of(transport["header"])
    yield {
        "hash": "sees the queue pair" if seen else "does not",
        "leaves": case.topology["leaves"],
        "QPs": pairs,
        **uplink_balance(ports, flow_bytes),
        **_utilisation(ports),
        "goodput (Gb/s a host)": throughput_gbps(source_flows(case, 0, *FLOW_COLUMNS[:3])) / hosts(case),
    }


def hosts(case: Case) -> int:
    """Hosts of a leaf-spine network."""
    return int(case.topology["leaves"] * case.topology["hosts_per_leaf"])


def _balanced(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, *FLOW_COLUMNS)
    ports = case.frame("ports", "node", "tier", "tx_bytes", "utilisation")
    gap = case.routing.get("flowlet_gap")
    yield {
        "balancing": case.scheme,
        "gap (us)": gap["ps"] / 1e6 if gap else None,
        **uplink_balance(ports),
        **order_row(flows),
        **_utilisation(ports),
        "goodput (Gb/s a host)": throughput_gbps(flows) / hosts(case),
        "unfinished": case.counter("flows_started") - case.counter("flows_finished"),
    }


QPS = (1, 4, 8, 16, 32)
BASE_BYTES = {"without": 256_000} | {f"without-{leaves}": 1_000_000 for leaves in (16, 32, 64)}


def _without(base: int) -> str:
    sizes = ", ".join(f'"{base * count}B"' for count in QPS)
    return f"workload.0.sizes.size=[{sizes}]"


def _more_leaves(leaves: int) -> tuple[Part, Part]:
    """The draft's larger fabrics: more leaves under the same spines."""
    size = ("workload.0.sizes.size=1MB", f"topology.leaves={leaves}", "run.seeds=5")
    without = (_without(1_000_000), "workload.0.arrivals.rounds=1", f"topology.leaves={leaves}", "run.seeds=5")
    name = f"leaves-{leaves}"
    seen = Part(name, "ecmp-polarisation", None, size)
    return seen, Part(f"without-{leaves}", "ecmp-polarisation", None, without)


TESTS = (
    Test(
        id="ecmp-polarisation",
        draft="training",
        sections=("ECMP Entropy and Polarization", "Jain Fairness Index Measurement"),
        measures="how unevenly ECMP fills uplinks by queue pairs of a pair, with and without these in the hash",
        parts=(
            Part("leaves-8", "ecmp-polarisation", (), ("run.seeds=20",)),
            Part(
                "without",
                "ecmp-polarisation",
                (_without(256_000), "workload.0.arrivals.rounds=1"),
                (_without(256_000), "workload.0.arrivals.rounds=1", "run.seeds=20"),
            ),
            *(part for leaves in (16, 32, 64) for part in _more_leaves(leaves)),
        ),
        tables=(
            TableOf(
                name="polarisation",
                title="ECMP entropy and polarisation",
                rows=_polarisation,
                keys=("leaves", "hash", "QPs"),
                lead="MMR of flows",
                notes=(
                    "MMR and JFI are over the uplinks of each leaf, the mean over leaves. Flows are counted by an "
                    "uplink's bytes, as all have the same size. Queue pairs that the hash does not see are one flow as "
                    "large as all of them; each is counted once.",
                ),
                drawn=("QPs", "MMR of flows"),
            ),
        ),
        not_run={"quick": ("16, 32 and 64 leaves: 128 to 512 hosts; full has them",)},
    ),
    Test(
        id="flowlets",
        draft="training",
        sections=("Dynamic Load Balancing (Flowlet)",),
        measures="balance, order and goodput by the gap that ends a flowlet, beside ECMP; four queue pairs a pair",
        parts=(Part("gaps", "flowlets", (), ("run.seeds=10", "workload.0.sizes.size=16MB")),),
        tables=(
            TableOf(
                name="flowlets",
                title="Flowlets by gap",
                rows=_balanced,
                keys=("balancing", "gap (us)"),
                lead="goodput (Gb/s a host)",
                notes=("MMR and JFI are over the uplinks of each leaf, the mean over leaves.",),
                drawn=("gap (us)", "goodput (Gb/s a host)"),
            ),
        ),
    ),
    Test(
        id="spraying",
        draft="training",
        sections=("Packet Spraying",),
        measures="balance, order, retransmissions and goodput of spraying, by what the transport makes of disorder",
        parts=(Part("sprays", "spraying", (), ("run.seeds=10", "workload.0.sizes.size=16MB")),),
        tables=(
            TableOf(
                name="spraying",
                title="Packet spraying",
                rows=_balanced,
                keys=("balancing", "gap (us)"),
                lead="goodput (Gb/s a host)",
                notes=("MMR and JFI are over the uplinks of each leaf, the mean over leaves.",),
                reference="MMR and JFI near 1",
            ),
        ),
    ),
)
