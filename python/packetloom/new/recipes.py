"""The queue and the routing that each transport runs over in a first scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

REFERENCE_GBPS = 10
"""Buffers below are for links of this rate. Faster links get more, in proportion: the same time of traffic."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A size in bytes at `REFERENCE_GBPS`."""

    size: int


@dataclass(frozen=True, slots=True)
class OfAllPorts:
    """A buffer that all ports of a switch share: so much for each of them."""

    each: Buffer


@dataclass(frozen=True, slots=True)
class Threshold:
    """A queue's length that marks: HPCC's run.py has it in proportion to the rate; then what is deployed."""

    size: int
    deployed: int


@dataclass(frozen=True, slots=True)
class HopWindow:
    """Floodgate's window, in bandwidth-delay products of a link: the published one, which counts latency alone, and two
    full packets more."""

    packet_bytes: int

    def on(self, gbps: float) -> float:
        """On links of this rate."""
        return round(1 + 2 * self.packet_bytes * 8 / (gbps * 2 * LINK_DELAY_NS), 1)


LINK_DELAY_NS = 1_000
"""Of links in every fabric that is written."""


@dataclass(frozen=True, slots=True)
class OfPath:
    """What the fabric's path decides: what it holds in a round trip, in bytes or in full packets, that time or several
    of it, or dcPIM's beta."""

    unit: Literal["bytes", "packets", "time", "beta"]
    least: float = 0
    """What is published for shorter paths or faster links: packets, microseconds, or beta."""
    times: int = 1

    def of(self, path: Path) -> str | int | float:
        """As the scenario has it."""
        if self.unit == "time":
            return f"{max(self.least, self.times * path.rtt_ns / 1000):.3g}us"
        if self.unit == "bytes":
            return f"{path.holds_bytes}B"
        if self.unit == "beta":
            return max(self.least, round(path.beta(), 1))
        return max(int(self.least), ceil(path.holds_bytes / path.packet_bytes))


@dataclass(frozen=True, slots=True)
class Path:
    """From one half of a fabric to the other: its round trip, what it holds in one, and the bytes of a full packet."""

    rtt_ns: float
    holds_bytes: int
    packet_bytes: int

    def beta(self) -> float:
        """A round of dcPIM's, in control packets' round trips, if a data packet is in the way at each hop."""
        data_ns, control_ns = (size * self.rtt_ns / self.holds_bytes for size in (self.packet_bytes, CONTROL_BYTES))
        return 1 + data_ns / (LINK_DELAY_NS + control_ns)


CONTROL_BYTES = 40
"""A control packet of dcPIM's."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A scheme that makes sense as it stands: what `[[scheme]]` says beside the transport's kind."""

    label: str
    queue: Mapping[str, Any] = field(default_factory=dict)
    routing: str | Mapping[str, Any] | None = "ecmp"
    transport: Mapping[str, Any] = field(default_factory=dict)
    nic: str | None = None


DROP_TAIL = {"kind": "drop-tail", "capacity": Buffer(225_000)}
UNBOUNDED = {"kind": "drop-tail"}
MARKING = {"kind": "ecn", "capacity": Buffer(225_000), "mark_above": Buffer(22_500)}
PFABRIC = {"kind": "pfabric", "capacity": Buffer(22_500)}
LOSSLESS = {"kind": "shared-buffer", "buffer": OfAllPorts(Buffer(225_000))}
MARKING_LOSSLESS = LOSSLESS | {"ecn_min": Threshold(40_000, 150_000), "ecn_max": Threshold(160_000, 1_500_000)}
FLOODGATE = {"kind": "floodgate", "window": HopWindow(4_144), "queue": MARKING_LOSSLESS}
STRICT = {"kind": "classes", "strict": 8, "queue": "drop-tail", "port": DROP_TAIL}
PIAS = {"kind": "classes", "strict": 3, "queue": "drop-tail"}
PIAS_PORT = {"kind": "ecn", "capacity": Buffer(225_000), "mark_above": Buffer(90_000)}
TWO_CLASSES = {"kind": "classes", "strict": 2, "queue": "drop-tail"}
SIRD_PORT = {"kind": "ecn", "capacity": Buffer(225_000), "mark_above": Buffer(12_300)}
CREDIT_LIMITER = {"kind": "credit-limiter", "capacity": Buffer(225_000)}
UEC = {"kind": "ndp", "capacity": Buffer(36_000), "ecn_min": Buffer(7_500), "ecn_max": Buffer(29_000)}

DEPLOYED_GBPS = 100
"""From this rate on RDMA is set up as it is deployed; see `equal`."""

THREE_ROUND_TRIPS = OfPath("time", 40, 3)
"""pFabric's timeout (§3): 40 us, of round trips of 13 us."""

