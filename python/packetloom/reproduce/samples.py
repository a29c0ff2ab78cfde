"""Samples of ports over time: queues, and what links carried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results


def port_samples(results: Results, chosen: pl.Expr) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Each case with the samples over time of the ports that are chosen by their `node` and `peer`."""
    ports = [polars_frame(table) for _, table in results.partitions("ports", ("port", "node", "peer"))]
    series = results.partitions("series", ("port", "time_ns", "queue_bytes", "tx_bytes"))
    return [
        (row, polars_frame(table).join(names.filter(chosen), "port"))
        for names, (row, table) in zip(ports, series, strict=True)
    ]


def largest_queues(results: Results) -> Iterator[tuple[CaseRow, float]]:
    """The most bytes that waited before any host."""
    for row, table in results.partitions("ports", ("peer", "queue_max_bytes")):
        ports = polars_frame(table).filter(pl.col("peer").str.starts_with("host"))
        yield row, float(ports.select(pl.col("queue_max_bytes").max()).item())


def late_share_to_hosts(
    results: Results, table: TableName, column: str, gbps: float
) -> Iterator[tuple[CaseRow, float]]:
    """The share of the links to hosts, each of this rate, that a column's bytes had in the second half."""
    for row, part in results.partitions(table, ("port", "time_ns", column)):
        names = results.part("ports", row, ("port", "peer"))
        assert names is not None
        to_hosts = polars_frame(names).filter(pl.col("peer").str.starts_with("host"))
        samples = polars_frame(part).join(to_hosts, "port", how="semi")
        times = samples["time_ns"].unique().sort()
        begin, end = times[len(times) // 2], times[-1]
        late = samples.filter(pl.col("time_ns") >= begin, pl.col("time_ns") < end)
        yield row, float(late[column].sum() * 8 / ((end - begin) * gbps * to_hosts.height))


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
