"""A figure of a file of measurements: measured and simulated over size, or ranks, and the ratio below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packetloom.validate.hardware.tables import RowDict, size_in_binary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = list[Mapping[str, Any]]
LINES: dict[str, Any] = {"packets": "-", "tuner": "--"}
INCHES = (6.4, 5.6)
DOTS_PER_INCH = 100
NEAR = 0.1
RATIOS = (0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3)


def draw(rows: Sequence[RowDict], output: Path) -> None:
    """Those of one file, by packets and by the cost model, on the same axes."""
    import matplotlib.pyplot as plt

    figure, (upper, lower) = plt.subplots(
        2, 1, sharex=True, figsize=INCHES, layout="constrained", gridspec_kw={"height_ratios": (2, 1)}
    )
    over = over_of(rows)
    labels: dict[str, str] = {}
    for row in rows:
        for curve in _curves(row["figures"], over):
            colour = labels.setdefault(_name(curve[0], over), f"C{len(labels)}")
            _draw_curve(upper, lower, curve, over, colour, LINES[row["by"]])
    _name_axes(upper, lower, rows, over)
    _add_legends(upper, labels, [row["by"] for row in rows])
    figure.savefig(output, dpi=DOTS_PER_INCH)
    plt.close(figure)


def over_of(rows: Sequence[RowDict]) -> str:
    """What the figures of a file are drawn over: sizes where they have some, else ranks."""
    return "size" if any(figure["size_bytes"] for row in rows for figure in row["figures"]) else "ranks"


def _name(one: Mapping[str, Any], over: str) -> str:
    return f"{one['operation']}, {one['ranks']} ranks" if over == "size" else str(one["operation"])


def _curves(figures: Sequence[Mapping[str, Any]], over: str) -> list[Curve]:
    found = sorted(figures, key=lambda one: (one["operation"], one["ranks"], one["size_bytes"]))
    return [list(group) for _, group in groupby(found, key=lambda one: _name(one, over))]


def _draw_curve(upper: Axes, lower: Axes, curve: Curve, over: str, colour: str, line: str) -> None:
    places = [one["size_bytes" if over == "size" else over] for one in curve]
    upper.plot(places, [one["measured"] for one in curve], "o", color=colour, markersize=4)
    upper.plot(places, [one["simulated"] for one in curve], line, color=colour, linewidth=1.2)
    lower.plot(places, [one["ratio"] for one in curve], line, color=colour, linewidth=1, marker=".", markersize=4)


def _name_axes(upper: Axes, lower: Axes, rows: Sequence[RowDict], over: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator, ScalarFormatter

    figures = [figure for row in rows for figure in row["figures"]]
    upper.set_xscale("log", base=2)
    upper.set_yscale("log")
    unit = figures[0]["unit"]
    upper.set_ylabel("share of the bus bandwidth" if unit == "ratio" else f"time ({unit})")
    upper.set_title(f"{rows[0]['set']}: {figures[0]['system']}", fontsize="medium")
    lower.set_ylabel("simulated / measured")
    lower.set_yscale("log", base=2)
    lower.yaxis.set_major_locator(FixedLocator(RATIOS))
    lower.yaxis.set_major_formatter(ScalarFormatter())
    lower.yaxis.set_minor_formatter(NullFormatter())
    lower.axhspan(1 - NEAR, 1 + NEAR, color="0.9", zorder=0)
    lower.axhline(1, color="0.5", linewidth=0.8, zorder=1)
    lower.set_xlabel(over)
    lower.xaxis.set_major_formatter(
        FuncFormatter(lambda place, _: size_in_binary(int(place)) if over == "size" else f"{place:g}")
    )
    lower.xaxis.set_minor_locator(NullLocator())
    for axes in (upper, lower):
        axes.grid(color="0.92")


def _add_legends(upper: Axes, labels: Mapping[str, str], by: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    curves = [Line2D([], [], color=labels[of], label=of) for of in labels]
    kinds = [Line2D([], [], color="0.3", marker="o", linestyle="", markersize=4, label="measured")]
    kinds += [Line2D([], [], color="0.3", linestyle=LINES[one], label=f"by {one}") for one in dict.fromkeys(by)]
    upper.legend(handles=[*kinds, *curves], fontsize="x-small", ncols=2)
