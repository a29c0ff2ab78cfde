"""Rewards of an interval, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packetloom.gym.environment import Observation

Reward = Callable[["Observation"], float]
REWARDS: dict[str, Reward] = {
    "throughput": lambda seen: seen.throughput_gbps,
    "queue": lambda seen: -seen.queue_kb,
    "open": lambda seen: -seen.open_messages,
    "fct": lambda seen: -seen.fct_us,
}
"""`throughput`: Gb/s that arrived. `queue`: minus the longest queue in KB. `open`: minus the number of messages that
are not over; its sum over an episode is minus all their time in the network, in intervals. `fct`: minus the mean time
in us of the messages that were received in the interval, 0 if none was."""
