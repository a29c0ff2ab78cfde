"""The report's section about jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from packetloom.common.quantities import said, significant, size_said
from packetloom.pages.html import Page
from packetloom.pages.waits.speeds import notes_of, speeds, table_of
from packetloom.pages.waits.tables import bounds, stragglers, time_spent
from packetloom.pages.waits.timeline import timeline
from packetloom.stats.interference import interference
from packetloom.store.results import Results

MOST_OPERATIONS = 20
MOST_STRAGGLERS = 5
SOONEST_SAID = 0.001
"""A straggler that costs less than this share of a repetition is none."""


def write_waits(page: Page, several: Sequence[Results]) -> None:
    """What jobs waited for; where operations were not kept, how to have that."""
    if not any(True for one in several for _ in one.partitions("iterations", ["source"])):
        return
    found = speeds(several)
    page.heading("Jobs")
    page.table(*table_of(found))
    page.text(" ".join(notes_of(found)), note=True)
    _write_interference(page, interference(several))
    spent = time_spent(several)
    page.heading("What jobs waited for")
    if spent.is_empty():
        page.text(
            "Not recorded: set `operations = true` in [measure] to have critical paths and a timeline of ranks, or "
            "`critical_path = true` for the former alone."
        )
    else:
        _write_time_spent(page, spent)
        _write_bounds(page, bounds(several))
    _write_stragglers(page, stragglers(several))
    shown = timeline(several)
    if shown:
        page.heading("Timeline of ranks", 3)
        page.text(
            "The last repetition of each scheme's first seed. Each rank has computing in the upper half of its row, "
            "communication in the lower; the line is the critical path, which jumps from the sender of a message to "
            "the rank that waited for it. `packetloom export --format chrome-trace` writes all of it for Perfetto.",
            note=True,
        )
        page.place("ranks", "ranks")
        page.give(ranks=shown)


def _write_interference(page: Page, found: pl.DataFrame) -> None:
    if found.is_empty():
        return
    is_one = found["source"].n_unique() == 1
    page.heading("Jobs beside others")
    rows = [
        [
            _job(row["label"], row["source"], is_one=is_one),
            said(row["jct_ns"], "ns"),
            said(row["alone_jct_ns"], "ns"),
            significant(row["interference"], 4),
        ]
        for row in found.iter_rows(named=True)
    ]
    page.table(["scheme", "the job takes", "by itself", "interference\nfactor"], rows)
    page.text(
        "From the first repetition's start to the last one's end, beside the scenario's other sources and by itself. "
        "The factor is the mean of the one over the other, seed by seed.",
        note=True,
    )


def _job(label: str, source: int, *, is_one: bool) -> str:
    return label if is_one else f"{label}, workload {source}"


SPENT = {
    "compute_ns": "computing",
    "alone_ns": "messages,\nalone",
    "waited_ns": "messages,\nwaiting",
    "acknowledgement_ns": "acknow-\nledgements",
    "host_ns": "hosts",
    "earlier_ns": "repetition\nbefore",
}


def _write_time_spent(page: Page, spent: pl.DataFrame) -> None:
    is_one = spent["source"].n_unique() == 1
    columns = [name for name in SPENT if spent[name].max()]
    rows = [
        [
            _job(row["label"], row["source"], is_one=is_one),
            said(row["jct_ns"], "ns"),
            *(said(row[name] / row["jct_ns"], "share") if row[name] else "–" for name in columns),
            row["link"] or "–",
            *("–" if row[name] is None else said(row[name], "share") for name in ("link_share", "link_used")),
        ]
        for row in spent.iter_rows(named=True)
    ]
    link = ["link most often\non the path", "its share\nof the path", "used\nmeanwhile"]
    page.table(["scheme", "a repetition\ntakes", *(SPENT[name] for name in columns), *link], rows)
    page.text(
        "The critical path of a repetition: a chain of computing and messages without a gap, so its parts add up to "
        "the repetition's time. Alone: what the messages on it would take on an empty network; waiting: beyond that.",
        note=True,
    )


def _operation(row: Mapping[str, Any]) -> str:
    what = f"{row['operation']}, {row['algorithm']}, {row['ranks']} ranks, {size_said(row['size_bytes'])}"
    return what if row["name"] == row["operation"] else f"{row['name']} ({what})"


def _write_bounds(page: Page, found: pl.DataFrame) -> None:
    if found.is_empty():
        return
    is_one = found["source"].n_unique() == 1
    longest = found.sort(pl.col("jct_ns") * pl.col("times"), descending=True).head(MOST_OPERATIONS)
    page.heading("Which links bound operations", 3)
    rows = [
        [
            _job(row["label"], row["source"], is_one=is_one),
            _operation(row),
            row["bound_link"] + (f" and {row['bound_links'] - 1:,} others" if row["bound_links"] > 1 else ""),
            f"{row['times']:,}",
            said(row["jct_ns"], "ns"),
            said(row["bound_ns"], "ns"),
            significant(row["jct_ns"] / row["bound_ns"], 3) if row["bound_ns"] else "–",
        ]
        for row in longest.iter_rows(named=True)
    ]
    header = ["scheme", "operation", "link", "times", "takes", "the link\nneeds", "ratio"]
    page.table(header, rows, text_columns=3)
    page.text(
        "The link that takes longest, at its full rate, for what it carries of the operation; several that take as "
        "long count together. A ratio near 1: only another link, placement or algorithm would help. A large one: "
        "latency, waiting or the transport takes the rest.",
        note=True,
    )


def _write_stragglers(page: Page, late: pl.DataFrame) -> None:
    shown = late.filter(pl.col("share") >= SOONEST_SAID) if late.height else late
    if shown.is_empty():
        return
    is_one = shown["source"].n_unique() == 1
    worst = shown.group_by("label", "source", maintain_order=True).head(MOST_STRAGGLERS)
    page.heading("Stragglers", 3)
    rows = [
        [
            _job(row["label"], row["source"], is_one=is_one),
            str(row["rank"]),
            significant(row["last_in"], 3),
            said(row["delayed_ns"], "ns"),
            said(row["share"], "share"),
        ]
        for row in worst.iter_rows(named=True)
    ]
    page.table(["scheme", "rank", "last in so many\noperations", "delayed them by", "of a repetition"], rows)
    page.text(
        "Ranks that began collective operations last, and how much later than the last but one; per repetition.",
        note=True,
    )
