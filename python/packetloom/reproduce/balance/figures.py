"""Figures of the claims that are seen better than read."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common.percentiles import quantiles
from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.balance import measure
from packetloom.reproduce.balance.claims import BETWEEN_LEAVES, DIED_NS, LATER
from packetloom.reproduce.measure import PerSeed, Runs, interval_of, per_case
from packetloom.stats.curves import style_at
from packetloom.store.results import Results

POINTS = 400
NS_PER_BIN = 5_000.0
# So that a scheme looks the same in two panels whose schemes differ.
PLACES = {"ECMP": 0, "LetFlow": 1, "CONGA": 2, "ConWeave": 3, "CONGA, ConWeave's simulator's": 4, LATER: 5}
PLACES |= {"oblivious": 0, "REPS": 1, "oblivious, NDP": 2, "REPS, NDP": 3, "all paths in turn": 4}


def links(runs: Runs) -> list[Panel]:
    """LB1, LB2: completion times over TCP where links differ."""
    titles = {"slow-link": "one link at half of its rate", "failed-link": "one link failed"}
    return [
        _distribution(runs[name], title, "fct_ns", 1e6, "completion time, ms", BETWEEN_LEAVES)
        for name, title in titles.items()
    ]


def slowdowns(runs: Runs) -> list[Panel]:
    """LB4: over RDMA."""
    titles = {"rdma": "AliStorage", "rdma-web-search": "web search"}
    return [_tail(runs[name], f"{title}, load 0.8 at the core") for name, title in titles.items()]


def queues(runs: Runs) -> list[Panel]:
    """LB3: how uneven the queues of a leaf's uplinks are, by load."""
    found: dict[str, dict[float, PerSeed]] = defaultdict(lambda: defaultdict(list))
    for row, spread in measure.uneven(runs["drill"]):
        found[row.scheme][measure.load_of(row)].append((row.seed, spread))
    curves = [
        Curve.of(scheme, style_at(place), {load: interval_of(per_seed, scheme) for load, per_seed in by_load.items()})
        for place, (scheme, by_load) in enumerate(found.items())
    ]
    return [Panel("queues of a leaf's uplinks", "load", "standard deviation, KB", curves, log_y=True)]


def permutations(runs: Runs) -> list[Panel]:
    """LB5."""
    titles = {"permutation": "a fabric that is whole", "slow-uplink": "one uplink at half of its rate"}
    return [_distribution(runs[name], title, "fct_ns", 1e3, "completion time, us") for name, title in titles.items()]


def dead_link(runs: Runs) -> list[Panel]:
    """LB6: what both ends put onto the link, in the first seed."""
    curves: list[Curve] = []
    for row, of_link in measure.into_dead_link(runs["dead-link"]):
        if row.seed == 1:
            binned = of_link.group_by((pl.col("time_ns") / NS_PER_BIN).floor().alias("bin"))
            sent = binned.agg(pl.col("tx_bytes").sum()).sort("bin")
            microseconds = (sent["bin"] * NS_PER_BIN - DIED_NS) / 1e3
            rates = sent["tx_bytes"] * 8 / NS_PER_BIN
            curves.append(_line(row.scheme, len(curves), microseconds.to_list(), rates.to_list()))
    return [Panel("leaf0 to spine0 and back", "us since the link died", "Gb/s sent into it", curves)]


def _distribution(
    results: Results, title: str, column: str, unit: float, x_title: str, which: pl.Expr | None = None
) -> Panel:
    shares = np.linspace(0, 1, POINTS)
    curves = [
        _line(scheme, place, (quantiles(values, shares) / unit).tolist(), shares.tolist())
        for place, (scheme, values) in enumerate(_pooled(results, column, which).items())
    ]
    return Panel(title, x_title, "share of flows", curves, log_x=which is not None)


def _tail(results: Results, title: str) -> Panel:
    """The share of flows that are slower than that."""
    over = np.geomspace(1, 1e-3, POINTS)
    curves = [
        _line(scheme, place, quantiles(values, 1 - over).tolist(), over.tolist())
        for place, (scheme, values) in enumerate(_pooled(results, "slowdown").items())
    ]
    return Panel(title, "slowdown", "share of flows that are slower", curves, log_x=True, log_y=True)


def _pooled(results: Results, column: str, which: pl.Expr | None = None) -> dict[str, NDArray[np.float64]]:
    """All seeds together."""
    pooled = defaultdict(list)
    for row, flows in per_case(results, ("src", "dst", column)):
        pooled[row.scheme].append((flows if which is None else flows.filter(which))[column].to_numpy())
    return {scheme: np.concatenate(parts) for scheme, parts in pooled.items()}


def _line(label: str, place: int, x: list[float], y: list[float]) -> Curve:
    return Curve(label, style_at(PLACES.get(label, place)), x, y, points=False)


FIGURES = (
    PaperFigure("LB1", "TCP where links differ", ("slow-link", "failed-link"), links),
    PaperFigure("LB3", "how uneven the queues of a leaf's uplinks are", ("drill",), queues, 1),
    PaperFigure("LB4", "RDMA over four balancers", ("rdma", "rdma-web-search"), slowdowns),
    PaperFigure("LB5", "a permutation of 8 MB", ("permutation", "slow-uplink"), permutations),
    PaperFigure("LB6", "what goes into a dead link", ("dead-link",), dead_link, 1),
)
