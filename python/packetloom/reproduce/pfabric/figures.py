"""Figures 2, 3 and 4: slowdown against load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from packetloom.curves import styles
from packetloom.panels import Panels, line_style, spread
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.pfabric.measure import LARGE, MEDIUM, SMALL, Slowdowns
from packetloom.results import Results
from packetloom.statistics import ALL_SIZES
from packetloom.tables import Column, results_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """A figure of these panels, for the page and for print."""
    return PaperFigure(
        number,
        caption,
        tuple(dict.fromkeys(view.experiment for view in views)),
        draw=lambda runs: [_draw(views, runs)],
        plot=_plotter(views),
        table=lambda runs: _table(views, runs),
    )


def _summaries(views: tuple[View, ...], runs: Mapping[str, Results]) -> dict[str, pl.DataFrame]:
    return {name: Slowdowns(runs[name]).summary() for name in dict.fromkeys(view.experiment for view in views)}


def _points(view: View, summary: pl.DataFrame, label: str) -> pl.DataFrame:
    wanted = {"label": label, "bin": view.bin, "statistic": view.statistic}
    return summary.filter(*(pl.col(name) == value for name, value in wanted.items())).sort("load")


def _draw(views: tuple[View, ...], runs: Mapping[str, Results]) -> dict[str, Any]:
    summaries = _summaries(views, runs)
    panels = Panels(len(views), 2)
    for place, view in enumerate(views):
        y_axis = {"type": "log", "title": "slowdown" if place % 2 == 0 else ""}
        panels.axes(place, view.title, x={"title": "load"}, y=y_axis)
        for label, look in styles(runs[view.experiment]).items():
            points = _points(view, summaries[view.experiment], label)
            x, y = points["load"].to_list(), points["value"].to_list()
            panels.add(place, label, {"x": x, "y": y, **spread(points), **line_style(look)})
    return panels.figure()


def _plotter(views: tuple[View, ...]) -> Callable[[Mapping[str, Results]], Figure]:
    def plot(runs: Mapping[str, Results]) -> Figure:
        import matplotlib.pyplot as plt

        from packetloom.plots import draw_slowdowns

        summaries = _summaries(views, runs)
        rows = len(views) // 2
        figure, axes = plt.subplots(rows, 2, figsize=(9, 3.6 * rows), layout="constrained", squeeze=False)
        for view, ax in zip(views, axes.flat, strict=True):
            summary = summaries[view.experiment]
            lines = {label: _points(view, summary, label) for label in styles(runs[view.experiment])}
            draw_slowdowns(lines, styles(runs[view.experiment]), ax)
            ax.set_title(view.title)
            ax.set_ylabel("slowdown")
            if ax.get_legend():  # one for all panels follows
                ax.get_legend().remove()
        fullest = max(axes.flat, key=lambda ax: len(ax.get_legend_handles_labels()[0]))
        figure.legend(*fullest.get_legend_handles_labels(), loc="outside upper center", ncols=5)
        return figure

    return plot


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
