"""What the claims and figures of SYN against ASY are made of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import polars as pl

from packetloom.common import fairness
from packetloom.reproduce.claims import NotComparable
from packetloom.reproduce.measure import Interval, PerSeed, interval_of, per_case, ratio
from packetloom.stats.summary import jain_of_servers, polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

# By scheme and load.
Table = dict[tuple[str, float], PerSeed]

FULL_BYTES = 1500
SYN = "SYN MMF"
TIERS = {"servers": ("host to leaf",), "leaves": ("leaf to host", "leaf to spine"), "spines": ("spine to leaf",)}


def mean_slowdown(flows: pl.DataFrame) -> float:
    """The mean normalised FCT."""
    return _number(flows["slowdown"].fill_nan(None).mean())


def variation(flows: pl.DataFrame) -> float:
    """The coefficient of variation of the normalised FCT."""
    slowdown = flows["slowdown"].fill_nan(None)
    return _number(slowdown.std()) / _number(slowdown.mean())


def slowdown_variance(flows: pl.DataFrame) -> float:
    """The variance of the normalised FCT."""
    return _number(flows["slowdown"].fill_nan(None).var())


def mean_fct(flows: pl.DataFrame) -> float:
    """The mean FCT."""
    return _number(flows["fct_ns"].fill_nan(None).mean())


def fct_variance(flows: pl.DataFrame) -> float:
    """The variance of the FCT."""
    return _number(flows["fct_ns"].fill_nan(None).var())


def fct_variation(flows: pl.DataFrame) -> float:
    """The coefficient of variation of the FCT."""
    return math.sqrt(fct_variance(flows)) / mean_fct(flows)


def jain(flows: pl.DataFrame) -> float:
    """Jain's index over servers of what their flows got of their best."""
    return _jain_over(flows, "src")


def jain_of_receivers(flows: pl.DataFrame) -> float:
    """The same over the servers that received."""
    return _jain_over(flows, "dst")


def jain_of_pairs(flows: pl.DataFrame) -> float:
    """The same over pairs of servers."""
    return _jain_over(flows.with_columns(pair=pl.col("src").cast(pl.Int64) * (1 << 32) + pl.col("dst")), "pair")


def jain_of_flows(flows: pl.DataFrame) -> float:
    """The same over flows, one by one."""
    return _jain_over(flows.with_row_index("flow"), "flow")


def jain_of_rates(flows: pl.DataFrame) -> float:
    """Over servers, of the mean rate of their flows."""
    rate = flows["size_bytes"] / flows["fct_ns"]
    return _number(jain_of_servers(flows["src"].to_numpy().astype(float), rate.to_numpy()))


def jain_of_throughput(flows: pl.DataFrame) -> float:
    """Over servers, of the bytes of their flows that had arrived when the last one started."""
    last = flows["start_ns"].max()
    sent = flows.with_columns(
        arrived=pl.when(pl.col("start_ns") + pl.col("fct_ns") <= last).then("size_bytes").otherwise(0)
    )
    of_server = sent.group_by("src").agg(pl.col("arrived").sum().cast(pl.Float64))["arrived"].to_numpy()
    return fairness.jain(of_server)


JAINS: Mapping[str, Callable[[pl.DataFrame], float]] = {
    "of a sender's flows' shares of their best": jain,
    "of a receiver's": jain_of_receivers,
    "of a pair's": jain_of_pairs,
    "of each flow's": jain_of_flows,
    "of a sender's flows' rates": jain_of_rates,
    "of the bytes that a sender got through": jain_of_throughput,
}
"""Candidates for the throughput that the paper's index is taken of."""


def _jain_over(flows: pl.DataFrame, whose: str) -> float:
    share = (flows["best_fct_ns"] / flows["fct_ns"]).cast(pl.Float64).fill_null(float("nan"))
    return _number(jain_of_servers(flows[whose].to_numpy().astype(float), share.to_numpy()))


def of_flows(results: Results, of: Callable[[pl.DataFrame], float]) -> Table:
    """A number of each case's measured flows."""
    columns = ("src", "dst", "size_bytes", "start_ns", "slowdown", "fct_ns", "best_fct_ns")
    return _by_scheme((row, of(flows)) for row, flows in per_case(results, columns))


def latency_ns(results: Results, where: str, statistic: str) -> Table:
    """How long packets were at their "server" or in the "network": "mean", or a percentile such as "p50"."""
    return _by_scheme((row, float(row.counters[f"{where}_latency_{statistic}_ns"])) for row in results.rows())


def rounds_per_decision(results: Results) -> Table:
    """How often ASY normalised rows and columns for new rates, on average."""
    return _of_decisions(results, "control_rounds")


def unsettled_share(results: Results) -> Table:
    """The share of ASY's decisions in which rates had not converged after the most rounds that there may be."""
    return _of_decisions(results, "control_unsettled")


def _of_decisions(results: Results, counter: str) -> Table:
    rows = [row for row in results.rows() if row.counters.get("control_decisions")]
    return _by_scheme((row, row.counters[counter] / row.counters["control_decisions"]) for row in rows)


def counter(results: Results, name: str) -> Table:
    """A counter of each case."""
    return _by_scheme((row, float(row.counters[name])) for row in results.rows())


def given_out(results: Results, of: str, *, framed: bool = False) -> dict[tuple[float, int], Interval]:
    """Of the experiment "given-out", by the share of links that ASY gives out and its most rounds: what a tier's
    queues hold, the "network" latency's median or the "fct", in SYN's; or the "p99" of what spines hold, in bytes."""
    if of == "network":
        table = latency_ns(results, of, "p50")
    elif of == "fct":
        table = of_flows(results, mean_slowdown)
    elif of == "p99":
        table = queue_p99_bytes(results, "spines")
    else:
        table = (held_mean_bytes if framed else queue_mean_bytes)(results, of)
    found = {}
    for row in results.rows():
        share, rounds = (row.parameters.get(f"scheme.transport.{name}") for name in ("share", "rounds"))
        if row.label.startswith("ASY") and row.load is not None:
            measured = at(table, row.label, row.load) if of == "p99" else ratio_of(table, row.label, SYN, row.load)
            found[float(str(share)), int(str(rounds))] = measured
    return found


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
    """What waits at a server or a port of a tier, on average, without the packet in service."""
    return _queues(results, where, pl.col("queue_mean_bytes").mean())


def held_mean_bytes(results: Results, where: str) -> Table:
    """The same with the packet in service, which is taken for a full one."""
    return _queues(results, where, (pl.col("queue_mean_bytes") + pl.col("utilisation") * FULL_BYTES).mean())


def queue_p99_bytes(results: Results, where: str) -> Table:
    """What a port of a tier does not exceed for 99 % of the time, on average over ports."""
    return _queues(results, where, pl.col("queue_p99_bytes").mean())


def at(table: Table, label: str, load: float) -> Interval:
    """A scheme's number with its interval over seeds."""
    return interval_of(_values(table, label, load), f"{label} at load {load:g}")


def ratio_of(table: Table, label: str, other: str, load: float) -> Interval:
    """How many times a scheme's number is another's."""
    mine, theirs = (_values(table, one, load) for one in (label, other))
    return ratio(mine, theirs, f"{label} against {other} at load {load:g}")


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
    columns = ("tier", "utilisation", "queue_mean_bytes", "queue_p99_bytes")
    tier = pl.col("tier").is_in(TIERS[where])
    frames = ((row, polars_frame(ports)) for row, ports in results.partitions("ports", columns))
    return _by_scheme((row, float(frame.filter(tier).select(of).item())) for row, frame in frames)


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise NotComparable("no flow finished")
    return float(value)
