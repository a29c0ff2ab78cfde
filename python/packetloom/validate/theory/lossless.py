"""Lossless Ethernet and RDMA: what PFC makes an incast take, when it pauses, and where HPCC and DCQCN settle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.files import write_text
from packetloom.scenario.plan import Component, Scenario
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Known, Row
from packetloom.validate.theory import formulas
from packetloom.validate.theory.dcqcn import drawn_marked, fluid_marked
from packetloom.validate.theory.replicates import bounded
from packetloom.validate.theory.schemes import schemes_of

PAYLOAD_BYTES, WIRE_BYTES, STAMPED_BYTES, HPCC_BYTES = 1000, 1048, 1056, 1090
LINK_PS_PER_BYTE = {100: 80, 400: 20}
LINK_DELAY_PS = 1_000_000
RATE_GBPS = 100
# Two payloads of 1000 B at 100 Gb/s, 4 x 1 us: as HPCC's simulator reckons it.
BASE_RTT_NS = 4160
SIZES = (1, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
# As means of other simulators' are held to ours.
MARKED_WITHIN = 0.03
# What DCQCN's flows are known to need of marks, over the fluid model's, by how many they are: measured.
MARKED_OVER_FLUID = {2: 1.38, 10: 1.16}
# From the arithmetic of whole picoseconds, which a table has in ns.
EXACT_NS = 1e-3


def lossless_comparisons() -> list[Check]:
    """All of them."""
    return [
        _incast_comparison(),
        _threshold_comparison(),
        _lone_comparison(),
        _hpcc_comparison(0.95),
        _hpcc_comparison(0.8),
        _dcqcn_comparison(2),
        _dcqcn_comparison(10),
    ]


def star(hosts: int, rate_gbps: int = RATE_GBPS) -> dict[str, Any]:
    """Hosts at one switch, a microsecond away."""
    return {"kind": "rack", "hosts": hosts, "link": {"rate": f"{rate_gbps}Gbps", "delay": "1us"}}


def incast(fan_in: int, size: str) -> dict[str, Any]:
    """So many hosts send to host 0 at once."""
    return {
        "sizes": {"kind": "constant", "size": size},
        "arrivals": "at-once",
        "pattern": {"kind": "incast", "fan_in": fan_in, "receiver": 0},
        "flows": fan_in,
    }


def _incast_comparison() -> Check:
    """At line rate, over a switch that pauses them: the receiver's link is busy from the first packet on."""
    managers = ("hpcc-ns3", "conweave-ns3")
    widths = (2, 8, 16)

    def scenario(fan_in: int) -> dict[str, Any]:
        queues = {manager: {"kind": "shared-buffer", "buffer": "2MiB", "mmu": manager} for manager in managers}
        return Scenario(
            topology=star(17),
            workload=[incast(fan_in, "1MB")],
            schemes=[{"name": name, "transport": "roce", "queue": queue} for name, queue in queues.items()],
            run={},
        ).to_dict()

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for fan_in in widths:
            one = results[f"incast-{fan_in}"]
            packets = fan_in * 1000
            # The first packet crosses two links; the others come after it, one by one.
            takes_ps = 2 * LINK_DELAY_PS + (packets + 1) * WIRE_BYTES * LINK_PS_PER_BYTE[RATE_GBPS]
            lasts = one.to_polars().group_by("scheme", maintain_order=True).agg(pl.col("fct_ns").max())["fct_ns"]
            what = f"PFC, {fan_in} senders of 1 MB at line rate, two memory managers: when the last is done, ns"
            expected = (takes_ps / 1e3 - EXACT_NS, takes_ps / 1e3 + EXACT_NS)
            draws = lasts.to_list() if is_paused_and_lossless(one) else [math.nan]
            found.append(bounded(f"pfc-incast-{fan_in}", what, "base delay + N S / rate", expected, draws))
        return found

    return Check("pfc-incast", lambda _: {f"incast-{fan_in}": scenario(fan_in) for fan_in in widths}, rows, quick=True)


def is_paused_and_lossless(results: Results) -> bool:
    """Whether senders were paused in every case, and nothing was dropped: without that a time shows nothing."""
    found = [
        table.column("pauses").to_numpy().sum() > 0 and table.column("drops").to_numpy().sum() == 0
        for _, table in results.partitions("ports", ("pauses", "drops"))
    ]
    return all(found)


