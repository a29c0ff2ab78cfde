"""Scenarios of the machines, as far as these are published, for measurements that differ by their size alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packetloom.validate.hardware.measurements import Measurement

MIB = 2**20
ETHERNET_FRAMING = "20B"
"""Preamble and the gap between frames."""
FLOW_MIB = 64
MESSAGES = 5000
"""perftest's own number, while they are short."""
DEPTH = 128
"""perftest's own depth of a queue pair."""
FABRIC_GBPS = 12_800
"""A link that takes what 32 NICs of 400 Gb/s send."""

Scenario = dict[str, Any]
Machine = Callable[[Sequence[Measurement]], Scenario]


@dataclass(frozen=True, slots=True)
class Packets:
    """What carries messages over the network."""

    payload: int
    header: int
    framing: str = ETHERNET_FRAMING

    ack: int = 0
    """Bytes that come back for each; nothing: as the preset has it."""

    def scheme(self, queue_pairs: int = 1) -> dict[str, Any]:
        """Packets at the link's rate, which no buffer loses: what congestion control the machines had is not known.

        The messages of a connection follow each other, as on a reliable connection and over NVLink.
        """
        sizes = {"mss": f"{self.payload}B", "header": f"{self.header}B"}
        if self.ack:
            sizes |= {"ack": f"{self.ack}B"}
        several = {"kind": "in-order", "queue_pairs": queue_pairs}
        connections = several if queue_pairs > 1 else "in-order"
        transport = {"kind": "roce", "preset": "deployed", "connections": connections} | sizes
        return {"name": "RDMA", "transport": transport, "queue": "drop-tail"}


def roce(payload: int = 4096) -> Packets:
    """Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 (InfiniBand Architecture, annex A17)."""
    return Packets(payload, 62)


def infiniband(payload: int = 4096) -> Packets:
    """LRH 8, BTH 12, ICRC 4, VCRC 2 (InfiniBand Architecture, §5.2)."""
    return Packets(payload, 26, "0B")


def tcp() -> dict[str, Any]:
    """Segments of 1448 B: Ethernet 14, IPv4 20, TCP 32 with timestamps, FCS 4. Sockets keep enough under way."""
    transport = {"kind": "fixed-window", "mss": "1448B", "header": "70B", "initial_window": 256}
    return {"name": "TCP", "transport": transport, "queue": "drop-tail"}


def beside(packets: Packets) -> dict[str, Any]:
    """Messages do not wait for each other: each channel has queue pairs and threads of its own."""
    scheme = packets.scheme()
    return scheme | {"transport": {key: value for key, value in scheme["transport"].items() if key != "connections"}}


def reads() -> dict[str, Any]:
    """What an A100 reads of a neighbour: 128 B behind a flit of 16 B, for a request of a flit the other way.

    Here 32 of them are one packet (NCCL maintainers: NVIDIA/nccl-tests issues 149 and 258, NVIDIA/nccl issue 1397).
    """
    return beside(Packets(4096, 512, "0B", ack=512))


