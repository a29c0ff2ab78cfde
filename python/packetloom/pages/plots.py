"""Figures with matplotlib: for notebooks, and for print."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

from packetloom.common import arguments
from packetloom.common.suggest import meant
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.pages.figures import Chart, Choice, chart
from packetloom.pages.panels import Curve, Dots, HeatMap, Panel, Stack, apart, errors_of, few_values
from packetloom.stats.curves import SomeResults, Style, as_list, style_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (7, 2, 2, 2, 2, 2)))
BAND_WIDTH = 7.0
OPEN_BAND = 5.0
"""How many times its lower end a band without an upper one is drawn up to."""
HATCHES = ("", "///", "...", "xxx", "\\\\\\")
SIZE_INCHES = (6.4, 4.2)
COLUMNS_INCHES = {1: 3.33, 2: 7.0}
"""Wide: a column of a paper in two columns, and both."""
LEAST_PANEL_INCHES = 2.2
"""Wide: of panels beside each other."""
AXES_INCHES, LEAST_INCHES, LEGEND_LINE_INCHES, NAME_LINE_INCHES = 2.2, 1.2, 0.15, 0.135
"""High."""
LEAST_SPAN = 0.05
"""Numbers that differ by less than this share of them would be stretched over the whole axis, so it begins at zero."""
LONGEST_TITLE = 32
"""Letters of an axis' title in a line."""
NAMES_SHARE = 0.42
"""The part of a figure's width that names may take."""
PATHS = re.compile(
    r"\b(?:topology|workload|scheme|fault|run|measure|transport|queue|routing|nic|arrivals|pattern)\.(?:[0-9]+\.)?"
)
"""What stands before a key's own name."""
GENERIC_FONTS = ("serif", "sans-serif", "monospace")
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

    Choices are `load`, `statistic` and `bin`, where the figure has them; of `along`, `axis` and `where`. Axis titles
    have units. `ArgumentError` for a choice that the figure does not have; `PacketloomError` for a figure that there is
    not, or whose numbers the results lack, with what to measure.

    Example:
        >>> axes = packetloom.plot("fct-cdf", results, load=0.2)
        >>> axes.get_title(), axes.get_ylabel()
        ('load 0.2', 'fraction of flows')
    """
    if ax is not None:
        arguments.instance("ax", ax, Axes, "matplotlib's Axes")
    panel = _panel(figure, results, choices)
    ax = ax or plt.subplots(figsize=SIZE_INCHES, layout="constrained")[1]
    draw(panel, ax)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax


@dataclass(frozen=True, slots=True)
class Sheet:
    """How a figure is printed."""

    columns: int = 1
    """Of a paper in two columns: how many the figure takes."""
    width_inches: float | None = None
    """Instead: how wide it is."""
    font: str | None = None
    font_size: float = 8.0
    schemes: tuple[str, ...] = ()
    """Only these, each with all its variants; all if none is named."""

    @property
    def width(self) -> float:
        """In inches."""
        return COLUMNS_INCHES[self.columns] if self.width_inches is None else self.width_inches

    def settings(self) -> dict[Any, Any]:
        """For matplotlib."""
        font = {} if self.font is None else {"font.family": self.font, "pgf.rcfonts": False}
        return PRINT | {"font.size": self.font_size, "axes.titlesize": self.font_size} | font


def save_figure(
    name: str, results: SomeResults, output: Path, choices: Mapping[str, Choice], sheet: Sheet | None = None
) -> list[str]:
    """Draws a figure into a file, as wide as a paper's column unless `sheet` says so; its ending says the format.

    Returned is what of the figure is not shown, and how to choose it.
    """
    sheet = sheet or Sheet()
    drawn = _chart(name, results, choices)
    known = {row.scheme for one in as_list(results) for row in one.rows()}
    panels = [_of_schemes(panel, sheet.schemes, known) for panel in drawn.panels_at(choices)]
    formats = FigureCanvasBase.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in formats:
        raise PacketloomError(
            f"{output}: end the name in one of {', '.join(f'.{ending}' for ending in sorted(formats))}"
        )
    _check_font(sheet.font)
    is_tex = output.suffix.lower() == ".pgf"
    with mpl.rc_context(sheet.settings()), _spelling(is_tex):
        figure = _printed(panels, sheet)
        try:
            figure.savefig(output, dpi=300, **_undated(output))
        except OSError as error:
            raise PacketloomError(f"{output}: {error.strerror}") from None
        except (RuntimeError, ValueError) as error:
            if not is_tex:
                raise
            reason = str(error).splitlines()[0] if str(error) else "it failed"
            raise PacketloomError(
                f"{output}: PGF is measured by LaTeX ({mpl.rcParams['pgf.texsystem']}): {reason}"
            ) from None
        finally:
            plt.close(figure)
    return drawn.unshown(choices)


def _printed(panels: Sequence[Panel], sheet: Sheet) -> Figure:
    """One panel, or several beside each other where there is room, under one legend."""
    rows = -(-len(panels) // max(1, int(sheet.width / LEAST_PANEL_INCHES)))
    columns = -(-len(panels) // rows)
    size = (sheet.width, rows * AXES_INCHES)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for panel, ax in zip(panels, axes.flat, strict=False):
        draw(panel, ax, panels)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    lines = _legend_above(figure, list(axes.flat), columns=2 * sheet.columns)
    highest = max(_height(panel, sheet.width / columns) for panel in panels)
    figure.set_figheight(rows * highest + lines * LEGEND_LINE_INCHES)
    return figure


def _check_font(font: str | None) -> None:
    if font is None or font in GENERIC_FONTS:
        return
    known = sorted({one.name for one in font_manager.fontManager.ttflist})
    if font not in known:
        near = get_close_matches(font, known) or known
        raise PacketloomError(f"there is no font {font!r} here; there are {', '.join((*GENERIC_FONTS, *near[:8]))}")


def _of_schemes(panel: Panel, schemes: Sequence[str], known: Collection[str]) -> Panel:
    """Only the marks of these schemes, with whatever sets their variants apart."""
    if not schemes:
        return panel
    labels = [mark.label for mark in panel.marks if isinstance(mark, Curve | Dots)]
    for scheme in schemes:
        if not any(_is_of(label, scheme, known) for label in labels):
            raise PacketloomError(f"there is no scheme {scheme!r} in this figure; there are {', '.join(labels)}")
    kept = [
        mark
        for mark in panel.marks
        if not isinstance(mark, Curve | Dots) or any(_is_of(mark.label, scheme, known) for scheme in schemes)
    ]
    return replace(panel, marks=kept)


def _is_of(label: str, scheme: str, known: Collection[str]) -> bool:
    """Of "DCQCN" and "DCQCN, windows" both begin the second one's labels: a label is of the longest name."""

    def begins_with(name: str) -> bool:
        return label == name or label.startswith((f"{name}, ", f"{name} ["))

    return begins_with(scheme) and not any(len(name) > len(scheme) and begins_with(name) for name in known)


