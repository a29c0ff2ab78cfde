"""`packetloom combine`: results folders of one scenario, of its shards or of other seeds, made into one."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from packetloom.campaign.schedule import Schedule
from packetloom.campaign.steady_cases import steadiness_of
from packetloom.common.build import build_text, this_build
from packetloom.common.files import DamageError, explain_os_error
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import Plan, plan_from_text
from packetloom.scenario.run_lengths import planned
from packetloom.store.case_files import CaseFiles
from packetloom.store.case_rows import CaseRow, read_rows
from packetloom.store.results import Results
from packetloom.store.stored_plan import stored_plan
from packetloom.store.writer import ResultsFolder

SETTLE_EVERY = 500


def combine(folders: Sequence[Path], output: Path) -> tuple[Results, int]:
    """Puts all finished cases of `folders` into `output`, and says how many cases are still missing.

    The folders must be of the same scenario, but for its seeds; otherwise nothing is written.
    """
    plan = _common_plan(folders)
    found = _rows_of(folders)
    with ResultsFolder(output, plan, keep_older=True) as target:
        _agree({row.case_id: (row, output) for row in target.rows.values()}, found)
        try:
            _take_over(plan, found, target)
        except OSError as error:
            raise explain_os_error(error, f"{output}: cannot write results there") from None
        missing = Schedule(plan, None, target.rows, steadiness_of(target.files))
        target.remove(missing.superseded())
        target.write_index()
    return Results(output), missing.waiting


Found = dict[str, tuple[CaseRow, Path]]


def _common_plan(folders: Sequence[Path]) -> Plan:
    first, *others = folders
    plan = stored_plan(first, to_run=False)
    plans = {first: plan} | {other: stored_plan(other, to_run=False) for other in others}
    different = next((place for place, theirs in plans.items() if _ids(theirs) != _ids(plan)), None)
    if different is None:
        _agree_on_precision(plans)
        return plan
    with_all = _with_seeds_of(list(plans.values()))
    if with_all and _ids(with_all) == set().union(*map(_ids, plans.values())):
        return with_all
    apart = len(_ids(plan) ^ _ids(plans[different]))
    raise PacketloomError(
        f"{first} and {different} hold the results of different scenarios: {apart} cases are in only one of "
        f"them ({_origin(plan)}; {_origin(plans[different])}). Combine shards of the same scenario, or runs of it that "
        "differ in run.seeds alone; nothing was written"
    )


def _agree_on_precision(plans: Mapping[Path, Plan]) -> None:
    (first, plan), *others = plans.items()
    for other, theirs in others:
        if theirs.precision != plan.precision:
            raise PacketloomError(
                f"{first} and {other} were run to different precisions (run.precision); nothing was written"
            )


def _ids(plan: Plan) -> set[str]:
    return {case.id for case in plan.cases}


def _with_seeds_of(plans: Sequence[Plan]) -> Plan | None:
    """The scenario of these plans with all of their seeds, if they differ in nothing else."""
    first = plans[0]
    if first.precision or any(_but_seeds(plan) != _but_seeds(first) for plan in plans):
        return None
    if first.is_driven:
        cases = {case.id: case for plan in plans for case in plan.cases}
        return replace(first, cases=tuple(sorted(cases.values(), key=lambda case: int(str(case.parameters["seed"])))))
    seeds = sorted({int(str(case.parameters["seed"])) for plan in plans for case in plan.cases})
    setting = f"run.seeds={seeds}"
    plan = plan_from_text(first.text, first.format, first.origin, [setting])
    kept = [one for one in first.overrides if not one.startswith("run.seeds=")]
    return replace(plan, overrides=(*kept, setting))


def _but_seeds(plan: Plan) -> dict[str, Any]:
    scenario: dict[str, Any] = json.loads(plan.text) if plan.format == "json" else tomllib.loads(plan.text)
    run = {key: value for key, value in scenario.get("run", {}).items() if key != "seeds"}
    return scenario | {"run": run}


def _origin(plan: Plan) -> str:
    settings = "".join(f" --set {setting}" for setting in plan.overrides)
    return f"{plan.origin or 'a scenario in Python'}{settings}"


def _rows_of(folders: Sequence[Path]) -> Found:
    found: Found = {}
    for folder in folders:
        theirs: Found = {row.case_id: (row, folder) for row in _whole_rows(folder)}
        _agree(found, theirs)
        found |= {case_id: one for case_id, one in theirs.items() if case_id not in found or _is_of_this_build(one[0])}
    return found


def _whole_rows(folder: Path) -> list[CaseRow]:
    """The rows of the cases whose files are as they were written; others are reported, and left out."""
    rows, damage = read_rows(folder)
    files, whole = CaseFiles(folder), []
    for row in rows:
        try:
            files.read(row.case_id)
            whole.append(row)
        except DamageError as problem:
            damage.append(problem)
    for one in damage:
        print(f"warning: {one}; left out", file=sys.stderr)
    return whole


def _is_of_this_build(row: CaseRow) -> bool:
    return row.build == this_build().digest


def _agree(some: Found, others: Found) -> None:
    for case_id in some.keys() & others.keys():
        (row, folder), (other, place) = some[case_id], others[case_id]
        if row.fingerprint != other.fingerprint:
            raise PacketloomError(
                f"{folder} and {place} differ in case {case_id}: its fingerprints are {row.fingerprint} "
                f"({build_text(row.version, row.build)}) and {other.fingerprint} "
                f"({build_text(other.version, other.build)}); nothing was written. Run one of them again: what "
                "another build computed, or what is damaged, is recomputed"
            )


def _take_over(plan: Plan, found: Found, target: ResultsFolder) -> None:
    sources = {folder: CaseFiles(folder) for _, folder in found.values()}
    kept = {case_id for case_id, row in target.rows.items() if _is_of_this_build(row) or case_id not in found}
    wanted = [case for case, _ in planned(plan) if case.id in found.keys() - kept]
    for place, case in enumerate(wanted, start=1):
        row, folder = found[case.id]
        target.files.stage_copy(replace(row, parameters=dict(case.parameters)), sources[folder])
        if place % SETTLE_EVERY == 0 or place == len(wanted):
            target.settle()
    target.write_index()
