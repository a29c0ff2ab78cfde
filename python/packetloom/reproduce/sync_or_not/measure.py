"""What the claims and figures of SYN against ASY are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import polars as pl

from packetloom.claims import NotComparable
from packetloom.reproduce.measure import Interval, interval_of, per_case
from packetloom.results import CaseRow, Results
from packetloom.statistics import jain_of_servers, polars_frame

PerSeed = list[tuple[int | None, float]]
# By scheme and load.
Table = dict[tuple[str, float], PerSeed]

TIERS = {"servers": ("host to leaf",), "leaves": ("leaf to host", "leaf to spine"), "spines": ("spine to leaf",)}


def mean_slowdown(flows: pl.DataFrame) -> float:
    """The mean normalised FCT."""
    return _number(flows["slowdown"].fill_nan(None).mean())


def variation(flows: pl.DataFrame) -> float:
    """The coefficient of variation of the normalised FCT."""
    slowdown = flows["slowdown"].fill_nan(None)
    return _number(slowdown.std()) / _number(slowdown.mean())


def fct_variation(flows: pl.DataFrame) -> float:
    """The coefficient of variation of the FCT."""
    fct_ns = flows["fct_ns"].fill_nan(None)
    return _number(fct_ns.std()) / _number(fct_ns.mean())


def jain(flows: pl.DataFrame) -> float:
    """Jain's index over servers of what their flows got of their best."""
    share = (flows["best_fct_ns"] / flows["fct_ns"]).cast(pl.Float64).fill_null(float("nan"))
    return _number(jain_of_servers(flows["src"].to_numpy().astype(float), share.to_numpy()))


def of_flows(results: Results, of: Callable[[pl.DataFrame], float]) -> Table:
    """A number of each case's measured flows."""
    columns = ("src", "slowdown", "fct_ns", "best_fct_ns")
    return _by_scheme((row, of(flows)) for row, flows in per_case(results, columns))


def latency_ns(results: Results, where: str, statistic: str) -> Table:
    """How long packets were at their "server" or in the "network": "mean", or a percentile such as "p50"."""
    return _by_scheme((row, float(row.counters[f"{where}_latency_{statistic}_ns"])) for row in results.rows())


def carried_share(results: Results) -> Table:
    """Bytes of the flows that end in the measured time over bytes of those that start in it."""
    columns = ("size_bytes", "start_ns", "fct_ns", "measured")
    return _by_scheme((row, _carried(polars_frame(flows))) for row, flows in results.partitions("flows", columns))


def _carried(flows: pl.DataFrame) -> float:
    since, until = (_number(value) for value in flows.filter("measured")["start_ns"].to_numpy()[[0, -1]].tolist())
    ends = pl.col("start_ns") + pl.col("fct_ns")
    arrived = flows.filter(pl.col("start_ns").is_between(since, until))["size_bytes"].sum()
    carried = flows.filter(ends.is_between(since, until))["size_bytes"].sum()
    return float(carried) / float(arrived)


def queue_mean_bytes(results: Results, where: str) -> Table:
    """What waits at a server or a port of a tier, on average."""
    return _queues(results, where, pl.col("queue_mean_bytes").mean())


def queue_p99_bytes(results: Results, where: str) -> Table:
    """What a port of a tier does not exceed for 99 % of the time, on average over ports."""
    return _queues(results, where, pl.col("queue_p99_bytes").mean())


def at(table: Table, label: str, load: float) -> Interval:
    """A scheme's number with its interval over seeds."""
    return interval_of(_values(table, label, load), f"{label} at load {load:g}")


def ratio(table: Table, label: str, other: str, load: float) -> Interval:
    """How many times a scheme's number is another's, seed by seed: both saw the same flows."""
    theirs = dict(_values(table, other, load))
    both = [(seed, value / theirs[seed]) for seed, value in _values(table, label, load) if seed in theirs]
    return interval_of(both, f"{label} against {other} at load {load:g}")


def loads_of(table: Table) -> list[float]:
    """The loads that were run, rising."""
    return sorted({load for _, load in table})


def labels_of(table: Table) -> list[str]:
    """The schemes, in their order."""
    return list(dict.fromkeys(label for label, _ in table))


def _values(table: Table, label: str, load: float) -> PerSeed:
    if (label, load) not in table:
        raise NotComparable(f"{label} was not run at load {load:g}")
    return table[label, load]


def _by_scheme(values: Iterable[tuple[CaseRow, float]]) -> Table:
    table: Table = defaultdict(list)
    for row, value in values:
        table[row.label, row.load or 0.0].append((row.seed, value))
    return dict(table)


def _queues(results: Results, where: str, of: pl.Expr) -> Table:
    columns = ("tier", "queue_mean_bytes", "queue_p99_bytes")
    tier = pl.col("tier").is_in(TIERS[where])
    frames = ((row, polars_frame(ports)) for row, ports in results.partitions("ports", columns))
    return _by_scheme((row, float(frame.filter(tier).select(of).item())) for row, frame in frames)


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise NotComparable("no flow finished")
    return float(value)
