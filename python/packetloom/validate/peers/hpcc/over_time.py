"""What waits and what is sent over time, theirs beside ours, and how far apart they are."""

from __future__ import annotations

from collections import Counter

import polars as pl

from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results
from packetloom.validate.peers.hpcc import measured
from packetloom.validate.peers.hpcc.scenario import start_of
from packetloom.validate.peers.hpcc.settings import Settings

# At the least rate, 1 Gb/s, a dozen packets are sent in this time.
WINDOW_NS = 100_000
DRAW = "draw "


def queues(settings: Settings, results: Results, theirs: pl.DataFrame) -> pl.DataFrame:
    """What waited for the port before the host that most is sent to: `theirs`, `ours` as the mean, and each draw."""
    bytes_to: Counter[int] = Counter()
    for flow in settings.flows:
        bytes_to[flow.dst] += flow.size_bytes
    busiest = f"host{max(bytes_to, key=lambda host: bytes_to[host])}"
    ours = _draws(results, pl.col("peer") == busiest, "queue_bytes", pl.col("time_ns"))
    return _beside(theirs.select(pl.col("time_ns") - start_of(settings), theirs="bytes"), ours)


def sent(settings: Settings, results: Results, theirs: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The payload that each sending host put onto its link in each window of time."""
    found = {}
    for src in sorted({flow.src for flow in settings.flows}):
        ours = _draws(results, pl.col("node") == f"host{src}", "tx_bytes", _window_of(pl.col("time_ns")))
        size = sum(flow.size_bytes for flow in settings.flows if flow.src == src)
        payload = [pl.col(name) * (size / ours[name].sum()) for name in draws_of(ours)]
        found[src] = _beside(_sent_by(src, settings, theirs), ours.with_columns(payload))
    return found


def apart(pairs: pl.DataFrame, draw: str) -> float:
    """How far a draw, or theirs, is from the mean of ours over all times, in % of theirs."""
    total = pairs.select(100 * (pl.col("ours") - pl.col(draw)).abs().sum() / pl.col("theirs").sum())
    return float(total.item())


def apart_from_the_others(pairs: pl.DataFrame, draw: str) -> float:
    """How far a draw of ours is from the mean of the other ones, as `apart` has it."""
    others = pl.mean_horizontal(one for one in draws_of(pairs) if one != draw)
    return apart(pairs.with_columns(ours=others), draw)


def draws_of(pairs: pl.DataFrame) -> list[str]:
    """The columns that have a draw of ours each."""
    return [name for name in pairs.columns if name.startswith(DRAW)]


def _draws(results: Results, port: pl.Expr, column: str, time: pl.Expr) -> pl.DataFrame:
    """The sums of a port's samples by time, a column for each seed."""
    ports = [polars_frame(table) for _, table in results.partitions("ports", ("port", "node", "peer"))]
    series = results.partitions("series", ("port", "time_ns", column))
    found = pl.DataFrame(schema={"time_ns": pl.Int64})
    for names, (row, table) in zip(ports, series, strict=True):
        samples = polars_frame(table).join(names.filter(port), "port", how="semi").select(time.cast(pl.Int64), column)
        one = samples.group_by("time_ns").agg(pl.col(column).cast(pl.Float64).sum().alias(f"{DRAW}{row.seed}"))
        found = found.join(one, "time_ns", how="full", coalesce=True)
    return found.fill_null(0)


def _beside(theirs: pl.DataFrame, ours: pl.DataFrame) -> pl.DataFrame:
    """By time, with the mean of ours; where one has ended, nothing waits and nothing is sent any more."""
    joined = theirs.with_columns(pl.col("time_ns").cast(pl.Int64)).join(ours, "time_ns", how="full", coalesce=True)
    return joined.fill_null(0).sort("time_ns").with_columns(ours=pl.mean_horizontal(draws_of(ours)))


def _sent_by(src: int, settings: Settings, samples: pl.DataFrame) -> pl.DataFrame:
    """Samples tell how much a flow has sent so far; what was sent after its last one was sent right after."""
    parts = []
    sizes = measured.completions(settings).filter(src=src).select("sport", "size_bytes")
    for sport, size in sizes.iter_rows():
        flow = samples.filter(src=src, sport=sport).sort("time_ns")
        before = pl.col("time_ns") - start_of(settings)
        steps = pl.col("sent_bytes").diff().fill_null(pl.col("sent_bytes"))
        # What was sent until a moment was sent in the window that this moment ends.
        parts.append(flow.select(_window_of(before - 1), theirs=steps))
        parts.append(flow.tail(1).select(_window_of(before), theirs=size - pl.col("sent_bytes")))
    return pl.concat(parts).group_by("time_ns").agg(pl.col("theirs").sum())


def _window_of(time: pl.Expr) -> pl.Expr:
    return (time.cast(pl.Int64) // WINDOW_NS * WINDOW_NS).alias("time_ns")
