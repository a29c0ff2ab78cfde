"""The report: one HTML page that says what came out, with the figures and tables of one or several results folders."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from packetloom import _core
from packetloom.common import arguments
from packetloom.common.build import build_text, builds_text, this_build
from packetloom.common.quantities import said, significant, size_said
from packetloom.errors import PacketloomError
from packetloom.pages import sentences
from packetloom.pages.case_warnings import warnings_said
from packetloom.pages.confounders_table import write_footing
from packetloom.pages.fabric_view import fabric_view
from packetloom.pages.figures import FIGURES
from packetloom.pages.first_screen import looks_of, write_answer, write_comparisons
from packetloom.pages.grid_costs_chart import write_along
from packetloom.pages.html import Cell, Page
from packetloom.pages.measures import competitors, question_of
from packetloom.pages.panels import look_json
from packetloom.pages.ranking import Answer
from packetloom.pages.requests import write_requests
from packetloom.pages.results_table import Column, best_cells, marks, results_columns, results_lines
from packetloom.pages.setup import setting_text
from packetloom.pages.steadiness_section import write_steadiness
from packetloom.pages.waits import write_waits
from packetloom.scenario import confounders
from packetloom.scenario.facts import slow_alone_as_stored
from packetloom.scenario.run_lengths import extended_said
from packetloom.stats import curves
from packetloom.stats.estimates import Errors, estimate_lines, estimated_by, job_estimate_lines, measured_errors
from packetloom.stats.pauses import innocent_flows
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin, check_bins
from packetloom.store.case_rows import CaseRow, builds_of
from packetloom.store.results import Results, Snapshot

INNOCENT_SHOWN = 20
BEST = "Bold: the best of its column at its load."


def report(
    results: curves.SomeResults,
    output: str | Path,
    *,
    bins: Sequence[SizeBin] = DEFAULT_BINS,
    errors: str | Path | None = None,
) -> Path:
    """Writes the page that `packetloom report` writes, and gives its path.

    `results` is one folder's results, or a list of several that are to be compared; `bins` are the sizes of flows that
    tables have (`size_bins`, in bytes); `errors` is the file in which `packetloom fidelity` has left what it found.
    `ArgumentError` for an argument of another type; `PacketloomError` for a file that cannot be read or written.

    Example:
        >>> page = packetloom.report(results, folder / "page.html", bins=packetloom.size_bins(100e3))
        >>> page.read_text().startswith("<!DOCTYPE html>")
        True
    """
    several, page = curves.as_list(results), arguments.path("output", output)
    check_bins(bins)
    file = None if errors is None else arguments.path("errors", errors)
    report_page(several, bins, file).write(page)
    return page


def report_page(several: Sequence[Results], bins: Sequence[SizeBin] = DEFAULT_BINS, errors: Path | None = None) -> Page:
    """The page. A folder without a finished case is no mistake: the page says so."""
    several = [Snapshot(one) for one in several]
    page = Page(" and ".join(dict.fromkeys(one.name for one in several)))
    finished = [one for one in several if one.rows()]
    question = question_of(finished, bins) if finished else None
    if finished:
        statistics, measured = curves.all_summaries(finished, bins), measured_errors(finished, errors)
        if question:
            answer = Answer(question)
            write_answer(page, answer, setting_text(finished, question.flows), looks_of(question, finished))
            write_comparisons(page, answer)
            write_steadiness(page, question)
        write_footing(page, finished)
        if statistics.filter(pl.col("metric") == "slowdown").is_empty():
            page.text("No measured flow has finished, so there are no completion times to show.")
        if question and question.kind != "search":
            write_along(page, finished, FIGURES["along"])
        _figures(page, finished, bins, measured)
        write_requests(page, finished)
        write_waits(page, finished)
        if not statistics.is_empty():
            references = question.references if question else frozenset()
            _summary_table(page, statistics, bins, references, finished)
            _fairness(page, statistics, references)
        _estimates(page, finished, statistics, measured)
        _fabric(page, finished)
        _waiting_flows(page, finished)
        _central_control(page, finished)
        _reorder_queues(page, finished)
        _cases(page, finished)
    page.heading("What was run")
    _made_by(page, several)
    for one in several:
        page.folded(f"The scenario of {one.name}", one.scenario_text)
    top = Page("")
    _opening(top, several)  # last, because it reports what was found damaged on the way
    page.put_first(top)
    return page


def _opening(page: Page, several: Sequence[Results]) -> None:
    """What is missing or damaged stands before all else."""
    for one in several:
        planned, finished = len(one.plan_lines()), len(one.rows())
        if finished < planned:
            page.text(f"{one.name}: {finished} of {planned} cases finished")
        if note := one.build_note():
            page.text(f"{one.name}: {note}. This page was made by {_here()}.")
    if not any(one.rows() for one in several):
        page.text("No case is finished yet, so there is nothing to show.")
    foreign = [
        thing for one in several for thing in confounders.unequal_as_stored(one.plan_lines()) if thing.is_foreign
    ]
    warnings = [
        *(confounders.warning(thing) for thing in foreign),
        *(line for one in several for line in slow_alone_as_stored(one.plan_lines())),
        *(line for one in several for line in warnings_said(one.rows())),
    ]
    page.list([*(f"passed over: {problem}" for one in several for problem in one.problems), *dict.fromkeys(warnings)])


def _made_by(page: Page, several: Sequence[Results]) -> None:
    for one in several:
        planned, rows = len(one.plan_lines()), one.rows()
        by = f", by {builds_text(builds_of(rows))}" if rows else ""
        page.text(f"{one.name}: {len(rows)} of {planned} cases finished{by}")
        if longer := extended_said(one.plan_lines()):
            page.text(longer)
    page.text(
        "Slowdown is a flow's completion time over that of the same flow alone on an empty network. "
        f"This page was made by {_here()}.",
        note=True,
    )


def _here() -> str:
    return build_text(_core.version(), this_build().digest)


def _summary_table(
    page: Page,
    statistics: pl.DataFrame,
    bins: Sequence[SizeBin],
    references: Collection[str],
    several: Sequence[Results],
) -> None:
    columns = results_columns(statistics, bins)
    parts = [part for part, is_there in _table_parts(statistics, columns) if is_there]
    has_any = (statistics["metric"] == "slowdown").any()
    what = "slowdown" if has_any else "unfinished flows"
    page.heading(f"Table of {what}" + (f" by {' and '.join(parts)}" if parts else ""))
    holds = _most_unfinished(statistics, several)
    _by_load(page, statistics, [(column, column.heading) for column in columns], references, holds)
    seeds = int(statistics["seeds"].max() or 0)  # type: ignore[arg-type]
    spread = (
        f"± is half a 95 % confidence interval over {seeds} seeds (Student's t)."
        if seeds > 1
        else "One seed, so there are no confidence intervals: set run.seeds to have them."
    )
    said = marks(results_lines(statistics, columns))
    page.text(" ".join(part for part in (spread, said and f"{said}.", BEST) if part), note=True)


def _most_unfinished(
    statistics: pl.DataFrame, several: Sequence[Results]
) -> dict[tuple[float | None, str], sentences.Row]:
    """By load and label, the lines in which schemes left the largest share of their flows: a sentence says that."""
    left = statistics.filter(pl.col("metric") == "unfinished", pl.col("bin") == ALL_SIZES, pl.col("value") > 0).sort(
        "value", descending=True, maintain_order=True
    )
    entities = competitors(several)
    found: dict[str, tuple[float | None, str]] = {}
    for load, label in left.select("load", "label").iter_rows():
        found.setdefault(entities[label]["entity"], (load, label))
    return {line: sentences.unfinished_row(entity) for entity, line in found.items()}


def _estimates(page: Page, several: Sequence[Results], statistics: pl.DataFrame, errors: Errors) -> None:
    """Where flows' times were estimated: by which rung, and what packets would be, as far as the error was measured."""
    estimated = estimated_by(several)
    if not estimated:
        return
    page.heading("Estimates")
    if not statistics.is_empty() and (lines := estimate_lines(statistics, estimated, errors)):
        page.table(
            ["load", "scheme", "rung", "flow size", "statistic", "estimate", "error, %", "packets would be"],
            lines,
            text_columns=5,
        )
    if lines := job_estimate_lines(several, estimated, errors):
        page.table(
            ["scheme", "rung", "of jobs", "figure", "estimate", "error, %", "packets would be"], lines, text_columns=4
        )
    page.text(
        "These figures are estimates; the cases were not run packet by packet. The error is what `packetloom "
        "fidelity` measured on a shortened version of a scenario, at the load that is nearest; the band is the "
        "estimate without it, over the 95 % interval of the error. A dash: no error was measured; `packetloom "
        "fidelity SCENARIO` does.",
        note=True,
    )


