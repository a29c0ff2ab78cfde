"""Claims PW1 to PW6: PowerTCP and its form by delay alone, beside HPCC, DCQCN and TIMELY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from packetloom.common.percentiles import PERCENTILES, quantile
from packetloom.reproduce.claims import Claim, Measured, NotComparable
from packetloom.reproduce.measure import (
    NO_LIMIT,
    Interval,
    PerSeed,
    Runs,
    above,
    axis_number,
    below,
    by_label,
    chosen,
    interval_of,
    listed,
    mean,
    of_flows,
    per_case,
    ratio,
    tail,
    within,
)
from packetloom.reproduce.readings import Numbers, unless_it_hangs
from packetloom.reproduce.samples import port_samples
from packetloom.reproduce.transports.measure import (
    ROUND_TRIP_NS,
    evenness,
    link_share,
    round_trips_until,
    since_when,
    to_receiver,
)
from packetloom.store.results import Results

POWERTCP, THETA = "PowerTCP", "theta-PowerTCP"
LESS_BETA = "PowerTCP, a tenth of beta"
SIMULATOR, PACED = "PowerTCP, its simulator's", "PowerTCP, its simulator's, paced only"
HPCC, DCQCN, TIMELY = "HPCC", "DCQCN", "TIMELY"
LINE_GBPS = 100.0
SHORT = {"flows up to 10 KB": 10_000, "flows up to 100 KB": 100_000}
MEDIUM = (pl.col("size_bytes") > 100_000) & (pl.col("size_bytes") <= 1_000_000)
# So many make the one in a thousand.
ENOUGH = 1_000
# In burst.toml: when the ten begin, and what the link takes for their 2.5 MB in packets of 1090 B.
BURST_NS, THROUGH_NS = 1_000_000.0, 218_000.0
ENDLESS_BYTES = 1e9
DRAINED, DRAINED_WITHIN = 0.1, 3.0
# In fairness.toml: who begins, and when; shares are over five round trips.
ARRIVALS_NS = {"host8": 0.0, "host16": 1e6, "host24": 2e6, "host9": 3e6}
APART_NS, OVER_NS = 1e6, 5 * ROUND_TRIP_NS
EVEN, EVEN_WITHIN = 0.95, 20.0


def short_tail(runs: Runs) -> Sequence[Measured]:
    """PW1: p99.9 of all seeds' short flows together."""
    beside = []
    for what, most in SHORT.items():
        tails = _pooled_tails(runs["web-search"], most)
        beside += [Measured(f"{what}, {scheme}: p99.9, us", ns / 1e3, decides=False) for scheme, ns in tails.items()]
        over_hpcc = {scheme: tails[scheme] / tails[HPCC] for scheme in (SIMULATOR, LESS_BETA)}
        beside += [Measured(f"{what}: {one} / {HPCC}", value, decides=False) for one, value in over_hpcc.items()]
    by_reading = {what: _lower(_pooled_tails(runs["web-search"], most), what) for what, most in SHORT.items()}
    return unless_it_hangs("which flows are short", by_reading, beside)


def _lower(tails: dict[str, float], what: str) -> Numbers:
    at_most = {DCQCN: 0.5, TIMELY: 0.5, HPCC: 0.9}
    return [
        Measured(f"{what}: {POWERTCP} / {other}", tails[POWERTCP] / tails[other], band=(0.0, most))
        for other, most in at_most.items()
    ]


def _pooled_tails(results: Results, most_bytes: int) -> dict[str, float]:
    """By scheme, in ns."""
    pooled: dict[str, list[pl.Series]] = {}
    for row, flows in per_case(results, ("size_bytes", "fct_ns")):
        short = flows.filter(pl.col("size_bytes") <= most_bytes)["fct_ns"]
        pooled.setdefault(row.scheme, []).append(short)
    together = {scheme: pl.concat(parts).to_numpy() for scheme, parts in pooled.items()}
    fewest = min(len(one) for one in together.values())
    if fewest < ENOUGH:
        raise NotComparable(f"{fewest} flows up to {most_bytes / 1e3:g} KB are too few for p99.9: run more seeds")
    return {scheme: quantile(one, PERCENTILES["p99.9"]) for scheme, one in together.items()}


