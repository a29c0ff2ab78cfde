"""Figures 6 to 9, and one of the paper's future work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common.percentiles import quantiles
from packetloom.pages.panels import Curve, HeatMap, Panel, Stack
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.measure import PerSeed, Runs, interval_of
from packetloom.reproduce.ndp import measure
from packetloom.reproduce.ndp.measure import NDP, SHORT_BYTES
from packetloom.stats.curves import Style, style_at, styles
from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results

POINTS = 200
SHARE = "share of flows"


def experiment_1(runs: Runs) -> list[Panel]:
    """Figure 6."""
    results = runs["background"]
    columns = ("src", "dst", "goodput_gbps", "fct_ns", "trimmed")
    pooled = _pooled(results, columns)
    first = next(flows for row, flows in measure.measured_flows(results, columns) if row.scheme == NDP)
    hosts = 1 + max(
        int(polars_frame(table).max().to_numpy().max()) for _, table in results.partitions("flows", ("src", "dst"))
    )
    looks = styles(results)
    goodput = [_ranked(label, looks[label], flows["goodput_gbps"]) for label, flows in pooled.items()]
    times = [_distribution(label, looks[label], flows["fct_ns"] / 1e6) for label, flows in pooled.items()]
    trims = [_ranked(NDP, looks[NDP], pooled[NDP]["trimmed"])]
    return [
        Panel("goodput, flows by rank", SHARE, "Gb/s", goodput),
        Panel("flow completion times", "ms", SHARE, times, log_x=True),
        Panel("trimmed headers, flows by rank", SHARE, "headers", trims),
        Panel("sending applications", "server", "flows", [_per_host(first["src"], hosts)]),
        Panel("receiving applications", "server", "flows", [_per_host(first["dst"], hosts)]),
        Panel("traffic matrix", "to server", "from server", [_matrix(first, hosts)]),
    ]


def experiment_2(runs: Runs) -> list[Panel]:
    """Figure 7: the first seed."""
    first: dict[str, NDArray[np.int64]] = {}
    for row, packets in measure.core_packets(runs["load-balancing"]):
        first.setdefault(row.label, packets)
    return [
        Panel(label, "core switch", "packets received", [Stack(range(1, len(packets) + 1), packets.T.tolist())])
        for label, packets in first.items()
    ]


def variations_table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """The coefficients of variation behind Figure 7."""
    header = ["scheme", "over ports", "over ports, pods alike", "over core switches"]
    counts = (measure.variation_of_ports, measure.variation_within_pods, measure.variation_of_switches)
    values: dict[str, list[PerSeed]] = defaultdict(lambda: [[] for _ in counts])
    for row, packets in measure.core_packets(runs["load-balancing"]):
        for place, count in enumerate(counts):
            values[row.label][place].append((row.seed, count(packets)))
    rows = [[label, *(f"{interval_of(one, label).value:.2g}" for one in columns)] for label, columns in values.items()]
    return header, rows


def experiment_3(runs: Runs) -> list[Panel]:
    """Figure 8."""
    windows = measure.goodput_by(runs["initial-window"], "initial_window")
    rates = measure.goodput_by(runs["arrival-rate"], "rate_per_second")
    sizes = {rate: measure.goodput_by(runs["flow-size"], "size_bytes", rate_per_second=rate) for rate in (2500, 250)}
    in_kilobytes = {rate: {size / 1e3: values for size, values in points.items()} for rate, points in sizes.items()}
    by_size = [_means(f"{rate} flows/s", order, points) for order, (rate, points) in enumerate(in_kilobytes.items())]
    return [
        Panel(
            "initial window (1.5 MB, 2500 flows/s)",
            "packets",
            "mean goodput, Gb/s",
            [_means("2500 flows/s", 0, windows)],
        ),
        Panel("flow size", "KB", "mean goodput, Gb/s", by_size, log_x=True),
        Panel(
            "arrival rate (1.5 MB)", "flows/s", "mean goodput, Gb/s", [_means("1.5 MB a flow", 2, rates)], log_x=True
        ),
    ]


def experiment_4(runs: Runs) -> list[Panel]:
    """Figure 9."""
    results = runs["web-search"]
    looks = styles(results)
    pooled: dict[tuple[float, str], list[pl.DataFrame]] = defaultdict(list)
    for row, flows in measure.measured_flows(results, ("size_bytes", "fct_ns")):
        pooled[row.load or 0.0, row.label].append(flows)
    panels = []
    for title, chosen in (
        ("up to 100 KB", pl.col("size_bytes") <= SHORT_BYTES),
        ("above 100 KB", pl.col("size_bytes") > SHORT_BYTES),
    ):
        for load in sorted({load for load, _ in pooled}):
            curves = [
                _distribution(label, looks[label], pl.concat(pooled[load, label]).filter(chosen)["fct_ns"] / 1e6)
                for label in looks
            ]
            panels.append(Panel(f"{title}, background load {load:g}", "FCT, ms", SHARE, curves, log_x=True))
    return panels


def future_work(runs: Runs) -> list[Panel]:
    """Incast, outcast, and whom a receiver pulls from first."""
    panels = []
    for pattern in ("incast", "outcast"):
        looks = styles(runs[pattern])
        pooled = _pooled(runs[pattern], ("size_bytes", "fct_ns", "best_fct_ns"))
        curves = [_distribution(label, looks[label], flows["fct_ns"] / 1e6) for label, flows in pooled.items()]
        panels.append(Panel(f"{pattern} of 100 x 450 KB", "FCT, ms", SHARE, curves))
    pulled = _pooled(runs["priorities"], ("fct_ns",))
    curves = [
        _distribution(label.partition("transport.")[2], style_at(order), flows["fct_ns"] / 1e6)
        for order, (label, flows) in enumerate(pulled.items(), 2)
    ]
    beside = Panel("150 KB beside ten long flows", "FCT, ms", SHARE, curves, log_x=True)
    return [
        *panels,
        beside,
        Panel("incast: the receiver's queue of pulls", "ms", "pulls", [_pull_queue(runs["incast"])]),
    ]


def _pull_queue(results: Results) -> Curve:
    """The first seed's; the receiver is host 0."""
    table = next(table for row, table in results.partitions("pulls", ("host", "time_ns", "pulls")) if row.scheme == NDP)
    samples = polars_frame(table).filter(pl.col("host") == 0)
    return Curve(NDP, style_at(0), (samples["time_ns"] / 1e6).to_list(), samples["pulls"].to_list(), points=False)


