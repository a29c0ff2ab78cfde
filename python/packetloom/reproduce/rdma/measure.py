"""Numbers of the experiments on lossless Ethernet: bytes over time, queues, pauses, completion times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from packetloom.reproduce.measure import Interval, PerSeed, Statistic, interval_of, per_case
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

RECEIVER = "host0"
FROM_HOSTS = pl.col("node").str.starts_with("host")
FROM_SWITCHES = FROM_HOSTS.not_()


def by_label(values: Iterable[tuple[CaseRow, float]]) -> dict[str, PerSeed]:
    """Values by series, one per seed."""
    found: dict[str, PerSeed] = defaultdict(list)
    for row, value in values:
        found[row.label].append((row.seed, value))
    return found


def intervals(values: Iterable[tuple[CaseRow, float]]) -> dict[str, Interval]:
    """Their means over seeds, with intervals."""
    return {label: interval_of(per_seed, label) for label, per_seed in by_label(values).items()}


def axis_number(row: CaseRow, axis: str) -> float:
    """The first number in what a case has for the axis whose name ends so."""
    value = next(value for name, value in row.parameters.items() if name.endswith(axis))
    number = re.search(r"[0-9.]*[0-9]", str(value).rpartition("/")[2])
    assert number
    return float(number[0])


def mean(flows: pl.DataFrame, column: str = "fct_ns") -> float:
    """The mean of the flows that finished."""
    return float(np.nanmean(flows[column].to_numpy()))


def of_flows(results: Results, columns: Sequence[str], statistic: Statistic) -> list[tuple[CaseRow, float]]:
    """A statistic of each case's measured flows."""
    return [(row, statistic(flows)) for row, flows in per_case(results, columns)]


def of_ports(results: Results, columns: Sequence[str], statistic: Statistic) -> list[tuple[CaseRow, float]]:
    """A statistic of each case's ports."""
    return [(row, statistic(polars_frame(table))) for row, table in results.partitions("ports", columns)]


def pauses(results: Results, what: str) -> dict[str, PerSeed]:
    """All ports' `pauses`, or their `paused_ns`."""
    return by_label(of_ports(results, (what,), lambda ports: float(np.nansum(ports[what].to_numpy()))))


def samples(results: Results, chosen: pl.Expr) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Each case with the samples over time of the ports that are chosen by their `node` and `peer`."""
    ports = [polars_frame(table) for _, table in results.partitions("ports", ("port", "node", "peer"))]
    series = results.partitions("series", ("port", "time_ns", "queue_bytes", "tx_bytes"))
    return [
        (row, polars_frame(table).join(names.filter(chosen), "port"))
        for names, (row, table) in zip(ports, series, strict=True)
    ]


def senders(results: Results) -> list[tuple[CaseRow, pl.DataFrame]]:
    """The same of the hosts that send something, but for the receiver, whose acknowledgements are no share."""
    found = samples(results, FROM_HOSTS & (pl.col("node") != RECEIVER))
    return [(row, of_hosts.filter(pl.col("tx_bytes").sum().over("node") > 0)) for row, of_hosts in found]


def rates_gbps(of_ports: pl.DataFrame, since: float) -> list[float]:
    """What each node put onto its link after this share of the time."""
    times = np.unique(of_ports["time_ns"].to_numpy())
    # A sample has what was sent until the next one, so the last has none.
    begin = times[np.searchsorted(times, since * times[-1])]
    late = of_ports.filter(pl.col("time_ns") >= begin, pl.col("time_ns") < times[-1])
    sums = late.group_by("node").agg(pl.col("tx_bytes").sum()).sort("node")
    return [float(sent) * 8 / (times[-1] - begin) for sent in sums["tx_bytes"].to_list()]


def drained_after_ns(queue: pl.DataFrame, share: float) -> float:
    """How long after its peak a queue is below this share of it, for the first time."""
    ordered = queue.sort("time_ns")
    times, waiting = ordered["time_ns"].to_numpy(), ordered["queue_bytes"].to_numpy().astype(float)
    peak = int(waiting.argmax())
    low = np.flatnonzero(waiting[peak:] < share * waiting[peak])
    return float(times[peak + low[0]] - times[peak]) if len(low) else float("inf")
