"""Figures of the claims that are seen better than read."""

from __future__ import annotations

import polars as pl

from packetloom.common.percentiles import quantiles
from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.homa import measure
from packetloom.reproduce.homa.claims import HOMA, SMALL_BYTES, _carried
from packetloom.reproduce.homa.measure import WORKLOADS, bin_p99, published
from packetloom.reproduce.measure import Runs, per_case
from packetloom.stats.curves import style_at

POINTS = 200


def by_size(runs: Runs) -> list[Panel]:
    """HO1: p99 by class at load 0.8, the first seed's and theirs."""
    panels = []
    for experiment in WORKLOADS:
        for load, row, flows in measure.by_real_load(runs[experiment]):
            if load == measure.REAL_LOADS[-1] and row.seed == 1:
                all_classes = published(experiment, load, HOMA)
                classes = [of for of in all_classes if measure.in_class(flows, of.low, of.high).len()]
                sizes = [float(of.low) for of in classes]
                ours = [bin_p99(flows, of.low, of.high) for of in classes]
                curves = [
                    Curve("ours", style_at(0), sizes, ours),
                    Curve("authors", style_at(1), sizes, [of.p99 for of in classes]),
                ]
                name = f"{experiment.upper()} at {load}"
                panels.append(Panel(name, "bytes, from", "p99 slowdown", curves, log_x=True))
    return panels


def tails(runs: Runs) -> list[Panel]:
    """HO2: small messages, all transports."""
    shares = [nth / (POINTS - 1) for nth in range(POINTS)]
    curves = []
    for place, (row, flows) in enumerate(per_case(runs["others"], ("size_bytes", "slowdown"))):
        if row.seed == 1:
            small = flows.filter(pl.col("size_bytes") < SMALL_BYTES)["slowdown"]
            values = quantiles(small.to_numpy(), shares).tolist()
            curves.append(Curve(row.label, style_at(place), values, shares, points=False))
    return [Panel("messages up to 1460 B, W4 at 0.8", "slowdown", "share of messages", curves, log_x=True)]


def carried(runs: Runs) -> list[Panel]:
    """HO3: by how many are granted at once."""
    homa, phost = _carried(runs)
    counts = [float(count) for count in homa]
    curves = [
        Curve(HOMA, style_at(0), counts, [share.value for share in homa.values()]),
        Curve("pHost", style_at(1), counts, [phost.value for _ in counts]),
    ]
    return [Panel("W4, more asked for than fits", "granted at once", "share of links", curves)]


def levels(runs: Runs) -> list[Panel]:
    """HO4: W1 by the number of levels."""
    curves = []
    for place, (row, flows) in enumerate(per_case(runs["levels"], ("size_bytes", "slowdown"))):
        if row.seed == 1:
            shares = [0.5 + 0.5 * nth / (POINTS - 1) for nth in range(POINTS)]
            values = quantiles(flows["slowdown"].to_numpy(), shares).tolist()
            curves.append(Curve(row.label, style_at(place), values, shares, points=False))
    return [Panel("W1 at 0.8", "slowdown", "share of messages", curves, log_x=True)]


FIGURES = (
    PaperFigure("HO1", "p99 slowdown by size at load 0.8", tuple(WORKLOADS), by_size, columns=3),
    PaperFigure("HO2", "Small messages under W4", ("others",), tails, columns=1),
    PaperFigure("HO3", "Load carried", ("carried",), carried, columns=1),
    PaperFigure("HO4", "Unscheduled levels under W1", ("levels",), levels, columns=1),
)
