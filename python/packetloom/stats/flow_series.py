"""What senders knew of single flows over time (`measure.flows`), as a table: for figures and for other uses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from packetloom.errors import PacketloomError
from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow

NO_FLOWS = "no flow was sampled: name some in [measure], such as flows = [0, 1], by their numbers in the table of flows"
MOST_POINTS = 500
"""Of a line: more than can be seen."""
MOST_POINTS_TOGETHER = 10_000
"""Of all lines of a panel, so that a page of many flows stays small."""
FEWEST_POINTS = 100
MOST_MEANS = 60
"""Of a line that is a mean over stretches of time."""
FEWEST_SAMPLES_OF_A_MEAN = 5
QUANTITIES = {
    "window (KB)": pl.col("window_bytes") / 1e3,
    "rate (Gb/s)": pl.col("rate_gbps"),
    "RTT (us)": pl.col("rtt_ns") / 1e3,
    "sent again (packets)": pl.col("retransmissions").cast(pl.Float64),
}
DELIVERED = "delivered (Gb/s)"
SENT = "sent (Gb/s)"
ORDER = ["window (KB)", "rate (Gb/s)", DELIVERED, SENT, "RTT (us)", "sent again (packets)"]


def flows_over_time(results: SomeResults) -> pl.DataFrame:
    """Of each sampled flow, in the first of the seeds: label, load, flow, statistic, time_ns, value.

    The statistics are the window, the rate, the round-trip time and the packets sent again, as the sender had them;
    each is there if any of the schemes has it, and holds until its next time. DELIVERED is what arrived meanwhile, as
    far as the sender knows, in each of some stretches of time. A sender that was never told of anything has SENT
    instead: SIRD's is told of whole messages alone.
    """
    cases = list(_first_seeds(results))
    flows = [
        (label, row.load, int(flow), own.sort("time_ns"))
        for label, row, table in cases
        for (flow,), own in table.group_by("flow_id", maintain_order=True)
    ]
    if not flows:
        raise PacketloomError(NO_FLOWS)
    points = min(MOST_POINTS, max(FEWEST_POINTS, MOST_POINTS_TOGETHER // len(flows)))
    frames = []
    for label, load, flow, own in flows:
        lines = {name: _held(own, value, points) for name, value in QUANTITIES.items()} | _over_stretches(own)
        for name, line in lines.items():
            keys = {"label": label, "load": load, "flow": flow, "statistic": name}
            types = {"load": pl.Float64, "flow": pl.Int64}
            columns = [pl.lit(value, dtype=types.get(key, pl.String)).alias(key) for key, value in keys.items()]
            frames.append(line.select(*columns, pl.all()))
    order = {name: place for place, name in enumerate(ORDER)}
    by = pl.col("statistic").replace_strict(order, return_dtype=pl.Int64)
    return pl.concat(frames).sort(by, maintain_order=True)


def _first_seeds(results: SomeResults) -> Iterator[tuple[str, CaseRow, pl.DataFrame]]:
    """The samples of the first seed of each scheme at each load: flows of other seeds are other flows."""
    seen: set[tuple[str, float | None]] = set()
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("flow_series"):
            label = renamed.get(row.label, row.label)
            if table.num_rows and (label, row.load) not in seen:
                seen.add((label, row.load))
                yield label, row, polars_frame(table)


def _held(samples: pl.DataFrame, value: pl.Expr, points: int) -> pl.DataFrame:
    """A quantity where it changes, and at the last sample. Of more changes than can be seen every so many are left."""
    known = samples.select("time_ns", value.alias("value")).filter(pl.col("value").is_not_nan())
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    changes = known.filter((pl.col("value") != pl.col("value").shift(1)).fill_null(value=True) | is_last)
    step = -(-changes.height // points)
    return changes.filter((pl.int_range(pl.len()) % step == 0) | is_last) if step > 1 else changes


def _over_stretches(samples: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What arrived over time, or was sent if nothing is known to have arrived, in Gb/s: means over some stretches."""
    arrived = samples["arrived_bytes"]
    name, so_far = (DELIVERED, arrived) if (arrived != 0).any() else (SENT, samples["in_flight_bytes"])
    stretches = min(MOST_MEANS, (samples.height - 1) // FEWEST_SAMPLES_OF_A_MEAN)
    if stretches < 1:
        return {name: pl.DataFrame(schema={"time_ns": pl.Float64, "value": pl.Float64})}
    at = np.linspace(0, samples.height - 1, stretches + 1).round().astype(int)
    time, until = (column.to_numpy()[at].astype(float) for column in (samples["time_ns"], so_far))
    gbps = np.diff(until) * 8 / np.diff(time)
    return {name: pl.DataFrame({"time_ns": time, "value": np.append(gbps, gbps[-1])})}
