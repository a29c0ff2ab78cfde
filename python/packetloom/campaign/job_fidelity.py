"""What the rungs below packets cost jobs in accuracy, and what they save: on a scenario whose jobs were made smaller.

Every case is run packet by packet and by each estimate. The error of a figure is that of the estimate over that of
packets, less one, within each seed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from packetloom import _core
from packetloom.campaign.forecast import ANSWERS
from packetloom.campaign.smaller_jobs import Smaller, jobs_of, smaller
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.plan import Plan, plan_from_text
from packetloom.stats.estimates import AXIS, PACKETS, beside_packets, percent_text, rung_name, rungs_of
from packetloom.stats.job_figures import FIGURES, job_figures
from packetloom.store.case_rows import label_of
from packetloom.store.results import Results

if TYPE_CHECKING:
    from rich.table import Table

JOB_RUNGS: tuple[Any, ...] = (
    "steady",
    "flows",
    {"kind": "flows", "collectives": "whole"},
    {"kind": "flows", "calibrate": True},
)
"""Estimates that hold for jobs."""
MOST_HOPS = 1e7
"""So many packet-hops of a case take some ten seconds."""


@dataclass(frozen=True, slots=True)
class JobRefusal:
    """A rung that does not hold for a scheme."""

    scheme: str
    rung: str
    why: str

    def __str__(self) -> str:
        return f"{self.scheme}: no {self.rung}: {self.why}"


@cache
def job_kinds() -> frozenset[str]:
    """The kinds of arrivals that are jobs: what their hosts take for messages is known."""
    components = json.loads(_core.registry())
    return frozenset(
        one["kind"]
        for one in components
        if one["section"] == "arrivals" and any(param["name"] == "send_cost" for param in one["params"])
    )


def has_jobs(plan: Plan) -> bool:
    """Whether a scenario has a job."""
    return bool(jobs_of(_document(plan), job_kinds()))


def _document(plan: Plan) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(plan.text) if plan.format == "json" else tomllib.loads(plan.text)
    return document


def job_fidelity_plan(whole: Plan, seeds: int) -> tuple[Plan, list[JobRefusal], Smaller]:
    """The scenario with smaller jobs on all rungs that hold for it, those that do not, and what was made smaller."""
    document = _document(whole)
    document.pop("measure", None)
    run = document.setdefault("run", {})
    for key in ("precision", "warm_up", "cool_down", "flows"):
        run.pop(key, None)
    run |= {"seeds": seeds, "fidelity": PACKETS}

    def plan_of(changed: Mapping[str, Any]) -> Plan:
        return plan_from_text(json.dumps(changed, indent=2), "json", whole.origin, ())

    def fits(changed: dict[str, Any]) -> bool:
        demands = [case.demand() for case in plan_of(changed).cases]
        return all(demand is not None and ANSWERS * demand[1] <= MOST_HOPS for demand in demands)

    made = smaller(document, job_kinds(), fits)
    document = made.document
    run = document["run"]
    schemes = document["scheme"] if isinstance(document["scheme"], list) else [document["scheme"]]
    refusals = []
    for scheme in schemes:
        for rung in JOB_RUNGS:
            try:
                plan_of(document | {"scheme": [scheme], "run": run | {"fidelity": rung}})
            except ScenarioError as error:
                refusals.append(JobRefusal(str(scheme["name"]), rung_name(rung), str(error)))
    refused = {refusal.rung for refusal in refusals}
    rungs = [rung for rung in JOB_RUNGS if rung_name(rung) not in refused]
    if not rungs:
        reasons = "; ".join(dict.fromkeys(refusal.why for refusal in refusals))
        raise PacketloomError(f"no estimate holds for all schemes of this scenario: {reasons}")
    run["fidelity"] = [PACKETS, *rungs]
    return plan_of(document), refusals, made


def job_errors(results: Results, axes: Mapping[str, Mapping[int, int]] | None = None) -> pl.DataFrame:
    """A row per scheme (with the values of other axes), load, rung, operation and figure.

    `bin` is "repetition", or a collective operation and its network; `statistic` is "time", "exposed communication" (a
    repetition's time beyond what its busiest rank computes) or "bus bandwidth". The other columns are those of
    `fidelity_errors`; `flows` is how many repetitions or operations packets had. `axes`: of each axis that was made
    smaller the value that each stands for, which the scheme is named by.
    """
    values = list(_values(results, axes or {}))
    if not values:
        raise PacketloomError(f"{results.path}: no repetition is finished, so there is nothing to compare")
    return beside_packets(results, values)


def _values(results: Results, axes: Mapping[str, Mapping[int, int]]) -> Iterator[dict[str, Any]]:
    """What the jobs of each case came to."""
    rungs = rungs_of(results)
    for row, figures in job_figures(results):
        others = {
            name: axes.get(name, {}).get(value, value) if isinstance(value, int) else value
            for name, value in row.parameters.items()
            if name != AXIS
        }
        about = {
            "scheme": label_of(others),
            "load": row.load,
            "seed": row.seed,
            "rung": rungs.get(row.case_id, PACKETS),
            "cpu_s": float(row.counters["cpu_s"]),
        }
        for one in figures:
            yield {**about, "bin": one.of, "statistic": one.name, "value": one.value, "flows": one.count}


def print_job_fidelity(errors: pl.DataFrame, told: Iterable[str]) -> None:
    """The outcome in the terminal."""
    from packetloom.common.terminal import console

    out = console()
    for line in told:
        out.print(f"made smaller: {line}", style="dim")
    for load in errors["load"].unique(maintain_order=True).to_list():
        out.print(_printed(errors, load))
    out.print("error = the estimate's figure over that of packets, less 1", style="dim")
    out.print("exposed = a repetition's time beyond what its busiest rank computes", style="dim")


def _printed(errors: pl.DataFrame, load: float | None) -> Table:
    from rich import box
    from rich.table import Table

    title = "Error of jobs in %" + ("" if load is None else f" at load {load:g}")
    table = Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("\nscheme", overflow="fold", min_width=8)
    table.add_column("\nrung", min_width=12)
    table.add_column("\nof", overflow="fold", min_width=10)
    for header in ("\ntime", "\nexposed", "bus\nbandwidth", "times\nless CPU"):
        table.add_column(header, justify="right", no_wrap=True)
    lines: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in errors.filter(pl.col("load").eq_missing(pl.lit(load, pl.Float64))).iter_rows(named=True):
        lines.setdefault((row["scheme"], row["rung"], row["bin"]), {})[row["statistic"]] = row
    for keys, found in lines.items():
        cells = [percent_text(one["error"], one["low"]) if (one := found.get(name)) else "–" for name in FIGURES]
        table.add_row(*keys, *cells, f"{next(iter(found.values()))['speed_up']:.3g}")
    return table