def burst(runs: Runs) -> Sequence[Measured]:
    """PW2: the receiver's link and the queue before it, from when ten more begin to send."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row, port in to_receiver(runs["burst"]):
        endless = axis_number(row, "size_bytes") >= ENDLESS_BYTES
        size = "flows without an end" if endless else "flows of 250 KB"
        used = link_share(port, BURST_NS, THROUGH_NS, LINE_GBPS)
        found.setdefault(size, {})[row.scheme] = used, round_trips_until(port, BURST_NS, THROUGH_NS, DRAINED)
    beside = []
    for size, by_scheme in found.items():
        for scheme, (used, round_trips) in by_scheme.items():
            beside.append(Measured(f"{size}, {scheme}: of the link", used, decides=False))
            beside.append(Measured(f"{size}, {scheme}: round trips until drained", round_trips, decides=False))
    for row, port in to_receiver(runs["first-windows"]):
        first_windows = 10 * axis_number(row, "initial_rate_gbps") / LINE_GBPS
        name = f"{row.scheme}, first windows of {first_windows:g} BDPs together: round trips until drained"
        beside.append(Measured(name, round_trips_until(port, BURST_NS, THROUGH_NS, DRAINED), decides=False))
    by_reading = {size: _of_burst(by_scheme) for size, by_scheme in found.items()}
    return unless_it_hangs("how long the burst's flows are", by_reading, beside)


def _of_burst(by_scheme: dict[str, tuple[float, float]]) -> Numbers:
    used, round_trips = by_scheme[POWERTCP]
    keep = [(scheme, by_scheme[scheme][1]) for scheme in (DCQCN, TIMELY)]
    drained = "round trips until drained to a tenth"
    return [
        Measured(f"{POWERTCP}: of the link", used, band=(0.95, NO_LIMIT)),
        Measured(f"{POWERTCP}: {drained}", round_trips, band=(0.0, DRAINED_WITHIN)),
        Measured(f"of the link, {HPCC} / {POWERTCP}", by_scheme[HPCC][0] / used, band=below(1.0)),
        *(Measured(f"{scheme}: {drained}", value, band=above(DRAINED_WITHIN)) for scheme, value in keep),
    ]


def fairness(runs: Runs) -> Iterator[Measured]:
    """PW3: after each arrival, until Jain's index of those that send stays at 0.95 or above."""
    names = list(ARRIVALS_NS)
    for row, senders in port_samples(runs["fairness"], pl.col("node").is_in(names)):
        for place, name in enumerate(names[1:], 2):
            since = ARRIVALS_NS[name]
            found = evenness(senders, names[:place], since, since + APART_NS, OVER_NS)
            round_trips = since_when(found, EVEN, since) / ROUND_TRIP_NS
            what = f"{row.scheme}, {place} flows: round trips until even"
            yield Measured(what, round_trips, band=(0.0, EVEN_WITHIN), decides=row.scheme == POWERTCP)


def by_delay(runs: Runs) -> Sequence[Measured]:
    """PW4."""
    medium = _times(runs, THETA, POWERTCP, MEDIUM)
    beside = [_simulators_theta(runs, what, most) for what, most in SHORT.items()]
    by_reading = {
        what: [
            _times(runs, THETA, POWERTCP, pl.col("size_bytes") <= most).measured(
                f"{what}: p99, {THETA} / {POWERTCP}", (0.0, 1.5)
            ),
            medium.measured(f"100 KB to 1 MB: p99, {THETA} / {POWERTCP}", above(1.0)),
        ]
        for what, most in SHORT.items()
    }
    other = [replace(one, decides=False) for one in by_reading["flows up to 100 KB"][:1]]
    return unless_it_hangs("which flows are short", by_reading, [*other, *beside])


def _simulators_theta(runs: Runs, what: str, most_bytes: int) -> Measured:
    found = _times(runs, f"{THETA}, its simulator's", SIMULATOR, pl.col("size_bytes") <= most_bytes)
    return found.beside(f"{what}, both their simulator's: p99, {THETA} / {POWERTCP}")


def _times(runs: Runs, over: str, under: str, which: pl.Expr) -> Interval:
    """How many times the p99 slowdown of these flows under one scheme is that under another."""
    tails = by_label(of_flows(runs["web-search"], ("size_bytes", "slowdown"), chosen(which, tail("slowdown"))))
    return ratio(tails[over], tails[under], over)


