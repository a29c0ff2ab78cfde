"""Figures with matplotlib: for notebooks, and for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from packetloom import arguments
from packetloom.charts import Curve, Dots, HeatMap, Panel, Stack, errors_of
from packetloom.curves import SomeResults, Style, style_at
from packetloom.errors import PacketloomError
from packetloom.figures import Choice, chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2, 2, 2, 2, 2)))
BAND_WIDTH = 7.0
OPEN_BAND = 5.0
"""How many times its lower end a band without an upper one is drawn up to."""
HATCHES = ("", "///", "...", "xxx", "\\\\\\")
SIZE_INCHES = (6.4, 4.2)
COLUMN_INCHES = 3.33
"""Wide: a column of a paper in two columns."""
AXES_INCHES, LEGEND_LINE_INCHES = 2.2, 0.15
"""High."""
PRINT: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "errorbar.capsize": 2,
    "pdf.fonttype": 42,  # TrueType, embedded: publishers refuse Type 3
    "svg.fonttype": "path",
    "svg.hashsalt": "packetloom",  # the same numbers give the same file
}
LONG_X_AXIS, LONG_Y_AXIS = 200, 3_000
"""From one end of a logarithmic axis to the other: beyond, labels 1, 2, 5 would touch."""
MANY_NAMES = 4
LETTERS_PER_INCH = 16
SUFFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def plot(figure: str, results: SomeResults, ax: Axes | None = None, **choices: Choice) -> Axes:
    """Draws a figure (`packetloom list` names them) on these axes, or on new ones, and returns them.

    Choices are `load`, `statistic` and `bin`, where the figure has them.
    """
    if ax is not None:
        arguments.instance("ax", ax, Axes, "matplotlib's Axes")
    panel = _panel(figure, results, choices)
    ax = ax or plt.subplots(figsize=SIZE_INCHES, layout="constrained")[1]
    draw(panel, ax)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax


def save_figure(name: str, results: SomeResults, output: Path, choices: Mapping[str, Choice]) -> None:
    """Draws a figure into a file, as wide as a paper's column; its ending says the format."""
    panel = _panel(name, results, choices)
    formats = FigureCanvasBase.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in formats:
        raise PacketloomError(
            f"{output}: end the name in one of {', '.join(f'.{ending}' for ending in sorted(formats))}"
        )
    with mpl.rc_context(PRINT):
        figure, ax = plt.subplots(figsize=(COLUMN_INCHES, AXES_INCHES), layout="constrained")
        draw(panel, ax)
        lines = _legend_above(figure, [ax], columns=2)
        figure.set_figheight(AXES_INCHES + lines * LEGEND_LINE_INCHES)
        try:
            figure.savefig(output, dpi=300, **_undated(output))
        except OSError as error:
            raise PacketloomError(f"{output}: {error.strerror}") from None
        finally:
            plt.close(figure)


