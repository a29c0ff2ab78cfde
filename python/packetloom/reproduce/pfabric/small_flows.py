"""PF2 to PF5 and PF7: what the paper prints of flows up to 100 KB.

Times are as its ns-2 code takes them, to the last ACK at the sender. Ranges are held against the ends of its loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from packetloom.reproduce.claims import Measured
from packetloom.reproduce.measure import Interval, Runs, within
from packetloom.reproduce.pfabric.measure import (
    DCTCP,
    LINE_RATE,
    PFABRIC,
    SMALL,
    TCP,
    WORKLOADS,
    Slowdowns,
    short_name,
)

LOWEST_LOAD, HIGHEST_LOAD = 0.1, 0.8
FACTOR = 1.5

Numbers = Callable[[Runs], Iterator[Measured]]


def against_pfabric(statistic: str, ranges: Mapping[str, tuple[float, float]]) -> Numbers:
    """PF2 and PF3: at either load every ratio lies within a factor 1.5 of the range.

    The paper does not say what its ranges span, and their ends are not those of its loads: its web search at 80 % is
    37.7 for TCP and 9.7 for DCTCP (PF7), in the lower half of 33-69 and 7-17. So every ratio is held against the
    whole range.
    """

    def measure(runs: Runs) -> Iterator[Measured]:
        slowdowns = {short: Slowdowns(runs[workload]) for workload, short in WORKLOADS.items()}
        for other, (low, high) in ranges.items():
            for (short, load, scheme), ratio in _ratios(slowdowns, other, statistic).items():
                if load in (LOWEST_LOAD, HIGHEST_LOAD):
                    name = f"{short} {load:g} {short_name(other)}/{short_name(scheme)}"
                    yield ratio.measured(name, (low / FACTOR, high * FACTOR))
        for other, (low, high) in ranges.items():
            ratios = _ratios(slowdowns, other, statistic)
            for which, pick in (("smallest", min), ("largest", max)):
                found = pick(ratios.values(), key=lambda ratio: ratio.value)
                yield found.beside(f"{short_name(other)}/pFabric, {which} of all loads")
            outside = [key[1] for key, one in ratios.items() if not low / FACTOR <= one.value <= high * FACTOR]
            all_in = [load for _, load, _ in ratios if load > max(outside, default=0.0)]
            if all_in:
                what = f"{short_name(other)}/pFabric, load from which on all are in the band"
                yield Measured(what, min(all_in), decides=False)

    return measure


def _ratios(slowdowns: Mapping[str, Slowdowns], other: str, statistic: str) -> dict[tuple[str, float, str], Interval]:
    """By workload, load and variant of pFabric; the loads that decide are there, or it is not comparable."""
    return {
        (short, load, scheme): one.ratio(other, scheme, load, SMALL, statistic)
        for short, one in slowdowns.items()
        for load in sorted({*one.loads, LOWEST_LOAD, HIGHEST_LOAD})
        for scheme in PFABRIC
    }


def data_mining(scheme: str, mean: tuple[float, float], p99: tuple[float, float]) -> Numbers:
    """PF4 and PF5: the paper gives each range with its loads, 10-80 %: it begins at the one and ends at the other."""

    def measure(runs: Runs) -> Iterator[Measured]:
        slowdowns = Slowdowns(runs["data-mining"])
        printed = {"mean": mean, "p99": p99}
        for statistic, ends in printed.items():
            for load, value in zip((LOWEST_LOAD, HIGHEST_LOAD), ends, strict=True):
                found = slowdowns.of(scheme, load, SMALL, f"sender's {statistic}")
                yield found.measured(f"{statistic} at {load:g}", within(value, 0.15))
        for statistic in printed:
            for load in (LOWEST_LOAD, HIGHEST_LOAD):
                yield slowdowns.of(scheme, load, SMALL, statistic).beside(f"{statistic} at {load:g}, at the receiver")

    return measure


def web_search_tail(runs: Runs) -> Iterator[Measured]:
    """PF7."""
    slowdowns = Slowdowns(runs["web-search"])
    printed = {LINE_RATE: (1.75, 0.15), DCTCP: (16.97, 0.30), TCP: (66.03, 0.40)}
    for scheme, (value, share) in printed.items():
        found = slowdowns.of(scheme, HIGHEST_LOAD, SMALL, "sender's p99")
        yield found.measured(short_name(scheme), within(value, share))
    for scheme in printed:
        found = slowdowns.of(scheme, HIGHEST_LOAD, SMALL, "p99")
        yield found.beside(f"{short_name(scheme)}, at the receiver")
