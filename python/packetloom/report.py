"""The report: one HTML page with the results table and the figures of one or several results folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from packetloom import _core, arguments, curves
from packetloom.build import build_text, builds_text, this_build
from packetloom.charts import look_json
from packetloom.errors import PacketloomError
from packetloom.fabric import fabric_view
from packetloom.figures import FIGURES
from packetloom.page import Page
from packetloom.pauses import innocent_flows
from packetloom.quantities import significant
from packetloom.results import Results, Snapshot
from packetloom.rows import CaseRow, builds_of
from packetloom.statistics import ALL_SIZES, DEFAULT_BINS, SizeBin, check_bins
from packetloom.tables import Column, results_columns, results_lines

INNOCENT_SHOWN = 20


def write_report(results: curves.SomeResults, output: str | Path, *, bins: Sequence[SizeBin] = DEFAULT_BINS) -> Path:
    """Writes the page, and gives its path."""
    several, page = curves.as_list(results), arguments.path("output", output)
    check_bins(bins)
    report_page(several, bins).write(page)
    return page


def report_page(several: Sequence[Results], bins: Sequence[SizeBin] = DEFAULT_BINS) -> Page:
    """The page. A folder without a finished case is no mistake: the page says so."""
    several = [Snapshot(one) for one in several]
    page = Page(" and ".join(dict.fromkeys(one.name for one in several)))
    finished = [one for one in several if one.rows()]
    if finished:
        statistics = curves.all_summaries(finished, bins)
        if statistics.filter(pl.col("metric") == "slowdown").is_empty():
            page.text("No measured flow has finished, so there are no completion times to show.")
        if not statistics.is_empty():
            _summary_table(page, statistics, bins)
        _figures(page, finished)
        _fabric(page, finished)
        _waiting_flows(page, finished)
        if not statistics.is_empty():
            _fairness(page, statistics)
        _central_control(page, finished)
        _reorder_queues(page, finished)
        _cases(page, finished)
    for one in several:
        page.folded(f"The scenario of {one.name}", one.scenario_text)
    top = Page("")
    _opening(top, several)  # last, because it reports what was found damaged on the way
    page.put_first(top)
    return page


def _opening(page: Page, several: Sequence[Results]) -> None:
    here = build_text(_core.version(), this_build().digest)
    for one in several:
        planned, finished = len(one.plan_lines()), len(one.rows())
        by = f", by {builds_text(builds_of(one.rows()))}" if finished else ""
        page.text(f"{one.name}: {finished} of {planned} cases finished{by}")
        if note := one.build_note():
            page.text(f"{one.name}: {note}. This page was made by {here}.")
    page.text(
        "Slowdown is a flow's completion time over that of the same flow alone on an empty network. "
        f"This page was made by {here}.",
        note=True,
    )
    if not any(one.rows() for one in several):
        page.text("No case is finished yet, so there is nothing to show.")
    warnings = dict.fromkeys(warning for one in several for row in one.rows() for warning in row.warnings)
    page.list([*(f"passed over: {problem}" for one in several for problem in one.problems), *warnings])


def _summary_table(page: Page, statistics: pl.DataFrame, bins: Sequence[SizeBin]) -> None:
    page.heading("Slowdown by load and flow size")
    columns = results_columns(statistics, bins)
    headings = [column.heading for column in columns]
    lines = results_lines(statistics, columns)
    rows = [["–" if line.load is None else f"{line.load:g}", line.label, *line.cells] for line in lines]
    page.table(["load", "scheme", *headings], rows, text_columns=2)
    seeds = int(statistics["seeds"].max() or 0)  # type: ignore[arg-type]
    page.text(
        f"± is half a 95 % confidence interval over {seeds} seeds (Student's t)."
        if seeds > 1
        else "One seed, so there are no confidence intervals: set run.seeds to have them.",
        note=True,
    )


def _fairness(page: Page, statistics: pl.DataFrame) -> None:
    page.heading("Completion times and fairness")
    columns = [
        (Column(ALL_SIZES, "fct_ns", "mean"), "mean FCT,\nns"),
        (Column(ALL_SIZES, "fct_ns", "cv"), "its\nvariation"),
        (Column(ALL_SIZES, "slowdown", "cv"), "slowdown's\nvariation"),
        (Column(ALL_SIZES, "server_share", "jain"), "Jain's index\nof servers"),
    ]
    lines = results_lines(statistics, [column for column, _ in columns])
    rows = [["–" if line.load is None else f"{line.load:g}", line.label, *line.cells] for line in lines]
    page.table(["load", "scheme", *(heading for _, heading in columns)], rows, text_columns=2)
    page.text(
        "Variation: standard deviation over mean. Jain's index is of the servers' normalised throughput: what their "
        "flows got of the rate that each would have had alone.",
        note=True,
    )


def _central_control(page: Page, several: Sequence[Results]) -> None:
    """Where a central controller decided: how long packets waited, and what control took."""
    cases = [row for one in several for row in one.rows() if "control_reports" in row.counters]
    if not cases:
        return
    page.heading("Central control")
    columns = [
        ("at servers:\nmean, us", "server_latency_mean_ns", 1e3),
        ("at servers:\np99, us", "server_latency_p99_ns", 1e3),
        ("in the network:\nmean, us", "network_latency_mean_ns", 1e3),
        ("in the network:\np99, us", "network_latency_p99_ns", 1e3),
        ("reports,\nMB/s", "control_report_bytes_per_s", 1e6),
        ("grants,\nMB/s", "control_grant_bytes_per_s", 1e6),
    ]
    _counters(page, cases, columns)
    page.text("How long packets waited at their server, and then took through the network; control traffic.", note=True)


def _reorder_queues(page: Page, several: Sequence[Results]) -> None:
    """Where switches put packets back into order: how often flows moved, and what had to wait."""
    cases = [row for one in several for row in one.rows() if "conweave_probes" in row.counters]
    if not cases:
        return
    page.heading("ConWeave's switches")
    columns = [
        ("probes", "conweave_probes", 1.0),
        ("late", "conweave_tails", 1.0),
        ("reroutes", "conweave_reroutes", 1.0),
        ("packets\nheld", "conweave_held_packets", 1.0),
        ("flushes", "conweave_flushes", 1.0),
        ("of these\nforced", "conweave_forced_flushes", 1.0),
        ("most queues\nof a port", "conweave_max_queues", 1.0),
        ("most held by\na switch, KB", "conweave_max_held_bytes", 1e3),
    ]
    _counters(page, cases, columns)
    page.text(
        "Flows move when the answer to a probe is late. What then overtakes waits in a queue of its flow's until the "
        "last packet by the old path has come, or, at a forced flush, should have.",
        note=True,
    )


def _counters(page: Page, cases: Sequence[CaseRow], columns: Sequence[tuple[str, str, float]]) -> None:
    """A line per case; of each column the heading, the counter, and what of it is one."""
    rows = [
        [
            "–" if row.load is None else f"{row.load:g}",
            row.label,
            "–" if row.seed is None else str(row.seed),
            *(significant(row.counters[name] / scale, 3) for _, name, scale in columns),
        ]
        for row in cases
    ]
    page.table(["load", "scheme", "seed", *(heading for heading, _, _ in columns)], rows, text_columns=2)


def _figures(page: Page, several: Sequence[Results]) -> None:
    """Every figure that the results hold the numbers of; and why not, for the others."""
    page.heading("Figures")
    missing = []
    with page.group():
        page.place("controls", "controls")
        for figure in FIGURES.values():
            try:
                chart = figure.of(several)
            except PacketloomError as problem:
                missing.append(f"{figure.title}: {problem}")
                continue
            page.heading(figure.title)
            page.text(figure.shows, note=True)
            page.chart(chart.to_json())
    if missing:
        page.folded("Figures that these results have no numbers for", "\n".join(missing))
    short, looks = curves.without_fan_in(several), curves.styles(several)
    schemes = [
        {"label": label, "without_fan_in": short[label], "look": look_json(look)} for label, look in looks.items()
    ]
    page.give(schemes=schemes, loads=curves.loads(several))


def _fabric(page: Page, several: Sequence[Results]) -> None:
    fabric = fabric_view(several)
    if not fabric:
        return
    page.heading("The fabric")
    page.text(
        "Each half of a line is the direction that begins at its end. Over time, a frame's utilisation is its mean, "
        "its queue the largest sample, and paused the share of it for which a class was kept from sending; without "
        "samples (series_interval in [measure]) it is the whole run's.",
        note=True,
    )
    if fabric["left_out"]:
        page.text(f"{fabric['left_out']} further cases do not fit on this page.", note=True)
    page.place("fabric", "fabric")
    page.give(fabric=fabric)


def _waiting_flows(page: Page, several: Sequence[Results]) -> None:
    """Flows that waited behind pauses: how many of each case, and the innocent ones that waited longest."""
    try:
        flows = innocent_flows(several)
    except PacketloomError:
        return
    page.heading("Flows that waited behind pauses")
    innocent = pl.col("innocent")
    by_case = flows.group_by("label", "load", "seed", maintain_order=True).agg(
        pl.len().alias("flows"),
        innocent.sum().alias("innocent"),
        (pl.col("waited_ns").filter(innocent).sum() / 1e6).alias("waited_ms"),
    )
    rows = [
        [
            case["label"],
            *(_known(case[name]) for name in ("load", "seed")),
            *(f"{case[name]:,}" for name in ("flows", "innocent")),
            significant(case["waited_ms"], 3),
        ]
        for case in by_case.iter_rows(named=True)
    ]
    page.table(["scheme", "load", "seed", "flows that\nwaited", "innocent", "these waited,\nms together"], rows)
    page.text(
        "A flow waited if a port that all its shortest paths share, such as its host's, was paused in its class while "
        "it was under way; it is innocent if meanwhile no pause began at a port on any of its shortest paths, nor at "
        "the host that it goes to.",
        note=True,
    )
    worst = flows.filter("innocent").sort("waited_ns", descending=True).head(INNOCENT_SHOWN)
    header = [
        "scheme",
        "flow",
        "behind",
        "where that began",
        "passed on by",
        "bytes",
        "waited, ms",
        "FCT, ms",
        "slowdown",
    ]
    lines = [
        [
            flow["label"],
            f"{flow['flow_id']}: host{flow['src']} to host{flow['dst']}",
            flow["port"],
            flow["origin"],
            *(f"{flow[name]:,}" for name in ("passed_on", "size_bytes")),
            *(_in_ms(flow[name]) for name in ("waited_ns", "fct_ns")),
            "–" if np.isnan(flow["slowdown"]) else significant(flow["slowdown"], 3),
        ]
        for flow in worst.iter_rows(named=True)
    ]
    if lines:
        page.table(header, lines, text_columns=4)


def _in_ms(time_ns: float) -> str:
    return "–" if np.isnan(time_ns) else significant(time_ns / 1e6, 3)


def _known(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _cases(page: Page, several: Sequence[Results]) -> None:
    page.heading("Cases")
    rows = [
        [
            row.label,
            "–" if row.load is None else f"{row.load:g}",
            "–" if row.seed is None else str(row.seed),
            significant(row.counters.get("packet_hops", 0) / 1e6, 3),
            f"{row.counters.get('drops', 0):,}",
            f"{row.counters.get('cpu_s', 0.0):.1f}",
            row.fingerprint,
        ]
        for one in several
        for row in one.rows()
    ]
    header = ["scheme", "load", "seed", "million packet-hops", "drops", "CPU s", "fingerprint"]
    page.table(header, rows)
