"""Numbers of NDP's experiments: by series and seed, and what the claims share with the figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.reproduce.measure import Interval, PerSeed, Statistic, axis_value, interval_of, per_case
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

NDP, TCP = "NDP", "TCP, ECMP"
PER_PACKET, PER_FLOW, TCP_PER_FLOW = "NDP, a random path per packet", "NDP, a path per flow", "TCP, a path per flow"
# The first source is what the paper measures; a second one is the background.
MEASURED_SOURCE = 0
SHORT_BYTES = 100_000
MSS_BYTES = 1500
# A full packet of 1547 B on a link of 1 Gb/s.
PACKET_NS = 12_376.0


def measured_flows(results: Results, columns: Sequence[str]) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Every case with these columns of the first source's flows."""
    cases = per_case(results, (*columns, "source"))
    return [(row, flows.filter(pl.col("source") == MEASURED_SOURCE)) for row, flows in cases]


def by_label(results: Results, columns: Sequence[str], statistic: Statistic) -> dict[str, Interval]:
    """A statistic of the first source's flows for each series, over seeds."""
    values: dict[str, PerSeed] = defaultdict(list)
    for row, flows in measured_flows(results, columns):
        values[row.label].append((row.seed, statistic(flows)))
    return {label: interval_of(per_seed, label) for label, per_seed in values.items()}


def goodput_by(results: Results, axis: str, **fixed: float) -> dict[float, PerSeed]:
    """Each seed's mean goodput, by the value of an axis, which rises, with other axes `fixed`."""
    values: dict[float, PerSeed] = defaultdict(list)
    for row, flows in measured_flows(results, ("goodput_gbps",)):
        if any(axis_value(row, other) != value for other, value in fixed.items()):
            continue
        values[axis_value(row, axis)].append((row.seed, mean(flows, "goodput_gbps")))
    return dict(sorted(values.items()))


def mean(flows: pl.DataFrame, column: str) -> float:
    """The mean of the flows that finished."""
    return float(np.nanmean(flows[column].to_numpy()))


def core_packets(results: Results) -> list[tuple[CaseRow, NDArray[np.int64]]]:
    """What each port of each core switch received, in packets: a row per core switch, a column per pod."""
    found = []
    core = pl.col("peer").str.extract(r"(\d+)$").cast(pl.Int64)
    for row, table in results.partitions("ports", ("port", "peer", "tier", "tx_packets")):
        # Ports are numbered switch by switch, and these pod by pod.
        ports = polars_frame(table).filter(pl.col("tier") == "aggregation to core").sort(core, "port")
        packets = ports["tx_packets"].to_numpy().astype(np.int64)
        found.append((row, packets.reshape(ports["peer"].n_unique(), -1)))
    return found


def variation(values: NDArray[np.number]) -> float:
    """The coefficient of variation."""
    return float(np.std(values) / np.mean(values))


def variation_of_ports(packets: NDArray[np.int64]) -> float:
    """Over all ports of all core switches."""
    return variation(packets)


def variation_within_pods(packets: NDArray[np.int64]) -> float:
    """The same with what each pod sent taken as equal, so that only the choice of paths is left."""
    return variation(packets / packets.mean(axis=0))


def variation_of_switches(packets: NDArray[np.int64]) -> float:
    """Over core switches."""
    return variation(packets.sum(axis=1))


def serial_bound_ns(flows: pl.DataFrame) -> float:
    """The earliest end of flows of one size that share one link: the first as if alone, the others right behind."""
    packets = -(-int(flows["size_bytes"][0]) // MSS_BYTES)
    return float(flows["best_fct_ns"].to_numpy().min()) + (flows.height - 1) * packets * PACKET_NS
