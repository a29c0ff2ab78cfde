"""The traffic of an episode: drawn when it begins, from the environment's random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packetloom.common import arguments
from packetloom.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Flows:
    """Messages of an episode, as arrays of one length: from which host to which, bytes, and when in ns."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    start_ns: NDArray[np.float64]


Traffic = Callable[[np.random.Generator, int], Flows]
"""Draws the messages of an episode on a network with a number of hosts."""


@dataclass(frozen=True, slots=True)
class _Poisson:
    per_second: float
    mean_bytes: float
    duration_ns: float

    def __call__(self, random: np.random.Generator, hosts: int) -> Flows:
        count = max(1, int(random.poisson(self.per_second * self.duration_ns / 1e9)))
        src = random.integers(0, hosts, count)
        dst = (src + random.integers(1, hosts, count)) % hosts
        size_bytes = np.maximum(1, np.rint(random.exponential(self.mean_bytes, count))).astype(np.int64)
        return Flows(src, dst, size_bytes, np.sort(random.uniform(0, self.duration_ns, count)))


@dataclass(frozen=True, slots=True)
class _Incast:
    senders: int
    size_bytes: int
    every_ns: float
    rounds: int
    receiver: int

    def __call__(self, random: np.random.Generator, hosts: int) -> Flows:
        if not (self.receiver < hosts and self.senders < hosts):
            raise ArgumentError(f"an incast of {self.senders} to host {self.receiver} does not fit {hosts} hosts")
        others = np.delete(np.arange(hosts), self.receiver)
        src = np.concatenate([random.choice(others, self.senders, replace=False) for _ in range(self.rounds)])
        count = len(src)
        start_ns = np.repeat(np.arange(self.rounds) * self.every_ns, self.senders)
        return Flows(src, np.full(count, self.receiver), np.full(count, self.size_bytes), start_ns)


def poisson(per_second: float, mean_bytes: float, duration_ns: float) -> Traffic:
    """Messages between random pairs of hosts, so many per second in all, of exponential sizes, for a time."""
    for name, value in (("per_second", per_second), ("mean_bytes", mean_bytes), ("duration_ns", duration_ns)):
        if not (isinstance(value, int | float) and 0 < value < np.inf):
            raise arguments.wrong(name, value, "a number above 0")
    return _Poisson(float(per_second), float(mean_bytes), float(duration_ns))


def incast(senders: int, size_bytes: int, every_ns: float, rounds: int, *, receiver: int = 0) -> Traffic:
    """Random senders that send as much to one receiver at the same moment, again and again."""
    arguments.whole("senders", senders, 1, 10**6)
    arguments.whole("size_bytes", size_bytes, 1, 2**40)
    arguments.whole("rounds", rounds, 1, 10**6)
    if not (isinstance(every_ns, int | float) and 0 < every_ns < np.inf):
        raise arguments.wrong("every_ns", every_ns, "a number above 0")
    return _Incast(senders, size_bytes, float(every_ns), rounds, arguments.whole("receiver", receiver, 0, 10**9))
