"""The report: one HTML page with the results table and the figures of one or several results folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from packetloom import _core, curves
from packetloom.errors import PacketloomError
from packetloom.page import Page
from packetloom.panels import Panels, box, line_style, spread
from packetloom.results import Results
from packetloom.statistics import ALL_SIZES, DEFAULT_BINS, SizeBin
from packetloom.tables import Column, results_columns, results_lines, significant

SLOWDOWN = "slowdown"


def write_report(results: curves.SomeResults, output: str | Path, *, bins: Sequence[SizeBin] = DEFAULT_BINS) -> Path:
    """Writes the page, and gives its path."""
    several = curves.as_list(results)
    statistics = curves.all_summaries(several, bins)
    page = Page(" and ".join(dict.fromkeys(one.name for one in several)))
    _opening(page, several)
    _summary_table(page, statistics, bins)
    _fairness(page, statistics)
    _central_control(page, several)
    _figures(page, several, statistics, bins)
    _cases(page, several)
    for one in several:
        page.folded(f"The scenario of {one.name}", one.scenario_text)
    page.write(Path(output))
    return Path(output)


def _opening(page: Page, several: Sequence[Results]) -> None:
    for one in several:
        planned, finished = len(one.plan_lines()), len(one.rows())
        text = f"{one.name}: {finished} of {planned} cases finished, by packetloom {one.marker['version']}"
        page.text(text)
    page.text(
        "Slowdown is a flow's completion time over that of the same flow alone on an empty network. "
        f"This page was made by packetloom {_core.version()}.",
        note=True,
    )
    warnings = dict.fromkeys(warning for one in several for row in one.rows() for warning in row.warnings)
    page.list(warnings)


def _summary_table(page: Page, statistics: pl.DataFrame, bins: Sequence[SizeBin]) -> None:
    page.heading("Slowdown by load and flow size")
    columns = results_columns(statistics, bins)
    headings = [column.heading for column in columns]
    lines = results_lines(statistics, columns)
    rows = [["–" if line.load is None else f"{line.load:g}", line.label, *line.cells] for line in lines]
    page.table(["load", "scheme", *headings], rows, text_columns=2)
    seeds = int(statistics["seeds"].max() or 0)  # type: ignore[arg-type]
    page.text(
        f"± is half a 95 % confidence interval over {seeds} seeds (Student's t)."
        if seeds > 1
        else "One seed, so there are no confidence intervals: set run.seeds to have them.",
        note=True,
    )


def _fairness(page: Page, statistics: pl.DataFrame) -> None:
    page.heading("Completion times and fairness")
    columns = [
        (Column(ALL_SIZES, "fct_ns", "mean"), "mean FCT,\nns"),
        (Column(ALL_SIZES, "fct_ns", "cv"), "its\nvariation"),
        (Column(ALL_SIZES, "slowdown", "cv"), "slowdown's\nvariation"),
        (Column(ALL_SIZES, "server_share", "jain"), "Jain's index\nof servers"),
    ]
    lines = results_lines(statistics, [column for column, _ in columns])
    rows = [["–" if line.load is None else f"{line.load:g}", line.label, *line.cells] for line in lines]
    page.table(["load", "scheme", *(heading for _, heading in columns)], rows, text_columns=2)
    page.text(
        "Variation: standard deviation over mean. Jain's index is of the servers' normalised throughput: what their "
        "flows got of the rate that each would have had alone.",
        note=True,
    )


def _central_control(page: Page, several: Sequence[Results]) -> None:
    """Where a central controller decided: how long packets waited, and what control took."""
    cases = [row for one in several for row in one.rows() if "control_reports" in row.counters]
    if not cases:
        return
    page.heading("Central control")
    columns = [
        ("at servers:\nmean, us", "server_latency_mean_ns", 1e3),
        ("at servers:\np99, us", "server_latency_p99_ns", 1e3),
        ("in the network:\nmean, us", "network_latency_mean_ns", 1e3),
        ("in the network:\np99, us", "network_latency_p99_ns", 1e3),
        ("reports,\nMB/s", "control_report_bytes_per_s", 1e6),
        ("grants,\nMB/s", "control_grant_bytes_per_s", 1e6),
    ]
    rows = [
        [
            "–" if row.load is None else f"{row.load:g}",
            row.label,
            "–" if row.seed is None else str(row.seed),
            *(significant(row.counters[name] / scale, 3) for _, name, scale in columns),
        ]
        for row in cases
    ]
    page.table(["load", "scheme", "seed", *(heading for heading, _, _ in columns)], rows, text_columns=2)
    page.text("How long packets waited at their server, and then took through the network; control traffic.", note=True)


def _figures(page: Page, several: Sequence[Results], statistics: pl.DataFrame, bins: Sequence[SizeBin]) -> None:
    looks = curves.styles(several)
    page.heading("Mean slowdown by load")
    page.figure(_by_load(statistics, looks, [(ALL_SIZES, "mean")]))
    page.heading("Slowdown by load, by flow size")
    page.figure(_by_load(statistics, looks, [(size.label, name) for name in ("mean", "p99") for size in bins]))
    try:
        by_size, distribution = curves.slowdown_by_size(several), curves.fct_cdf(several)
    except PacketloomError as problem:
        page.text(str(problem))
        return
    page.heading("Slowdown by flow size")
    page.text("Each point stands for equally many flows; the line is the mean, the dots are the p99.", note=True)
    page.figure(_by_size(by_size, looks))
    page.heading("Flow completion times")
    page.figure(_distribution(distribution, looks))
    _queues(page, several, looks)


def _by_load(
    statistics: pl.DataFrame, looks: dict[str, curves.Style], wanted: Sequence[tuple[str, str]]
) -> dict[str, object]:
    columns = 1 if len(wanted) == 1 else len(wanted) // 2
    panels = Panels(len(wanted), columns)
    slowdowns = statistics.filter(pl.col("metric") == SLOWDOWN)
    single = slowdowns["load"].n_unique() < 2
    for place, (size, statistic) in enumerate(wanted):
        what = f"{statistic}, {'all flows' if size == ALL_SIZES else size}"
        x_axis = {"title": "" if single else "load", **({"showticklabels": False} if single else {})}
        panels.axes(place, what, x=x_axis, y={"type": "log", "title": "slowdown" if place % columns == 0 else ""})
        chosen = slowdowns.filter((pl.col("bin") == size), pl.col("statistic") == statistic)
        for label, look in looks.items():
            points = chosen.filter(pl.col("label") == label).sort("load")
            if points.is_empty():
                continue
            y = points["value"].to_list()
            if single:
                panels.add(place, label, {"type": "bar", "x": [label], "y": y, **spread(points), **box(look)})
            else:
                panels.add(place, label, {"x": points["load"].to_list(), "y": y, **spread(points), **line_style(look)})
    return panels.figure()


def _by_size(frame: pl.DataFrame, looks: dict[str, curves.Style]) -> dict[str, object]:
    loads = frame["load"].unique().sort(nulls_last=True).to_list()
    panels = Panels(len(loads))
    for place, load in enumerate(loads):
        panels.axes(
            place,
            _load_title(load),
            x={"type": "log", "title": "flow size (bytes)"},
            y={"type": "log", "title": "slowdown"},
        )
        for label, look in looks.items():
            points = frame.filter(pl.col("load").eq_missing(pl.lit(load)), pl.col("label") == label).sort("size_bytes")
            x = points["size_bytes"].to_list()
            panels.add(place, label, {"x": x, "y": points["mean"].to_list(), **line_style(look, mode="lines")})
            tail = {"x": x, "y": points["p99"].to_list(), **line_style(look, mode="markers"), "opacity": 0.6}
            panels.add(place, label, tail, note="p99")
    return panels.figure()


def _distribution(frame: pl.DataFrame, looks: dict[str, curves.Style]) -> dict[str, object]:
    loads = frame["load"].unique().sort(nulls_last=True).to_list()
    panels = Panels(len(loads))
    for place, load in enumerate(loads):
        panels.axes(
            place,
            _load_title(load),
            x={"type": "log", "title": "completion time (ms)"},
            y={"title": "fraction of flows", "range": [0, 1]},
        )
        for label, look in looks.items():
            points = frame.filter(pl.col("load").eq_missing(pl.lit(load)), pl.col("label") == label)
            x = (points["fct_ns"] / 1e6).to_list()
            panels.add(place, label, {"x": x, "y": points["fraction"].to_list(), **line_style(look, mode="lines")})
    return panels.figure()


def _queues(page: Page, several: Sequence[Results], looks: dict[str, curves.Style]) -> None:
    page.heading("Queues by tier")
    try:
        frame = curves.queue_by_tier(several)
    except PacketloomError as problem:
        page.text(str(problem), note=True)
        return
    page.text("Bars: time-weighted mean over the tier's ports; whiskers: the p99 of its worst port.", note=True)
    loads = frame["load"].unique().sort(nulls_last=True).to_list()
    panels = Panels(len(loads), columns=min(len(loads), 2))  # six tiers need room for their names
    for place, load in enumerate(loads):
        panels.axes(place, _load_title(load), x={"type": "category", "tickangle": 0}, y={"title": "queue (KB)"})
        for label, look in looks.items():
            points = frame.filter(pl.col("load").eq_missing(pl.lit(load)), pl.col("label") == label)
            if points.is_empty():
                continue
            above = ((points["p99_bytes"] - points["mean_bytes"]) / 1e3).to_list()
            whiskers = {"type": "data", "array": above, "arrayminus": [0] * len(above), "symmetric": False}
            bars = {
                "x": [_two_lines(tier) for tier in points["tier"]],
                "y": (points["mean_bytes"] / 1e3).to_list(),
                "error_y": whiskers,
            }
            panels.add(place, label, {"type": "bar", **bars, **box(look)})
    page.figure(panels.figure())


def _two_lines(tier: str) -> str:
    return tier.replace(" to ", "<br>to ")


def _cases(page: Page, several: Sequence[Results]) -> None:
    page.heading("Cases")
    rows = [
        [
            row.label,
            "–" if row.load is None else f"{row.load:g}",
            "–" if row.seed is None else str(row.seed),
            significant(row.counters.get("packet_hops", 0) / 1e6, 3),
            f"{row.counters.get('drops', 0):,}",
            f"{row.counters.get('cpu_s', 0.0):.1f}",
            row.fingerprint,
        ]
        for one in several
        for row in one.rows()
    ]
    header = ["scheme", "load", "seed", "million packet-hops", "drops", "CPU s", "fingerprint"]
    page.table(header, rows)


def _load_title(load: float | None) -> str:
    return "" if load is None else f"load {load:g}"
