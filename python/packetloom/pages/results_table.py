"""The results table: the same cells in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from packetloom.common.quantities import said_within, significant
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin

NOT_STEADY, NOT_KNOWN = "*", "?"
MARKS = f"{NOT_STEADY} not steady; {NOT_KNOWN} too few of these flows, or too short a run, to tell"
"""Of the means of sizes of flows, where all flows of a case have a verdict of their own."""
HIGHER_IS_BETTER = ("met_deadline", "goodput_gbps", "server_share")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the results table: a statistic of a metric in a size bin."""

    bin: str
    metric: str
    statistic: str

    @property
    def heading(self) -> str:
        """Its heading, in three lines; a bin's name is over the first of its columns."""
        if self.metric == "met_deadline":
            return "dead-\nlines\nmet"
        if self.metric == "unfinished":
            return "un-\nfin-\nished"
        if self.metric == "steady":
            return "\n\nsteady"
        if self.statistic != "mean":
            return f"\n\n{self.statistic}"
        over = "all\nflows" if self.bin == ALL_SIZES else self.bin.replace(", ", ",\n")
        return f"{over}\n{self.statistic}"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the results table."""

    load: float | None
    label: str
    cells: list[str]
    values: list[float | None]


def results_columns(statistics: pl.DataFrame, bins: Sequence[SizeBin] = DEFAULT_BINS) -> list[Column]:
    """Slowdown in all bins; deadlines and unfinished flows where there are any."""
    labels = [ALL_SIZES, *(size.label for size in bins)]
    there = set(statistics.filter((pl.col("metric") == "slowdown") & pl.col("value").is_not_null())["bin"])
    if len(there) <= 2:  # all flows are of one size: no need to say it twice
        there &= {ALL_SIZES}
    labels = [label for label in labels if label in there] or [ALL_SIZES]
    columns = [Column(label, "slowdown", name) for label in labels for name in ("mean", "p99")]
    everything = statistics.filter(pl.col("bin") == ALL_SIZES)
    if everything.filter(pl.col("metric") == "met_deadline").height:
        columns.append(Column(ALL_SIZES, "met_deadline", "mean"))
    if everything.filter((pl.col("metric") == "unfinished") & (pl.col("value") > 0)).height:
        columns.append(Column(ALL_SIZES, "unfinished", "mean"))
    if everything.filter(pl.col("metric") == "steady").height:
        columns.append(Column(ALL_SIZES, "steady", "verdict"))
    return columns


def results_lines(statistics: pl.DataFrame, columns: Sequence[Column], *, intervals: bool = True) -> list[Line]:
    """A line per load and scheme."""
    cells = {
        (row["load"], row["label"], row["bin"], row["metric"], row["statistic"]): row
        for row in statistics.iter_rows(named=True)
    }
    keys = statistics.select("load", "label").unique(maintain_order=True).rows()
    keys.sort(key=lambda key: (key[0] is None, key[0] or 0.0))
    lines = []
    for load, label in keys:
        own = [cells.get((load, label, column.bin, column.metric, column.statistic)) for column in columns]
        texts = [
            cell_text(cell, column, intervals) + _mark(cells, (load, label), column)
            for cell, column in zip(own, columns, strict=True)
        ]
        lines.append(Line(load, label, texts, [None if cell is None else cell["value"] for cell in own]))
    return lines


def _mark(cells: Mapping[tuple[Any, ...], Mapping[str, Any]], point: tuple[Any, Any], column: Column) -> str:
    """Behind the mean of a size of flows that is not known to be steady, where cases are diagnosed."""
    of_all, own = (cells.get((*point, bin, "steady", "verdict")) for bin in (ALL_SIZES, column.bin))
    mean = cells.get((*point, column.bin, "slowdown", "mean"))
    if (column.metric, column.statistic) != ("slowdown", "mean") or column.bin == ALL_SIZES or of_all is None:
        return ""
    if mean is None or mean["value"] is None:
        return ""
    return NOT_KNOWN if own is None or own["value"] is None else "" if own["value"] else NOT_STEADY


def marks(lines: Sequence[Line]) -> str:
    """What the marks mean, where there are any."""
    has_any = any(text.endswith((NOT_STEADY, NOT_KNOWN)) and len(text) > 1 for line in lines for text in line.cells)
    return MARKS if has_any else ""


def best_cells(lines: Sequence[Line], columns: Sequence[Column], without: Collection[str] = ()) -> set[tuple[int, int]]:
    """Line and column of the best of each column at each load, where some differ; labels in `without` are no match."""
    best = set()
    for load in {line.load for line in lines}:
        here = [(place, line) for place, line in enumerate(lines) if line.load == load and line.label not in without]
        for at, column in enumerate(columns):
            if column.statistic == "cv" or column.metric == "steady":  # neither more nor less of it is better
                continue
            found = {place: value for place, line in here if (value := line.values[at]) is not None}
            if len(set(found.values())) > 1:
                target = (max if column.metric in HIGHER_IS_BETTER else min)(found.values())
                best |= {(place, at) for place, value in found.items() if value == target}
    return best


def cell_text(cell: dict[str, float | None] | None, column: Column, intervals: bool) -> str:
    """A value, and half its interval where there is one."""
    if cell is not None and column.metric == "steady":
        return "?" if cell["value"] is None else "yes" if cell["value"] else "no"
    if cell is None or cell["value"] is None:
        return "–"
    value, low = cell["value"], cell["low"]
    if column.metric in ("met_deadline", "unfinished"):
        return f"{100 * value:.3g}%"
    if column.metric == "fct_ns" and column.statistic != "cv":
        return said_within(value, value - low if intervals and low is not None else None, "ns").replace(" ± ", "±")
    text = significant(value, 3)
    if not intervals or low is None:
        return text
    decimals = len(text.partition(".")[2])
    return f"{text}±{value - low:,.{decimals}f}"


def print_results(statistics: pl.DataFrame, console: Console, bins: Sequence[SizeBin] = DEFAULT_BINS) -> None:
    """The results table, in the terminal: by load, slowdown by flow size; intervals where they fit."""
    columns = results_columns(statistics, bins)
    loads = statistics["load"].unique().sort(nulls_last=True).to_list()
    for intervals in (True, False):
        tables = [_table(statistics, load, columns, intervals=intervals) for load in loads]
        wide = console.options.update(max_width=1000)
        if all(console.measure(table, options=wide).maximum <= console.width for table in tables):
            break
    for table in tables:
        console.print(table)
        console.print()
    most, fewest = int(statistics["seeds"].max() or 0), int(statistics["seeds"].min() or 0)  # type: ignore[arg-type]
    seeds = f"{most}" if fewest in (0, most) else f"up to {most}"
    if most < 2:
        spread = "one seed: no confidence intervals"
    elif intervals:
        spread = f"± 95 % confidence over {seeds} seeds"
    else:
        spread = f"mean over {seeds} seeds (95 % confidence intervals: in the report, or a wider terminal)"
    console.print("slowdown = completion time / that of the flow alone on an empty network", style="dim")
    console.print(spread, style="dim")
    if said := marks(results_lines(statistics, columns)):
        console.print(said, style="dim")


def _table(statistics: pl.DataFrame, load: float | None, columns: Sequence[Column], *, intervals: bool) -> Table:
    title = "Slowdown" if load is None else f"Slowdown at load {load:g}"
    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("\n\nscheme", min_width=9, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    of_load = statistics.filter(pl.col("load").eq_missing(pl.lit(load, pl.Float64)))
    for line in results_lines(of_load, columns, intervals=intervals):
        table.add_row(line.label, *line.cells)
    return table
