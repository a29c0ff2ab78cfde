"""The figures there are. Each is defined once, its numbers and its axes: the report, `plot` and the gallery draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import polars as pl

from packetloom.common.percentiles import PERCENTILES
from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.pages.panels import Band, Curve, Dots, Panel, apart, mark_json
from packetloom.stats import curves, flow_series, pauses, timelines
from packetloom.stats.curves import SomeResults, Style, style_at
from packetloom.stats.estimates import Errors, estimated_by, measured_errors, with_bands
from packetloom.stats.summary import ALL_SIZES, over_seeds

Choice = str | float | None
Shape = Literal["points", "line", "step", "dots"]
NS_PER_US = 1e3
NS_PER_MS = 1e6
BYTES_PER_KB = 1e3
STATISTICS_OF_A_PAGE = {"mean", *PERCENTILES, "max", "jain"}


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, with its unit."""

    title: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A kind of figure.

    `table` gives its numbers: label, x, y; low and high where there are intervals; class or flow where lines differ in
    it; and a column for each of `choices` (load, statistic, bin), which select among them. It raises where the results
    do not hold them, and says what to do. `packetloom fidelity` measures the error of what `has_bands`.
    """

    name: str
    title: str
    shows: str
    x: Axis
    y: Axis
    table: Callable[[SomeResults], pl.DataFrame]
    choices: tuple[str, ...] = ("load",)
    shape: Shape = "points"
    looks: Callable[[SomeResults], dict[str, Style]] = curves.styles
    has_bands: bool = False
    own: Callable[[Figure, SomeResults], Chart] | None = None
    """What makes the figure, if it is no table with axes of its own."""

    def of(self, results: SomeResults, errors: Errors = ()) -> Chart:
        """The figure of these results; `errors` are those that were measured of estimates."""
        if self.own is not None:
            return self.own(self, results)
        numbers = self.table(results)
        if self.has_bands and errors:
            estimated = estimated_by(curves.as_list(results))
            numbers = with_bands(numbers.with_columns(load="x"), estimated, errors).drop("load")
        figure = self
        if "from" in numbers.columns and numbers["from"].is_not_null().any():
            figure = replace(self, shows=f"{self.shows} {OF_BANDS}")
        if self.x is LOAD and numbers["x"].drop_nulls().n_unique() < 2:
            # One load is no line: a dot for each scheme.
            figure = replace(figure, x=Axis(""), shape="dots")
            if not numbers["x"].drop_nulls().len():
                figure = replace(figure, title=self.title.removesuffix(" by load"))
            numbers = numbers.with_columns(pl.col("label").alias("x"))
        numbers = numbers.filter(pl.col("x").is_not_null(), pl.col("y").is_not_null())
        if numbers.is_empty():
            raise PacketloomError("no measured flow has finished, so there is nothing to show")
        return Chart(figure, numbers, self.looks(results))


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of certain results."""

    figure: Figure
    numbers: pl.DataFrame
    looks: Mapping[str, Style]

    def values(self, choice: str) -> list[Choice]:
        """What can be chosen; loads rise."""
        values: list[Choice] = self.numbers[choice].unique(maintain_order=True).to_list()
        return sorted(values, key=lambda load: (load is None, load or 0.0)) if choice == "load" else values

    def panel(self, chosen: Mapping[str, Choice]) -> Panel:
        """One panel. What is not chosen is the highest load, and the first of other choices."""
        at = {name: self._one(name, chosen[name]) if name in chosen else self._usual(name) for name in self.choices}
        numbers = self.numbers.filter(
            pl.lit(True), *(pl.col(name).eq_missing(pl.lit(value)) for name, value in at.items())
        )
        y_title = " ".join(str(part) for part in (at.get("statistic"), self.figure.y.title) if part)
        title = ", ".join(text for name, value in at.items() if (text := _title_part(name, value)))
        marks = [mark for _, mark in self._marks(numbers)]
        return Panel(title, self.figure.x.title, y_title, marks, self.figure.x.log, self.figure.y.log)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of what can be chosen."""
        return self.figure.choices

    def panels_at(self, chosen: Mapping[str, Choice]) -> list[Panel]:
        """All panels that are meant: one, but of figures with panels of their own."""
        return [self.panel(chosen)]

    def unshown(self, chosen: Mapping[str, Choice]) -> list[str]:
        """What is not shown as a choice was left open, and how to choose it."""
        lines = []
        for name in self.choices:
            there = [_choice_text(one) for one in self.values(name) if one is not None]
            if name not in chosen and len(there) > 1:
                usual = _choice_text(self._usual(name))
                others = ", ".join(one for one in there if one != usual)
                lines.append(f"{name} {usual} (--{name} for {others})")
        return lines

    def to_json(self) -> dict[str, Any]:
        """The figure for the page's script: every series of every choice."""
        figure, all_numbers = self.figure, self.numbers
        if "bin" in self.choices and len(self.values("bin")) == 2:  # all flows are of one size: it would be shown twice
            all_numbers = all_numbers.filter(pl.col("bin") == ALL_SIZES)
        series = []
        for at, numbers in _groups(all_numbers, self.choices):
            made = list(self._marks(numbers))
            marks = apart([mark for _, mark in made])
            series += [{"at": at, "of": label, **mark_json(mark)} for (label, _), mark in zip(made, marks, strict=True)]
        choices = {name: replace(self, numbers=all_numbers).values(name) for name in self.choices}
        return {
            "name": figure.name,
            "title": figure.title,
            "shows": figure.shows,
            "x": {"title": figure.x.title, "log": figure.x.log},
            "y": {"title": figure.y.title, "log": figure.y.log},
            "choices": choices,
            "facets": [name for name, values in choices.items() if _is_facet(name, values)],
            "series": series,
        }

    def _marks(self, numbers: pl.DataFrame) -> Iterator[tuple[str, Curve | Dots]]:
        """A mark for each label, and each class or flow of it, in the order of the labels."""
        within = next((name for name in ("class", "flow") if name in numbers.columns), None)
        for label, look in self.looks.items():
            own = numbers.filter(pl.col("label") == label)
            if within is None:
                if own.height:
                    yield label, self._mark(label, look, own)
                continue
            for (one,), lines in own.group_by(within, maintain_order=True):
                looks = self._look_within(label, look, within, one)
                yield label, self._mark(f"{label}, {within} {one}", looks, lines)

    def _look_within(self, label: str, look: Style, within: str, one: object) -> Style:
        """A class or flow has a dash and a marker of its own; flows of the only scheme have a colour of their own."""
        all_ones = self.numbers.filter(pl.col("label") == label)[within].unique(maintain_order=True).to_list()
        place = all_ones.index(one)
        if within == "flow" and self.numbers["label"].n_unique() == 1:
            return style_at(place)
        return replace(look, dash=look.dash + place, marker=look.marker + place)

    def _mark(self, name: str, look: Style, lines: pl.DataFrame) -> Curve | Dots:
        x, y = lines["x"].to_list(), lines["y"].to_list()
        low, high = ((lines[side].to_list() if side in lines.columns else ()) for side in ("low", "high"))
        bands = _bands(lines)
        if self.figure.shape == "dots":
            return Dots(name, look, x, y, low, high, bands)
        has_points, is_step = self.figure.shape == "points", self.figure.shape == "step"
        return Curve(name, look, x, y, low, high, points=has_points, step=is_step, bands=bands)

    def _usual(self, name: str) -> Choice:
        return self.values(name)[-1 if name == "load" else 0]

    def _one(self, name: str, value: Choice) -> Choice:
        known = self.values(name)
        if value not in known:
            shown = ", ".join(f"{one:g}" if isinstance(one, float) else repr(one) for one in known if one is not None)
            value = f"{value:g}" if isinstance(value, float) else repr(value)
            raise PacketloomError(f"{self.figure.name}: there is no {name} {value}; there are {shown or 'none'}")
        return value