def plot_panels(panels: Sequence[Panel], columns: int) -> Figure:
    """Several panels, and one legend for all."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.5 * columns, 3.6 * rows), layout="constrained", squeeze=False)
    for panel, ax in zip(panels, axes.flat, strict=False):
        draw(panel, ax)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    _legend_above(figure, list(axes.flat), columns=5)
    return figure


def literal(name: str) -> str:
    """A name as it is: to matplotlib, dollars are mathematics, and a label that begins with _ is none."""
    escaped = name.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def _panel(figure: str, results: SomeResults, choices: Mapping[str, Choice]) -> Panel:
    drawn = chart(arguments.instance("figure", figure, str, "a name that `packetloom list` shows"), results)
    for name, value in choices.items():
        if not isinstance(value, str | int | float | None):
            raise arguments.wrong(name, value, "a text or a number")
    for choice in choices.keys() - set(drawn.choices):
        raise PacketloomError(f"the figure {figure} has no option --{choice}")
    return drawn.panel(choices)


def _undated(output: Path) -> dict[str, Any]:
    """Without the moment, so that the same numbers give the same file."""
    moment = {".pdf": "CreationDate", ".svg": "Date", ".svgz": "Date"}.get(output.suffix.lower())
    return {"metadata": {moment: None}} if moment else {}


def _legend_above(figure: Figure, axes: Sequence[Axes], columns: int) -> int:
    """Each label once, above everything, where it hides nothing. How many lines it takes."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if not handles:
        return 0
    letters = max(map(len, handles)) + 6  # and what precedes the words
    fitting = max(1, min(columns, int(figure.get_figwidth() * LETTERS_PER_INCH / letters)))
    lines = -(-len(handles) // fitting)
    even = -(-len(handles) // lines)
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=even, fontsize="small", frameon=False
    )
    return lines


def draw(panel: Panel, ax: Axes) -> None:
    """Draws a panel on axes, all but its legend."""
    _draw_dots([mark for mark in panel.marks if isinstance(mark, Dots)], ax)
    for mark in panel.marks:
        match mark:
            case Curve():
                _draw_curve(mark, ax)
            case Stack():
                bottom = [0.0] * len(mark.x)
                for place, layer in enumerate(mark.layers):
                    look = style_at(place)
                    hatch = HATCHES[look.dash % len(HATCHES)]
                    ax.bar(mark.x, layer, bottom=bottom, color=look.colour, hatch=hatch, width=0.9)
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
    if not any(isinstance(mark, HeatMap) for mark in panel.marks):
        ax.grid(visible=True, alpha=0.3)
    ax.set_axisbelow(True)


def _draw_curve(mark: Curve, ax: Axes) -> None:
    look = line_look(mark.look) | ({} if mark.points else {"marker": "none"})
    drawstyle = "steps-post" if mark.step else "default"
    _draw_bands(mark, mark.x, ax)
    ax.errorbar(mark.x, mark.y, yerr=errors_of(mark), label=literal(mark.label), drawstyle=drawstyle, **look)


def _draw_dots(dots: Sequence[Dots], ax: Axes) -> None:
    """Beside each other above each name, which stands below; what has a name of its own is not in the legend too."""
    names = list(dict.fromkeys(name for mark in dots for name in mark.x))
    alone = all(list(mark.x) == [mark.label] for mark in dots)
    width = 0.0 if alone else 0.7 / max(len(dots), 1)
    for place, mark in enumerate(dots):
        aside = (place - (len(dots) - 1) / 2) * width
        positions = np.array([names.index(name) for name in mark.x]) + aside
        look = line_look(mark.look) | {"linestyle": "none"}
        label = "_nolegend_" if alone else literal(mark.label)
        _draw_bands(mark, positions.tolist(), ax)
        ax.errorbar(positions, mark.y, yerr=errors_of(mark), label=label, **look)
    if names:
        ax.set_xticks(range(len(names)), [literal(name).replace(" to ", "\nto ") for name in names])
        ax.set_xlim(-0.6, len(names) - 0.4)
        if len(names) > MANY_NAMES or alone:
            plt.setp(ax.get_xticklabels(), rotation=40, ha="right", rotation_mode="anchor")


def _draw_bands(mark: Curve | Dots, places: Sequence[float], ax: Axes) -> None:
    """Shaded: where packets would be. A band without an upper end is cut off."""
    for x, band in zip(places, mark.bands, strict=False):
        if band is not None:
            low, high = band
            top = OPEN_BAND * low if high is None else high
            ax.vlines(x, low, top, color=mark.look.colour, linewidth=BAND_WIDTH, alpha=0.3)


def line_look(look: Style) -> dict[str, Any]:
    """A series as a line: colour, marker and dashes."""
    return {
        "color": look.colour,
        "marker": MARKERS[look.marker % len(MARKERS)],
        "linestyle": LINES[look.dash % len(LINES)],
    }


def log_ticks(axis: Axis) -> None:
    """A logarithmic axis whose labels read 1, 2, 5, 10, 1k, not as powers; 1, 10, 100 where it is long. A short one has
    ticks as if it were linear, so that no axis has but one."""
    low, high = axis.get_view_interval()
    long = LONG_X_AXIS if isinstance(axis, XAxis) else LONG_Y_AXIS
    locator: Locator = LogLocator(subs=(1.0, 2.0, 5.0) if high <= long * low else (1.0,))
    if sum(low <= tick <= high for tick in locator.tick_values(low, high)) < 2:
        locator = MaxNLocator(4, steps=[1, 2, 5, 10])
    axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def tick_text(value: float) -> str:
    """A number with a suffix instead of zeros."""
    for factor, suffix in SUFFIXES:
        if value >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"
