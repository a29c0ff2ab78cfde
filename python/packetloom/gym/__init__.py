"""`packetloom.gym`: a simulated network as a Gymnasium environment (docs/gym.md).

An agent sets parameters of a transport, or the marking thresholds of switches, once in an interval, and sees what
throughput, round-trip times, losses, marks and queues come of it. It needs Gymnasium: `pip install 'gymnasium>=1'`.
"""

from __future__ import annotations

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError:
    raise ImportError("packetloom.gym needs Gymnasium, which is not installed: pip install 'gymnasium>=1'") from None

from packetloom.gym.environment import OBSERVED, NetworkEnv, Observation, vector
from packetloom.gym.rewards import REWARDS
from packetloom.gym.traffic import Flows, incast, poisson

__all__ = ["OBSERVED", "REWARDS", "Flows", "NetworkEnv", "Observation", "incast", "poisson", "vector"]
