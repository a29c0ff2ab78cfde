"""Exercises of "Incast and fabrics"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packetloom.course.marks import NO_ANSWER, Mark, function, is_missing, number, right, wrong

BUFFER_BYTES = 150_000
WINDOW_BYTES = 10 * 1_500
"""Ten packets: TCP's first window (RFC 6928)."""


def check_first_windows(answer: Any) -> Mark:
    """How many first windows of ten packets fit into a buffer of 150 KB at once."""
    return number(
        answer,
        BUFFER_BYTES // WINDOW_BYTES,
        within=0.0,
        hint="A first window is ten packets of 1500 B; the buffer has 150 KB.",
        praise="And the second window is twice the first: so it takes fewer senders than that, as the figure shows.",
    )


def goodput_bps(senders: int, size_bytes: float, rate_bps: float, timeout_s: float) -> float:
    """Of an incast in which somebody waits for one timeout while the link is idle."""
    bits = senders * size_bytes * 8
    return bits / (bits / rate_bps + timeout_s)


def check_goodput(answer: Callable[[int, float, float, float], Any]) -> Mark:
    """The goodput of an incast with one timeout."""
    cases = [(16, 60e3, 10e9, 0.2), (40, 60e3, 10e9, 200e-6), (8, 1e6, 1e9, 0.01)]
    return function(
        answer,
        [(case, goodput_bps(*case)) for case in cases],
        within=0.01,
        hint="All bits, over the time to send them at the link's rate and the one timeout.",
        praise="With 200 ms the sum in the denominator is nearly all timeout.",
    )


def idle_share(paths: int, flows: int) -> float:
    """The share of the paths that no flow draws, if each draws one at random."""
    return (1 - 1 / paths) ** flows


def check_idle_share(answer: Callable[[int, int], Any]) -> Mark:
    """The expected share of unused uplinks under per-flow ECMP."""
    return function(
        answer,
        [(case, idle_share(*case)) for case in ((8, 8), (4, 4), (2, 1), (16, 64))],
        within=0.001,
        hint="One flow misses a given path with probability 1 − 1/n. How likely is it that all of them do?",
        praise="For many paths and as many flows that is 1/e = 37 %: a third of the capacity that was paid for.",
    )


def uplink_load(
    load: float, leaves: int, hosts_per_leaf: int, spines: int, host_gbps: float, uplink_gbps: float
) -> float:
    """How busy a leaf's uplinks are, if every host sends this much of its link's rate to random other hosts."""
    hosts = leaves * hosts_per_leaf
    leaving = (hosts - hosts_per_leaf) / (hosts - 1)
    return load * hosts_per_leaf * host_gbps * leaving / (spines * uplink_gbps)


def check_uplink_load(answer: Callable[..., Any]) -> Mark:
    """The load of uplinks by that of hosts' links."""
    cases = [(0.5, 4, 8, 4, 10.0, 10.0), (0.8, 8, 8, 8, 10.0, 10.0), (0.6, 2, 16, 2, 25.0, 100.0)]
    return function(
        answer,
        [(case, uplink_load(*case)) for case in cases],
        within=0.001,
        hint="Any host but the sender can be the destination; those of the sender's leaf need no uplink.",
        praise="Oversubscribed two to one, the uplinks are full while the hosts' links are at 65 %.",
    )


def check_fat_tree(answer: Callable[[int], Any]) -> Mark:
    """Hosts, switches, and paths between pods of a fat-tree of k-port switches."""
    for k in (4, 6, 48):
        try:
            given = answer(k)
        except Exception as error:
            return wrong(f"fat_tree({k}) raised {type(error).__name__}: {error}")
        if is_missing(given):
            return Mark(False, NO_ANSWER)
        if tuple(given) != (k**3 // 4, 5 * k * k // 4, (k // 2) ** 2):
            return wrong(f"fat_tree({k}) gives {given}. k pods have k/2 edge and k/2 aggregation switches each.")
    return right("With 48-port switches: 27,648 hosts, and 576 paths between any two pods.")


def check_all_reduce(answer: Any) -> Mark:
    """The least time in ms of an all-reduce of 8 MB among 16 hosts at 100 Gb/s."""
    return number(
        answer,
        2 * 15 / 16 * 8e6 * 8 / 100e9 * 1e3,
        within=0.02,
        hint="Each host has to send 2 (n − 1)/n of the vector.",
        praise="Half of it to reduce, half of it to spread the result.",
    )
