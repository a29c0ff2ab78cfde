"""A figure's panels, drawn twice from one description: with plotly for the page, with matplotlib for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packetloom.curves import Style, style_at
from packetloom.panels import Panels, box, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from packetloom.reproduce.measure import Interval

Numbers = Sequence[float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line; `low` and `high` are its intervals, one for each point, where there are any."""

    label: str
    look: Style
    x: Numbers
    y: Numbers
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    points: bool = True

    @staticmethod
    def of(label: str, look: Style, found: Mapping[float, Interval]) -> Curve:
        """Numbers with their intervals, by their place on the x axis."""
        found_at = found.values()
        y, low, high = [one.value for one in found_at], [one.low for one in found_at], [one.high for one in found_at]
        return Curve(label, look, list(found), y, low, high)

    def errors(self) -> tuple[list[float], list[float]] | None:
        """How far each interval reaches down and up; `None` where no point has one."""
        if not any(one is not None for one in self.low):
            return None
        below = [0.0 if low is None else y - low for y, low in zip(self.y, self.low, strict=True)]
        above = [0.0 if high is None else high - y for y, high in zip(self.y, self.high, strict=True)]
        return below, above


@dataclass(frozen=True, slots=True)
class Stack:
    """Bars that stand on one another: a row of heights for each layer."""

    x: Numbers
    layers: Sequence[Numbers]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix in colours: a row for each place on the y axis."""

    rows: Sequence[Numbers]
    unit: str


Mark = Curve | Stack | HeatMap


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes with what is drawn on them."""

    title: str
    x_title: str
    y_title: str
    marks: Sequence[Mark]
    log_x: bool = False
    log_y: bool = False


def draw_panels(panels: Sequence[Panel], columns: int) -> dict[str, Any]:
    """A plotly figure, as a dict of data and layout."""
    drawn = Panels(len(panels), min(columns, len(panels)))
    for place, panel in enumerate(panels):
        x_axis, y_axis = {"title": panel.x_title}, {"title": panel.y_title}
        drawn.axes(
            place,
            panel.title,
            x=x_axis | ({"type": "log"} if panel.log_x else {}),
            y=y_axis | ({"type": "log"} if panel.log_y else {}),
        )
        for mark in panel.marks:
            for label, trace in _traces(mark):
                drawn.add(place, label, trace, legend=isinstance(mark, Curve))
    figure = drawn.figure()
    figure["layout"]["barmode"] = "stack"
    return figure


def _traces(mark: Mark) -> list[tuple[str, dict[str, Any]]]:
    match mark:
        case Curve():
            trace: dict[str, Any] = {"x": list(mark.x), "y": list(mark.y)}
            errors = mark.errors()
            if errors:
                below, above = errors
                trace["error_y"] = {"type": "data", "array": above, "arrayminus": below, "symmetric": False}
            mode = "lines+markers" if mark.points else "lines"
            return [(mark.label, {**trace, **line_style(mark.look, mode)})]
        case Stack():
            return [
                (f"layer {place + 1}", {"type": "bar", "x": list(mark.x), "y": list(layer), **box(style_at(place))})
                for place, layer in enumerate(mark.layers)
            ]
        case HeatMap():
            rows = [list(row) for row in mark.rows]
            return [(mark.unit, {"type": "heatmap", "z": rows, "colorscale": "Viridis", "showscale": False})]


def plot_panels(panels: Sequence[Panel], columns: int) -> Figure:
    """The same with matplotlib, and one legend for all panels."""
    import matplotlib.pyplot as plt

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.5 * columns, 3.6 * rows), layout="constrained", squeeze=False)
    for panel, ax in zip(panels, axes.flat, strict=False):
        _plot(panel, ax)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    handles = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(5, 2 * columns))
    return figure


def _plot(panel: Panel, ax: Axes) -> None:
    from packetloom.plots import finish, line_look, log_ticks

    for mark in panel.marks:
        match mark:
            case Curve():
                look = line_look(mark.look) | ({} if mark.points else {"marker": "none"})
                ax.errorbar(mark.x, mark.y, yerr=mark.errors(), label=mark.label, capsize=3, **look)
            case Stack():
                bottom = [0.0] * len(mark.x)
                for place, layer in enumerate(mark.layers):
                    ax.bar(mark.x, layer, bottom=bottom, color=style_at(place).colour, width=0.9)
                    bottom = [below + height for below, height in zip(bottom, layer, strict=True)]
            case HeatMap():
                image = ax.imshow(mark.rows, origin="lower", aspect="auto", interpolation="nearest")
                ax.figure.colorbar(image, ax=ax, label=mark.unit)
    if panel.log_x:
        ax.set_xscale("log")
        log_ticks(ax.xaxis)
    if panel.log_y:
        ax.set_yscale("log")
        log_ticks(ax.yaxis)
    ax.set_title(panel.title)
    ax.set_xlabel(panel.x_title)
    ax.set_ylabel(panel.y_title)
    finish(ax, legend=False)
    if any(isinstance(mark, HeatMap) for mark in panel.marks):
        ax.grid(visible=False)
