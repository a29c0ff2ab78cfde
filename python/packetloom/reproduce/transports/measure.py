"""Numbers of the experiments on transports of 2017 to 2025: a link and its queue over time, shares, drain times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from packetloom.common.fairness import jain
from packetloom.reproduce.samples import port_samples
from packetloom.stats.summary import FloatArray, polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

RECEIVER = "host0"
TO_RECEIVER = pl.col("peer") == RECEIVER
# Between two racks of 32 hosts at 100 Gb/s: 8 x 1 us, and a packet of 1090 B and its answer of 88 B on four links.
ROUND_TRIP_NS = 8_235.6
# SIRD's packets, as ports count them and on the wire; and how long the last link to a host takes at 100 Gb/s.
DATA_BYTES, CREDIT_BYTES, WIRE_BYTES = 1_500, 46, 1_538
LAST_LINK_NS = 1_250 + WIRE_BYTES * 8 / 100


def largest_of_switches(results: Results) -> Iterator[tuple[CaseRow, float]]:
    """What waited at most at any port of a switch."""
    for row, table in results.partitions("ports", ("node", "queue_max_bytes")):
        switches = polars_frame(table).filter(~pl.col("node").str.starts_with("host"))
        yield row, float(switches.select(pl.col("queue_max_bytes").max()).item())


def to_receiver(results: Results) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Samples of the port to the receiver, in order."""
    return [(row, samples.sort("time_ns")) for row, samples in port_samples(results, TO_RECEIVER)]


def link_share(port: pl.DataFrame, since_ns: float, for_ns: float, gbps: float) -> float:
    """How much of a link was used in this time."""
    during = port.filter(pl.col("time_ns") >= since_ns, pl.col("time_ns") < since_ns + for_ns)
    return float(during["tx_bytes"].sum()) * 8 / for_ns / gbps


def round_trips_until(port: pl.DataFrame, since_ns: float, for_ns: float, share: float) -> float:
    """Round trips from a queue's peak in this time until it is below this share of it; or until the run's end."""
    later = port.filter(pl.col("time_ns") >= since_ns)
    times, waiting = later["time_ns"].to_numpy(), later["queue_bytes"].to_numpy().astype(float)
    peak = int(waiting[times < since_ns + for_ns].argmax())
    low = np.flatnonzero(waiting[peak:] < share * waiting[peak])
    drained = peak + int(low[0]) if len(low) else len(times) - 1
    return float(times[drained] - times[peak]) / ROUND_TRIP_NS


def _sent_before(senders: pl.DataFrame, names: Sequence[str], over_ns: float) -> tuple[FloatArray, list[FloatArray]]:
    """What each of these hosts sent in the time `over_ns` before each of some times, which are returned, too."""
    sent = senders.sort("time_ns")
    times = sent["time_ns"].unique().sort().to_numpy()
    width = round(over_ns / float(times[1] - times[0]))
    columns = [sent.filter(pl.col("node") == name)["tx_bytes"].to_numpy().astype(float) for name in names]
    sums = [np.convolve(column, np.ones(width), "valid") for column in columns]
    # A sample has what was sent until the next one, so a sum ends where the sample after its last one begins.
    return times[0] + (times[1] - times[0]) * (np.arange(len(sums[0])) + width), sums


def evenness(
    senders: pl.DataFrame, names: Sequence[str], since_ns: float, until_ns: float, over_ns: float
) -> pl.DataFrame:
    """Jain's index of what these hosts sent in the time `over_ns` before each sample."""
    during = senders.filter(pl.col("time_ns") >= since_ns, pl.col("time_ns") <= until_ns)
    ends, sums = _sent_before(during, names, over_ns)
    return pl.DataFrame({"time_ns": ends, "share": [jain(at_once) for at_once in np.array(sums).T]})


def share_of_newcomer(senders: pl.DataFrame, names: tuple[str, str], since_ns: float, over_ns: float) -> pl.DataFrame:
    """What the second of two hosts sent in the time `over_ns` before each sample, over half of what both did."""
    ends, (first, second) = _sent_before(senders.filter(pl.col("time_ns") >= since_ns), names, over_ns)
    return pl.DataFrame({"time_ns": ends, "share": 2 * second / (first + second)})


def since_when(shares: pl.DataFrame, least: float, since_ns: float, *, for_good: bool = True) -> float:
    """How long until a share or Jain's index is this much, for good or for the first time; or until the last sample."""
    ends, enough = shares["time_ns"].to_numpy(), shares["share"].to_numpy() >= least
    found = np.flatnonzero(~enough) + 1 if for_good else np.flatnonzero(enough)
    at = (found[-1] if for_good else found[0]) if len(found) else (0 if for_good else len(ends) - 1)
    return float(ends[min(int(at), len(ends) - 1)]) - since_ns


def outstanding_credit(ports: pl.DataFrame, receiver: str) -> pl.DataFrame:
    """The bytes that a receiver of SIRD's had given to its only sender and nothing had come for, sample by sample."""
    given = _sent_by(ports.filter(pl.col("node") == receiver)) / CREDIT_BYTES
    came = _sent_by(ports.filter(pl.col("peer") == receiver)) / DATA_BYTES
    times = ports["time_ns"].unique().sort().to_numpy().astype(float)
    # A sample has what was sent until the next one.
    ends = np.append(times[1:], 2 * times[-1] - times[-2])
    packets = np.interp(times, ends, given) - np.interp(times - LAST_LINK_NS, ends, came)
    return pl.DataFrame({"time_ns": times, "credit_bytes": packets * WIRE_BYTES})


def _sent_by(port: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.cumsum(port.sort("time_ns")["tx_bytes"].to_numpy().astype(float))


def largest(values: pl.Series) -> float:
    """The largest of some numbers, of which there are some."""
    most = values.max()
    assert isinstance(most, int | float)
    return float(most)


def class_samples(results: Results) -> Iterator[tuple[CaseRow, pl.DataFrame]]:
    """The samples of each class of the ports of switches, in order."""
    for row, table in results.partitions("classes", ("port", "class", "time_ns", "queue_bytes", "data_bytes")):
        names = results.part("ports", row, ("port", "node", "peer"))
        assert names is not None
        of_switch = polars_frame(names).filter(~pl.col("node").str.starts_with("host"))
        yield row, polars_frame(table).join(of_switch, "port").sort("time_ns")


def drain_times(results: Results) -> list[tuple[CaseRow, pl.DataFrame]]:
    """How long what waits in each queue of a switch takes to leave, sample by sample, where it did within the run."""
    found = []
    for row, samples in class_samples(results):
        queues = samples.partition_by("peer", "class")
        found.append((row, pl.concat([_drained(one) for one in queues if one["queue_bytes"].max()])))
    return found


def _drained(queue: pl.DataFrame) -> pl.DataFrame:
    times = queue["time_ns"].to_numpy()
    waiting = queue["queue_bytes"].to_numpy().astype(float)
    sent_before = np.concatenate([[0.0], np.cumsum(queue["data_bytes"].to_numpy().astype(float))])
    gone = np.searchsorted(sent_before, sent_before[:-1] + waiting)
    # What is empty is empty at once.
    gone = np.maximum(gone, np.arange(len(times)))
    known = gone < len(times)
    drain_ns = times[np.where(known, gone, 0)] - times
    return queue.select("peer", "class", "time_ns").with_columns(drain_ns=drain_ns).filter(pl.Series(known))