def lone_links() -> dict[str, Any]:
    """Packets without headers, over links whose rates are those of data."""
    return beside(Packets(4096, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Servers of accelerators on rails, all of a rail on one switch: the spines carry what leaves its rail."""

    nic: str
    inside: str
    """The rate of an accelerator to its neighbours, in one direction."""
    inside_delay: str = "300ns"
    delay: str = "500ns"
    framing: str = ETHERNET_FRAMING
    reduction: str = ""
    """The rate of a switch inside that reduces, if it does."""

    def topology(self, one: Measurement) -> dict[str, Any]:
        """For as many as a measurement has."""
        return {
            "kind": "rail-optimised",
            "servers": max(one.servers, 2),
            "accelerators": one.ranks // one.servers,
            "servers_per_rail_switch": max(one.servers, 2),
            "link": {"rate": self.nic, "delay": self.delay},
            "scale_up": {"rate": self.inside, "delay": self.inside_delay},
            "framing": self.framing,
        } | ({"reduction": self.reduction} if self.reduction else {})


def operation(figures: Sequence[Measurement], **library: Any) -> dict[str, Any]:
    """Their operation, at all their sizes, as NCCL carries it out."""
    one = figures[0]
    sizes = [f"{size}B" for size in sorted({figure.size_bytes for figure in figures})]
    named = {key: value for key, value in (("algorithm", one.algorithm), ("protocol", one.protocol)) if value}
    return {
        "arrivals": {
            "kind": "collective",
            "operation": one.operation,
            "size": sizes if len(sizes) > 1 else sizes[0],
            "ranks": one.ranks,
            "library": {"kind": "nccl"} | named | library,
        }
    }


def by_packets(of: Callable[[Measurement], Servers], scheme: dict[str, Any], **library: Any) -> Machine:
    """NCCL's messages over packets."""

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        topology = of(figures[0]).topology(figures[0])
        return {"topology": topology, "workload": [operation(figures, **library)], "scheme": [scheme]}

    return scenario


def by_tuner(nic: str, **library: Any) -> Machine:
    """NCCL's cost model alone: nothing of the network but the rate of its NICs."""
    return by_packets(lambda _: Servers(nic=nic, inside="3600Gbps"), roce().scheme(), mode="tuner", **library)


def two_hosts(packets: Packets, *, costs_ns: Mapping[float, float] | float = 0.0, depth: int = DEPTH) -> Machine:
    """A perftest between two hosts on a switch; what posting a message takes may differ by the rate of the NIC."""

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        one = figures[0]
        found = re.search(r"(\d+) QPs", one.what)
        queue_pairs = int(found[1]) if found else 1
        cost_ns = costs_ns[one.nic_gbps] if isinstance(costs_ns, Mapping) else costs_ns
        common = {
            "kind": "perftest",
            "outstanding": depth * queue_pairs,
            "send_cost": f"{round(cost_ns * 1e3)}ps",
            "placement": [0, 1],
        }
        tests = [
            common | {"size": f"{size}B", "messages": max(2, min(MESSAGES, FLOW_MIB * MIB // size))}
            for size in sorted({figure.size_bytes for figure in figures})
        ]
        link = {"rate": f"{one.nic_gbps:g}Gbps", "delay": "500ns"}
        return {
            "topology": {"kind": "rack", "hosts": 2, "link": link, "framing": packets.framing},
            "workload": [{"arrivals": tests if len(tests) > 1 else tests[0]}],
            "scheme": [packets.scheme(queue_pairs)],
        }

    return scenario


def one_flow(figures: Sequence[Measurement]) -> Scenario:
    """A long flow between two hosts on a switch; the column `protocol` has the MTU."""
    one = figures[0]
    packets = (infiniband if "InfiniBand" in one.what else roce)(int(one.protocol))
    link = {"rate": f"{one.nic_gbps:g}Gbps", "delay": "500ns"}
    flow = {
        "sizes": {"kind": "constant", "size": f"{FLOW_MIB}MiB"},
        "arrivals": "at-once",
        "pattern": {"kind": "pair", "src": 0, "dst": 1},
        "flows": 1,
    }
    topology = {"kind": "rack", "hosts": 2, "link": link, "framing": packets.framing}
    return {"topology": topology, "workload": [flow], "scheme": [packets.scheme()]}


DCTCP_GROUPS = {"S1": range(10), "S2": range(10, 30), "S3": range(30, 40)}
"""The sending hosts of each group of DCTCP's testbed."""
DCTCP_RECEIVER = 40


def two_bottlenecks(_: Sequence[Measurement]) -> Scenario:
    """DCTCP's testbed: S1 and S3 send to one host, and S2, beside S1 at the first switch, to a host for each.

    Figures are those of the last of five seconds.
    """
    receivers = {
        sender: DCTCP_RECEIVER + 1 + nth if group == "S2" else DCTCP_RECEIVER
        for group, senders in DCTCP_GROUPS.items()
        for nth, sender in enumerate(senders)
    }
    flow = {"sizes": {"kind": "constant", "size": "10GB"}, "arrivals": "at-once", "flows": 1}
    aqm = {"kind": "threshold", "mark_above": "20packets", "mark_between_switches": "65packets"}
    buffer = {"kind": "private", "capacity": "700KB"}
    return {
        "topology": {
            "kind": "dumbbell",
            "left": 30,
            "right": 31,
            "host_link": {"rate": "1Gbps", "delay": "10us"},
            "bottleneck": {"rate": "10Gbps", "delay": "10us"},
        },
        "workload": [flow | {"pattern": {"kind": "pair", "src": src, "dst": dst}} for src, dst in receivers.items()],
        "scheme": [
            {
                "name": "DCTCP",
                "transport": {"kind": "dctcp", "delayed_ack": True},
                "queue": {"kind": "egress", "aqm": aqm, "buffer": buffer},
                "nic": "drop-tail",
            }
        ],
        "run": {"max_time": "5s"},
        "measure": {"series_interval": "100ms"},
    }


def experts(scheme: dict[str, Any], *, tokens: int, bytes_of: Mapping[str, int], **topology: Any) -> Machine:
    """Tokens of 256 experts to eight of them, all alike, and back: DeepSeek-V3's. Bytes of a token by direction.

    The fabric bounds nothing but by its NICs: it has room for all of them, whatever their rail.
    """

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        one = figures[0]
        arrivals = {
            "kind": "moe",
            "experts": 256,
            "top_k": 8,
            "tokens": tokens,
            "bytes_per_token": f"{bytes_of[one.operation]}B",
            "ranks": one.ranks,
        }
        fabric = {
            "kind": "rail-optimised",
            "servers": max(one.servers, 2),
            "accelerators": one.ranks // one.servers,
            "servers_per_rail_switch": max(one.servers, 2),
            "host_link": {"rate": f"{one.nic_gbps:g}Gbps", "delay": "500ns"},
            "link": {"rate": f"{FABRIC_GBPS}Gbps", "delay": "500ns"},
            "oversubscription": max(one.servers, 2) * one.nic_gbps / FABRIC_GBPS,
        }
        return {"topology": fabric | topology, "workload": [{"arrivals": arrivals}], "scheme": [scheme]}

    return scenario
