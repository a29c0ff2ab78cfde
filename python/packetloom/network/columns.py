"""What a caller gives for a batch of messages, as the engine takes it: an array of whole numbers each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packetloom.errors import ArgumentError

PS_PER_NS = 1000
LATEST_PS = 2**62


def whole(name: str, values: ArrayLike, count: int, type: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """So many numbers of a type: as given, or one for all."""
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "iu":
        raise ArgumentError(f"{name} has numbers of type {given.dtype}; give whole numbers")
    limits = np.iinfo(type)
    if given.size and (int(given.min()) < limits.min or int(given.max()) > limits.max):
        raise ArgumentError(f"{name} has {given.min()} to {given.max()}; give {limits.min} to {limits.max}")
    return spread(name, given, count, type)


def picoseconds(name: str, times_ns: ArrayLike, count: int) -> NDArray[np.uint64]:
    """So many times, to the picosecond."""
    given = np.asarray(times_ns)
    if given.dtype.kind not in "iuf":
        raise ArgumentError(f"{name} has values of type {given.dtype}; give numbers, in nanoseconds")
    times = given.astype(np.float64)
    if given.size and not bool(np.all((times >= 0) & (times < LATEST_PS / PS_PER_NS))):
        raise ArgumentError(
            f"{name} has {times.min()} to {times.max()}; give nanoseconds from 0 to {LATEST_PS // 1000}"
        )
    if given.dtype.kind in "iu":
        return spread(name, given.astype(np.uint64) * np.uint64(PS_PER_NS), count, np.uint64)
    return spread(name, np.rint(times * PS_PER_NS).astype(np.uint64), count, np.uint64)


def spread(name: str, given: NDArray[Any], count: int, type: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    if given.ndim > 1 or (given.ndim == 1 and given.size != count):
        raise ArgumentError(f"{name} has the shape {given.shape}; give one number, or {count}")
    return np.ascontiguousarray(np.broadcast_to(given, (count,)), dtype=type)