def _choice_text(value: Choice) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return repr(text) if " " in text else text


def _bands(lines: pl.DataFrame) -> list[Band | None]:
    """Where packets would be, for each of these numbers, if they are estimates whose error was measured."""
    if "from" not in lines.columns:
        return []
    return [None if low is None else (low, high) for low, high in lines.select("from", "to").iter_rows()]


def _is_facet(name: str, values: Sequence[Choice]) -> bool:
    """Whether all of a choice are shown side by side: all but a statistic that is chosen for the whole page."""
    return name != "statistic" or not set(values) <= STATISTICS_OF_A_PAGE


def _groups(numbers: pl.DataFrame, names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows that agree in these columns, in the order of their first."""
    if not names:
        yield {}, numbers
        return
    for values, rows in numbers.group_by(names, maintain_order=True):
        yield dict(zip(names, values, strict=True)), rows


def _title_part(name: str, value: Choice) -> str:
    if name == "load":
        return "" if value is None else f"load {value:g}"
    if name == "bin":
        return "all flows" if value == ALL_SIZES else f"flows of {value}"
    return str(value) if name == "operation" else ""


def _summary(
    results: SomeResults,
    *,
    metric: str,
    statistics: tuple[str, ...] = ("mean", *PERCENTILES),
    scale: float = 1.0,
    least: float = 0.0,
    most: float = float("inf"),
) -> pl.DataFrame:
    """Statistics of a metric by load. No interval goes beyond what the metric can be, symmetric though it is."""
    frame = curves.all_summaries(results)
    chosen = frame.filter(pl.col("metric") == metric, pl.col("statistic").is_in(statistics)).sort("load")
    low, high = (pl.col(side) * scale for side in ("low", "high"))
    return chosen.select(
        "label",
        "bin",
        "statistic",
        pl.col("load").alias("x"),
        (pl.col("value") * scale).alias("y"),
        pl.when(low.is_not_null()).then(pl.max_horizontal(low, least)).alias("low"),
        pl.when(high.is_not_null()).then(pl.min_horizontal(high, most)).alias("high"),
    )


def _deadlines_met(results: SomeResults) -> pl.DataFrame:
    met = _summary(results, metric="met_deadline", scale=100.0, most=100.0)
    if met.is_empty():
        raise PacketloomError(timelines.NO_DEADLINES)
    return met


def _by_size(results: SomeResults) -> pl.DataFrame:
    frame = curves.slowdown_by_size(results).drop("flows").with_columns(pl.max_horizontal("low", 1.0).alias("low"))
    frame = frame.with_columns(pl.when(pl.col("high").is_null()).then(None).otherwise(pl.col("low")).alias("low"))
    if frame["size_bytes"].n_unique() < 2:
        raise PacketloomError("all flows are of one size")
    return _renamed(frame, x="size_bytes")


def _queue_by_tier(results: SomeResults) -> pl.DataFrame:
    frame = curves.queue_by_tier(results).rename(lambda name: name.removesuffix("_bytes"))
    return _renamed(_by_statistic(frame, ("label", "load", "tier")), x="tier", y_per=BYTES_PER_KB)


def _queue_over_time(results: SomeResults) -> pl.DataFrame:
    frame = _by_statistic(timelines.queue_over_time(results), ("label", "load", "time_ns"))
    return _renamed(frame, x="time_ns", x_per=NS_PER_MS, y_per=BYTES_PER_KB)


def _queue_distribution(results: SomeResults) -> pl.DataFrame:
    frame = timelines.queue_distribution(results).filter(pl.col("queue_bytes") > 0)
    if frame.is_empty():
        raise PacketloomError("nothing ever waited in a switch when samples were taken")
    return _renamed(frame, x="queue_bytes", y="fraction", x_per=BYTES_PER_KB)


def _reordering(results: SomeResults) -> pl.DataFrame:
    named = {
        "late packets (%)": ("late", 100.0),
        "changes of path (%)": ("changes", 100.0),
        "held (KB)": ("held_bytes", 1e-3),
    }
    frame = curves.reordering(results)
    in_units = [(pl.col(column) * scale).alias(name) for name, (column, scale) in named.items()]
    return _renamed(_by_statistic(frame.select("label", "load", *in_units), ("label", "load")), x="load")


def _paused_ports(results: SomeResults) -> pl.DataFrame:
    titles = {"paused": "paused at it (ms)", "caused": "paused by what began there (ms)"}
    frame = _by_statistic(pauses.paused_ports(results).rename(titles), ("label", "load", "class", "port"))
    # Where others' pauses began need not have been paused itself: it has no bar there, rather than one of no length.
    has_any = pl.col("value").max().over("statistic", "load", "port") > 0
    return _renamed(frame.filter(has_any), x="port", y_per=NS_PER_MS)


def _pause_reach(results: SomeResults) -> pl.DataFrame:
    frame = pauses.pause_reach(results).select(
        "label",
        "load",
        "class",
        pl.col("passed_on").cast(pl.String),
        (pl.col("paused") / NS_PER_MS).alias("time paused (ms)"),
        "pauses",
    )
    return _renamed(_by_statistic(frame, ("label", "load", "class", "passed_on")), x="passed_on")


def _by_fan_in(results: SomeResults) -> pl.DataFrame:
    frame = curves.by_fan_in(results).filter(pl.col("statistic").is_in(("mean", *PERCENTILES))).sort("fan_in")
    sides = [(pl.col(side) / NS_PER_MS).alias(side) for side in ("low", "high")]
    return _renamed(frame.with_columns(sides), x="fan_in", y_per=NS_PER_MS)


def _operations(results: SomeResults, *, column: str, per: float) -> pl.DataFrame:
    frame = over_seeds(
        curves.operations(results).select("label", "operation", "seed", pl.col(column).alias("value"), "flows")
    )
    sides = [(pl.col(side) / per).alias(side) for side in ("low", "high")]
    return _renamed(frame.with_columns(sides, x=pl.col("label")), x="x", y_per=per)


def _flows_over_time(results: SomeResults) -> pl.DataFrame:
    return _renamed(flow_series.flows_over_time(results), x="time_ns", x_per=NS_PER_MS)


def _by_statistic(frame: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """A row for each statistic instead of a column."""
    return frame.unpivot(index=keys, variable_name="statistic", value_name="value")


def _renamed(frame: pl.DataFrame, *, x: str, y: str = "value", x_per: float = 1.0, y_per: float = 1.0) -> pl.DataFrame:
    """A table with its columns x and y, in the axes' units."""
    place = pl.col(x) / x_per if frame[x].dtype.is_numeric() else pl.col(x)
    return frame.select(pl.exclude(x, y), place.alias("x"), (pl.col(y) / y_per).alias("y"))


def _of_classes(results: SomeResults, measure: timelines.ClassMeasure, y_per: float = 1.0) -> pl.DataFrame:
    """The classes that any scheme uses: queues of eight mostly have traffic in two."""
    frame = timelines.classes_over_time(results, measure)
    used = frame.filter(pl.col("value").max().over("class") > 0)
    return _renamed(used if used.height else frame, x="time_ns", x_per=NS_PER_MS, y_per=y_per)


def _along(figure: Figure, results: SomeResults) -> Chart:
    from packetloom.pages.grid_costs_chart import chart_along  # which makes charts, too

    return chart_along(figure, results)


def _no_table(results: SomeResults) -> pl.DataFrame:
    raise AssertionError("the figure has panels of its own")


OF_BANDS = "Shaded beside an estimate: where packets would be, by the error that `packetloom fidelity` measured."
LOAD = Axis("load")
TIME = Axis("time (ms)")
SHARE = Axis("fraction of flows")

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure(
            "slowdown-by-load",
            "Slowdown by load",
            "Slowdown of all flows, and of those of some sizes. Whiskers: 95 % intervals over seeds.",
            LOAD,
            Axis("slowdown", log=True),
            partial(_summary, metric="slowdown", least=1.0),
            choices=("statistic", "bin"),
            has_bands=True,
        ),
        Figure(
            "slowdown-by-size",
            "Slowdown by flow size",
            "Slowdown against the size of flows. Each point stands for equally many of them. Whiskers: 95 % intervals "
            "over seeds.",
            Axis("flow size (bytes)", log=True),
            Axis("slowdown", log=True),
            _by_size,
            choices=("load", "statistic"),
        ),
        Figure(
            "fct-by-load",
            "Flow completion time by load",
            "Completion times of all flows, and of those of some sizes. Whiskers: 95 % intervals over seeds.",
            LOAD,
            Axis("FCT (ms)", log=True),
            partial(_summary, metric="fct_ns", scale=1 / NS_PER_MS),
            choices=("statistic", "bin"),
        ),
        Figure(
            "fct-cdf",
            "Distribution of flow completion times",
            "The fraction of the finished flows that took at most so long.",
            Axis("flow completion time (ms)", log=True),
            SHARE,
            lambda results: _renamed(curves.distribution(results, "fct_ns"), x="fct_ns", y="fraction", x_per=NS_PER_MS),
            shape="line",
        ),
        Figure(
            "goodput-cdf",
            "Distribution of goodput",
            "The fraction of the finished flows whose bits over their completion time were at most so many.",
            Axis("goodput (Gb/s)", log=True),
            SHARE,
            lambda results: _renamed(curves.distribution(results, "goodput_gbps"), x="goodput_gbps", y="fraction"),
            shape="line",
        ),
        Figure(
            "deadlines-met",
            "Deadlines met",
            "The share of the flows with a deadline that met it; one that never finished has missed it.",
            LOAD,
            Axis("deadlines met (%)"),
            _deadlines_met,
            choices=("bin",),
        ),
        Figure(
            "missed-by",
            "By how much deadlines were missed",
            "Which share of the flows with a deadline came later than it by more than a time.",
            Axis("later than the deadline by more than (ms)"),
            Axis("fraction of flows with a deadline"),
            lambda results: _renamed(timelines.missed_by(results), x="missed_by_ns", y="fraction", x_per=NS_PER_MS),
            shape="step",
        ),
        Figure(
            "incast-by-fan-in",
            "Incast by number of senders",
            "Completion times as more hosts send to one at the same moment. Whiskers: 95 % intervals over seeds.",
            Axis("senders"),
            Axis("FCT (ms)", log=True),
            _by_fan_in,
            choices=("load", "statistic"),
            looks=curves.fan_in_styles,
        ),
        Figure(
            "along",
            "What values of the grid cost",
            "The statistic that the scenario is about, over that at the first value of an axis: what a fault, an "
            "oversubscription or a buffer costs each scheme. Whiskers: 95 % intervals over seeds.",
            Axis(""),
            Axis(""),
            _no_table,
            choices=("axis", "where"),
            own=_along,
        ),
        Figure(
            "operation-time",
            "Operation time",
            "From an operation's first flow to its last byte: the mean of its repetitions. Whiskers: 95 % intervals.",
            Axis(""),
            Axis("operation time (µs)"),
            partial(_operations, column="jct_ns", per=NS_PER_US),
            choices=("operation",),
            shape="dots",
        ),
        Figure(
            "bus-bandwidth",
            "Bus bandwidth",
            "What each host's link carried of the operation. Whiskers: 95 % intervals.",
            Axis(""),
            Axis("bus bandwidth (Gb/s)"),
            partial(_operations, column="bus_gbps", per=1.0),
            choices=("operation",),
            shape="dots",
        ),
        Figure(
            "fairness",
            "Fairness",
            "Jain's index of servers' normalised throughput: 1 is fair.",
            LOAD,
            Axis("Jain's index"),
            partial(_summary, metric="server_share", statistics=("jain",), most=1.0),
            choices=(),
        ),
        Figure(
            "flows-over-time",
            "Flows over time",
            "What senders knew of single flows: window, rate and round-trip time, of schemes that have them; what "
            "arrived, or was sent if the sender was notified of nothing; and packets sent again, summed up. Of the "
            "first seed.",
            TIME,
            Axis(""),
            _flows_over_time,
            choices=("load", "statistic"),
            shape="step",
        ),
        Figure(
            "queue-by-tier",
            "Queues by tier",
            "Queue lengths: the mean over a tier's ports and time, or the p99 or maximum of its worst port.",
            Axis(""),
            Axis("queue (KB)"),
            _queue_by_tier,
            choices=("load", "statistic"),
            shape="dots",
        ),
        Figure(
            "queue-cdf",
            "Distribution of queue lengths",
            "The fraction of the samples, over time and all ports of switches, in which at most so much waited. A line "
            "begins at the fraction in which nothing did.",
            Axis("queue (KB)", log=True),
            Axis("fraction of samples"),
            _queue_distribution,
            shape="line",
        ),
        Figure(
            "queue-over-time",
            "Queues over time",
            "What waits at a port of a switch: the mean over all ports, or the longest of all queues.",
            TIME,
            Axis("queue (KB)"),
            _queue_over_time,
            choices=("load", "statistic"),
            shape="line",
        ),
        Figure(
            "throughput-over-time",
            "Throughput over time",
            "What all hosts received together, headers included.",
            TIME,
            Axis("to hosts (Gb/s)"),
            lambda results: _renamed(timelines.throughput_over_time(results), x="time_ns", x_per=NS_PER_MS),
            shape="line",
        ),
        Figure(
            "utilisation-over-time",
            "Utilisation over time",
            "How much of the busiest link each scheme used.",
            TIME,
            Axis("utilisation of the busiest link (%)"),
            lambda results: _renamed(
                timelines.utilisation_over_time(results), x="time_ns", x_per=NS_PER_MS, y_per=0.01
            ),
            shape="line",
        ),
        Figure(
            "link-imbalance",
            "Imbalance of links",
            "Of a switch's links to one tier, the most used less the least used over their mean; the mean over "
            "switches. 0 is even.",
            Axis(""),
            Axis("(max - min) / mean utilisation"),
            lambda results: _renamed(curves.link_imbalance(results), x="tier", y="imbalance"),
            shape="dots",
        ),
        Figure(
            "link-imbalance-over-time",
            "Imbalance of links over time",
            "Of a switch's links to one tier, the most used in a sample less the least used over their mean; the mean "
            "over switches. 0 is even.",
            TIME,
            Axis("(max - min) / mean bytes"),
            lambda results: _renamed(timelines.imbalance_over_time(results), x="time_ns", x_per=NS_PER_MS),
            shape="line",
        ),
        Figure(
            "reordering",
            "Order of packets",
            "Packets that came after one that was sent later, packets that came by another path than the one before, "
            "and what a receiver has to hold to put a flow in order: the p99 over flows (RFC 4737).",
            LOAD,
            Axis(""),
            _reordering,
            choices=("statistic",),
        ),
        Figure(
            "paused-ports",
            "Paused ports",
            "For how long ports were kept from sending a class, and where that began. The ports with most of either; a "
            "mean over seeds.",
            Axis(""),
            Axis(""),
            _paused_ports,
            choices=("load", "statistic"),
            shape="dots",
        ),
        Figure(
            "pause-reach",
            "How far pauses travelled",
            "By how many switches pauses had been passed on: 0 where they began. The time is that of all ports.",
            Axis("switches that passed the pause on"),
            Axis(""),
            _pause_reach,
            choices=("load", "statistic"),
            shape="dots",
        ),
        Figure(
            "paused-over-time",
            "Paused ports over time",
            "How many ports were kept from sending a class.",
            TIME,
            Axis("paused ports"),
            lambda results: _renamed(pauses.paused_over_time(results), x="time_ns", y="ports", x_per=NS_PER_MS),
            shape="line",
        ),
        Figure(
            "class-throughput",
            "Throughput by traffic class",
            "What hosts received of each class, headers included.",
            TIME,
            Axis("to hosts (Gb/s)"),
            partial(_of_classes, measure="throughput"),
            shape="line",
        ),
        Figure(
            "class-queue",
            "Queues by traffic class",
            "What waited of each class in all switches.",
            TIME,
            Axis("queued in switches (KB)"),
            partial(_of_classes, measure="queue", y_per=BYTES_PER_KB),
            shape="line",
        ),
        Figure(
            "class-credits",
            "Credits by traffic class",
            "How much credit each class used.",
            TIME,
            Axis("credit in use (KB)"),
            partial(_of_classes, measure="credit", y_per=BYTES_PER_KB),
            shape="line",
        ),
    )
}


def check_name(name: str) -> None:
    """Whether there is a figure of that name."""
    if not name:
        raise PacketloomError(f"which figure? {meant(name, FIGURES)}; `packetloom list figures` says what they show")
    if name not in FIGURES:
        raise PacketloomError(f"there is no figure {name!r}; {meant(name, FIGURES)}")


def chart(name: str, results: SomeResults) -> Chart:
    """The figure of that name of these results."""
    check_name(name)
    return FIGURES[name].of(results, measured_errors(curves.as_list(results)))
