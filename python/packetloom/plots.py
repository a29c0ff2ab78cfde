"""Figures with matplotlib: each function draws on the axes it is given, or on new ones, and returns them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from packetloom import curves, timelines
from packetloom.curves import SomeResults, Style, styles
from packetloom.errors import PacketloomError
from packetloom.statistics import ALL_SIZES, STATISTICS

MARKERS = "osD^vPX"
SIZE_INCHES = (6.4, 4.2)
# From one end of a logarithmic axis to the other.
LONG_AXIS = 3_000
LINES = ("-", "--", ":")


def plot_slowdown_by_load(
    results: SomeResults, ax: Axes | None = None, *, bin: str = ALL_SIZES, statistic: str = "mean"
) -> Axes:
    """Slowdown against load, a line per scheme, with 95 % intervals over seeds; bars when there is one load."""
    ax = ax or _new_axes()
    frame = curves.all_summaries(results)
    chosen = frame.filter((pl.col("metric") == "slowdown"), pl.col("bin") == bin, pl.col("statistic") == statistic)
    if chosen.is_empty():
        bins = ", ".join(repr(name) for name in frame["bin"].unique(maintain_order=True))
        raise PacketloomError(f"nothing to plot: bins are {bins}; statistics are {', '.join(STATISTICS)}")
    looks = styles(results)
    lines = {label: chosen.filter(pl.col("label") == label).sort("load") for label in looks}
    ax.set_ylabel(f"{statistic} slowdown")
    ax.set_title("all flows" if bin == ALL_SIZES else f"flows of {bin}")
    return _draw_slowdowns(lines, looks, ax)


def _draw_slowdowns(lines: Mapping[str, pl.DataFrame], looks: Mapping[str, Style], ax: Axes) -> Axes:
    """Draws each label's load, value, low and high: a line, or a bar when there is one load."""
    single = pl.concat([points.select("load") for points in lines.values()])["load"].n_unique() < 2
    for label, points in lines.items():
        if points.is_empty():
            continue
        look, value = looks[label], points["value"].to_numpy()
        errors = np.array([_below(points), _above(points)])
        if single:
            ax.bar(look.order, value, yerr=errors, color=look.colour, label=label, capsize=3)
        else:
            ax.errorbar(points["load"].to_numpy(), value, yerr=errors, label=label, capsize=3, **line_look(look))
    ax.set_yscale("log")
    log_ticks(ax.yaxis)
    if single:
        ax.set_xticks([])
    else:
        ax.set_xlabel("load")
    return finish(ax)


def plot_slowdown_by_size(
    results: SomeResults, ax: Axes | None = None, *, load: float | None = None, statistic: str = "mean"
) -> Axes:
    """Slowdown against flow size at one load (the highest, if none is named), in bins of equally many flows."""
    if statistic not in ("mean", "p99"):
        raise PacketloomError(f"slowdown by size has the statistics mean and p99, not {statistic}")
    ax = ax or _new_axes()
    load = _one_load(results, load)
    frame = _at(curves.slowdown_by_size(results), load)
    for label, look in styles(results).items():
        points = frame.filter(pl.col("label") == label).sort("size_bytes")
        ax.plot(points["size_bytes"].to_numpy(), points[statistic].to_numpy(), label=label, **line_look(look))
    ax.set_xscale("log")
    ax.set_yscale("log")
    log_ticks(ax.yaxis)
    ax.set_xlabel("flow size (bytes)")
    ax.set_ylabel(f"{statistic} slowdown")
    ax.set_title(_load_title(load))
    return finish(ax)


