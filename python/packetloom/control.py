"""The algorithms of central controllers on numpy arrays: who sends in a slot, by which path, at which rate.

Pairs are given as two arrays, ``src`` and ``dst``: one entry for each pair of servers that has something to send, so
that a sparse matrix stays sparse (``src, dst = np.nonzero(matrix)``). Servers, leaves and links are numbered from 0.
In complexities E is the number of pairs and V the number of servers or leaves. Whatever is not as described raises
``packetloom.ArgumentError``, a ``ValueError``. The algorithms run in Rust, without the interpreter's lock; a controller
that calls them slot after slot without allocating uses the Rust library (``packetloom::control``).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packetloom import _core
from packetloom.common import arguments
from packetloom.errors import ArgumentError

MOST_NODES = 1 << 20
MOST_ROUNDS = 1_000_000

Indices = NDArray[np.uint32]
Rates = NDArray[np.float64]
Whole = TypeVar("Whole", bound=np.unsignedinteger[Any])


class Grants(NamedTuple):
    """What may be sent: packet i from ``src[i]`` to ``dst[i]`` in slot ``slot[i]``."""

    src: Indices
    dst: Indices
    slot: Indices


class Utility(NamedTuple):
    """Rates, and the links' prices to go on from."""

    rates: Rates
    prices: Rates


def greedy_matching(src: ArrayLike, dst: ArrayLike, key: ArrayLike, *, servers: int) -> Indices:
    """Match one slot greedily: pairs in order of ``key``, each taken if its source and its destination are free.

    The matching is maximal and has at least half as many pairs as the largest. What ``key`` holds is the policy: when
    the packet at the head came (OCF), the bytes left of its flow (SRJF), since when it has been at the head (MMF),
    when the pair was last served (max-min over time).

    ``src``, ``dst``: shape (E,), servers. ``key``: shape (E,), whole numbers of any unit; the smallest goes first,
    equal ones by ``src``, then ``dst``. Returns the matched pairs as indices into these arrays, in the order in which
    they were taken: shape (at most ``servers``,). O(E log E).
    """
    return _core.greedy_matching(
        _indices("src", src), _indices("dst", dst), _whole("key", key, np.uint64), _nodes("servers", servers)
    )


def batch_matching(src: ArrayLike, dst: ArrayLike, packets: ArrayLike, *, servers: int, slots: int = 64) -> Grants:
    """Match up to 64 slots at once: pairs in turn, a packet at a time, in the first slot that both ends have free.

    ``src``, ``dst``: shape (E,), servers, in order of precedence. ``packets``: shape (E,), what each has to send.
    Returns three arrays of shape (granted packets,). Each slot's matching is maximal. O(granted packets + E).
    """
    pairs = _indices("src", src), _indices("dst", dst), _indices("packets", packets)
    return Grants(*_core.batch_matching(*pairs, _nodes("servers", servers), arguments.whole("slots", slots, 1, 64)))


def maximum_matching(src: ArrayLike, dst: ArrayLike, *, servers: int) -> Indices:
    """Match as many pairs as there can be (Hopcroft and Karp).

    ``src``, ``dst``: shape (E,), servers. Returns the matched pairs as indices, in order of source. O(E √V).
    """
    return _core.maximum_matching(_indices("src", src), _indices("dst", dst), _nodes("servers", servers))


def edge_colouring(
    src: ArrayLike, dst: ArrayLike, *, leaves: int, method: Literal["euler-split", "paull"] = "paull"
) -> Indices:
    """Give each packet of a slot a path: no leaf sends or receives two packets of the same colour.

    ``src``, ``dst``: shape (E,), leaves; the same pair may stand several times. Returns a colour from 0 for each
    edge, shape (E,); there are as many colours as the leaf with the most edges has, which is the fewest possible.
    ``"euler-split"``: O(E log Δ + V² log Δ) for Δ colours. ``"paull"``: O(E (Δ/64 + V)).
    """
    if method not in ("euler-split", "paull"):
        raise ArgumentError(f'method is "euler-split" or "paull", not {method!r}')
    return _core.edge_colouring(
        _indices("src", src), _indices("dst", dst), _nodes("leaves", leaves), method == "euler-split"
    )


