"""The situations: small networks whose bottleneck is a link of 10 Gb/s with 150 KB before it.

Every number is fixed, so that what two people are told of the same class is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packetloom.scenario.plan import Component, Scenario, Scheme

LINK_GBPS = 10
BUFFER = "150KB"
"""100 packets, five bandwidth-delay products. Full, it delays by 120 us: less than the least timeout (`min_rto`), so
that no timer expires for a packet that only waits."""
BDP_BYTES = 30_000
"""What the bottleneck of `TWO_LEAVES` carries in the 23 us that a packet and its acknowledgement take, rounded up."""

TWO_LEAVES: Mapping[str, Any] = {
    "kind": "leaf-spine",
    "spines": 1,
    "leaves": 2,
    "hosts_per_leaf": 2,
    "host_link": {"rate": "40Gbps", "delay": "1us"},
    "link": {"rate": f"{LINK_GBPS}Gbps", "delay": "4us"},
}
"""Host 0 and host 1 send to host 2 and host 3; what they share is the link from leaf 0 to the spine."""
ENDLESS: Mapping[str, Any] = {"sizes": {"kind": "constant", "size": "1GB"}, "arrivals": "at-once"}
LONE_MS = 50
SECOND_STARTS_MS, TWO_END_MS = 20, 120
INCAST_SENDERS, INCAST_BYTES, INCAST_EVENTS, INCAST_EVERY_MS = 32, 30_000, 5, 10
LOST_SHARE = 0.001
LOSSY_BYTES = 50_000_000
SPRAYED_BYTES = 2_000_000
DEAD_FROM_MS, DEAD_UNTIL_MS, DEAD_FLOW_BYTES = 4, 8, 10_000_000
LOSSY_LIMIT_MS, SPRAYED_LIMIT_MS, DEAD_LIMIT_MS = 400, 20, 200
"""About ten times what the flows need; those that have not ended by then are not waited for."""
SAMPLE_US = 100


@dataclass(frozen=True, slots=True)
class Contestant:
    """A scheme that goes through the situations."""

    name: str
    transport: Component
    queue: str

    def scheme(self, routing: Component) -> Scheme:
        """Its scheme, with the buffer that all have."""
        return Scheme(
            name=self.name, transport=self.transport, queue={"kind": self.queue, "capacity": BUFFER}, routing=routing
        )


BUILT_IN = (Contestant("DCTCP", "dctcp", "ecn"), Contestant("TCP", "tcp", "drop-tail"))


@dataclass(frozen=True, slots=True)
class Setting:
    """A network with its traffic; all but the scheme."""

    topology: Mapping[str, Any]
    workload: Sequence[Mapping[str, Any]]
    run: Mapping[str, Any]
    faults: Sequence[Mapping[str, Any]] = ()
    routing: Component = "ecmp"
    is_endless: bool = False
    """Whether its flows go on beyond the end of the run."""

    def scenario(self, contestant: Contestant) -> Scenario:
        """The scenario with a scheme."""
        return Scenario(
            topology=self.topology,
            workload=self.workload,
            schemes=[contestant.scheme(self.routing)],
            run=self.run,
            faults=self.faults,
            measure={"queues": True, "series_interval": f"{SAMPLE_US}us"},
        )


def _between(src: int, dst: int) -> dict[str, Any]:
    return {"pattern": {"kind": "pair", "src": src, "dst": dst}}


def _at_once(size_bytes: int) -> dict[str, Any]:
    return {"sizes": {"kind": "constant", "size": f"{size_bytes}B"}, "arrivals": "at-once"}


def _sprayed(routing: str) -> Setting:
    return Setting(
        topology={"kind": "fat-tree", "k": 4, "link": {"rate": f"{LINK_GBPS}Gbps", "delay": "1us"}},
        workload=[_at_once(SPRAYED_BYTES) | {"pattern": "permutation"}],
        run={"max_time": f"{SPRAYED_LIMIT_MS}ms"},
        routing=routing,
    )


LONE = Setting(TWO_LEAVES, [{**ENDLESS, **_between(0, 2)}], {"max_time": f"{LONE_MS}ms"}, is_endless=True)
TWO = Setting(
    TWO_LEAVES,
    [{**ENDLESS, **_between(0, 2)}, {**ENDLESS, **_between(1, 3), "start": f"{SECOND_STARTS_MS}ms"}],
    {"max_time": f"{TWO_END_MS}ms"},
    is_endless=True,
)
INCAST = Setting(
    {"kind": "rack", "hosts": INCAST_SENDERS + 1, "link": {"rate": f"{LINK_GBPS}Gbps", "delay": "1us"}},
    [
        {
            "sizes": {"kind": "constant", "size": f"{INCAST_BYTES}B"},
            "arrivals": {"kind": "periodic", "interval": f"{INCAST_EVERY_MS}ms"},
            "pattern": {"kind": "incast", "receiver": 0, "fan_in": INCAST_SENDERS},
        }
    ],
    {"flows": INCAST_SENDERS * INCAST_EVENTS, "max_time": f"{INCAST_EVERY_MS * INCAST_EVENTS}ms"},
)
LOSS = Setting(
    TWO_LEAVES,
    [_at_once(LOSSY_BYTES) | _between(0, 2)],
    {"max_time": f"{LOSSY_LIMIT_MS}ms"},
    faults=[{"kind": "corruption", "probability": LOST_SHARE, "between": ["leaf0", "spine0"]}],
)
BY_ECMP, BY_SPRAYING = _sprayed("ecmp"), _sprayed("spray-random")
DEAD_LINK = Setting(
    TWO_LEAVES,
    [_at_once(DEAD_FLOW_BYTES) | _between(0, 2), _at_once(DEAD_FLOW_BYTES) | _between(1, 3)],
    {"max_time": f"{DEAD_LIMIT_MS}ms"},
    faults=[
        {
            "kind": "link-down",
            "between": ["leaf0", "spine0"],
            "at": f"{DEAD_FROM_MS}ms",
            "until": f"{DEAD_UNTIL_MS}ms",
        }
    ],
)