def plot_fct_cdf(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """The distribution of flow completion times at one load (the highest, if none is named)."""
    ax = ax or _new_axes()
    load = _one_load(results, load)
    frame = _at(curves.fct_cdf(results), load)
    for label, look in styles(results).items():
        points = frame.filter(pl.col("label") == label)
        style = line_look(look) | {"marker": "none"}
        ax.plot(points["fct_ns"].to_numpy() / 1e6, points["fraction"].to_numpy(), label=label, **style)
    ax.set_xscale("log")
    ax.set_xlabel("flow completion time (ms)")
    ax.set_ylabel("fraction of flows")
    ax.set_title(_load_title(load))
    return finish(ax)


def plot_queue_by_tier(
    results: SomeResults, ax: Axes | None = None, *, load: float | None = None, statistic: str = "mean"
) -> Axes:
    """Queue lengths by tier at one load (the highest, if none is named): the mean, or the worst port's p99 or max."""
    if statistic not in ("mean", "p99", "max"):
        raise PacketloomError(f"queues have the statistics mean, p99 and max, not {statistic}")
    ax = ax or _new_axes()
    load = _one_load(results, load)
    frame = _at(curves.queue_by_tier(results), load)
    tiers = frame["tier"].unique(maintain_order=True).to_list()
    shown = {label: look for label, look in styles(results).items() if label in set(frame["label"])}
    width = 0.8 / max(len(shown), 1)
    for place, (label, look) in enumerate(shown.items()):
        heights = dict(frame.filter(pl.col("label") == label).select("tier", f"{statistic}_bytes").rows())
        positions = np.arange(len(tiers)) + (place - (len(shown) - 1) / 2) * width
        ax.bar(positions, [heights.get(tier, 0.0) / 1e3 for tier in tiers], width, label=label, color=look.colour)
    ax.set_xticks(range(len(tiers)), [tier.replace(" to ", "\nto ") for tier in tiers])
    ax.set_ylabel(f"{statistic} queue (KB)")
    ax.set_title(_load_title(load))
    return finish(ax)


def plot_missed_by(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """By how much deadlines were missed, at one load: which share of the flows missed theirs by more than a time."""
    ax = ax or _new_axes()
    load = _one_load(results, load)
    frame = _at(timelines.missed_by(results), load)
    for label, look in styles(results).items():
        points = frame.filter(pl.col("label") == label)
        style = line_look(look) | {"marker": "none"}
        ax.step(
            points["missed_by_ns"].to_numpy() / 1e6, points["fraction"].to_numpy(), where="post", label=label, **style
        )
    ax.set_xlabel("later than the deadline by more than (ms)")
    ax.set_ylabel("fraction of flows with a deadline")
    ax.set_title(_load_title(load))
    return finish(ax)


def plot_utilisation_over_time(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """How much of the busiest link each scheme used, over time, at one load."""
    return _draw_over_time(
        timelines.utilisation_over_time(results), results, ax, load, "utilisation of the busiest link"
    )


def plot_class_throughput(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """What hosts received of each traffic class, over time, at one load."""
    return _draw_over_time(timelines.classes_over_time(results, "throughput"), results, ax, load, "to hosts (Gb/s)")


def plot_class_queue(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """What waited of each traffic class in all switches, over time, at one load."""
    return _draw_over_time(
        timelines.classes_over_time(results, "queue"), results, ax, load, "queued in switches (bytes)"
    )


def plot_class_credits(results: SomeResults, ax: Axes | None = None, *, load: float | None = None) -> Axes:
    """How much credit each traffic class used, over time, at one load."""
    return _draw_over_time(timelines.classes_over_time(results, "credit"), results, ax, load, "credit in use (bytes)")


def _draw_over_time(frame: pl.DataFrame, results: SomeResults, ax: Axes | None, load: float | None, what: str) -> Axes:
    """A line per scheme and, where there are classes, class: these by dashes."""
    ax = ax or _new_axes()
    load = _one_load(results, load)
    frame = _at(frame, load)
    if "class" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("class"))
    for label, look in styles(results).items():
        own = frame.filter(pl.col("label") == label)
        for one in own["class"].unique().sort():
            points = own.filter(pl.col("class").eq_missing(pl.lit(one))).sort("time_ns")
            name = label if one is None else f"{label}, class {one}"
            dashes = LINES[(one or 0) % len(LINES)]
            ax.plot(
                points["time_ns"].to_numpy() / 1e6, points["value"].to_numpy(), dashes, label=name, color=look.colour
            )
    ax.set_xlabel("time (ms)")
    ax.set_ylabel(what)
    ax.set_title(_load_title(load))
    return finish(ax)


FIGURES: dict[str, Callable[..., Axes]] = {
    "slowdown-by-load": plot_slowdown_by_load,
    "slowdown-by-size": plot_slowdown_by_size,
    "fct-cdf": plot_fct_cdf,
    "queue-by-tier": plot_queue_by_tier,
    "missed-by": plot_missed_by,
    "utilisation-over-time": plot_utilisation_over_time,
    "class-throughput": plot_class_throughput,
    "class-queue": plot_class_queue,
    "class-credits": plot_class_credits,
}


def save_figure(name: str, results: SomeResults, output: Path, options: dict[str, Any]) -> None:
    """Draws a figure into a file; its ending says the format."""
    if name not in FIGURES:
        raise PacketloomError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    known = set(inspect.signature(FIGURES[name]).parameters)
    for option in options.keys() - known:
        raise PacketloomError(f"the figure {name} has no option --{option}")
    formats = FigureCanvasBase.get_supported_filetypes()
    if output.suffix.lstrip(".").lower() not in formats:
        raise PacketloomError(
            f"{output}: end the name in one of {', '.join(f'.{ending}' for ending in sorted(formats))}"
        )
    figure, ax = plt.subplots(figsize=SIZE_INCHES, layout="constrained")
    FIGURES[name](results, ax, **options)
    try:
        figure.savefig(output, dpi=150)
    except OSError as error:
        raise PacketloomError(f"{output}: {error.strerror}") from None


def _new_axes() -> Axes:
    return plt.subplots(figsize=SIZE_INCHES, layout="constrained")[1]


def line_look(look: Style) -> dict[str, Any]:
    """A series as a line: colour, marker and dashes."""
    return {
        "color": look.colour,
        "marker": MARKERS[look.order % len(MARKERS)],
        "linestyle": LINES[look.order // len(curves.COLOURS) % len(LINES)],
        "markersize": 4,
        "linewidth": 1.5,
    }


def _below(points: pl.DataFrame) -> Any:
    """How far the intervals reach down; a slowdown is never below 1."""
    return points.select(pl.col("value") - pl.max_horizontal(pl.col("low").fill_null(pl.col("value")), 1.0)).to_series()


def _above(points: pl.DataFrame) -> Any:
    return points.select((pl.col("high") - pl.col("value")).fill_null(0.0)).to_series()


def _one_load(results: SomeResults, load: float | None) -> float | None:
    known = curves.loads(results)
    if load is None:
        return known[-1] if known else None
    if load not in known:
        raise PacketloomError(f"there is no load {load:g}; there are {', '.join(f'{at:g}' for at in known if at)}")
    return load


def _at(frame: pl.DataFrame, load: float | None) -> pl.DataFrame:
    return frame.filter(pl.col("load").eq_missing(pl.lit(load, pl.Float64)))


def _load_title(load: float | None) -> str:
    return "" if load is None else f"load {load:g}"


def log_ticks(axis: Axis) -> None:
    """A logarithmic axis whose labels read 1, 2, 5, 10, not as powers; 1, 10, 100 where it is long."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high <= LONG_AXIS * low else (1.0,)))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def finish(ax: Axes, *, legend: bool = True) -> Axes:
    """The grid, and the legend where there is something to tell apart."""
    ax.grid(visible=True, alpha=0.3)
    ax.set_axisbelow(True)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax
