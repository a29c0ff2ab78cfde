"""Figures of the claims that are seen better than read."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl

from packetloom.common.fairness import jain
from packetloom.common.percentiles import quantiles
from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.measure import PerSeed, Runs, axis_number, interval_of
from packetloom.reproduce.rdma import measure
from packetloom.reproduce.rdma.claims import LINE_GBPS, SETTLED, SHORT_BYTES, TO_RECEIVER, VICTIM
from packetloom.reproduce.samples import port_samples, rates_gbps
from packetloom.stats.curves import style_at, styles
from packetloom.stats.summary import polars_frame

POINTS = 200


def shares(runs: Runs) -> list[Panel]:
    """RD1: what each sender gets over time, in the first seed."""
    panels = []
    for row, samples in measure.senders(runs["sharing"]):
        if row.seed == 1:
            interval_ns = float(np.diff(np.unique(samples["time_ns"].to_numpy())).min())
            curves = [
                _line(str(node[0]), place, of_node["time_ns"] / 1e6, of_node["tx_bytes"] * 8 / interval_ns)
                for place, (node, of_node) in enumerate(samples.sort("time_ns").group_by("node", maintain_order=True))
            ]
            panels.append(Panel(row.label, "ms", "Gb/s", curves))
    return panels


def victims(runs: Runs) -> list[Panel]:
    """RD2: the victim's share against the width of the incast."""
    found: dict[str, dict[float, PerSeed]] = defaultdict(lambda: defaultdict(list))
    for row, samples in port_samples(runs["victim"], pl.col("node") == VICTIM):
        (rate,) = rates_gbps(samples, SETTLED)
        found[row.scheme][axis_number(row, "file")].append((row.seed, rate / LINE_GBPS["victim"]))
    curves = [
        Curve.of(scheme, style_at(place), {width: interval_of(of_width[width], scheme) for width in sorted(of_width)})
        for place, (scheme, of_width) in enumerate(found.items())
    ]
    return [Panel("a flow beside an incast that it does not cross", "senders", "share of its link", curves)]


def incast_queue(runs: Runs) -> list[Panel]:
    """RD4: the first seed's, by width."""
    curves: dict[float, list[Curve]] = defaultdict(list)
    for row, samples in port_samples(runs["incast"], TO_RECEIVER):
        if row.seed == 1:
            ordered, of_width = samples.sort("time_ns"), curves[axis_number(row, "fan_in")]
            of_width.append(_line(row.scheme, len(of_width), ordered["time_ns"] / 1e3, ordered["queue_bytes"] / 1e3))
    return [
        Panel(f"{width:g} senders of 500 KB", "us", "KB before the receiver", curves[width]) for width in sorted(curves)
    ]


def short_flows(runs: Runs) -> list[Panel]:
    """RD6: all seeds together."""
    looks, pooled = styles(runs["web-search"]), defaultdict(list)
    for row, table in runs["web-search"].partitions("flows", ("size_bytes", "slowdown", "measured")):
        short = polars_frame(table).filter("measured", pl.col("size_bytes") <= SHORT_BYTES)
        pooled[row.label].append(short["slowdown"].to_numpy())
    shares = np.linspace(0, 1, POINTS)
    curves = [
        Curve(label, looks[label], quantiles(np.concatenate(parts), shares).tolist(), shares.tolist(), points=False)
        for label, parts in pooled.items()
    ]
    return [Panel("flows up to 3 KB, web search at load 0.5", "slowdown", "share of flows", curves, log_x=True)]


def fairness(runs: Runs) -> list[Panel]:
    """RD8: Jain's index against the rate that flows start from, by how much later the second one does."""
    found: dict[str, dict[float, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row, samples in measure.senders(runs["starts"]):
        rates = np.array(rates_gbps(samples, SETTLED))
        later_ms, first_gbps = axis_number(row, "start_ns") / 1e6, axis_number(row, "initial_rate_gbps")
        found[row.scheme][later_ms].append((first_gbps, jain(rates)))
    return [
        Panel(scheme, "first rate, Gb/s", "Jain's index", [_points(*one) for one in _in_order(by_start)])
        for scheme, by_start in found.items()
    ]


def _in_order(by_start: dict[float, list[tuple[float, float]]]) -> list[tuple[float, int, list[tuple[float, float]]]]:
    return [(later_ms, place, by_start[later_ms]) for place, later_ms in enumerate(sorted(by_start))]


def _points(later_ms: float, place: int, points: list[tuple[float, float]]) -> Curve:
    ordered = sorted(points)
    return Curve(f"{later_ms:g} ms apart", style_at(place), [x for x, _ in ordered], [y for _, y in ordered])


def _line(label: str, place: int, x: pl.Series, y: pl.Series) -> Curve:
    return Curve(label, style_at(place), x.to_list(), y.to_list(), points=False)


FIGURES = (
    PaperFigure("RD1", "what four senders get of a receiver's link", ("sharing",), shares),
    PaperFigure("RD2", "what pauses cost an innocent flow", ("victim",), victims),
    PaperFigure("RD4", "an incast's queue", ("incast",), incast_queue),
    PaperFigure("RD6", "the tail of short flows", ("web-search",), short_flows),
    PaperFigure("RD8", "where two flows end up", ("starts",), fairness),
)