def _height(panel: Panel, width: float) -> float:
    """In inches: of dots beside their names, what these take."""
    names = _names_beside([mark for mark in panel.marks if isinstance(mark, Dots)])
    if not names:
        return AXES_INCHES
    lines = sum(name.count("\n") + 1 for name in _wrapped(names, width))
    return max(LEAST_INCHES, 0.5 + lines * NAME_LINE_INCHES + 0.05 * len(names))


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


IS_FOR_TEX: ContextVar[bool] = ContextVar("IS_FOR_TEX", default=False)
"""Whether LaTeX reads what is drawn."""
TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "$": r"\textdollar{}",
        "~": r"\textasciitilde{}",
        "#": r"\#",
        "&": r"\&",
        "{": r"\{",
        "}": r"\}",
    }
)
"""What LaTeX takes for commands, but for what matplotlib escapes: the sign of per cent, carets and underscores."""


@contextmanager
def _spelling(is_tex: bool) -> Iterator[None]:
    """Names are spelt as LaTeX reads them."""
    before = IS_FOR_TEX.set(is_tex)
    try:
        yield
    finally:
        IS_FOR_TEX.reset(before)


def literal(name: str) -> str:
    """A name as it is: to matplotlib, dollars are mathematics, and a label that begins with _ is none."""
    escaped = name.translate(TEX) if IS_FOR_TEX.get() else name.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def _panel(figure: str, results: SomeResults, choices: Mapping[str, Choice]) -> Panel:
    drawn = _chart(figure, results, choices)
    panels = drawn.panels_at(choices)
    if len(panels) > 1:
        there = "; ".join(panel.title for panel in panels)
        raise ArgumentError(f"the figure {figure} has {len(panels)} panels; choose one by where=: {there}")
    return panels[0]


