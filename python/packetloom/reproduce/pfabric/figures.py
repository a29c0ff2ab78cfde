"""Figures 2, 3 and 4: slowdown against load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from packetloom.pages.panels import Curve, Panel
from packetloom.pages.results_table import Column, results_lines
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.pfabric.measure import LARGE, MEDIUM, SMALL, Slowdowns
from packetloom.stats.curves import Style, styles
from packetloom.stats.summary import ALL_SIZES
from packetloom.store.results import Results


@dataclass(frozen=True, slots=True)
class View:
    """A panel: a statistic of one workload's flows in a size bin."""

    experiment: str
    title: str
    bin: str
    statistic: str


def by_size(experiment: str) -> tuple[View, ...]:
    """The four panels of Figures 3 and 4."""
    return (
        View(experiment, "(0, 100KB]: mean", SMALL, "mean"),
        View(experiment, "(0, 100KB]: 99th percentile", SMALL, "p99"),
        View(experiment, "(100KB, 10MB]: mean", MEDIUM, "mean"),
        View(experiment, "(10MB, ∞): mean", LARGE, "mean"),
    )


OVERALL = (
    View("data-mining", "data mining", ALL_SIZES, "mean"),
    View("web-search", "web search", ALL_SIZES, "mean"),
)


def paper_figure(number: str, caption: str, views: tuple[View, ...]) -> PaperFigure:
    """A figure of these panels."""
    return PaperFigure(
        number,
        caption,
        tuple(dict.fromkeys(view.experiment for view in views)),
        panels=lambda runs: _panels(views, runs),
        table=lambda runs: _table(views, runs),
    )


def _summaries(views: tuple[View, ...], runs: Mapping[str, Results]) -> dict[str, pl.DataFrame]:
    return {name: Slowdowns(runs[name]).summary() for name in dict.fromkeys(view.experiment for view in views)}


def _points(view: View, summary: pl.DataFrame, label: str) -> pl.DataFrame:
    wanted = {"label": label, "bin": view.bin, "statistic": view.statistic}
    return summary.filter(*(pl.col(name) == value for name, value in wanted.items())).sort("load")


def _panels(views: tuple[View, ...], runs: Mapping[str, Results]) -> list[Panel]:
    summaries = _summaries(views, runs)
    return [
        Panel(view.title, "load", "slowdown", _curves(view, summaries[view.experiment], runs), log_y=True)
        for view in views
    ]


def _curves(view: View, summary: pl.DataFrame, runs: Mapping[str, Results]) -> list[Curve]:
    # a slowdown is never below 1, whatever a symmetric interval says
    floored = summary.with_columns(
        pl.when(pl.col("low").is_not_null()).then(pl.max_horizontal("low", 1.0)).alias("low")
    )
    return [_curve(label, look, _points(view, floored, label)) for label, look in styles(runs[view.experiment]).items()]


def _curve(label: str, look: Style, points: pl.DataFrame) -> Curve:
    x, y, low, high = (points[name].to_list() for name in ("load", "value", "low", "high"))
    return Curve(label, look, x, y, low, high)


def _table(views: tuple[View, ...], runs: Mapping[str, Results]) -> tuple[list[str], list[list[str]]]:
    summaries = _summaries(views, runs)
    several = len(summaries) > 1
    columns = [Column(view.bin, "slowdown", view.statistic) for view in views]
    if several:  # Figure 2: one column, a block of rows per workload
        header = ["workload", "load", "scheme", "mean, all flows"]
        rows = [
            [view.title, f"{line.load:g}", line.label, *line.cells]
            for view, column in zip(views, columns, strict=True)
            for line in results_lines(summaries[view.experiment], [column])
        ]
        return header, rows
    lines = results_lines(summaries[views[0].experiment], columns)
    header = ["load", "scheme", *(view.title for view in views)]
    return header, [[f"{line.load:g}", line.label, *line.cells] for line in lines]


FIGURES = (
    paper_figure("2", "overall mean slowdown", OVERALL),
    paper_figure("3", "data mining, slowdown by flow size", by_size("data-mining")),
    paper_figure("4", "web search, slowdown by flow size", by_size("web-search")),
)
