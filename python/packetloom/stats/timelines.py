"""What happens over time, and how late flows are, as tables: for `plot` and for other uses of the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.errors import PacketloomError
from packetloom.stats.curves import SomeResults, as_list, cdf, renaming
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow, TableName

ClassMeasure = Literal["throughput", "queue", "credit"]

NO_DEADLINES = "no flow has a deadline; give a workload `deadlines`"
NO_SERIES = 'nothing was sampled: set series_interval in [measure], such as "100us"'
MOST_POINTS = 500
"""Of a line over time: more than can be seen."""
PORT_COLUMNS = ("tx_packets", "tx_bytes", "utilisation", "link_gbps", "framing_bytes")
NO_CLASSES = f"{NO_SERIES}, and by_class = true"


def missed_by(results: SomeResults, points: int = 200) -> pl.DataFrame:
    """Which share of the flows with a deadline missed it by more than a time: label, load, missed_by_ns, fraction.

    A flow that never finished missed it by more than any time. Seeds are pooled.
    """
    late: dict[tuple[str, float | None], list[NDArray[np.float64]]] = {}
    columns = ("start_ns", "fct_ns", "deadline_ns", "measured")
    for label, row, table in _labelled(results, "flows", columns):
        flows = table.filter(pl.col("measured") & pl.col("deadline_ns").is_not_nan())
        lateness = flows["start_ns"] + flows["fct_ns"].fill_nan(float("inf")) - flows["deadline_ns"]
        late.setdefault((label, row.load), []).append(lateness.to_numpy())
    frames = [_tail(key, np.concatenate(parts), points) for key, parts in late.items() if sum(map(len, parts))]
    if not frames:
        raise PacketloomError(NO_DEADLINES)
    return pl.concat(frames)


def _tail(key: tuple[str, float | None], lateness: NDArray[np.float64], points: int) -> pl.DataFrame:
    missed = np.sort(lateness[np.isfinite(lateness) & (lateness > 0)])
    chosen = missed[np.unique(np.linspace(0, len(missed) - 1, points).astype(int))] if missed.size else missed
    at = np.concatenate([[0.0], chosen])
    fraction = (lateness[None, :] > at[:, None]).mean(axis=1)
    label, load = key
    columns = {"label": label, "load": load, "missed_by_ns": at, "fraction": fraction}
    return pl.DataFrame(columns, schema_overrides={"load": pl.Float64})


def utilisation_over_time(results: SomeResults) -> pl.DataFrame:
    """Of each case's busiest link, over time, seeds averaged: label, load, time_ns, value."""
    frames = []
    for label, row, samples, ports in _sampled(results, "series", ("tx_bytes",), PORT_COLUMNS):
        busiest = ports.sort("tx_bytes", descending=True).head(1)
        if not busiest["tx_bytes"].item():
            continue
        own = samples.filter(pl.col("port") == busiest["port"].item())
        used = pl.col("tx_bytes") / _interval_ns(own) * ns_per_byte(busiest, row).item()
        frames.append(_of_case(label, row, own.select("time_ns", used.alias("value"))))
    return _over_seeds(frames, NO_SERIES)


def ns_per_byte(ports: pl.DataFrame, row: CaseRow) -> NDArray[np.float64]:
    """How long each port's link takes for a byte of its packets, each with its part of what frames them.

    Folders of earlier builds have no rates: what a link carried, over the share of the time that this took.
    """
    sent = ports["tx_bytes"].to_numpy().astype(float)
    if "link_gbps" in ports.columns:
        framing = ports["framing_bytes"].to_numpy() * ports["tx_packets"].to_numpy()
        takes = (sent + framing) * 8 / ports["link_gbps"].to_numpy()
    else:
        takes = ports["utilisation"].to_numpy() * row.counters["simulated_ns"]
    per_byte: NDArray[np.float64] = np.zeros(len(ports))
    np.divide(takes, sent, out=per_byte, where=sent > 0)
    return per_byte


def throughput_over_time(results: SomeResults) -> pl.DataFrame:
    """Of all links to hosts together over time, seeds averaged: label, load, time_ns, value in Gb/s, with headers."""
    frames = []
    for label, row, samples, ports in _sampled(results, "series", ("tx_bytes",), ("peer",)):
        received = samples.join(ports.filter(pl.col("peer").str.starts_with("host")), on="port", how="semi")
        gbps = pl.col("tx_bytes").sum() * 8 / _interval_ns(samples)
        frames.append(_of_case(label, row, received.group_by("time_ns").agg(gbps.alias("value"))))
    return _over_seeds(frames, NO_SERIES)


def imbalance_over_time(results: SomeResults) -> pl.DataFrame:
    """How unevenly switches' parallel links were used, sample by sample, seeds averaged: label, load, time_ns, value.

    Of the links from a switch to switches of one tier: the bytes of the most used less those of the least, over their
    mean (CONGA, SIGCOMM 2014, §5.2.2); the mean over switches that sent anything.
    """
    frames = []
    for label, row, samples, ports in _sampled(results, "series", ("tx_bytes",), ("node", "peer", "tier")):
        between = ports.filter(~pl.col("node").str.starts_with("host"), ~pl.col("peer").str.starts_with("host"))
        parallel = between.filter(pl.len().over("node", "tier") > 1).select("port", "node", "tier")
        used = pl.col("tx_bytes").cast(pl.Float64)
        spread = ((used.max() - used.min()) / used.mean()).alias("value")
        of_switch = samples.join(parallel, on="port").group_by("node", "tier", "time_ns").agg(spread)
        by_time = of_switch.filter(pl.col("value").is_finite()).group_by("time_ns").agg(pl.col("value").mean())
        frames.append(_of_case(label, row, by_time))
    return _over_seeds(frames, NO_SERIES)


