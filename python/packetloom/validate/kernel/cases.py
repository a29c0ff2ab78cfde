"""The flows that Linux's own TCP sends, and the network that they go through."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    """A congestion control, as people, Linux and packetloom call it; `reduces`: whether losses reduce its window.

    `own` are keys of ours with which it is Linux's rather than the RFC's or draft's.
    """

    title: str
    linux: str
    transport: str
    marks: bool = False
    reduces: bool = True
    own: Mapping[str, Any] = field(default_factory=dict)


RENO = Control("TCP Reno", "reno", "tcp")
# tcp_cubic.c: bictcp_update has one slope (beta_scale) for the Reno that CUBIC is friendly to.
CUBIC = Control("CUBIC", "cubic", "cubic", own={"reno_recovers": False})
DCTCP = Control("DCTCP", "dctcp", "dctcp", marks=True)
# tcp_bbr.c: bbr_min_tso_segs has two packets at once from 1.2 Mb/s on, and a millisecond of 20 Mb/s is no more; and
# bbr_update_ack_aggregation and bbr_quantization_budget, which the draft of version 1 has not.
LINUX_BBR = {"send_quantum": 2, "ack_aggregation": True, "whole_packets": True}
BBR = Control("BBR", "bbr", "bbr", reduces=False, own=LINUX_BBR)


@dataclass(frozen=True, slots=True)
class Managed:
    """A queue that an AQM manages: the words after `tc qdisc add`, and the parts of a port here."""

    linux: tuple[str, ...]
    parts: Mapping[str, Any]
    # What the AQM aims at: the step response ends where packets wait for no longer.
    target_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """So many flows of a size that start together.

    `module` are parameters of the kernel's congestion control's module, `transport` keys of ours. `limit_bytes` may
    wait; whoever finds more than `mark_above_bytes` is marked, where marks are heeded. With `swings` flows are long
    enough to compare how the queue swings. `delay_ms` is on either side of the queue: half of what a round trip takes
    where nothing waits. Where chance decides, flows start within `spread_ms`, in each trial at other times; then the
    trials of both are compared as draws instead of by their means alone.
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
    managed: Managed | None = None
    delay_ms: int = 0
    spread_ms: int = 0

    @property
    def title(self) -> str:
        """With the congestion control."""
        return f"{self.control.title}, {self.name}"


def case_from(plain: Mapping[str, Any]) -> Case:
    """A case that was made plain for JSON."""
    managed = plain["managed"] and Managed(**{**plain["managed"], "linux": tuple(plain["managed"]["linux"])})
    return Case(**{**plain, "control": Control(**plain["control"]), "managed": managed})


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
        control=replace(CUBIC, own={}),
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

# Room for 0.6 s of the link, so that only the AQM drops.
ENDLESS_BYTES = 1000 * PACKET_BYTES
FQ_CODEL = ("fq_codel", "limit", "1000", "flows", "1024", "quantum", "1514", "noecn")
# codel_impl.h: its control law comes nearer to an inverse square root by one step at a drop.
LINUX_CODEL = {"kind": "codel", "variant": "linux", "ecn": False}
CODEL = Managed(("codel", "limit", "1000", "noecn"), {"aqm": LINUX_CODEL}, target_ms=5)
# sch_pie.c: 15 ms are four ticks of 4 ms, after which a timer waits for the next one.
LINUX_PIE = {"kind": "pie", "variant": "linux", "update": "20ms", "ecn": False}
PIE = Managed(("pie", "limit", "1000", "noecn"), {"aqm": LINUX_PIE})
FAIR = Managed(FQ_CODEL, {"scheduler": "fair-queueing", "aqm": LINUX_CODEL}, target_ms=5)
DUALPI2 = Managed(("dualpi2", "limit", "1000"), {"scheduler": "dual-queue", "aqm": "dualpi2"})
FIFO = Managed(("pfifo", "limit", "100"), {})


def _managed(name: str, queue: Managed, flows: int, control: Control) -> Case:
    limit_bytes = ENDLESS_BYTES if queue.parts else 100 * PACKET_BYTES
    flow_bytes = 10_000_000 if flows == 1 else 5_000_000
    trials = 1 if flows == 1 and queue is not PIE else 6
    return Case(
        name,
        flows,
        flow_bytes,
        control,
        limit_bytes,
        trials=trials,
        managed=queue,
        delay_ms=10,
        spread_ms=20 if trials > 1 else 0,
    )


# Round trips of 20 ms: a window of 33 packets keeps the link busy.
MANAGED_CASES = (
    _managed("one flow of 10 MB over CoDel", CODEL, 1, RENO),
    _managed("four flows of 5 MB over CoDel", CODEL, 4, CUBIC),
    _managed("one flow of 10 MB over PIE", PIE, 1, RENO),
    _managed("four flows of 5 MB over PIE", PIE, 4, CUBIC),
    _managed("four flows of 5 MB over FQ-CoDel", FAIR, 4, CUBIC),
    _managed("four flows of 5 MB over DualPI2", DUALPI2, 4, CUBIC),
    _managed("one flow of 10 MB over 100 packets", FIFO, 1, BBR),
    _managed("four flows of 5 MB over 100 packets", FIFO, 4, BBR),
)


def offsets_ns(case: Case, trial: int) -> list[int]:
    """How long after the first each flow is to start on the kernel's side; here it starts as it did there."""
    drawn = random.Random(f"{case.title} {trial}")
    later = sorted(drawn.randrange(case.spread_ms * 1_000_000 + 1) for _ in range(case.flows - 1))
    return [0, *later]


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
        case.managed.linux if case.managed else (),
        case.delay_ms,
    )
