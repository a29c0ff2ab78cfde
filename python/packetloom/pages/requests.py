"""How requests to a served model fared, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from packetloom.common.confidence import half_interval
from packetloom.common.quantities import said_within
from packetloom.pages.html import Page
from packetloom.stats.curves import SomeResults
from packetloom.stats.serving import serving

TITLE = "Requests"
NOTE = (
    "TTFT: from a request's arrival to its first token. TBT: the mean time between two tokens of an answer; its "
    "longest: the p99 of answers' longest times between two. Network: what of the mean is beyond that of the same "
    "requests where the network takes no time."
)
COLUMNS = {
    "TTFT\nmean": ("ttft_mean_ns", "ns"),
    "TTFT\np50": ("ttft_p50_ns", "ns"),
    "TTFT\np99": ("ttft_p99_ns", "ns"),
    "network's\nshare": ("ttft_network", "share"),
    "TBT\np50": ("tbt_p50_ns", "ns"),
    "TBT\np99": ("tbt_p99_ns", "ns"),
    "its\nlongest": ("tbt_max_p99_ns", "ns"),
}


def table_of(found: pl.DataFrame, *, intervals: bool = True) -> tuple[list[str], list[list[str]]]:
    """Headings and lines, of means over seeds, with their 95 % intervals if wanted; columns that nothing has are left
    out."""
    header = ["scheme", *COLUMNS, "not\nover"]
    lines = []
    for (label, load), own in found.group_by("label", "load", maintain_order=True):
        undone = own["unfinished"].sum()
        name = str(label).replace(", arrivals.", ", ").replace(", topology.", ", ")
        where = "" if load is None else f", load {load:g}"
        seeds = ((own[column].drop_nans().to_list(), unit) for column, unit in COLUMNS.values())
        cells = [_cell(values, unit, intervals=intervals) for values, unit in seeds]
        lines.append([f"{name}{where}", *cells, f"{undone} of {own['requests'].sum()}" if undone else ""])
    kept = [place for place in range(len(header)) if any(line[place] for line in lines)]
    return [header[place] for place in kept], [[line[place] for place in kept] for line in lines]


def _cell(values: Sequence[float], unit: str, *, intervals: bool) -> str:
    if not values:
        return ""
    has_interval = intervals and len(values) > 1
    return said_within(sum(values) / len(values), half_interval(values) if has_interval else None, unit)


def print_requests(found: pl.DataFrame, console: Console) -> None:
    """The table in the terminal, with intervals where there is room."""
    table = _table(*table_of(found))
    if console.measure(table, options=console.options.update(max_width=1000)).maximum > console.width:
        table = _table(*table_of(found, intervals=False))
    console.print(table)
    console.print(NOTE, style="dim", markup=False)


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title=TITLE, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", padding=(0, 1, 0, 0))
    for place, heading in enumerate(header):
        table.add_column(heading, justify="right" if place else "left", no_wrap=place > 0)
    for line in lines:
        table.add_row(*line)
    return table


def write_requests(page: Page, results: SomeResults) -> None:
    """The report's section."""
    found = serving(results)
    if found.is_empty():
        return
    page.heading(TITLE)
    page.table(*table_of(found))
    page.text(NOTE, note=True)
