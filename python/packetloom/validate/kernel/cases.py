"""The flows that Linux's own TCP sends, and the network that they go through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packetloom.validate.kernel.network import Dumbbell

RATE_MBPS = 20
# Without netem: tokens for four packets, so that a machine that wakes the queue late loses no rate.
BURST_BYTES = 6_000
# Ethernet, IPv4, TCP with timestamps.
MSS_BYTES, HEADER_BYTES = 1448, 66
PACKET_BYTES = MSS_BYTES + HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Control:
    """A congestion control, as people, Linux and packetloom call it."""

    title: str
    linux: str
    transport: str
    marks: bool = False


RENO = Control("TCP Reno", "reno", "tcp")
CUBIC = Control("CUBIC", "cubic", "cubic")
DCTCP = Control("DCTCP", "dctcp", "dctcp", marks=True)


@dataclass(frozen=True, slots=True)
class Case:
    """So many flows of a size that start together.

    `module` are parameters of the kernel's congestion control's module, `transport` keys of ours. `limit_bytes` may
    wait; whoever finds more than `mark_above_bytes` is marked, where marks are heeded. With `swings` flows are long
    enough to compare how the queue swings.
    """

    name: str
    flows: int
    flow_bytes: int
    control: Control = RENO
    limit_bytes: int = 60_000
    mark_above_bytes: int = 22_500
    swings: bool = False
    trials: int = 9
    module: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """With the congestion control."""
        return f"{self.control.title}, {self.name}"


def case_from(plain: Mapping[str, Any]) -> Case:
    """A case that was made plain for JSON."""
    return Case(**{**plain, "control": Control(**plain["control"])})


# What Linux does by default: RACK (RFC 8985), PRR (RFC 9937), and timeouts that are 200 ms longer than
# the smoothed round trip, rounded up to its ticks of 4 ms: as captured, 205 to 210 ms after a first window was lost.
LINUX = {"loss_detection": "rack", "reduction": "prr", "min_rto_bounds": "variation", "min_rto": "208ms"}

# Round trips of 240 ms, three of the cubic function's saws.
DEEP = Case(
    "40 MB, 600 KB may wait, slow start to 280 packets",
    1,
    40_000_000,
    control=CUBIC,
    limit_bytes=600_000,
    trials=2,
    module={"initial_ssthresh": "280"},
    transport={"initial_ssthresh": 280},
)

CASES = (
    Case("one long flow", 1, 2_000_000),
    Case("four long flows", 4, 1_000_000),
    Case("incast of 8 x 100 KB", 8, 100_000),
    Case("incast of 16 x 30 KB", 16, 30_000),
    Case("one long flow", 1, 2_000_000, control=CUBIC),
    Case(
        "one long flow, slow start to 30 packets",
        1,
        2_000_000,
        control=CUBIC,
        module={"initial_ssthresh": "30"},
        transport={"initial_ssthresh": 30},
    ),
    DEEP,
    Case("four long flows", 4, 1_000_000, control=CUBIC),
    Case("incast of 8 x 100 KB", 8, 100_000, control=CUBIC),
    # What Linux takes from beta for the growth where Reno's is larger it takes at boot, so that rests.
    Case(
        "incast of 8 x 100 KB, beta 0.5, no Reno-friendly growth",
        8,
        100_000,
        control=CUBIC,
        module={"beta": "512", "tcp_friendliness": "0"},
        transport={"beta": 0.5, "reno_friendly": False},
    ),
    Case("incast of 16 x 30 KB", 16, 30_000, control=CUBIC),
    Case("one long flow", 1, 2_000_000, control=DCTCP),
    Case("four long flows", 4, 1_000_000, control=DCTCP),
    Case("incast of 8 x 100 KB", 8, 100_000, control=DCTCP),
    Case(
        "four flows of 4 MB, marks above 60 KB",
        4,
        4_000_000,
        control=DCTCP,
        limit_bytes=600_000,
        mark_above_bytes=60_000,
        swings=True,
        trials=2,
    ),
    Case(
        "two flows of 5 MB, marks above 150 KB",
        2,
        5_000_000,
        control=DCTCP,
        limit_bytes=600_000,
        mark_above_bytes=150_000,
        swings=True,
        trials=6,
    ),
)


def dumbbell_of(case: Case) -> Dumbbell:
    """The kernel's side of a case."""
    ecn = {"net.ipv4.tcp_ecn": "1"} if case.control.marks else {}
    return Dumbbell(
        case.flows,
        RATE_MBPS * 1_000_000,
        case.limit_bytes,
        BURST_BYTES,
        PACKET_BYTES,
        case.control.linux,
        ecn,
        case.mark_above_bytes * 8 // RATE_MBPS if case.control.marks else None,
    )
