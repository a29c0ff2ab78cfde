"""ns-2's TCP over drop-tail queues, on the same flows over a range of link delays.

Who is dropped at a full drop-tail queue changes with every nanosecond (Floyd and Jacobson 1992, "phase effects"), and
with it the tail of all flows, in ns-2 as here; a packet whose timeout doubles nine times can decide the mean of a run.
So the figures of many runs are compared, as draws on both sides. ns-2's are in `validation/ns2/link_delays.csv`, a row
for each run and size range: mean and p99 of the normalised FCT.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, drawn
from packetloom.validate.peers.flow_lists import (
    PEERS,
    Pair,
    PeerList,
    means,
    p99s,
    paired,
    read_list,
    replay_scenario,
)

SCHEME = "TCP"
FIGURES = "ns2/link_delays.csv"
# The lists that were run so.
NAMES = ("ns2-web-search", "ns2-data-mining")


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure of a run by size range, and how near the means over runs must be to each other."""

    column: str
    title: str
    within: float
    of: Callable[[pl.DataFrame], list[Pair]]


STATISTICS = (
    Statistic("mean", "mean normalised FCT", MEAN_WITHIN, means),
    Statistic("p99", "p99 of the normalised FCT", P99_WITHIN, p99s),
)


def link_delay_comparisons() -> list[Check]:
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
    replay["topology"]["link"]["delay"] = [f"{delay:g}ns" for delay in delays]
    return replay


def figures(theirs: pl.DataFrame, ours: pl.DataFrame) -> dict[tuple[str, str], tuple[float, ...]]:
    """Of the flows of a list and of ours, case by case: each case's figure for each statistic and size range."""
    of_runs: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for run in ours.partition_by("case_id"):
        flows = paired(theirs, run, SCHEME)
        for statistic in STATISTICS:
            for pair in statistic.of(flows):
                of_runs[statistic.column, pair.name].append(pair.ours)
    return {key: tuple(found) for key, found in of_runs.items()}


def _comparison(peer: PeerList) -> Check:
    name = f"{peer.name}-link-delays"

    def rows(results: Mapping[str, Results]) -> list[Row]:
        runs, ours = read_runs(peer), figures(read_list(peer), results["replayed"].to_polars())
        case = f"{peer.title}, {SCHEME}, {_delays(runs)}, mean of runs"
        return [
            drawn(
                f"{name} {SCHEME} {statistic.column} {sizes}",
                f"{case}: {statistic.title}, {sizes}",
                f"validation/{FIGURES}",
                Draws(tuple(part[statistic.column]), ours[statistic.column, sizes]),
                statistic.within,
            )
            for statistic in STATISTICS
            for (sizes,), part in runs.drop_nulls(statistic.column).group_by("sizes", maintain_order=True)
            if isinstance(sizes, str)
        ]

    return Check(name, lambda folder: {"replayed": scenario(peer, folder)}, rows)


def _delays(runs: pl.DataFrame) -> str:
    delays = runs["delay_ns"].sort().to_list()
    return f"link delays of {delays[0]:g} to {delays[-1]:g} ns"