def normalise_rates(
    src: ArrayLike,
    dst: ArrayLike,
    offered: ArrayLike,
    *,
    servers: int,
    rounds: int = 1000,
    tolerance: float = 1e-3,
    up_to_offered: bool = False,
) -> Rates:
    """Scale rows and columns of the offered rates in turn (Sinkhorn), then fill up: rates that all links can carry.

    They are scaled until a round changes no rate by more than ``tolerance``, and at most ``rounds`` times.

    ``src``, ``dst``: shape (E,), servers, each pair once. ``offered``: shape (E,), 0 or more; fractions of a link's
    rate where ``up_to_offered`` (no pair gets more than it offers), else any unit (what links have is all given out,
    in these proportions). Returns shape (E,), fractions of a link's rate: no server sends or receives more than 1 in
    all (within 1e-9), and no pair can have more unless another has less. O(rounds × (E + V)).
    """
    if not isinstance(tolerance, int | float) or not tolerance >= 0:
        raise arguments.wrong("tolerance", tolerance, "a number from 0")
    pairs = _indices("src", src), _indices("dst", dst)
    limits = _nodes("servers", servers), arguments.whole("rounds", rounds, 0, MOST_ROUNDS)
    return _core.normalise_rates(
        *pairs, _numbers("offered", offered), *limits, tolerance, arguments.flag("up_to_offered", up_to_offered)
    )


def max_min_rates(
    first_link: ArrayLike,
    links: ArrayLike,
    capacity: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    limit: ArrayLike | None = None,
) -> Rates:
    """Share links fairly: no flow can have more per weight without one, that has no more per weight, having less.

    Flow f crosses ``links[first_link[f]:first_link[f + 1]]``: ``first_link`` has shape (F + 1,), ``links`` (H,).
    ``capacity``: shape (L,), above 0, in any unit. ``weight``: shape (F,), above 0; 1 if not given. ``limit``: shape
    (F,), the most that a flow takes, in capacity's unit; none if not given. Returns shape (F,), in capacity's unit.
    O(H log L + F log F).
    """
    first = _indices("first_link", first_link)
    flows = max(len(first) - 1, 0)
    weights = np.ones(flows) if weight is None else _numbers("weight", weight)
    limits = np.full(flows, np.inf) if limit is None else _numbers("limit", limit)
    return _core.max_min_rates(first, _indices("links", links), _numbers("capacity", capacity), weights, limits)


def utility_rates(
    first_link: ArrayLike,
    links: ArrayLike,
    capacity: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    prices: ArrayLike | None = None,
    rounds: int = 100,
    step: float = 0.4,
    normalise: bool = True,
) -> Utility:
    """Maximise Σ weight × log(rate) by Flowtune's Newton-exact-diagonal method (NED).

    Flows and links as in `max_min_rates`. ``prices``: shape (L,), to go on from an earlier call; 1 if not given.
    ``step``: how far a round goes, Flowtune's γ. ``normalise``: scale each flow by its most loaded link (F-NORM), so
    that no link carries more than its capacity even before prices have settled. Returns rates, shape (F,), in
    capacity's unit, and prices, shape (L,). O(H) per round.
    """
    first, capacities = _indices("first_link", first_link), _numbers("capacity", capacity)
    weights = np.ones(max(len(first) - 1, 0)) if weight is None else _numbers("weight", weight)
    start = np.ones(len(capacities)) if prices is None else _numbers("prices", prices)
    times = arguments.whole("rounds", rounds, 0, MOST_ROUNDS)
    if not isinstance(step, int | float):
        raise arguments.wrong("step", step, "a number above 0 and at most 1")
    scaled = arguments.flag("normalise", normalise)
    found = _core.ned_rates(first, _indices("links", links), capacities, weights, start, times, step, scaled)
    return Utility(*found)


def _nodes(name: str, count: int) -> int:
    return arguments.whole(name, count, 0, MOST_NODES)


def _indices(name: str, values: ArrayLike) -> Indices:
    return _whole(name, values, np.uint32)


def _whole(name: str, values: ArrayLike, kind: type[Whole]) -> NDArray[Whole]:
    """The values as an array of whole numbers, none of which changes on the way."""
    given = _array(name, values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ArgumentError(f"{name} is a one-dimensional array of whole numbers")
    if given.size and not 0 <= int(given.min()) <= int(given.max()) <= np.iinfo(kind).max:
        raise ArgumentError(f"{name} is from 0 to {np.iinfo(kind).max}")
    return np.ascontiguousarray(given, dtype=kind)


def _numbers(name: str, values: ArrayLike) -> Rates:
    given = _array(name, values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iuf"):
        raise ArgumentError(f"{name} is a one-dimensional array of numbers")
    return np.ascontiguousarray(given, dtype=np.float64)


def _array(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name} is not an array: {error}") from None
