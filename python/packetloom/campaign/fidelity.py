"""What the rungs below packets cost in accuracy, and what they save, on a shortened version of a scenario.

Every case is run packet by packet and by each estimate, with the same flows. The error of a statistic is that of the
estimate over that of packets, less one, within each seed; its interval is over seeds, like every interval here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from packetloom.campaign.forecast import RUNGS
from packetloom.campaign.job_fidelity import has_jobs, job_errors, job_fidelity_plan, print_job_fidelity
from packetloom.campaign.progress import Reporter, SilentReporter, reporter_asked
from packetloom.campaign.runner import run_plan
from packetloom.common import arguments
from packetloom.common.columns import numbers_of
from packetloom.common.files import write_json
from packetloom.common.percentiles import p99
from packetloom.common.warned import warn
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.override_texts import Overrides, texts
from packetloom.scenario.plan import Plan, ScenarioSource, plan_from_text, read_plan
from packetloom.stats.estimates import AXIS, FILE, PACKETS, STATISTICS, beside_packets, percent_text
from packetloom.stats.job_figures import FIGURES, job_figures
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin
from packetloom.store.case_rows import label_of
from packetloom.store.results import Results

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from packetloom.scenario.plan import Parameter
    from packetloom.store.case_rows import CaseRow

SEEDS = 3
MOST_FLOWS = 60_000
FEWEST_FLOWS = 2_000
INSTEAD = {
    "run.seeds": "give --seeds (from Python: seeds)",
    "run.flows": "give --flows (from Python: flows)",
    "run.fidelity": "leave it out, each estimate that holds is measured",
    "run.warm_up": "leave it out, all flows count",
    "run.cool_down": "leave it out, all flows count",
    "run.precision": "leave it out, --seeds says how many there are",
    "measure": "leave it out, nothing is recorded beside flows",
}
"""The keys that are replaced here, whatever a scenario has, and what to do instead of setting them."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A scheme that a rung does not hold for."""

    scheme: str
    rung: str
    why: str

    def __str__(self) -> str:
        return f"{self.scheme}: no {self.rung}: {self.why}"