def queue_over_time(results: SomeResults) -> pl.DataFrame:
    """Of all switches' ports over time, seeds averaged: label, load, time_ns, mean and max, in bytes."""
    frames = []
    for label, row, samples in _of_switches(results):
        queue = pl.col("queue_bytes").cast(pl.Float64)
        by_time = samples.group_by("time_ns").agg(queue.mean().alias("mean"), queue.max().alias("max"))
        frames.append(_of_case(label, row, by_time))
    return _over_seeds(frames, NO_SERIES)


def queue_distribution(results: SomeResults) -> pl.DataFrame:
    """Of the sampled queues of all switches' ports, seeds pooled: label, load, queue_bytes, fraction."""
    pooled: dict[tuple[str, float | None], list[NDArray[np.float64]]] = {}
    for label, row, samples in _of_switches(results):
        pooled.setdefault((label, row.load), []).append(samples["queue_bytes"].to_numpy().astype(float))
    frames = [
        cdf(label, load, "queue_bytes", np.concatenate(parts))
        for (label, load), parts in pooled.items()
        if sum(map(len, parts))
    ]
    if not frames:
        raise PacketloomError(NO_SERIES)
    return pl.concat(frames)


def _of_switches(results: SomeResults) -> Iterator[tuple[str, CaseRow, pl.DataFrame]]:
    for label, row, samples, ports in _sampled(results, "series", ("queue_bytes",), ("node",)):
        yield label, row, samples.join(ports.filter(~pl.col("node").str.starts_with("host")), on="port", how="semi")


def classes_over_time(results: SomeResults, measure: ClassMeasure) -> pl.DataFrame:
    """Of each traffic class over time, seeds averaged: label, load, class, time_ns, value.

    `throughput`: what is sent to all hosts, in Gb/s, headers included. `queue`: what waits in all switches, in bytes.
    `credit`: what all ports have sent into buffers and got no credit back for, in bytes.
    """
    column = {"throughput": "data_bytes", "queue": "queue_bytes", "credit": "credit_bytes"}[measure]
    frames = []
    for label, row, samples, ports in _sampled(results, "classes", ("class", column), ("node", "peer")):
        at_host = {"throughput": pl.col("peer"), "queue": pl.col("node"), "credit": None}[measure]
        if at_host is not None:
            is_host = at_host.str.starts_with("host")
            ports = ports.filter(is_host if measure == "throughput" else ~is_host)
        scale = 8 / _interval_ns(samples) if measure == "throughput" else 1.0
        known = samples.filter(pl.col(column).cast(pl.Float64).is_not_nan()).join(ports, on="port", how="semi")
        value = (pl.col(column).sum() * scale).cast(pl.Float64)
        frames.append(_of_case(label, row, known.group_by("class", "time_ns").agg(value.alias("value"))))
    return _over_seeds(frames, NO_CLASSES)


def _sampled(
    results: SomeResults, name: TableName, columns: tuple[str, ...], of_ports: tuple[str, ...]
) -> Iterator[tuple[str, CaseRow, pl.DataFrame, pl.DataFrame]]:
    """Every case's samples, without the last, which the end may cut short; and its ports."""
    all_ports = {row.case_id: ports for _, row, ports in _labelled(results, "ports", ("port", *of_ports))}
    for label, row, samples in _labelled(results, name, ("port", "time_ns", *columns)):
        if row.case_id not in all_ports:  # damaged, and reported
            continue
        whole = samples.filter(pl.col("time_ns") + _interval_ns(samples) <= row.counters["simulated_ns"])
        yield label, row, whole, all_ports[row.case_id]


def _labelled(
    results: SomeResults, name: TableName, columns: tuple[str, ...]
) -> Iterator[tuple[str, CaseRow, pl.DataFrame]]:
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions(name, columns):
            yield renamed.get(row.label, row.label), row, polars_frame(table)


def _interval_ns(samples: pl.DataFrame) -> float:
    """The time between two samples; infinite if there is one."""
    steps = np.diff(samples["time_ns"].unique().sort().to_numpy())
    return float(steps.min()) if steps.size else float("inf")


def _of_case(label: str, row: CaseRow, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.lit(label).alias("label"), pl.lit(row.load, dtype=pl.Float64).alias("load"), pl.all())


def _over_seeds(frames: list[pl.DataFrame], problem: str) -> pl.DataFrame:
    if not any(frame.height for frame in frames):
        raise PacketloomError(problem)
    both = _thinned(pl.concat(frames))
    keys = [name for name in both.columns if name in ("label", "load", "class", "time_ns")]
    return both.group_by(keys, maintain_order=True).agg(pl.exclude(keys).mean()).sort(keys[2:])


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """Long series in fewer points: as many neighbours as it takes become one, at the first one's time."""
    times = frame["time_ns"].unique().sort()
    together = -(-len(times) // MOST_POINTS)
    if together == 1:
        return frame
    first = times.gather((pl.Series(range(len(times))) // together) * together)
    return frame.with_columns(pl.col("time_ns").replace_strict(times, first))