def _table_parts(statistics: pl.DataFrame, columns: Sequence[Column]) -> Iterator[tuple[str, bool]]:
    yield "load", statistics["load"].is_not_null().any()
    yield "flow size", len({column.bin for column in columns}) > 1


def _by_load(
    page: Page,
    statistics: pl.DataFrame,
    columns: Sequence[tuple[Column, str]],
    references: Collection[str],
    holds: Mapping[tuple[float | None, str], sentences.Row] | None = None,
) -> None:
    """A line per load and scheme, the best of each column at each load marked."""
    only = [column for column, _ in columns]
    lines = results_lines(statistics, only)
    best = best_cells(lines, only, references)
    has_load = any(line.load is not None for line in lines)
    rows: list[list[str | Cell]] = [
        [
            *(["–" if line.load is None else f"{line.load:g}"] if has_load else []),
            line.label,
            *(Cell(text, (place, at) in best) for at, text in enumerate(line.cells)),
        ]
        for place, line in enumerate(lines)
    ]
    first = ["load", "scheme"] if has_load else ["scheme"]
    header = [*first, *(heading for _, heading in columns)]
    held = [holds.get((line.load, line.label)) for line in lines] if holds else []
    page.table(header, rows, text_columns=len(first), holds=held)


def _fairness(page: Page, statistics: pl.DataFrame, references: Collection[str]) -> None:
    page.heading("Completion times and fairness")
    columns = [
        (Column(ALL_SIZES, "fct_ns", "mean"), "mean FCT"),
        (Column(ALL_SIZES, "fct_ns", "cv"), "its\nvariation"),
        (Column(ALL_SIZES, "slowdown", "cv"), "slowdown's\nvariation"),
        (Column(ALL_SIZES, "server_share", "jain"), "Jain's index\nof servers"),
    ]
    _by_load(page, statistics, columns, references)
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


