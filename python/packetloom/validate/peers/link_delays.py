"""ns-2's TCP over drop-tail queues, on the same flows over a range of link delays.

Who is dropped at a full drop-tail queue changes with every nanosecond (Floyd and Jacobson 1992, "phase effects"), and
with it the tail of all flows, in ns-2 as here; a packet whose timeout doubles nine times can decide the mean of a run.
So the figures of many runs are compared by their medians. ns-2's are in `validation/ns2/link_delays.csv`, a row for
each run and size range: mean and p99 of the normalised FCT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.results import Results
from packetloom.validate.comparison import Comparison, Row
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, Deviation, agreement
from packetloom.validate.peers.flow_lists import (
    P99_NEEDS_FLOWS,
    PEERS,
    SIZE_RANGES,
    PeerList,
    read_list,
    replay_scenario,
)

SCHEME = "TCP"
FIGURES = "ns2/link_delays.csv"
# The lists that were run so.
NAMES = ("ns2-web-search", "ns2-data-mining")


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure of a run, and how near the medians must be to each other."""

    column: str
    title: str
    within: float


STATISTICS = (
    Statistic("mean", "mean normalised FCT", MEAN_WITHIN),
    Statistic("p99", "p99 of the normalised FCT", P99_WITHIN),
)


# Ours in each run, over ns-2's median (docs/validation.md).
DOUBLED = (
    "A flow of one packet, or of five, from the host whose own link the longest flow fills decides it: its timeout "
    "doubles 5 to 10 times in 9 of 17 runs here, in 3 of 17 of ns-2's (Fisher's exact test: p = 0.07)"
)
DEVIATIONS = {
    "ns2-data-mining": {
        ("mean", "all"): Deviation(DOUBLED, (0.982, 3.263), measured=True, always=False),
        ("mean", "≤ 100 KB"): Deviation(DOUBLED, (0.990, 3.566), measured=True, always=False),
    }
}


def link_delay_comparisons() -> list[Comparison]:
    """A comparison for every list that ns-2 has run over link delays."""
    return [_comparison(peer) for peer in PEERS if peer.name in NAMES]


def read_runs(peer: PeerList) -> pl.DataFrame:
    """ns-2's runs of a list: `delay_ns`, `sizes`, `mean` and `p99`, empty where a range has too few flows."""
    path = PEERS_FOLDER / FIGURES
    try:
        return pl.read_csv(path).filter(list=peer.name)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise PacketloomError(f"{path}: cannot be read ({reason}); restore it from packetloom's source tree") from None


def scenario(peer: PeerList, folder: Path) -> dict[str, Any]:
    """The scenario that replays a list under TCP alone, over the link delays of ns-2's runs."""
    delays = read_runs(peer)["delay_ns"].unique().sort()
    replay = replay_scenario(peer, folder)
    replay["scheme"] = [scheme for scheme in replay["scheme"] if scheme["name"] == SCHEME]
    replay["topology"]["link"]["delay"] = [f"{delay}ns" for delay in delays]
    return replay


def figures(flows: pl.DataFrame) -> pl.DataFrame:
    """Of runs told apart by `run`, with each flow's `size_bytes` and `fct`: `run`, `sizes`, `mean` and `p99`."""
    size, fct = pl.col("size_bytes"), pl.col("fct")
    enough = fct.len() >= P99_NEEDS_FLOWS
    parts = (
        flows.filter(size > one.above, size <= one.up_to)
        .group_by("run")
        .agg(
            pl.lit(one.name).alias("sizes"),
            fct.mean().alias("mean"),
            pl.when(enough).then(fct.quantile(0.99, "linear")).alias("p99"),
        )
        for one in SIZE_RANGES
    )
    return pl.concat(parts)


def _comparison(peer: PeerList) -> Comparison:
    name = f"{peer.name}-link-delays"

    def rows(results: Mapping[str, Results]) -> list[Row]:
        theirs, ours = read_runs(peer), figures(_normalised(peer, results["replayed"]))
        case = f"{peer.title}, {SCHEME}, {_delays(theirs)}, median of runs"
        medians = (
            (statistic, one.name, _median(theirs, one.name, statistic), _median(ours, one.name, statistic))
            for statistic in STATISTICS
            for one in SIZE_RANGES
        )
        return [
            agreement(
                f"{name} {SCHEME} {statistic.column} {sizes}",
                f"{case}: {statistic.title}, {sizes}",
                f"validation/{FIGURES}",
                expected,
                measured,
                statistic.within,
                DEVIATIONS.get(peer.name, {}).get((statistic.column, sizes)),
            )
            for statistic, sizes, expected, measured in medians
            if expected is not None and measured is not None
        ]

    return Comparison(name, lambda folder: {"replayed": scenario(peer, folder)}, rows)


def _normalised(peer: PeerList, results: Results) -> pl.DataFrame:
    """Each case's flows with their normalised FCT at the sender; a list is in order of start, as ours are numbered."""
    best = read_list(peer).select(pl.int_range(pl.len()).cast(pl.UInt32).alias("flow_id"), "best_us")
    flows = results.to_polars().with_columns(pl.col("flow_id").cast(pl.UInt32)).join(best, on="flow_id")
    fct = pl.col("sender_fct_ns") / 1e3 / pl.col("best_us")
    return flows.select(pl.col("case_id").alias("run"), "size_bytes", fct.alias("fct"))


def _median(runs: pl.DataFrame, sizes: str, statistic: Statistic) -> float | None:
    value = runs.filter(sizes=sizes)[statistic.column].drop_nulls().median()
    return value if isinstance(value, float) else None


def _delays(runs: pl.DataFrame) -> str:
    delays = runs["delay_ns"].sort().to_list()
    return f"link delays of {delays[0]} to {delays[-1]} ns"