def fidelity_plan(
    source: ScenarioSource, *, flows: int | None = None, seeds: int = SEEDS, overrides: Overrides = ()
) -> tuple[Plan, list[Refusal]]:
    """The shortened scenario on all rungs that hold for it, and for which schemes a rung does not.

    Without `flows` there are so many that all cases together have about 60,000, which web search takes about a minute
    for. Nothing is recorded beside flows, and all flows count. Schemes are compared on the same rungs: one that
    "links" does not hold for is left out, unless it holds for none.
    """
    seeds = arguments.whole("seeds", seeds, 1, 1_000)
    settings = texts(overrides)
    _refuse_what_is_replaced(settings)
    whole = read_plan(source, settings)
    document = json.loads(whole.text) if whole.format == "json" else tomllib.loads(whole.text)
    document.pop("measure", None)
    run = document.setdefault("run", {})
    run.pop("precision", None)
    run |= {"seeds": seeds, "warm_up": "0us", "cool_down": "0us", "fidelity": PACKETS}
    schemes = document["scheme"] if isinstance(document["scheme"], list) else [document["scheme"]]
    if flows is None:
        points = len(_plan_of(whole, document).cases) // seeds
        flows = max(FEWEST_FLOWS, MOST_FLOWS // max(1, points * seeds))
    run["flows"] = arguments.whole("flows", flows, 1, 1_000_000_000)
    refusals = [
        Refusal(str(scheme["name"]), rung, why)
        for scheme in schemes
        for rung in RUNGS
        if (why := _refused(whole, document | {"scheme": [scheme], "run": run | {"fidelity": rung}}))
    ]
    refused = {(refusal.scheme, refusal.rung) for refusal in refusals}
    held = {rung: [one for one in schemes if (str(one["name"]), rung) not in refused] for rung in RUNGS}
    least = next((rung for rung in RUNGS if held[rung]), None)
    if least is None:
        reasons = "; ".join(dict.fromkeys(refusal.why for refusal in refusals))
        raise PacketloomError(f"no estimate holds for any scheme of this scenario: {reasons}")
    document["scheme"] = held[least]
    rungs = [rung for rung in RUNGS if all(one in held[rung] for one in held[least])]
    run["fidelity"] = [PACKETS, *rungs]
    return _plan_of(whole, document), refusals


@dataclass(frozen=True, slots=True)
class Asked:
    """What is run to measure estimates."""

    plan: Plan
    refusals: tuple[str, ...]
    smaller: tuple[str, ...] = ()
    """Where jobs are compared, what was made smaller;"""
    axes: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """and of axes which value stands for which."""


def planned(
    source: ScenarioSource, *, flows: int | None = None, seeds: int = SEEDS, overrides: Overrides = ()
) -> Asked:
    """The shortened scenario on all rungs that hold for it: with fewer flows, or with smaller jobs if it has some."""
    settings = texts(overrides)
    _refuse_what_is_replaced(settings)
    whole = read_plan(source, settings)
    if not has_jobs(whole):
        plan, refusals = fidelity_plan(source, flows=flows, seeds=seeds, overrides=overrides)
        return Asked(plan, tuple(map(str, refusals)))
    if flows is not None:
        raise PacketloomError("the scenario has jobs, which are made smaller by themselves; leave --flows out")
    plan, refused, made = job_fidelity_plan(whole, arguments.whole("seeds", seeds, 1, 1_000))
    return Asked(plan, tuple(map(str, refused)), made.told, made.axes)


def measured(results: Results, axes: Mapping[str, Mapping[int, int]] | None = None) -> pl.DataFrame:
    """The errors of flows, or of jobs where there are some."""
    if any(figures for _, figures in job_figures(results)):
        return job_errors(results, axes)
    return fidelity_errors(results)


def printed(errors: pl.DataFrame, smaller: Sequence[str] = ()) -> None:
    """The outcome in the terminal."""
    if set(errors["statistic"]) <= set(FIGURES):
        print_job_fidelity(errors, smaller)
    else:
        print_fidelity(errors)


def _refuse_what_is_replaced(overrides: Sequence[str]) -> None:
    for setting in overrides:
        key = ".".join(part.strip() for part in setting.partition("=")[0].split("."))
        for replaced, instead in INSTEAD.items():
            if key == replaced or key.startswith(f"{replaced}."):
                raise PacketloomError(f"--set {setting}: fidelity sets {replaced} itself; {instead}")


def _plan_of(whole: Plan, document: Mapping[str, Any]) -> Plan:
    return plan_from_text(json.dumps(document, indent=2), "json", whole.origin, ())


def _refused(whole: Plan, document: Mapping[str, Any]) -> str:
    """Why a rung does not hold for the schemes of a scenario; nothing if it does."""
    try:
        _plan_of(whole, document)
    except ScenarioError as error:
        return str(error)
    return ""


def rung_of(parameters: Mapping[str, Parameter]) -> str:
    """The rung among a case's parameters."""
    return str(parameters.get(AXIS) or PACKETS)


def run_fidelity(
    plan: Plan,
    output: Path,
    *,
    workers: int | None = None,
    reporter: Reporter | None = None,
    cache: bool = True,
    keep_older: bool = False,
    axes: Mapping[str, Mapping[int, int]] | None = None,
) -> Results:
    """Runs what is compared, and writes what was found into the folder."""
    reporter = reporter or SilentReporter()
    results = run_plan(plan, output, workers, reporter, cache=cache, keep_older=keep_older)
    write_json(output / FILE, measured(results, axes).to_dicts(), "what was found")
    return results


def fidelity(
    scenario: ScenarioSource,
    output: str | Path | None = None,
    *,
    flows: int | None = None,
    seeds: int = SEEDS,
    workers: int | None = None,
    overrides: Overrides = (),
    progress: bool = True,
) -> pl.DataFrame:
    """Measures what estimates cost in accuracy and save in time, on a shortened version of a scenario.

    Jobs are made smaller: their rows have what of them (`bin`) and which figure (`statistic`) was compared. The columns
    are those of `packetloom fidelity`'s fidelity.json (docs/fidelity.md): a row per scheme, load, rung, size bin and
    statistic of the slowdown. Without `output` the results are not kept. `PacketloomError` where no rung holds for any
    scheme. A `ScenarioWarning` names the schemes for which one does not hold, and what was made smaller; schemes for
    which no rung holds are left out.

    Examples:
        >>> found = packetloom.fidelity(scenario, flows=100, seeds=1, progress=False)
        >>> sorted(found["scheme"].unique())
        ['DCTCP', 'TCP']
    """
    asked = planned(scenario, flows=flows, seeds=seeds, overrides=overrides)
    plan = asked.plan
    warn([*plan.warnings, *asked.refusals, *(f"made smaller: {one}" for one in asked.smaller)])
    given = None if output is None else arguments.path("output", output)
    reporter, limit = reporter_asked(progress), arguments.workers(workers)
    with arguments.folder_for_now(given) as folder:
        return measured(run_fidelity(plan, folder, workers=limit, reporter=reporter, axes=asked.axes), asked.axes)


def fidelity_errors(results: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """A row per scheme (with the values of other axes), load, rung, size bin and statistic of the slowdown.

    `packets` and `estimate`: its means over seeds; `error`: the mean over seeds of the one over the other, less 1, with
    its 95 % interval `low` to `high` (null with one seed); `speed_up`: how often the CPU time of the estimate goes into
    that of packets; `seeds`; `flows`: those of packets in the bin.
    """
    values = [
        value for row, table in results.partitions("flows", _COLUMNS) for value in _statistics_of(row, table, bins)
    ]
    if not values:
        raise PacketloomError(f"{results.path}: no case is finished, so there is nothing to compare")
    return beside_packets(results, values)


_COLUMNS = ("size_bytes", "slowdown", "measured")


def _statistics_of(row: CaseRow, table: pa.Table, bins: Sequence[SizeBin]) -> Iterable[dict[str, Any]]:
    columns = {name: numbers_of(table[name].combine_chunks()).astype(float) for name in _COLUMNS}
    counts = (columns["measured"] == 1) & ~np.isnan(columns["slowdown"])
    size, slowdown = columns["size_bytes"][counts], columns["slowdown"][counts]
    others = {name: value for name, value in row.parameters.items() if name != AXIS}
    about = {
        "scheme": label_of(others),
        "load": row.load,
        "seed": row.seed,
        "rung": rung_of(row.parameters),
        "cpu_s": float(row.counters["cpu_s"]),
    }
    inside = [(bin.label, (size > bin.above_bytes) & (size <= bin.up_to_bytes)) for bin in bins]
    for label, chosen in [(ALL_SIZES, np.ones(len(size), dtype=bool)), *inside]:
        of_bin = slowdown[chosen]
        if len(of_bin):
            for statistic, value in (("mean", of_bin.mean()), ("p99", p99(of_bin))):
                yield {**about, "bin": label, "statistic": statistic, "value": float(value), "flows": len(of_bin)}


def print_fidelity(errors: pl.DataFrame) -> None:
    """The outcome in the terminal; intervals where they fit."""
    from packetloom.common.terminal import console

    out = console()
    loads = errors["load"].unique(maintain_order=True).to_list()
    for intervals in (True, False):
        tables = [_table(errors, load, intervals=intervals) for load in loads]
        wide = out.options.update(max_width=1000)
        if all(out.measure(table, options=wide).maximum <= out.width for table in tables):
            break
    for table in tables:
        out.print(table)
    seeds = int(errors["seeds"].max() or 0)  # type: ignore[arg-type]
    out.print("error = the estimate's statistic over that of packets, less 1", style="dim")
    if seeds < 2:
        out.print("one seed: no confidence intervals", style="dim")
    elif intervals:
        out.print(f"± 95 % confidence over {seeds} seeds", style="dim")
    else:
        out.print(f"mean over {seeds} seeds (95 % confidence intervals: with --json, or a wider terminal)", style="dim")


def _table(errors: pl.DataFrame, load: float | None, *, intervals: bool) -> Table:
    from rich import box
    from rich.table import Table

    title = "Error of the slowdown in %" + ("" if load is None else f" at load {load:g}")
    table = Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("\n\nscheme", min_width=9, overflow="fold")
    table.add_column("\n\nrung", no_wrap=True)
    bins = errors["bin"].unique(maintain_order=True).to_list()
    for bin in bins:
        over = "all\nflows" if bin == ALL_SIZES else bin.replace(", ", ",\n")
        table.add_column(f"{over}\nmean", justify="right", no_wrap=True)
        table.add_column("\n\np99", justify="right", no_wrap=True)
    table.add_column("times\nless\nCPU", justify="right", no_wrap=True)
    of_load = errors.filter(pl.col("load").eq_missing(pl.lit(load, pl.Float64)))
    for cells in _lines(of_load, bins, intervals=intervals):
        table.add_row(*cells)
    return table


def _lines(errors: pl.DataFrame, bins: Sequence[str], *, intervals: bool) -> list[list[str]]:
    """A line per scheme and rung: errors by size and statistic, then how many times less CPU it took."""
    lines: dict[tuple[str, str], dict[tuple[str, str], dict[str, Any]]] = {}
    for row in errors.iter_rows(named=True):
        lines.setdefault((row["scheme"], row["rung"]), {})[row["bin"], row["statistic"]] = row
    cells = []
    for (scheme, rung), found in lines.items():
        of_bins = [found.get((bin, statistic)) for bin in bins for statistic in STATISTICS]
        texts = [
            "–" if one is None else percent_text(one["error"], one["low"] if intervals else None) for one in of_bins
        ]
        speed_up = next(iter(found.values()))["speed_up"]
        cells.append([scheme, rung, *texts, f"{speed_up:.3g}"])
    return cells
