"""Numbers of the experiments on balancing: completion times, how uneven queues are, what goes into a dead link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from packetloom.reproduce.measure import PerSeed, Statistic, per_case
from packetloom.reproduce.samples import port_samples
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

ByScheme = dict[str, PerSeed]
UPLINKS = pl.col("node").str.starts_with("leaf") & pl.col("peer").str.starts_with("spine")
DEAD_LINK = ("leaf0", "spine0")


def by_scheme(values: Iterable[tuple[CaseRow, float]]) -> ByScheme:
    """Values by scheme, one per seed."""
    found: ByScheme = {}
    for row, value in values:
        found.setdefault(row.scheme, []).append((row.seed, value))
    return found


def of_flows(results: Results, columns: Sequence[str], statistic: Statistic) -> ByScheme:
    """A statistic of each case's measured flows."""
    return by_scheme((row, statistic(flows)) for row, flows in per_case(results, columns))


def counted(results: Results, counter: str) -> ByScheme:
    """A counter of each case that has it."""
    return by_scheme((row, row.counters[counter]) for row in results.rows() if counter in row.counters)


def total(column: str) -> Statistic:
    """The sum over flows."""
    return lambda flows: float(flows[column].to_numpy().sum())


def share(column: str) -> Statistic:
    """The share of flows in which it is not 0, in per cent."""
    return lambda flows: 100 * float((flows[column].to_numpy() > 0).mean())


def last(flows: pl.DataFrame) -> float:
    """When the last of flows that start together finishes, in ns."""
    return float(flows["fct_ns"].to_numpy().max())


def mean_rate(flows: pl.DataFrame) -> float:
    """What flows got from their start to their end in the mean, in Gb/s."""
    return float((flows["size_bytes"].to_numpy() * 8 / flows["fct_ns"].to_numpy()).mean())


def uneven(results: Results, load: float | None = None) -> list[tuple[CaseRow, float]]:
    """The standard deviation of the queues of a leaf's uplinks in KB, in the mean over leaves and time."""
    found = port_samples(results, UPLINKS)
    return [(row, spread_kb(of_uplinks)) for row, of_uplinks in found if load in (None, load_of(row))]


def spread_kb(of_uplinks: pl.DataFrame) -> float:
    """The same of one case's samples."""
    at_once = of_uplinks.group_by("node", "time_ns")
    deviations = at_once.agg(pl.col("queue_bytes").cast(pl.Float64).std(ddof=0).alias("value"))
    return float(deviations["value"].to_numpy().mean()) / 1e3


def load_of(row: CaseRow) -> float:
    """The case's load."""
    return float(str(row.parameters["load"]))


def into_dead_link(results: Results) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Samples of both ends of the link that fails."""
    ends = (pl.col("node") == DEAD_LINK[0]) & (pl.col("peer") == DEAD_LINK[1])
    ends |= (pl.col("node") == DEAD_LINK[1]) & (pl.col("peer") == DEAD_LINK[0])
    return port_samples(results, ends)


def last_data_us(of_link: pl.DataFrame, packet_bytes: int, died_ns: float) -> float:
    """How long after it died the last sample begins in which an end sent a whole data packet; 0 if none did."""
    data = of_link.filter(pl.col("tx_bytes") >= packet_bytes, pl.col("time_ns") >= died_ns)
    return (float(data["time_ns"].to_numpy().max()) - died_ns) / 1e3 if len(data) else 0.0


def late_percent(flows: pl.DataFrame) -> float:
    """The packets that came out of order, of all that were sent."""
    return 100 * total("reordered")(flows) / total("packets_sent")(flows)