def _pooled(results: Results, columns: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The first source's flows of each series, all seeds together."""
    parts: dict[str, list[pl.DataFrame]] = defaultdict(list)
    for row, flows in measure.measured_flows(results, columns):
        parts[row.label].append(flows)
    return {label: pl.concat(frames) for label, frames in parts.items()}


def _ranked(label: str, look: Style, values: pl.Series) -> Curve:
    """Values from the smallest to the largest."""
    shares = np.linspace(0, 1, POINTS)
    return Curve(label, look, shares.tolist(), _quantiles(values, shares), points=False)


def _distribution(label: str, look: Style, values: pl.Series) -> Curve:
    shares = np.linspace(0, 1, POINTS)
    return Curve(label, look, _quantiles(values, shares), shares.tolist(), points=False)


def _quantiles(values: pl.Series, shares: NDArray[np.float64]) -> list[float]:
    finite = values.drop_nulls().to_numpy().astype(float)
    finite = finite[np.isfinite(finite)]
    return quantiles(finite, shares).tolist() if finite.size else [0.0] * len(shares)


def _per_host(chosen: pl.Series, hosts: int) -> Stack:
    return Stack(range(hosts), [np.bincount(chosen.to_numpy(), minlength=hosts).tolist()])


def _matrix(flows: pl.DataFrame, hosts: int) -> HeatMap:
    matrix = np.zeros((hosts, hosts))
    np.add.at(matrix, (flows["src"].to_numpy(), flows["dst"].to_numpy()), 1)
    return HeatMap(matrix.tolist(), "flows")


def _means(label: str, order: int, goodput: dict[float, PerSeed]) -> Curve:
    found = {place: interval_of(values, label) for place, values in goodput.items()}
    return Curve.of(label, style_at(order), found)


FIGURES = (
    PaperFigure("6", "2000 flows of 150 KB beside background traffic", ("background",), experiment_1, columns=3),
    PaperFigure(
        "7",
        "packets per port of the core switches, a colour or hatch per pod",
        ("load-balancing",),
        experiment_2,
        table=variations_table,
    ),
    PaperFigure(
        "8",
        "goodput by initial window, flow size and arrival rate",
        ("initial-window", "flow-size", "arrival-rate"),
        experiment_3,
        columns=3,
    ),
    PaperFigure("9", "web search flows beside background traffic", ("web-search",), experiment_4),
    PaperFigure("ND7", "incast, outcast and priorities", ("incast", "outcast", "priorities"), future_work),
)
