"""How fast jobs went: repetitions, the roofline, communication that no computing hides, bus bandwidth by network.

Kinds of operations and networks are never averaged together: an all-reduce inside a server says nothing of one across
the fabric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from packetloom.common.confidence import half_interval
from packetloom.common.quantities import axis_text, said_within, significant
from packetloom.pages.fitting import print_fitting
from packetloom.pages.waits.tables import labelled
from packetloom.stats.collectives import Kind, between_ends_ns, bus_gbps, exposed_ns, operations_of
from packetloom.stats.curves import SomeResults, as_list
from packetloom.stats.perftest import SHOWN, perftest
from packetloom.store.case_rows import CaseRow, varied
from packetloom.store.results import Results

MOST_KINDS = 4
BETWEEN_COLUMNS = 2
"""A space after each, and one more between two or at an end."""
ROOFLINE = (
    "Roofline: what the busiest rank computes, or what the busiest NIC takes for its messages at its full rate, "
    "without headers, whichever is more: no repetition can be below 1."
)
MOST_CHOSEN = 2
"""So many of a library's choices are named."""
EVERY = (
    "One ends every: from the first repetition's end to the last one's, by repetition. Ranks begin the next one while "
    "others end theirs, so repetitions overlap, and each takes longer than that."
)
OVERLAPS = 1.01
"""Repetitions overlap if each takes so many times what lies between their ends."""
EXPOSED = (
    "Exposed communication: a repetition's time beyond what its busiest rank computes, a pipeline's bubbles included."
)
BUS = "Bus bandwidth: of all operations of a kind, their bytes times the kind's factor, over their time."
RATE = "Rate: of a perftest, the bytes of all messages, both directions together, over the time that they took."
LATENCY = "Latency: half of a round trip; in a test of bandwidth from a message's post to its last byte."
LATENCY_HEADINGS = ("median\nlatency", "p99\nlatency", "p99.9\nlatency")


@dataclass(slots=True)
class Speed:
    """What a scheme's jobs did under a load: of each quantity a number for each seed."""

    label: str
    load: float | None
    source: int
    axis: tuple[str, str] = ("", "")
    """The last axis of its grid: its key, and with its value as the label ends."""
    took: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    exposed: list[float] = field(default_factory=list)
    buses: dict[Kind, list[float]] = field(default_factory=dict)
    chosen: list[str] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    messages: list[float] = field(default_factory=list)
    """Millions a second."""
    latencies: list[list[float]] = field(default_factory=lambda: [[] for _ in SHOWN])
    """A list for each of those shown."""
    undone: int = 0
    repetitions: int = 0
    every: list[float] = field(default_factory=list)
    """What lies between the ends of two repetitions."""

    @property
    def overlaps(self) -> bool:
        """Whether it computes, and repetitions take longer than what lies between their ends."""
        return self.exposed != self.took and sum(self.took) > OVERLAPS * sum(self.every) > 0


def speeds(results: SomeResults) -> list[Speed]:
    """How fast the jobs of each label were, at each load."""
    several = as_list(results)
    found: dict[tuple[str, float | None, int], Speed] = {}
    for label, row, table in labelled(several, "iterations"):
        for (source,), own in table.group_by("source", maintain_order=True):
            speed = _speed(found, label, row, int(str(source)))
            done = own.filter(pl.col("jct_ns").is_not_nan())
            speed.undone += own.height - done.height
            speed.repetitions += own.height
            if done.height:
                speed.took.append(_mean(done["jct_ns"]))
                every = between_ends_ns(done)
                speed.every += [] if math.isnan(every) else [every]
                speed.exposed.append(_mean(exposed_ns(own)))
                ratios = done["jct_ratio"].drop_nans()
                speed.ratios += [_mean(ratios)] if len(ratios) else []
    for label, row, table in labelled(several, "jobs"):
        for (source,), own in table.group_by("source", maintain_order=True):
            speed = _speed(found, label, row, int(str(source)))
            for kind, operations in operations_of(own):
                speed.buses.setdefault(kind, []).append(bus_gbps(operations))
                speed.chosen += [one for one in _chosen(operations) if one not in speed.chosen]
    _add_perftests(found, several)
    return list(found.values())


def _add_perftests(found: Mapping[tuple[str, float | None, int], Speed], several: Sequence[Results]) -> None:
    for row in perftest(several).iter_rows(named=True):
        speed = found[row["label"], row["load"], row["source"]]
        speed.rates.append(row["rate_gbps"])
        speed.messages.append(row["messages_per_second"] / 1e6)
        for values, name in zip(speed.latencies, SHOWN, strict=True):
            values.append(row[f"latency_{name}_ns"])


def _speed(found: dict[tuple[str, float | None, int], Speed], label: str, row: CaseRow, source: int) -> Speed:
    axes = varied(row.parameters)
    axis = (axes[-1][0], axis_text(*axes[-1])) if axes and label == row.label else ("", "")
    return found.setdefault((label, row.load, source), Speed(label, row.load, source, axis))