RECIPES: dict[str, Recipe] = {
    "tcp": Recipe("TCP", DROP_TAIL),
    "cubic": Recipe("CUBIC", DROP_TAIL),
    "vegas": Recipe("Vegas", DROP_TAIL),
    "copa": Recipe("Copa", DROP_TAIL),
    "bbr": Recipe("BBR", DROP_TAIL),
    "bbr3": Recipe("BBRv3", DROP_TAIL),
    "prague": Recipe("Prague", MARKING),
    "dctcp": Recipe("DCTCP", MARKING),
    "d2tcp": Recipe("D2TCP", MARKING),
    "min-tcp": Recipe("pFabric (MinTCP)", PFABRIC, "spray-round-robin", {"min_rto": THREE_ROUND_TRIPS}),
    "fixed-window": Recipe("Fixed window", DROP_TAIL, transport={"initial_window": OfPath("packets")}),
    "flowtune": Recipe("Flowtune", DROP_TAIL),
    "mptcp": Recipe("MPTCP", DROP_TAIL),
    "pias": Recipe("PIAS", PIAS | {"port": PIAS_PORT}, transport={"thresholds": ["100KB", "1MB"]}),
    "line-rate": Recipe("pFabric (line rate)", PFABRIC, "spray-round-robin", {"rto": THREE_ROUND_TRIPS}),
    # NDP §6 has 30 packets at 10 Gb/s; what is pulled later keeps as many in flight.
    "ndp": Recipe("NDP", {"kind": "ndp"}, "permutation", {"initial_window": OfPath("packets", 30)}),
    "fastpass": Recipe("Fastpass", {"kind": "pfabric", "capacity": Buffer(36_000)}, "spray-round-robin"),
    # RTTbytes (Homa §3.2, §3.5), and a bandwidth-delay product (pHost §3.2): of this fabric, and not of the authors'.
    "homa": Recipe("Homa", STRICT, "spray-random", {"blind": OfPath("bytes"), "window": OfPath("bytes")}),
    "phost": Recipe(
        "pHost",
        {"kind": "pfabric", "capacity": Buffer(36_000)},
        "spray-random",
        {"free_tokens": OfPath("packets"), "window": OfPath("packets")},
    ),
    "dcpim": Recipe("dcPIM", STRICT, "spray-round-robin", {"beta": OfPath("beta", 1.3)}),
    "expresspass": Recipe("ExpressPass", CREDIT_LIMITER, {"kind": "ecmp", "symmetric": True}),
    "sird": Recipe("SIRD", TWO_CLASSES | {"port": SIRD_PORT, "port_marks": "between-switches"}, "spray-random"),
    "rcp": Recipe("RCP", DROP_TAIL, transport={"rtt": OfPath("time")}),
    "d3": Recipe("D3", DROP_TAIL),
    "pdq": Recipe("PDQ", DROP_TAIL, {"kind": "ecmp", "symmetric": True}),
    "daq": Recipe("DAQ", {"kind": "daq"}),
    "numfabric": Recipe("NUMFabric", {"kind": "weighted-fair", "capacity": Buffer(225_000)}),
    "roce": Recipe("RoCE (PFC alone)", LOSSLESS),
    "dcqcn": Recipe("DCQCN", MARKING_LOSSLESS),
    "timely": Recipe("TIMELY", LOSSLESS),
    "hpcc": Recipe("HPCC", LOSSLESS),
    "powertcp": Recipe("PowerTCP", LOSSLESS),
    "theta-powertcp": Recipe("theta-PowerTCP", LOSSLESS),
    "swift": Recipe("Swift", LOSSLESS),
    "rdma-dctcp": Recipe("DCTCP by rates", MARKING_LOSSLESS),
    "bfc": Recipe("BFC", {"kind": "bfc", "buffer": OfAllPorts(Buffer(225_000))}),
    "eqds": Recipe("EQDS", {"kind": "ndp"}, "bitmap", nic="drop-tail"),
    "uec": Recipe("Ultra Ethernet", UEC, "reps", nic="drop-tail"),
    "ideal": Recipe("Ideal (SRPT)", routing=None),
    "max-min": Recipe("Max-min fair", routing=None),
    "syn": Recipe("SYN", UNBOUNDED, "controller"),
    "asy": Recipe("ASY", UNBOUNDED),
}
"""By the transport's kind, in the order of the catalogue."""


OPTIONS: dict[str, tuple[str, Recipe]] = {
    "aeolus": (
        "expresspass",
        Recipe(
            "ExpressPass with Aeolus",
            CREDIT_LIMITER | {"drop_unscheduled_above": "4packets"},  # the paper's 6 KB, whatever the packet's size
            RECIPES["expresspass"].routing,
            transport={"aeolus": True},
        ),
    ),
    "floodgate": ("dcqcn", Recipe("DCQCN with Floodgate", FLOODGATE)),
}
"""Schemes that are a transport with an option, or with another queue: its kind, and theirs."""
ALIASES = {"pfabric": "line-rate", "ultra-ethernet": "uec", "srpt": "ideal"}
"""What else transports are called, where a paper's name is a queue's or nobody's."""
CLASSES: dict[str, Recipe] = {
    "python": Recipe("", MARKING),
    "python-rate": Recipe("", MARKING_LOSSLESS),
    "python-telemetry": Recipe("", LOSSLESS),
}
"""By what a class in Python is."""


def scaled(value: Any, gbps: float, ports: int) -> Any:
    """A value of a recipe as the scenario has it, on links of this rate, where switches have up to so many ports."""
    if isinstance(value, Mapping):
        return {key: scaled(inner, gbps, ports) for key, inner in value.items()}
    if isinstance(value, Buffer):
        return _size(value.size * max(gbps / REFERENCE_GBPS, 1))
    if isinstance(value, HopWindow):
        return value.on(gbps)
    if isinstance(value, OfAllPorts):
        return _size(value.each.size * max(gbps / REFERENCE_GBPS, 1) * ports)
    if isinstance(value, Threshold):
        in_proportion = value.size * max(gbps / REFERENCE_GBPS, 1)
        return _size(value.deployed if gbps >= DEPLOYED_GBPS else in_proportion)
    return value


def on_path(transport: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """A recipe's transport as the scenario has it on a fabric; without what the path decides until that is known."""
    known = {key: value for key, value in transport.items() if path or not isinstance(value, OfPath)}
    return {key: value.of(path) if path and isinstance(value, OfPath) else value for key, value in known.items()}


def _size(size: float) -> str:
    return f"{round(size) / 1000:g}KB"
