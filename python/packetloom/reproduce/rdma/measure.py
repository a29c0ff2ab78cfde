"""Numbers of the experiments on lossless Ethernet: bytes over time, queues, pauses, completion times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from packetloom.reproduce.measure import Interval, PerSeed, Statistic, by_label, interval_of
from packetloom.reproduce.samples import port_samples
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

RECEIVER = "host0"
FROM_HOSTS = pl.col("node").str.starts_with("host")
FROM_SWITCHES = FROM_HOSTS.not_()


def intervals(values: Iterable[tuple[CaseRow, float]]) -> dict[str, Interval]:
    """Their means over seeds, with intervals."""
    return {label: interval_of(per_seed, label) for label, per_seed in by_label(values).items()}


def mean(flows: pl.DataFrame, column: str = "fct_ns") -> float:
    """The mean of the flows that finished."""
    return float(np.nanmean(flows[column].to_numpy()))


def of_ports(results: Results, columns: Sequence[str], statistic: Statistic) -> list[tuple[CaseRow, float]]:
    """A statistic of each case's ports."""
    return [(row, statistic(polars_frame(table))) for row, table in results.partitions("ports", columns)]


def pauses(results: Results, what: str) -> dict[str, PerSeed]:
    """All ports' `pauses`, or their `paused_ns`."""
    return by_label(of_ports(results, (what,), lambda ports: float(np.nansum(ports[what].to_numpy()))))


def senders(results: Results) -> list[tuple[CaseRow, pl.DataFrame]]:
    """The same of the hosts that send something, but for the receiver, whose acknowledgements are no share."""
    found = port_samples(results, FROM_HOSTS & (pl.col("node") != RECEIVER))
    return [(row, of_hosts.filter(pl.col("tx_bytes").sum().over("node") > 0)) for row, of_hosts in found]