def circuits(_: Runs) -> Sequence[Measured]:
    """PW5."""
    raise NotComparable("No topology here has circuits that are switched from one pair of racks to the next.")


def paced_only(runs: Runs) -> Iterator[Measured]:
    """PW6."""
    for name, statistic in (("mean", mean("slowdown")), ("p99", tail("slowdown"))):
        found: dict[str, PerSeed] = by_label(of_flows(runs["web-search"], ("slowdown",), statistic))
        paced = ratio(found[PACED], found[SIMULATOR], PACED)
        yield paced.measured(f"{name} slowdown, paced only / with its window", within(1.0, 0.1))
        for scheme in (PACED, SIMULATOR):
            yield interval_of(found[scheme], scheme).beside(f"{scheme}: {name} slowdown")


PAPER = "PowerTCP"

CLAIMS = (
    Claim(
        "PW1",
        "at load 0.6, p99.9 of short flows' FCT is 80 % lower than under DCQCN and TIMELY, 33 % lower than under HPCC",
        f"{PAPER}, abstract",
        "≥ 50 % lower than DCQCN's and TIMELY's, ≥ 10 % lower than HPCC's; web search at 0.6",
        ("web-search",),
        short_tail,
        ("PW1",),
        choices="All seeds' flows together; DCQCN's and TIMELY's constants are those that HPCC's simulator runs.",
        explanation=(
            "By the paper's law each flow keeps a queue (beta): with a tenth of beta p99.9 up to 10 KB is nearer "
            "to HPCC's. By the simulator's law, which aims at 95 % of the link like HPCC, it equals HPCC's. Up to "
            "100 KB all are within a few per cent (`web-search.toml`)."
        ),
    ),
    Claim(
        "PW2",
        "after a burst of ten on a running flow the queue drains to near zero without losing throughput; HPCC loses "
        "some, TIMELY and DCQCN keep a queue",
        f"{PAPER}, abstract: the direction",
        "throughput of the bottleneck ≥ 95 % through the burst; queue < 10 % of its peak within 3 RTTs",
        ("burst", "first-windows"),
        burst,
        ("PW2",),
        choices=(
            "Through the burst is 218 us, what the link takes for 250 KB from each of the ten. Drained counts from the "
            "peak in this time; a queue that never drains, until the run's end."
        ),
        explanation=(
            "Ten first windows at line rate are what the link carries in ten round trips, so no sender can drain "
            "them in three. By the paper's law each flow also keeps a tenth of a bandwidth-delay product queued "
            "(beta), eleven flows 1.1. With a tenth of beta, or by the simulator's law, and first windows of 1.25 "
            "in all it drains in time (`first-windows.toml`)."
        ),
    ),
    Claim(
        "PW3",
        "fair: four flows that start apart converge to equal shares quickly",
        f"{PAPER}, from memory",
        "Jain ≥ 0.95 within 20 RTTs of each arrival",
        ("fairness",),
        listed(fairness),
        ("PW3",),
        choices="Of what was sent in five round trips; until it stays so.",
    ),
    Claim(
        "PW4",
        "theta-PowerTCP, by delay only, keeps most of it for short flows and is worse for medium ones",
        f"{PAPER}, from memory",
        "p99 of short flows ≤ 1.5 times PowerTCP's; that of medium ones higher",
        ("web-search",),
        by_delay,
        choices=(
            "Medium is above 100 KB, up to 1 MB; slowdowns, as theta's packets are shorter. At `--scale quick` the "
            "interval of medium flows includes 1: three seeds do not show that they are slower."
        ),
    ),
    Claim(
        "PW5",
        "in a reconfigurable network circuits are used to 85 %, and tail latency is halved",
        f"{PAPER}, abstract",
        "≥ 80 %",
        (),
        circuits,
    ),
    Claim(
        "PW6",
        "without a window, only paced, it behaves nearly the same",
        f"{PAPER}, an option of its simulator",
        "mean and p99 slowdown within 10 %",
        ("web-search",),
        listed(paced_only),
        choices="By the simulator's law, which sets a rate; the paper's sets the window itself.",
    ),
)
