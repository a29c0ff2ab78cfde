"""Training, test category 1A: Ultra Ethernet's transport beside RoCE."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.fabric_bench.balancing import order_row
from packetloom.fabric_bench.cases import Case, message_size, size_of, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.congestion import convergence_rows, incast_rows, shared_part
from packetloom.fabric_bench.measures import throughput_gbps, uplink_balance
from packetloom.fabric_bench.rdma import way
from packetloom.fabric_bench.tables import byte_text


def _service(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns")
    ways = 1 if way(case) == "one way" else 2
    whole = flows.filter(pl.col("fct_ns").is_finite())
    rate = throughput_gbps(whole)
    row = {"service": case.scheme, "contexts": case.arrivals()["concurrent"], "direction": way(case)}
    size = message_size(case)
    if size <= size_of(case.transport["mss"]):
        return
    yield row | {
        "message": byte_text(size),
        "throughput (Gb/s)": rate,
        "efficiency (%)": 100 * rate * 1e9 / (ways * case.host_rate),
        "messages lost": flows.height - whole.height,
    }


def _first_packet(case: Case) -> Iterable[Row]:
    if message_size(case) > size_of(case.transport["mss"]) or way(case) != "one way":
        return
    flows = source_flows(case, 0, "start_ns", "fct_ns")
    first = flows.filter(pl.col("start_ns") == flows["start_ns"].min())
    yield {
        "service": case.scheme,
        "contexts": case.arrivals()["concurrent"],
        "first packet, first (us)": first["fct_ns"].min() / 1e3,  # type: ignore[operator]
        "first packet, last (us)": first["fct_ns"].max() / 1e3,  # type: ignore[operator]
    }


def _spray(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns", "packets_sent", "retransmissions", "reordered")
    paths = case.topology["spines"]
    yield {
        "configuration": case.scheme,
        "paths": paths,
        **uplink_balance(case.frame("ports", "node", "tier", "tx_bytes").filter(pl.col("node") == "leaf0")),
        **order_row(flows),
        "goodput (%)": 100 * throughput_gbps(flows) * 1e9 / (case.topology["hosts_per_leaf"] * case.host_rate),
    }


def _trimming(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns", "packets_sent", "retransmissions")
    mss, header = size_of(case.transport["mss"]), size_of(case.transport["header"])
    yield {
        "queue": case.scheme,
        "completion (us)": flows["fct_ns"].max() / 1e3,  # type: ignore[operator]
        "goodput (% of the uplinks)": 100
        * throughput_gbps(flows)
        * 1e9
        / (case.topology["spines"] * case.topology["link"]["rate"]["bps"]),
        "trimmed": case.counter("trims"),
        "not sent further (MB)": case.counter("trims") * mss / 1e6,
        "dropped": case.counter("drops"),
        "dropped (MB)": case.counter("drops") * (mss + header) / 1e6,
        "sent again": flows["retransmissions"].sum(),
        "timeouts": case.counter("timeouts"),
    }


def _retry(case: Case) -> Iterable[Row]:
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns", "retransmissions")
    times = flows["fct_ns"]
    faults = case.spec["faults"]
    yield {
        "scheme": case.scheme,
        "damaged": faults[0]["probability"],
        "link retry": "LLR" if case.topology["link_retry"]["kind"] == "llr" else "none",
        "completion, mean (us)": times.mean() / 1e3,  # type: ignore[operator]
        "completion, p99 (us)": p99(times) / 1e3,
        "completion, max (us)": times.max() / 1e3,  # type: ignore[operator]
        "sent again by links": case.counter("replays"),
        "lost": case.counter("corrupted"),
        "sent again by hosts": flows["retransmissions"].sum(),
        "timeouts": case.counter("timeouts"),
    }


def _innocent(case: Case) -> Iterable[Row]:
    innocent = source_flows(case, 1, "size_bytes", "start_ns", "fct_ns", "goodput_gbps")
    pauses = case.frame("pauses")
    incast = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns")
    at_hosts = pauses
    if not pauses.is_empty():
        ports = case.frame("ports", "port", "node").filter(pl.col("node").is_in([f"host{k}" for k in range(32, 36)]))
        at_hosts = pauses.filter(pl.col("port").is_in(ports["port"].implode()))
    by_credit = case.spec["scheme"]["queue"]["kind"] == "cbfc"
    blocked = 0.0 if at_hosts.is_empty() else float((at_hosts["until_ns"] - at_hosts["from_ns"]).sum()) / 4e3
    yield {
        "scheme": case.scheme,
        "innocent flow (Gb/s)": innocent["goodput_gbps"].mean(),
        "of its link (%)": 100 * innocent["goodput_gbps"].mean() * 1e9 / case.host_rate,  # type: ignore[operator]
        "its NIC paused (us)": None if by_credit else blocked,
        "hops a pause travelled": 0 if pauses.is_empty() else int(pauses["passed_on"].max()) + 1,  # type: ignore[arg-type]
        "pauses": pauses.height,
        "incast (Gb/s)": throughput_gbps(incast),
        "drops": case.counter("drops"),
        "trims": case.counter("trims"),
    }


def _paths(spines: int) -> Part:
    settings = (
        f"topology.spines={spines}",
        f"topology.hosts_per_leaf={spines}",
        f"workload.0.arrivals.prefill={spines}",
        f"workload.0.arrivals.decode={spines}",
    )
    full = (*settings, "run.seeds=10", "workload.0.arrivals.size=64MB")
    return Part(f"paths-{spines}", "uet-spray", settings, full)


TESTS = (
    Test(
        id="uet-services",
        draft="training",
        sections=("UET Throughput by Transport Service", "UET Latency Characterization"),
        measures="throughput with 1 to 32 contexts, and the first packet's latency: UET's services, RoCE's RC and UC",
        parts=(Part("services", "uet-services", (), ("run.duration=2ms",)),),
        tables=(
            TableOf(
                name="throughput",
                title="Throughput by service",
                rows=_service,
                keys=("direction", "message", "contexts", "service"),
                lead="throughput (Gb/s)",
                layout=("service", "throughput (Gb/s)"),
                notes=(
                    "Of messages that were received whole. Congestion control governs neither RUDI nor UUD: their "
                    "packets leave at the rate of the link. A context of UUD or UC has its next message when one has "
                    "left.",
                ),
            ),
            TableOf(
                name="first-packet",
                title="First packets' latency",
                rows=_first_packet,
                keys=("contexts", "service"),
                lead="first packet, first (us)",
                notes=(
                    "A message of one full packet for each context, all at once: of the first and of the last of these "
                    "packets. Contexts and queue pairs are open, so neither waits for a handshake.",
                ),
            ),
        ),
        not_measured=(
            "setting up contexts and queue pairs, and how many there can be: UET's are open from the start, RoCE's are "
            "in this test",
        ),
    ),
    Test(
        id="uet-spray",
        draft="training",
        sections=("Packet Spray Efficacy Under UET RUD",),
        measures="balance over 4 to 32 paths, order, packets sent again, and goodput, by transport and balancing",
        parts=tuple(_paths(spines) for spines in (4, 8, 16, 32)),
        tables=(
            TableOf(
                name="spray",
                title="Packet spray efficacy",
                rows=_spray,
                keys=("paths", "configuration"),
                lead="goodput (%)",
                notes=(
                    "Goodput: of the rate of all senders' links, until the last flow has ended. MMR and JFI are over "
                    "the uplinks of the leaf that sends. Out of order and sent again: of the data packets sent. A host "
                    "keeps a flow of ROD to one path, so it is switches that spray it.",
                ),
                drawn=("paths", "goodput (%)"),
            ),
        ),
    ),
    Test(
        id="uet-congestion",
        draft="training",
        sections=("UET Congestion Control Benchmarks",),
        measures="incast without PFC: throughput, queue, loss, time until fair after senders double; beside DCQCN",
        parts=tuple(
            shared_part("uet-congestion", senders, start="1ms", quick=quick, full="12ms" if senders < 32 else "40ms")
            for senders, quick in ((2, "4ms"), (4, "4ms"), (8, "4ms"), (16, "4ms"), (32, "6ms"), (64, None))
        ),
        tables=(
            TableOf(
                name="incast",
                title="Incast, before and after senders double",
                rows=incast_rows,
                keys=("senders", "scheme"),
                lead="throughput (Gb/s)",
                notes=("Senders: before they double. Loss: dropped packets; trimmed ones are reported beside it.",),
            ),
            TableOf(
                name="convergence",
                title="Time until all flows are within a tenth of their fair share",
                rows=convergence_rows,
                keys=("senders", "scheme"),
                lead="JFI at the end",
                notes=(
                    "Rates are means over a window in which a fair flow sends 100 packets. A dash: not within the time "
                    "that was simulated after senders doubled.",
                ),
            ),
        ),
        not_measured=("use of the receivers' credit: no table has it",),
    ),
    Test(
        id="link-layer",
        draft="training",
        sections=("Link Layer Enhancement Benchmarks",),
        measures="LLR under damage at 80 % load, trimming beside dropping at 2:1, and what PFC and CBFC do to innocent "
        "flows at 32:1",
        parts=(
            Part("retry", "link-retry", (), ("run.seeds=5", "run.flows=20000")),
            Part("trimming", "link-trimming", (), ("run.seeds=10", "workload.0.arrivals.size=64MB")),
            Part("pfc", "link-pfc", (), ("run.seeds=10", "workload.0.arrivals.size=16MB")),
        ),
        tables=(
            TableOf(
                name="retry",
                title="Link layer retry at 80 % load",
                rows=_retry,
                keys=("scheme", "damaged", "link retry"),
                lead="completion, p99 (us)",
                parts=("retry",),
                notes=(
                    "Damaged: the probability for each packet on each link. Each packet that a link sends again takes "
                    "its own time on the link, the way there and back, and 0.1 us.",
                ),
            ),
            TableOf(
                name="trimming",
                title="Packet trimming at 2:1",
                rows=_trimming,
                keys=("queue",),
                lead="completion (us)",
                parts=("trimming",),
            ),
            TableOf(
                name="pfc",
                title="Innocent flows beside an incast of 32 to 1",
                rows=_innocent,
                keys=("scheme",),
                lead="innocent flow (Gb/s)",
                parts=("pfc",),
                notes=(
                    "Hops: how many links back from the congested switch a pause came. Head-of-line blocking is the "
                    "time for which the innocent flows' own NICs were paused, a mean over the four; for how long they "
                    "waited for credit is not recorded.",
                ),
            ),
        ),
        not_measured=("time to the first retransmission request: no table has the time of a NACK",),
    ),
)