def _chosen(operations: pl.DataFrame) -> list[str]:
    """What a library chose for operations of a kind, in words; nothing where none did."""
    if "library" not in operations.columns:
        return []
    rows = operations.filter(pl.col("library") != "plain").unique(
        ["algorithm", "protocol", "channels"], maintain_order=True
    )
    return [
        f"{row['algorithm']}, {row['protocol']}, {row['channels']} channel{'s' * (row['channels'] > 1)}"
        for row in rows.iter_rows(named=True)
    ]


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def table_of(found: Sequence[Speed]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines; columns that nothing has are left out."""
    kinds = list(dict.fromkeys(kind for one in found for kind in one.buses))
    has_networks = len({kind.network for kind in kinds}) > 1
    has_sources = len({one.source for one in found}) > 1
    has_loads = len({one.load for one in found}) > 1
    computes = _some_compute(found)
    shown = kinds[:MOST_KINDS]
    header = [
        "scheme",
        "load",
        "a repetition\ntakes",
        "one ends\nevery",
        "over the\nroofline",
        "exposed\ncommunication",
        *(f"bus bandwidth,\n{kind.text(has_networks=has_networks)}" for kind in shown),
        "rate",
        "million messages\na second",
        *LATENCY_HEADINGS,
        "the library\nchose",
        "not done",
    ]
    lines = [
        [
            _label(one, has_sources=has_sources),
            f"{one.load:g}" if has_loads and one.load is not None else "",
            _cell(one.took, "ns") or "did not finish",
            _cell(one.every, "ns") if any(other.overlaps for other in found) else "",
            _cell(one.ratios, "ratio"),
            _exposed(one) if computes else "",
            *(_cell(one.buses.get(kind, ()), "gbps") for kind in shown),
            _cell(one.rates, "gbps"),
            _cell(one.messages, "ratio"),
            *(_cell(values, "ns") for values in one.latencies),
            "; ".join(one.chosen[:MOST_CHOSEN]) + ("; ..." if len(one.chosen) > MOST_CHOSEN else ""),
            f"{one.undone} of {one.repetitions}" if one.undone else "",
        ]
        for one in found
    ]
    kept = [place for place in range(len(header)) if any(line[place] for line in lines)]
    return [header[place] for place in kept], [[line[place] for place in kept] for line in lines]


def _label(one: Speed, *, has_sources: bool) -> str:
    """A scheme and its point of the grid, without the section that is clear."""
    label = one.label.replace(", topology.", ", ")
    return f"{label}, workload {one.source}" if has_sources else label


def _cell(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    return said_within(sum(values) / len(values), half_interval(values) if len(values) > 1 else None, unit)


def _exposed(one: Speed) -> str:
    text = _cell(one.exposed, "ns")
    took = sum(one.took)
    return f"{text} ({significant(100 * sum(one.exposed) / took, 2)} %)" if text and took else text


def _some_compute(found: Sequence[Speed]) -> bool:
    """Whether any job computes: all of a repetition is exposed communication where none does."""
    return any(one.exposed != one.took for one in found)


def notes_of(found: Sequence[Speed]) -> list[str]:
    """What the columns mean, as far as they are there."""
    kinds = len({kind for one in found for kind in one.buses})
    left_out = f" Of {kinds} kinds the first {MOST_KINDS} are shown." if kinds > MOST_KINDS else ""
    are_tests = any(one.rates for one in found)
    notes = [
        (any(one.overlaps for one in found), EVERY),
        (any(one.ratios for one in found), ROOFLINE),
        (_some_compute(found), EXPOSED),
        (kinds > 0, BUS + left_out),
        (are_tests, RATE),
        (are_tests, LATENCY),
    ]
    return [note for is_there, note in notes if is_there]


def print_jobs(found: Sequence[Speed], console: Console) -> None:
    """The table of jobs, in the terminal."""
    wide = console.options.update(max_width=1000)
    header, lines = table_of(found)
    if console.measure(_table("Jobs", header, lines), options=wide).maximum <= console.width:
        parts = [("Jobs", header, lines)]
    else:
        parts = _by_last_axis(found) or [("Jobs", header, lines)]
    for title, header, lines in parts:
        print_fitting(_table(title, header, lines), console, BETWEEN_COLUMNS)
    for note in notes_of(found):
        console.print(note, style="dim", markup=False)


def _by_last_axis(found: Sequence[Speed]) -> list[tuple[str, list[str], list[list[str]]]]:
    """A table for each scheme and point of all axes but the last, whose values are its lines; none without an axis."""
    if len({key for key, _ in (one.axis for one in found)}) != 1 or not found[0].axis[0]:
        return []
    heading, _ = _heading_and_value(found[0].axis)
    groups: dict[str, list[Speed]] = {}
    for one in found:
        head, (_, value) = one.label.removesuffix(f", {one.axis[1]}"), _heading_and_value(one.axis)
        groups.setdefault(head, []).append(replace(one, label=value))
    tables = []
    for head, group in groups.items():
        header, lines = table_of(group)
        tables.append((f"Jobs: {head.replace(', topology.', ', ')}", [heading, *header[1:]], lines))
    return tables


def _heading_and_value(axis: tuple[str, str]) -> tuple[str, str]:
    """Of an axis' key and its text in a label, such as "arrivals.algorithm ring" or "no fault"."""
    key, text = axis
    if key.startswith("fault"):
        return "fault", "none" if text.startswith("no ") else text.removeprefix("fault ")
    name, _, value = text.partition(" ")
    return name.rpartition(".")[2], value


def _table(title: str, header: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, heading in enumerate(header):
        justify: Literal["left", "right"] = "right" if place else "left"
        table.add_column(heading, justify=justify)
    for line in lines:
        table.add_row(*line)
    return table


def has_only_jobs(several: Sequence[Results]) -> bool:
    """Whether all that is measured are messages of jobs: their slowdowns say nothing of the jobs."""
    for one in several:
        jobs = {
            row.case_id: part["source"].unique().to_pylist() for row, part in one.partitions("iterations", ["source"])
        }
        for row, part in one.partitions("flows", ["source", "measured"]):
            flows = pl.from_arrow(part)
            assert isinstance(flows, pl.DataFrame)
            if set(flows.filter("measured")["source"].unique()) - set(jobs.get(row.case_id, ())):
                return False
    return True
