"""What DAQ's claims and figures are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from packetloom.campaign.search import Range, application_throughput, held_by_seed
from packetloom.reproduce.measure import Interval, PerSeed, axis_value, interval_of
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

# With the constants that the texts give: DAQ's own and, for the others, those of their own papers or authors.
DAQ, D3, RCP = "DAQ", "D3", "RCP"
OTHERS = (D3, RCP)
# With what brings this paper's figures out nearest: the inverse of WRRr, and D3 and RCP that react less.
DAQ_FITTED, D3_FITTED, RCP_FITTED = "DAQ (fitted)", "D3 (fitted)", "RCP (fitted)"
FITTED = (D3_FITTED, RCP_FITTED)
# Q, the queue at which windows shrink, is 5 ms where nothing is said. Here it is one round trip, and the mean deadline.
OTHER_Q = ("DAQ (Q = 0.3 ms)", "DAQ (Q = 20 ms)")
# The timeouts are ours, too: 40 ms where nothing is said.
RCP_TIMEOUT = "RCP (timeout 2 ms)"
TRIED = (*OTHER_Q, RCP_TIMEOUT)
SENDERS = Range("workload.0.pattern.fan_in", 2, 500)
SENDERS_EXPONENTIAL = Range("workload.0.pattern.fan_in", 2, 200)
HELD = 0.99
LINK_GBPS = 1.0
AGGREGATOR = "host0"
LONG_CLASS = 1
CAPACITY_BYTES = 4e6
# WRRr, short flows' weight over long flows', as section III writes it.
WEIGHT_RATIO = 0.01

Points = Mapping[str, Mapping[float, PerSeed]]
"""By scheme and by the value of an axis."""


def throughput_by(results: Results, axis: str, **fixed: float) -> Points:
    """Application throughput by an axis, which rises, with other axes `fixed`."""
    points: dict[str, dict[float, PerSeed]] = defaultdict(lambda: defaultdict(list))
    for row, met in application_throughput(results):
        if all(axis_value(row, other) == value for other, value in fixed.items()):
            points[row.scheme][axis_value(row, axis)].append((row.seed, met))
    return {scheme: dict(sorted(values.items())) for scheme, values in points.items()}


def long_gbps_by(results: Results, axis: str) -> Points:
    """What the long flows got of the aggregator's link, headers included, by an axis."""
    points: dict[str, dict[float, PerSeed]] = defaultdict(lambda: defaultdict(list))
    for row, samples in _at_aggregator(results, "classes", ("class", "time_ns", "data_bytes")):
        sent = samples.filter(pl.col("class") == LONG_CLASS)["data_bytes"].sum()
        gbps = float(sent) * 8 / float(row.counters["simulated_ns"])
        points[row.scheme][axis_value(row, axis)].append((row.seed, gbps))
    return {scheme: dict(sorted(values.items())) for scheme, values in points.items()}


def utilisation(results: Results) -> dict[str, pl.DataFrame]:
    """The first seed's utilisation of the aggregator's link: time_ns, utilisation; whole intervals only."""
    found: dict[str, pl.DataFrame] = {}
    for row, samples in _at_aggregator(results, "series", ("time_ns", "tx_bytes")):
        interval_ns = float(np.diff(samples["time_ns"].to_numpy()).min())
        whole = samples.filter(pl.col("time_ns") + interval_ns <= row.counters["simulated_ns"])
        share = pl.col("tx_bytes") * 8 / interval_ns / LINK_GBPS
        found.setdefault(row.label, whole.select("time_ns", share.alias("utilisation")))
    return found


def kept_by(results: Results, axis: str, from_ns: float, until_ns: float) -> Points:
    """The long flows' part of what handshakes and the like left of the aggregator's link, between two moments."""
    points: dict[str, dict[float, PerSeed]] = defaultdict(lambda: defaultdict(list))
    between = (pl.col("time_ns") >= from_ns) & (pl.col("time_ns") < until_ns)
    sent = {
        row.case_id: float(samples.filter(between)["tx_bytes"].sum())
        for row, samples in _at_aggregator(results, "series", ("time_ns", "tx_bytes"))
    }
    for row, samples in _at_aggregator(results, "classes", ("class", "time_ns", "data_bytes")):
        samples = samples.filter(between)
        data = float(samples["data_bytes"].sum())
        long = float(samples.filter(pl.col("class") == LONG_CLASS)["data_bytes"].sum())
        whole = (min(until_ns, float(row.counters["simulated_ns"])) - from_ns) * LINK_GBPS / 8
        points[row.scheme][axis_value(row, axis)].append((row.seed, long / (whole - (sent[row.case_id] - data))))
    return {scheme: dict(sorted(values.items())) for scheme, values in points.items()}


def held(results: Results, range: Range = SENDERS) -> dict[str, PerSeed]:
    """The largest number of senders with 99 % application throughput, by scheme."""
    return held_by_seed(results, range, HELD)


def difference(over: PerSeed, under: PerSeed, what: str) -> Interval:
    """One value less another, seed by seed."""
    others = dict(under)
    return interval_of([(seed, value - others[seed]) for seed, value in over if seed in others], what)


def _at_aggregator(
    results: Results, table: TableName, columns: tuple[str, ...]
) -> Iterator[tuple[CaseRow, pl.DataFrame]]:
    """Each case's samples of the port to the aggregator."""
    ports = {
        row.case_id: polars_frame(ports).filter(pl.col("peer") == AGGREGATOR)["port"][0]
        for row, ports in results.partitions("ports", ("port", "peer"))
    }
    for row, samples in results.partitions(table, ("port", *columns)):
        yield row, polars_frame(samples).filter(pl.col("port") == ports[row.case_id])