def _threshold_comparison() -> Check:
    """A link alone is paused as soon as it has its share of what is shared.

    A flow comes into switch 3 at 100 Gb/s and leaves it at 25 Gb/s. There each port has 4096 B and 120 KB for itself.
    """
    buffer, own = 2_015_000, 2 * (4_096 + 120_000)
    shares = {100: formulas.pfc_share(1 / 8), 400: formulas.pfc_share(1 / 2)}

    def scenarios(folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        return {f"threshold-{gbps}": scenario(gbps, folder) for gbps in shares}

    def scenario(gbps: int, folder: Path) -> dict[str, Any]:
        ends = ((0, 2, 100), (2, 3, gbps), (3, 4, 25), (4, 1, 100))
        links = "".join(f"{one} {other} {rate}Gbps 1000ns 0\n" for one, other, rate in ends)
        file = folder / f"narrow-{gbps}.txt"
        write_text(file, f"5 3 4\n2 3 4\n{links}")
        flow = incast(1, "4MB") | {"pattern": {"kind": "pair", "src": 0, "dst": 1}}
        queue = {"kind": "shared-buffer", "buffer": f"{buffer}B", "headroom": "120KB"}
        return Scenario(
            topology={"kind": "hpcc", "file": str(file.absolute())},
            workload=[flow | {"flows": 1}],
            schemes=[{"name": "PFC", "transport": "roce", "queue": queue}],
            measure={"pauses": True},
            run={},
        ).to_dict()

    def held_bytes(results: Results, gbps: int) -> float:
        """What switch 3 held beyond the reserve as it sent its first PAUSE, by when that came."""
        ports = results.to_polars("ports").filter(node="switch2", peer="switch3")
        pauses = results.to_polars("pauses").join(ports.select("port"), on="port")
        frame_ps, packet_ps = 64 * LINK_PS_PER_BYTE[gbps], WIRE_BYTES * LINK_PS_PER_BYTE[100]
        first_comes = packet_ps + WIRE_BYTES * LINK_PS_PER_BYTE[gbps] + 2 * LINK_DELAY_PS
        said_ps = float(pauses["from_ns"].min()) * 1e3 - LINK_DELAY_PS - frame_ps  # type: ignore[arg-type]
        came = round((said_ps - first_comes) / packet_ps) + 1
        # Every fourth goes on as the next four come.
        return float((came - -(-came // 4)) * WIRE_BYTES - 4_096)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for gbps, share in shares.items():
            expected = (share * (buffer - own), share * (buffer - own) + WIRE_BYTES)
            what = (
                f"PFC, a link of {gbps} Gb/s among hosts of 100: what it holds at its first PAUSE, bytes, to the packet"
            )
            held = held_bytes(results[f"threshold-{gbps}"], gbps)
            source = f"x = alpha (B' - x), here B' / {1 / share:.0f}"
            found.append(bounded(f"pfc-threshold-{gbps}", what, source, expected, [held]))
        return found

    return Check("pfc-threshold", scenarios, rows, quick=True)


def _lone_comparison() -> Check:
    """Flows that nothing delays, one after another."""
    transports: dict[str, Component] = {
        "RoCE": "roce",
        "DCQCN": {"kind": "dcqcn", "variant": "mellanox"},
        "TIMELY": {"kind": "timely", "variant": "hpcc-ns3"},
        "DCTCP": "rdma-dctcp",
    }
    networks = {
        "star": (star(17), 1, (100, 100)),
        "leaf-spine": (
            {
                "kind": "leaf-spine",
                "spines": 2,
                "leaves": 4,
                "hosts_per_leaf": 8,
                "host_link": {"rate": "100Gbps", "delay": "1us"},
                "link": {"rate": "400Gbps", "delay": "1us"},
            },
            31,
            (100, 400, 400, 100),
        ),
    }

    def scenario(network: str) -> dict[str, Any]:
        topology, src, _ = networks[network]
        flows = [
            incast(1, f"{size}B") | {"pattern": {"kind": "pair", "src": src, "dst": 0}, "start": f"{10 * nth}ms"}
            for nth, size in enumerate(SIZES)
        ]
        schemes = [
            {"name": name, "transport": transport, "queue": "shared-buffer"} for name, transport in transports.items()
        ]
        return Scenario(topology=topology, workload=flows, schemes=schemes, run={}).to_dict()

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for network, (_, _, links) in networks.items():
            apart = []
            for scheme, size, fct in results[network].to_polars().select("scheme", "size_bytes", "fct_ns").iter_rows():
                header = (STAMPED_BYTES if scheme == "TIMELY" else WIRE_BYTES) - PAYLOAD_BYTES
                apart.append(fct - formulas.lone_fct_ps(size, PAYLOAD_BYTES, header, links, LINK_DELAY_PS) / 1e3)
            assert len(apart) == len(transports) * len(SIZES)
            what = f"a flow alone, 1 B to 10 MB, {network}, {len(transports)} transports: farthest from its FCT, ns"
            source = "P packets on the first link, the last one on the others"
            worst = max(apart, key=abs)
            found.append(bounded(f"rdma-lone-{network}", what, source, (-EXACT_NS, EXACT_NS), [worst]))
        return found

    return Check("rdma-lone", lambda _: {network: scenario(network) for network in networks}, rows, quick=True)


def _hpcc_comparison(eta: float) -> Check:
    """Long flows on a link: what it carries in the second half, and what waits there."""
    name = f"hpcc-{eta:g}"
    widths, run_ms, w_ai = (1, 2, 8), 2, 80

    def scenario(fan_in: int) -> dict[str, Any]:
        hpcc = {"kind": "hpcc", "variant": "paper", "utilisation": eta, "additive_bytes": f"{w_ai}B"}
        return Scenario(
            topology=star(17),
            workload=[incast(fan_in, "1GB")],
            schemes=[{"name": "HPCC", "transport": hpcc, "queue": "shared-buffer"}],
            measure={"series_interval": "1us"},
            run={"max_time": f"{run_ms}ms"},
        ).to_dict()

    def settled(results: Results) -> tuple[float, float]:
        """The share of the link, and the mean queue in packets."""
        ports = results.to_polars("ports").filter(node="switch0", peer="host0")
        series = results.to_polars("series").join(ports.select("port"), on="port")
        series = series.filter(pl.col("time_ns") >= run_ms * 5e5, pl.col("time_ns") < (run_ms - 0.1) * 1e6)
        sent, waiting = (float(series[column].to_numpy().mean()) for column in ("tx_bytes", "queue_bytes"))
        return sent * 8 / (RATE_GBPS * 1e3), waiting / HPCC_BYTES

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        source = "U = eta where W = W / (U / eta) + W_AI: HPCC (SIGCOMM 2019), algorithm 1"
        for fan_in in widths:
            used, waiting = settled(results[f"{name}-{fan_in}"])
            case = f"HPCC for {eta:g} of a link, {fan_in} long flows"
            # What each flow adds in a round trip stands on top of eta.
            most = formulas.hpcc_utilisation(eta, fan_in * w_ai, RATE_GBPS * BASE_RTT_NS / 8)
            found.append(
                bounded(f"{name}-{fan_in}-link", f"{case}: share of it", source, (eta - 5e-4, most + 5e-4), [used])
            )
            what = f"{case}: mean queue in packets"
            found.append(
                bounded(f"{name}-{fan_in}-queue", what, "none but what meets by chance", (0.0, 2.0), [waiting])
            )
        return found

    return Check(name, lambda _: {f"{name}-{fan_in}": scenario(fan_in) for fan_in in widths}, rows, quick=eta == 0.95)


def _dcqcn_comparison(flows: int) -> Check:
    """The paper's machine on a link of 40 Gb/s: how many packets are marked once it has settled, and equal rates."""
    name = f"dcqcn-{flows}"
    rate_gbps, run_ms = 40, 300
    lowest, highest, most = 5_000, 200_000, 0.01
    queue = {"kind": "shared-buffer", "ecn_min": f"{lowest}B", "ecn_max": f"{highest}B", "ecn_probability": most}
    scenario = Scenario(
        topology=star(flows + 1, rate_gbps),
        workload=[incast(flows, "1000GB")],
        schemes=[{"name": "DCQCN", "transport": {"kind": "dcqcn", "variant": "paper"}, "queue": queue}],
        measure={"series_interval": "10us"},
        run={"max_time": f"{run_ms}ms", "seeds": 5},
    ).to_dict()

    def rows(results: Mapping[str, Results]) -> list[Row]:
        series = results[name].to_polars("series").filter(pl.col("time_ns") >= run_ms * 5e5)
        ports = results[name].to_polars("ports").select("seed", "port", "node", "peer")
        series = series.join(ports, on=["seed", "port"])
        chance = ((pl.col("queue_bytes").cast(pl.Float64) - lowest) / (highest - lowest)).clip(0, 1) * most
        marked = (
            series.filter(node="switch0", peer="host0")
            .group_by("seed", maintain_order=True)
            .agg(chance.mean().alias("share"))["share"]
        )
        senders = series.filter(pl.col("node").str.starts_with("host"), pl.col("node") != "host0")
        sent = senders.group_by("seed", "node", maintain_order=True).agg(pl.col("tx_bytes").sum())
        ends = sent.group_by("seed", maintain_order=True).agg(
            (pl.col("tx_bytes").min() / pl.col("tx_bytes").mean()).alias("least"),
        )
        rate_bps = rate_gbps * 1e9 / flows
        expected = 1e3 * fluid_marked(rate_bps / 8 / WIRE_BYTES, WIRE_BYTES)
        drawn = 1e3 * drawn_marked(rate_bps, rate_gbps * 1e9, WIRE_BYTES)
        known = expected * MARKED_OVER_FLUID[flows]
        case, source = f"DCQCN, {flows} flows", "fixed point; its fluid model: Zhu et al. (CoNEXT 2016) §3.1"
        what = f"{case}: the slowest one's rate over the mean"
        return [
            bounded(f"{name}-even", what, source, (0.9, 1.0), ends["least"].to_list()),
            Row(
                id=f"theory-{name}-marked",
                schemes=schemes_of(f"theory-{name}-marked"),
                what=f"{case}: share of packets marked, in thousandths",
                source=source,
                expected=(expected, expected),
                measured=1e3 * float(marked.to_numpy().mean()),
                band=_within(expected),
                rule=f"within {MARKED_WITHIN:.0%}",
                known=Known(
                    f"the fluid model takes means of what varies; marks drawn packet by packet have to be {drawn:.3g}",
                    _within(known),
                    f"{MARKED_OVER_FLUID[flows]:g} times the model's, within {MARKED_WITHIN:.0%}",
                ),
            ),
        ]

    return Check(name, lambda _: {name: scenario}, rows, quick=flows == 2)


def _within(value: float) -> tuple[float, float]:
    return value * (1 - MARKED_WITHIN), value * (1 + MARKED_WITHIN)
