"""Claims DQ1 to DQ10: what the DAQ paper says, what we measure of it, and what counts as holding."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from packetloom.claims import Claim, Measured
from packetloom.reproduce.daq import measure
from packetloom.reproduce.daq.measure import CAPACITY_BYTES, D3, DAQ, LINK_GBPS, OTHERS, RCP, WEIGHT_RATIO
from packetloom.reproduce.measure import NO_LIMIT, Interval, Runs, interval_of, listed
from packetloom.statistics import polars_frame

# RCP's first part, of 4 s.
FIRST_PART_NS = 1e9
# The paper does not say with how many workers its Figure 6 goes from 96 % to 80 %.
WORKERS = 33
SIZE_AXIS = "maximum_bytes"
LARGEST_BYTES = {10: 18_000, 20: 38_000, 30: 58_000}
# Flows per second, and more than any number of workers.
BEFORE_CLIFF = 7000
FAN_IN, RATE = "fan_in", "rate_per_second"


def threshold(runs: Runs) -> Iterator[Measured]:
    """DQ1."""
    by_ratio = measure.throughput_by(runs["threshold"], "ratio")[DAQ]
    means = {ratio: interval_of(values, f"{ratio:g} RTTs").value for ratio, values in by_ratio.items()}
    best = max(means, key=lambda ratio: means[ratio])
    yield Measured("best threshold, RTTs", best, band=(10.0, 80.0))
    yield interval_of(by_ratio[best], "best").measured("there", (0.0, 1.0))
    for name, end in (("0", min(means)), ("∞", max(means))):
        found = measure.difference(by_ratio[best], by_ratio[end], name)
        yield found.measured(f"above a threshold of {name}", (0.05, 1.0))


def utilisation(runs: Runs) -> Iterator[Measured]:
    """DQ2."""
    found = measure.utilisation(runs["utilisation"])
    least = found[DAQ]["utilisation"].to_numpy().min()
    yield Measured("DAQ, least of any 50 ms", float(least), band=(0.97, NO_LIMIT))
    first = found[RCP].filter(pl.col("time_ns") < FIRST_PART_NS)["utilisation"].to_numpy()
    yield Measured("RCP, mean of the first second", float(first.mean()), band=(0.0, 0.7))


def senders(runs: Runs) -> Iterator[Measured]:
    """DQ3."""
    held = measure.held(runs["senders"])
    for scheme in (DAQ, *OTHERS):
        yield interval_of(held[scheme], scheme).measured(f"{scheme}, senders", (0.0, NO_LIMIT))
    for scheme, least in ((D3, 1.6), (RCP, 2.5)):
        yield measure.ratio(held[DAQ], held[scheme], scheme).measured(f"DAQ / {scheme}", (least, NO_LIMIT))


def sizes(runs: Runs) -> Iterator[Measured]:
    """DQ4."""
    paper = {D3: {10: 0.96, 30: 0.80}, RCP: {10: 0.94, 30: 0.80}, DAQ: {10: 0.99, 20: 0.99, 30: 0.99}}
    for scheme, values in paper.items():
        for kilobytes, value in values.items():
            fixed = {SIZE_AXIS: LARGEST_BYTES[kilobytes]}
            points = measure.throughput_by(runs["incast"], FAN_IN, **fixed)[scheme]
            what = f"{scheme}, {kilobytes} KB"
            yield interval_of(points[WORKERS], what).measured(what, (value - 0.06, value + 0.06))


def beside_long(runs: Runs) -> Iterator[Measured]:
    """DQ5."""
    points = measure.throughput_by(runs["background"], FAN_IN)
    paper = {DAQ: {5: 1.0, 35: 1.0, 40: 0.98}, RCP: {5: 0.95, 40: 0.90}, D3: {5: 0.95, 40: 0.90}}
    for scheme, values in paper.items():
        for workers, value in values.items():
            what = f"{scheme}, {workers} workers"
            yield interval_of(points[scheme][workers], what).measured(what, (value - 0.04, value + 0.04))


def long_flows(runs: Runs) -> Iterator[Measured]:
    """DQ6."""
    points = measure.long_gbps_by(runs["background"], FAN_IN)
    for workers in points[DAQ]:
        for scheme in OTHERS:
            what = f"DAQ / {scheme}, {workers:g} workers"
            found = measure.ratio(points[DAQ][workers], points[scheme][workers], what)
            yield found.measured(what, (1.0, NO_LIMIT))


def cliff(runs: Runs) -> Iterator[Measured]:
    """DQ7."""
    points = measure.throughput_by(runs["poisson"], RATE)
    for scheme in (DAQ, *OTHERS):
        yield interval_of(points[scheme][7000], scheme).measured(f"{scheme}, 7000/s", (0.98, 1.0))
    yield interval_of(points[DAQ][8000], DAQ).measured("DAQ, 8000/s", (0.8, 1.0))
    for scheme in OTHERS:
        fall = measure.difference(points[scheme][7000], points[scheme][8500], scheme)
        yield fall.measured(f"{scheme}, lost from 7000 to 8500/s", (0.3, 1.0))
        found = measure.difference(points[DAQ][8000], points[scheme][8000], scheme)
        yield found.measured(f"DAQ above {scheme}, 8000/s", (0.3, 1.0))


def guaranteed(runs: Runs) -> Iterator[Measured]:
    """DQ8."""
    share = LINK_GBPS / (1 + WEIGHT_RATIO)
    for rate, values in measure.long_gbps_by(runs["poisson"], RATE)[DAQ].items():
        what = f"{rate:g}/s, Gb/s"
        yield interval_of(values, what).measured(what, (share, NO_LIMIT))


def headline(runs: Runs) -> Iterator[Measured]:
    """DQ9: the largest gain of DAQ over D3 or RCP in Figures 6 to 8, where these still work."""
    beside = {"beside long flows": (runs["background"], FAN_IN), "Poisson": (runs["poisson"], RATE)}
    long = {name: measure.long_gbps_by(*where) for name, where in beside.items()}
    short = {name: measure.throughput_by(*where) for name, where in beside.items()}
    for kilobytes, largest in LARGEST_BYTES.items():
        short[f"{kilobytes} KB"] = measure.throughput_by(runs["incast"], FAN_IN, **{SIZE_AXIS: largest})
    for what, settings in (("long flows' throughput", long), ("application throughput", short)):
        gains = [
            (_gain(points[DAQ][at], points[scheme][at]), f"{what} over {scheme}, {name}, {at:g}")
            for name, points in settings.items()
            for scheme in OTHERS
            for at in points[DAQ]
            if at <= BEFORE_CLIFF
        ]
        most, where = max(gains, key=lambda one: one[0].value)
        yield most.measured(f"gain in {where}", (0.25, NO_LIMIT))


def _gain(over: measure.PerSeed, under: measure.PerSeed) -> Interval:
    divisors = dict(under)
    return interval_of([(seed, value / divisors[seed] - 1) for seed, value in over], "gain")


def lossless(runs: Runs) -> Iterator[Measured]:
    """DQ10: over all runs."""
    rows = [row for results in runs.values() for row in results.rows() if row.scheme == DAQ]
    yield Measured(f"drops in {len(rows)} runs", sum(row.counters["drops"] for row in rows), band=(0, 0))
    fullest = 0.0
    for name in ("utilisation", "background", "poisson"):
        for row, ports in runs[name].partitions("ports", ("node", "queue_max_bytes")):
            if row.scheme == DAQ:
                at_switch = polars_frame(ports).filter(pl.col("node").str.starts_with("switch"))
                fullest = max(fullest, float(at_switch["queue_max_bytes"].to_numpy().max()))
    yield Measured("fullest buffer, of its size", fullest / CAPACITY_BYTES, band=(0.0, 1.0))


ALL = ("threshold", "utilisation", "senders", "incast", "background", "poisson", "weights")

CLAIMS = (
    Claim(
        "DQ1",
        "Figure 3: application throughput against threshold, Poisson arrivals of 3600 flows/s of 30 KB",
        "one queue about 86 %; best 96 % for 20 to 60 RTTs, optimum about 30",
        "best between 10 and 80 RTTs, and at least 5 points above both ends",
        ("threshold",),
        listed(threshold),
        ("3",),
    ),
    Claim(
        "DQ2",
        "Figure 4: five long flows fill the link under DAQ, and under RCP only by and by",
        "DAQ near 1.0 throughout 4 s; RCP starts near 0.5 and climbs",
        "DAQ at least 0.97; RCP below 0.7 in its first part",
        ("utilisation",),
        listed(utilisation),
        ("4",),
    ),
    Claim(
        "DQ3",
        "Figure 5: senders with 99 % application throughput, answers of 10 KB",
        "DAQ about 70, D3 half of that, RCP less than a third",
        "DAQ at least 1.6 times D3 and 2.5 times RCP",
        ("senders",),
        listed(senders),
        ("5",),
    ),
    Claim(
        "DQ4",
        f"Figure 6: application throughput as answers grow from 10 to 30 KB (here with {WORKERS} workers)",
        "D3 96 to 80 %, RCP 94 to 80 %, DAQ 99 %",
        "within 6 points",
        ("incast",),
        listed(sizes),
        ("6",),
    ),
    Claim(
        "DQ5",
        "Figure 7a: application throughput beside two long flows, 5 to 40 workers",
        "DAQ 100 % to 35 workers, 98 % at 40; RCP and D3 95 % at 5, 90 % at 40",
        "within 4 points",
        ("background",),
        listed(beside_long),
        ("7",),
    ),
    Claim(
        "DQ6",
        "Figure 7b: long flows get most under DAQ",
        "DAQ highest, D3 slightly lower",
        "order",
        ("background",),
        listed(long_flows),
        ("7",),
    ),
    Claim(
        "DQ7",
        "Figure 8a: short flows under Poisson arrivals beside two long flows",
        "all above 98 % to 7000 flows/s; at 8000 RCP 40 %, D3 30 %, DAQ above 80 %",
        "cliff between 7000 and 8500 flows/s; DAQ 30 points above both",
        ("poisson",),
        listed(cliff),
        ("8",),
    ),
    Claim(
        "DQ8",
        "Figure 8b: long flows keep a guaranteed minimum under DAQ at every load of short ones",
        "as stated",
        f"at least its share of 1 in {1 + WEIGHT_RATIO} parts of the link",
        ("poisson",),
        listed(guaranteed),
        ("8",),
    ),
    Claim(
        "DQ9",
        "up to 37 % more throughput for long flows and up to 33 % more application throughput",
        "37 %; 33 %",
        "a setting that shows 25 % of each",
        ("incast", "background", "poisson"),
        listed(headline),
        ("6", "7", "8"),
    ),
    Claim(
        "DQ10",
        "credits lose nothing",
        "no loss",
        "no drops; no buffer ever over its size",
        ALL,
        listed(lossless),
    ),
)
