"""A results folder, as it is written: one campaign at a time, each case durable once it is committed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from packetloom import _core
from packetloom.common import system
from packetloom.common.build import builds_text, this_build
from packetloom.common.files import TEMPORARY_SUFFIX, DamageError, explain_os_error, write_table, write_text
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import Parameter, Plan
from packetloom.scenario.run_lengths import current_lines, planned
from packetloom.schemes import kept as schemes
from packetloom.store.case_files import CaseFiles
from packetloom.store.case_rows import (
    FLOWS,
    FORMAT,
    INDEX,
    MARKER,
    PARTITIONED,
    PLAN,
    CaseRow,
    index_table,
    parameter_types,
    read_rows,
)
from packetloom.store.outcome import Outcome
from packetloom.store.stored_plan import digest_of, read_marker

LOCK = ".lock"
SETTLE_PERIOD_S = 0.25
INDEX_PERIOD_S = 1.0
INDEX_SHARE = 0.05
"""Of the time, at most so much goes into writing the index."""


class ResultsFolder:
    """A results folder open for writing.

    `rows` are its finished cases. What another build computed is in `older` instead, unless it is to be kept: it stays
    in the folder, and counts for whoever reads it, until its case has been computed again.
    """

    def __init__(self, path: Path, plan: Plan, *, keep_older: bool = False, verify: bool = True) -> None:
        self.path = path
        self.files = CaseFiles(path)
        self._first_seeds = plan.precision.first_seeds if plan.precision else 0
        self._lines: list[dict[str, Any]] = [
            {"id": case.id, "parameters": case.parameters, "case": case.json} | ({"times": times} if times > 1 else {})
            for case, times in planned(plan)
        ]
        self._order = {line["id"]: place for place, line in enumerate(self._lines)}
        self._types = parameter_types(case.parameters for case in plan.cases)
        self._settle_at = 0.0
        self._index_at = 0.0
        if (path / MARKER).exists():
            read_marker(path)  # what is not ours to write is refused before anything is touched
        try:
            self._lock = _claim(path)
        except OSError as error:
            raise explain_os_error(error, f"{path}: cannot write results there") from None
        try:
            here = this_build().digest
            found = _finished_cases(path, {line["id"]: line["parameters"] for line in self._lines})
            kept = [row for row in found if keep_older or row.build == here]
            self.older = {row.case_id: row for row in found if not (keep_older or row.build == here)}
            self.rows = {row.case_id: row for row in kept if not verify or self._is_whole(row)}
            self._prepare(plan)
        except OSError as error:
            self.close()
            raise explain_os_error(error, f"{path}: cannot write results there") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets another campaign use the folder."""
        os.close(self._lock)

    def add(self, case: _core.Case, outcome: Outcome) -> None:
        """Writes a finished case; it counts once it is settled."""
        self.files.stage(row_of(case, outcome), outcome)

    @property
    def has_unsettled(self) -> bool:
        """Whether something was added that does not count yet."""
        return self.files.has_staged

    def settle(self, *, at_once: bool = True) -> list[CaseRow]:
        """Makes what was added last, at once or at most four times a second, and gives the rows of these cases."""
        if not self.files.has_staged or not (at_once or time.monotonic() >= self._settle_at):
            return []
        rows = self.files.settle()
        for row in rows:
            self.rows[row.case_id] = row
            self.older.pop(row.case_id, None)
        self._settle_at = time.monotonic() + SETTLE_PERIOD_S
        return rows

    def write_index(self, *, at_once: bool = True) -> None:
        """Brings `cases.parquet` up to date: at once, or now and then. Its rows are in the scenario's order, and of
        the length that counts.

        Readers take it at its word. So what is to be computed again is not in it: if this run is killed, they find in
        the case's own file which build it is of.
        """
        began = time.monotonic()
        if not at_once and began < self._index_at:
            return
        current = {line["id"] for line in current_lines(self._lines, self._first_seeds, self.rows)}
        rows = sorted(
            (row for row in self.rows.values() if row.case_id in current), key=lambda row: self._order[row.case_id]
        )
        write_table(self.path / INDEX, index_table(rows, self._types))
        now = time.monotonic()
        self._index_at = now + max(INDEX_PERIOD_S, (now - began) / INDEX_SHARE)

    def remove(self, ids: Set[str]) -> None:
        """Removes cases, finished or not, of this build or another."""
        self.files.remove(ids)
        for case_id in ids:
            self.rows.pop(case_id, None)
            self.older.pop(case_id, None)

    def _is_whole(self, row: CaseRow) -> bool:
        """Whether all of a case's files are as they were written; if not, a message names them."""
        try:
            self.files.read(row.case_id)
        except DamageError as damage:
            _tell(damage, "its case is computed again")
            return False
        return True

    def _prepare(self, plan: Plan) -> None:
        os.truncate(self._lock, 0)
        os.lseek(self._lock, 0, os.SEEK_SET)
        os.write(self._lock, f"{os.getpid()}\n".encode())
        self.files.make_folders()
        self.files.clear_leftovers()
        scenario = f"scenario.{plan.format}"
        marker = {
            "format": FORMAT,
            "version": _core.version(),
            "scenario": scenario,
            "origin": str(Path(plan.origin).absolute()) if plan.origin else "",
            "set": list(plan.overrides),
            "precision": plan.precision and asdict(plan.precision),
            "alike": plan.alike,
            "driven": plan.is_driven,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        listed = "".join(json.dumps(line) + "\n" for line in self._lines)
        marker["sha256"] = {scenario: digest_of(plan.text), PLAN: digest_of(listed)}
        write_text(self.path / scenario, plan.text)
        write_text(self.path / PLAN, listed)
        schemes.keep(self.path, plan.cases)
        self.write_index()
        write_text(self.path / MARKER, json.dumps(marker, indent=2) + "\n")


def _claim(path: Path) -> int:
    """Locks the folder, making it if need be. The lock goes with the process, however that ends."""
    if path.exists() and not path.is_dir():
        raise PacketloomError(f"{path}: is a file; results need a folder: name another with -o DIR")
    if path.is_dir() and not _is_ours(path):
        raise PacketloomError(
            f"{path}: not empty and not a results folder (it has no {MARKER}), so nothing is written there: "
            "name another with -o DIR"
        )
    path.mkdir(parents=True, exist_ok=True)
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    if not system.lock(lock):
        owner = os.read(lock, 32).decode(errors="replace").strip()
        os.close(lock)
        raise PacketloomError(
            f"{path}: another run{f' (process {owner})' if owner else ''} is writing there: "
            "wait for it, or name another folder with -o DIR"
        )
    return lock


def _is_ours(path: Path) -> bool:
    """Whether a folder holds results, were it without a marker; or nothing, or what a run left that had just begun."""
    if (path / MARKER).exists() or ((path / PLAN).exists() and (path / FLOWS).is_dir()):
        return True
    return all(_is_beginning(entry) for entry in path.iterdir())


def _tell(damage: DamageError, then: str) -> None:
    """Says what is damaged and what becomes of it; an error where only the user can do something about it."""
    if damage.advice:
        raise damage
    print(f"warning: {damage}; {then}", file=sys.stderr)


def _is_beginning(entry: Path) -> bool:
    """Whether a run that was killed as it began can have left this: the marker comes last, and results after it."""
    if entry.name == schemes.FOLDER:
        return True
    if entry.is_dir():
        return entry.name in PARTITIONED.values() and not any(entry.iterdir())
    return entry.name.removesuffix(TEMPORARY_SUFFIX) in {LOCK, PLAN, INDEX, MARKER, "scenario.toml", "scenario.json"}


def _finished_cases(path: Path, planned: Mapping[str, Mapping[str, Parameter]]) -> list[CaseRow]:
    """What is finished already; an error if it belongs to another scenario."""
    if not (path / FLOWS).exists() and not (path / MARKER).exists():
        return []
    marker = read_marker(path) if (path / MARKER).exists() else {"origin": "another scenario"}
    rows, damaged = read_rows(path)
    for damage in damaged:
        if damage.path.parent.name != FLOWS:
            _tell(damage, "written anew")
        elif damage.path.stem in planned:
            _tell(damage, "its case is computed again")
        else:
            _tell(damage, "no case of this scenario, left as it is")
    strangers = [row for row in rows if row.case_id not in planned]
    if strangers:
        raise PacketloomError(
            f"{path}: holds the results of another scenario: {len(strangers)} of its {len(rows)} finished cases are "
            f"not in this one ({_why_strange(strangers, marker)}). Name another folder with -o DIR, or delete this one"
        )
    # A grid that has grown calls the same cases by more names.
    return [replace(row, parameters=dict(planned[row.case_id])) for row in rows]


def _why_strange(strangers: Sequence[CaseRow], marker: Mapping[str, Any]) -> str:
    """Another version identifies cases in another way, and another build of the same version may."""
    made = f"it was made from {marker['origin'] or 'a scenario in Python'}, or that has changed since"
    others = [(row.version, row.build) for row in strangers if row.build != this_build().digest]
    if any(version != _core.version() for version, _ in others):
        return f"they were computed by {builds_text(others)}; this is packetloom {_core.version()}"
    return f"{made}; or that is because they were computed by {builds_text(others)}" if others else made


def row_of(case: _core.Case, outcome: Outcome) -> CaseRow:
    """What is kept of a case beside its tables."""
    return CaseRow(
        case_id=case.id,
        parameters=dict(case.parameters),
        counters=dict(outcome.counters),
        fingerprint=outcome.fingerprint,
        version=outcome.version,
        build=outcome.build,
        warnings=outcome.warnings,
    )
