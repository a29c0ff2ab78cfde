"""What a class can be, and the records that its methods share with the simulator.

Each record has the fields of the Rust structure of the same purpose, in the same order, eight bytes each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import get_type_hints

from packetloom.schemes import declaration


@dataclass(frozen=True)
class Tools:
    """What a method is given to act with. `record` is its layout; the rest is what a method may use of it."""

    record: Mapping[str, type]
    readable: tuple[str, ...] = ()
    settable: tuple[str, ...] = ()
    """Fields that are set in the record itself."""
    guarded: tuple[str, ...] = ()
    """What is read and set by functions of the simulator."""
    methods: Mapping[str, int] = field(default_factory=dict)
    """Functions of the simulator, with the number of their arguments."""
    comparisons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """What is true when the first of two others is less than the second."""

    @property
    def known(self) -> tuple[str, ...]:
        """All that can be read."""
        return (*self.readable, *self.settable, *self.guarded, *self.comparisons)


@dataclass(frozen=True)
class Hook:
    """A method that the simulator calls: with an event, if there is one, then with tools."""

    event: str | None
    tools: str
    returns: bool = False
    """Whether it returns a whole number, which goes into the tools' field `result`."""


@dataclass(frozen=True)
class Role:
    """What a class can be: its hooks, and what it may say of itself beside parameters and fields."""

    hooks: Mapping[str, Hook]
    constants: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The least and the most of each; flags are 0 and 1."""
    promised: Mapping[str, str] = field(default_factory=dict)
    """Tools' methods that may only be called where a constant is not 0."""
    implied: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Constants that are 1 where a method names one of these, and 0 elsewhere: the simulator keeps nothing for what no
    method uses."""


_HOP_METHODS = ("hop_link", "hop_queue_bytes", "hop_sent_bytes", "hop_time_ps", "hop_rate_bps")

TOOLS: Mapping[str, Tools] = {
    "Window": Tools(
        # A class of the user's counts what it wants itself: the last one is the simulator's own.
        record=dict.fromkeys(("cwnd_q20", "ssthresh_q20", "largest_q20", "counting"), int) | {"pacing_rate_bps": float},
        settable=("pacing_rate_bps",),
        guarded=("cwnd", "ssthresh"),
        methods={"grow": 0, "shrink": 1, "halve_ssthresh": 2, "restart": 0},
        comparisons={"in_slow_start": ("cwnd", "ssthresh")},
    ),
    "Labels": Tools(record=dict.fromkeys(("traffic_class", "priority"), int), settable=("traffic_class", "priority")),
    "Queue": Tools(
        record=dict.fromkeys(
            (
                *("bytes", "packets", "rate_bps", "lanes", "now_ps", "result", "marks", "drops", "trims"),
                *("of_lanes", "stream", "evictions"),
            ),
            int,
        ),
        readable=("bytes", "packets", "rate_bps", "lanes", "now_ps"),
        methods={"mark": 0, "drop": 0, "drop_first": 1, "trim": 0, "lane_bytes": 1, "lane_packets": 1, "random": 1},
    ),
    "Pace": Tools(
        record={"rate_bps": float, "window_bytes": int, "line_rate_bps": float}
        | dict.fromkeys(("base_rtt_ps", "hop_count", "hops"), int),
        readable=("line_rate_bps", "base_rtt_ps", "hop_count"),
        settable=("rate_bps", "window_bytes"),
        methods=dict.fromkeys(_HOP_METHODS, 1),
    ),
    "Paths": Tools(
        record=dict.fromkeys(("count", "result", "random"), int), readable=("count",), methods={"random": 1, "bits": 0}
    ),
}
"""What a method acts with, by the name of its type."""

_FLAG = (0, 1)

_MEASURED = (
    "rtt_sample_ps",
    "min_rtt_ps",
    "outstanding",
    "delivered_bytes",
    "lost_bytes",
    "prior_delivered_bytes",
    "delivery_rate_bps",
    "app_limited",
    "limited_by",
    "pacing_rate_bps",
)

_RATE_CONTROL = Role(
    hooks={
        "start": Hook("Route", "Pace"),
        "answered": Hook("Answer", "Pace"),
        "lost": Hook("Drop", "Pace"),
        "passed": Hook("Clock", "Pace"),
        "sent": Hook("Sent", "Pace"),
    },
    constants={"ecn": _FLAG, "moves_pending": _FLAG},
)

ROLES: Mapping[str, Role] = {
    "CongestionControl": Role(
        hooks={
            "start": Hook("Flow", "Window"),
            "resumed": Hook("Flow", "Window"),
            "acknowledged": Hook("Ack", "Window"),
            "acknowledged_in_recovery": Hook("Ack", "Window"),
            "lost": Hook("Loss", "Window"),
            "recovered": Hook(None, "Window"),
            "timed_out": Hook("Loss", "Window"),
            "label": Hook("Data", "Labels"),
        },
        constants={"ecn": _FLAG, "classes": (0, 256)},
        implied={"measures": _MEASURED},
    ),
    "QueueRule": Role(
        hooks={
            "arrives": Hook("Arrival", "Queue", returns=True),
            "next": Hook(None, "Queue", returns=True),
            "leaves": Hook("Departure", "Queue"),
        },
        constants={"lanes": (1, 255), "marks": _FLAG, "trim_to_bytes": (0, 65_535)},
        promised={"mark": "marks = True", "trim": "trim_to_bytes = 64"},
        implied={"drops": ("drop", "drop_first")},
    ),
    "TelemetryControl": _RATE_CONTROL,
    "RateControl": _RATE_CONTROL,
    "PathChoice": Role(
        hooks={"choose": Hook("Outgoing", "Paths", returns=True), "judged": Hook("Fate", "Paths")},
        constants={"keeps": _FLAG},
    ),
}
"""By the name of the class in `packetloom.schemes` that a user's class derives from; the most derived one first."""

EVENTS: Mapping[str, Mapping[str, type]] = {
    hook.event: get_type_hints(getattr(declaration, hook.event))
    for role in ROLES.values()
    for hook in role.hooks.values()
    if hook.event
}
"""What happened, by the name of its type in annotations; without one the argument's own name says it. The fields are
those that the class in `declaration` annotates, in its order."""