def _chart(figure: str, results: SomeResults, choices: Mapping[str, Choice]) -> Chart:
    drawn = chart(arguments.instance("figure", figure, str, "a name that `packetloom list` shows"), results)
    for name, value in choices.items():
        if not isinstance(value, str | int | float | None):
            raise arguments.wrong(name, value, "a text or a number")
    for choice in choices:
        if choice not in drawn.choices:
            raise ArgumentError(f"the figure {figure} has no option --{choice}; {meant(choice, drawn.choices)}")
    return drawn


def _undated(output: Path) -> dict[str, Any]:
    """Without the moment, so that the same numbers give the same file."""
    moment = {".pdf": "CreationDate", ".svg": "Date", ".svgz": "Date"}.get(output.suffix.lower())
    return {"metadata": {moment: None}} if moment else {}


def _legend_above(figure: Figure, axes: Sequence[Axes], columns: int) -> int:
    """Each label once, above everything, where it hides nothing. How many lines it takes."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if not handles:
        return 0
    room = figure.get_figwidth() * LETTERS_PER_INCH
    even = next((count for count in range(columns, 1, -1) if _legend_letters(list(handles), count) <= room), 1)
    lines = -(-len(handles) // even)
    even = -(-len(handles) // lines)
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=even, fontsize="small", frameon=False
    )
    return lines


def _legend_letters(labels: list[str], columns: int) -> int:
    """How wide a legend is: the longest label of each column, and what precedes the words."""
    return sum(max(map(len, own)) + 6 for own in np.array_split(labels, columns) if len(own))


def draw(panel: Panel, ax: Axes, beside: Sequence[Panel] = ()) -> None:
    """Draws a panel on axes, all but its legend; its axis of values has the ends of those `beside` it, too."""
    dots = [mark for mark in panel.marks if isinstance(mark, Dots)]
    is_beside = bool(_names_beside(dots))
    if is_beside:
        _draw_beside(dots, ax)
    else:
        _draw_dots(dots, ax)
    for mark in apart(panel.marks):
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
    values, set_scale, set_ends = (
        (ax.xaxis, ax.set_xscale, ax.set_xlim) if is_beside else (ax.yaxis, ax.set_yscale, ax.set_ylim)
    )
    if panel.log_x:
        ax.set_xscale("log")
        log_ticks(ax.xaxis)
    elif ticks := few_values(panel):
        ax.set_xticks(ticks)
    if panel.log_y:
        set_scale("log")
    if (ends := _ends(panel) if len(beside) < 2 else _common_ends(beside)) is not None:
        set_ends(*ends)
    if panel.log_y:
        log_ticks(values)
    ax.set_title(panel.title)
    titles = (panel.x_title, _log_title(panel.y_title, panel.log_y))
    x_title, y_title = titles[::-1] if is_beside else (_log_title(titles[0], panel.log_x), titles[1])
    ax.set_xlabel(x_title)
    ax.set_ylabel("\n".join(textwrap.wrap(y_title, LONGEST_TITLE)) if "$" not in y_title else y_title)
    if not any(isinstance(mark, HeatMap) for mark in panel.marks):
        ax.grid(visible=True, alpha=0.3)
    ax.set_axisbelow(True)


def _log_title(title: str, is_log: bool) -> str:
    return f"{title}, log scale" if is_log and title else title


def _common_ends(panels: Sequence[Panel]) -> tuple[float, float] | None:
    """The ends of the axis of values of panels of the same quantity, so that they can be compared."""
    first = panels[0]
    if len({(panel.y_title, panel.log_y) for panel in panels}) > 1:
        return None
    together = replace(first, marks=[mark for panel in panels for mark in panel.marks])
    numbers = _numbers(together)
    if (ends := _ends(together)) is not None or not numbers:
        return ends
    low, high = min(numbers), max(numbers)
    if first.log_y:
        positive = [number for number in numbers if number > 0]
        return (min(positive) / 1.1, high * 1.1) if positive else None
    pad = 0.05 * (high - low)
    return (low - pad, high + pad) if pad else None


def _numbers(panel: Panel) -> list[float]:
    """All that lines and dots show, with their intervals."""
    return [
        value
        for mark in panel.marks
        if isinstance(mark, Curve | Dots)
        for value in (*mark.y, *mark.low, *mark.high)
        if value is not None and math.isfinite(value)
    ]


def _ends(panel: Panel) -> tuple[float, float] | None:
    """The ends of an axis of values that would else stretch a small difference over all of it."""
    numbers = _numbers(panel)
    points = [value for mark in panel.marks if isinstance(mark, Curve | Dots) for value in mark.y if value is not None]
    if not numbers or min(points) <= 0:
        return None
    low, high = min(numbers), max(numbers)
    if low <= 0:
        # Few seeds have intervals wider than what can be.
        return None if panel.log_y else (0.0, 1.05 * high)
    if panel.log_y:
        return (low / 1.2, high * 1.2) if high < 1.1 * low else None
    return (0.0, 1.2 * high) if high - low < LEAST_SPAN * (low + high) / 2 else None


def _draw_curve(mark: Curve, ax: Axes) -> None:
    look = line_look(mark.look) | ({} if mark.points else {"marker": "none"})
    drawstyle = "steps-post" if mark.step else "default"
    _draw_bands(mark, mark.x, ax)
    ax.errorbar(mark.x, mark.y, yerr=errors_of(mark), label=literal(mark.label), drawstyle=drawstyle, **look)


def _draw_dots(dots: Sequence[Dots], ax: Axes) -> None:
    """Beside each other above each name, which stands below."""
    names = list(dict.fromkeys(name for mark in dots for name in mark.x))
    width = 0.7 / max(len(dots), 1)
    for place, mark in enumerate(dots):
        aside = (place - (len(dots) - 1) / 2) * width
        positions = np.array([names.index(name) for name in mark.x]) + aside
        look = line_look(mark.look) | {"linestyle": "none"}
        _draw_bands(mark, positions.tolist(), ax)
        ax.errorbar(positions, mark.y, yerr=errors_of(mark), label=literal(mark.label), **look)
    if names:
        ax.set_xticks(range(len(names)), [literal(name).replace(" to ", "\nto ") for name in names])
        ax.set_xlim(-0.6, len(names) - 0.4)
        if len(names) > MANY_NAMES:
            plt.setp(ax.get_xticklabels(), rotation=40, ha="right", rotation_mode="anchor")


def _names_beside(dots: Sequence[Dots]) -> list[str]:
    """The names of dots that have a line each, as in a list; none where dots share names."""
    if not dots or not all(list(mark.x) == [mark.label] for mark in dots):
        return []
    return [mark.label for mark in dots]


def _draw_beside(dots: Sequence[Dots], ax: Axes) -> None:
    """A line for each, beside its name: names of any length can be read, and what is further to the right is more."""
    names = _wrapped([mark.label for mark in dots], _width_of(ax))
    for place, mark in enumerate(dots):
        look = line_look(mark.look) | {"linestyle": "none"}
        for band in mark.bands:
            if band is not None:
                low, high = band
                top = OPEN_BAND * low if high is None else high
                ax.hlines(place, low, top, color=mark.look.colour, linewidth=BAND_WIDTH, alpha=0.3)
        ax.errorbar(mark.y, [place], xerr=errors_of(mark), label="_nolegend_", **look)
    ax.set_yticks(range(len(dots)), [literal(name) for name in names])
    ax.set_ylim(len(dots) - 0.4, -0.6)


def _width_of(ax: Axes) -> float:
    figure = ax.get_figure(root=True)
    return COLUMNS_INCHES[1] if figure is None else float(figure.get_figwidth())


def _wrapped(names: Sequence[str], width: float) -> list[str]:
    """Names in lines that leave the greater part of a figure to its numbers; without the sections that keys are of."""
    short = [PATHS.sub("", name) for name in names]
    short = short if len(set(short)) == len(set(names)) else list(names)
    letters = max(14, int(NAMES_SHARE * width * LETTERS_PER_INCH))
    return ["\n".join(textwrap.wrap(name, letters)) or name for name in short]


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
    """A logarithmic axis whose labels read 1, 2, 5, 10, 1k, not as powers; 1, 10, 100 where it is long; between
    them minor ticks. A short one has ticks as if it were linear, so that no axis has but one."""
    low, high = axis.get_view_interval()
    long = LONG_X_AXIS if isinstance(axis, XAxis) else LONG_Y_AXIS
    locator: Locator = LogLocator(subs=(1.0, 2.0, 5.0) if high <= long * low else (1.0,))
    minor: Locator = LogLocator(subs=range(2, 10), numticks=50)
    if sum(low <= tick <= high for tick in locator.tick_values(low, high)) < 2:
        locator, minor = MaxNLocator(4, steps=[1, 2, 5, 10]), MaxNLocator(16, steps=[1, 2, 5, 10])
    axis.set_major_locator(locator)
    axis.set_minor_locator(minor)
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))
    axis.set_minor_formatter(NullFormatter())


def tick_text(value: float) -> str:
    """A number with a suffix instead of zeros."""
    for factor, suffix in SUFFIXES:
        if value >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"