def _figures(page: Page, several: Sequence[Results], bins: Sequence[SizeBin], errors: Errors) -> None:
    """Every figure that the results hold the numbers of; and why not, for the others."""
    page.heading("Figures")
    missing = []
    with page.group("figures"):
        for figure in FIGURES.values():
            if figure.own is not None:  # in a section of its own
                continue
            try:
                chart = figure.of(several, errors).to_json()
            except PacketloomError as problem:
                missing.append(f"{figure.title}: {problem}")
                continue
            page.chart(chart, heading=chart["title"], note=chart["shows"])
    if missing:
        page.folded("Figures that these results have no numbers for", "\n".join(missing))
    short, looks = curves.without_fan_in(several), curves.styles(several)
    competes = competitors(several)
    schemes = [
        {"label": label, "without_fan_in": short[label], "look": look_json(look)} | competes[label]
        for label, look in looks.items()
    ]
    sizes = [{"label": ALL_SIZES, "text": "all flows"}, *({"label": one.label, "text": one.said} for one in bins)]
    page.give(schemes=schemes, loads=curves.loads(several), sizes=sizes)


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
        pl.col("waited_ns").filter(innocent).sum(),
    )
    rows = [
        [
            case["label"],
            *(_known(case[name]) for name in ("load", "seed")),
            *(f"{case[name]:,}" for name in ("flows", "innocent")),
            said(case["waited_ns"], "ns"),
        ]
        for case in by_case.iter_rows(named=True)
    ]
    page.table(["scheme", "load", "seed", "flows that\nwaited", "innocent", "these waited,\ntogether"], rows)
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
        "size",
        "waited",
        "FCT",
        "slowdown",
    ]
    lines = [
        [
            flow["label"],
            f"{flow['flow_id']}: host{flow['src']} to host{flow['dst']}",
            flow["port"],
            flow["origin"],
            str(flow["passed_on"]),
            size_said(flow["size_bytes"]),
            *(_time(flow[name]) for name in ("waited_ns", "fct_ns")),
            "–" if np.isnan(flow["slowdown"]) else significant(flow["slowdown"], 3),
        ]
        for flow in worst.iter_rows(named=True)
    ]
    if lines:
        page.table(header, lines, text_columns=4)


def _time(time_ns: float) -> str:
    return "–" if np.isnan(time_ns) else said(time_ns, "ns")


def _known(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _cases(page: Page, several: Sequence[Results]) -> None:
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
    page.heading("Cases")
    header = ["scheme", "load", "seed", "million packet-hops", "drops", "CPU s", "fingerprint"]
    with page.fold(f"{len(rows)} cases, with their fingerprints"):
        page.table(header, rows)
