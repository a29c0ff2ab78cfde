"""A results folder, as it is written: one campaign at a time, each case durable once it is committed."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from packetloom import _core
from packetloom.errors import PacketloomError
from packetloom.results import (
    CAPTURES,
    EVERY_CASE_HAS,
    FORMAT,
    INDEX,
    MARKER,
    PARTITIONED,
    PLAN,
    CaseRow,
    index_table,
    read_marker,
    read_rows,
)
from packetloom.scenario import Plan
from packetloom.storage import (
    CASE_ROW_KEY,
    TEMPORARY_SUFFIX,
    explain_os_error,
    table_of,
    write_table,
    write_text,
    write_whole,
)

LOCK = ".lock"
INDEX_PERIOD_S = 1.0


class ResultsFolder:
    """A results folder open for writing."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self._index_written_at = 0.0
        try:
            self._lock = _claim(path)
        except OSError as error:
            raise explain_os_error(error, f"{path}: cannot write results there") from None
        try:
            self.rows = {row.case_id: row for row in _finished_cases(path, plan)}
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

    def commit(self, case: _core.Case, outcome: _core.Outcome) -> CaseRow:
        """Puts a finished case on disk. The flows file comes last and holds the case's row: it is the commit."""
        row = CaseRow(
            case_id=case.id,
            parameters=dict(case.parameters),
            counters=dict(outcome.counters),
            fingerprint=outcome.fingerprint,
            version=_core.version(),
            warnings=tuple(outcome.warnings),
        )
        if capture := outcome.pcapng:
            (self.path / CAPTURES).mkdir(exist_ok=True)
            write_whole(self.path / CAPTURES / f"{case.id}.pcapng", lambda file: file.write(capture))
        small = (
            ("ports", outcome.ports),
            ("series", outcome.series),
            ("pulls", outcome.pulls),
            ("jobs", outcome.jobs),
        )
        for name, columns in (*small, ("flows", outcome.flows)):
            if columns:
                table = _partition(row, columns)
                write_table(self.path / PARTITIONED[name] / f"{case.id}.parquet", table)
        self.rows[case.id] = row
        return row

    def write_index(self, *, at_once: bool = True) -> None:
        """Brings `cases.parquet` up to date: at once, or at most every second."""
        if at_once or time.monotonic() - self._index_written_at >= INDEX_PERIOD_S:
            write_table(self.path / INDEX, index_table(list(self.rows.values())))
            self._index_written_at = time.monotonic()

    def _prepare(self, plan: Plan) -> None:
        for name in PARTITIONED.values():
            (self.path / name).mkdir(exist_ok=True)
        for leftover in self.path.rglob(f"*{TEMPORARY_SUFFIX}"):
            leftover.unlink()
        scenario = f"scenario.{plan.format}"
        marker = {
            "format": FORMAT,
            "version": _core.version(),
            "scenario": scenario,
            "origin": str(Path(plan.origin).absolute()) if plan.origin else "",
            "set": list(plan.overrides),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        lines = [{"id": case.id, "parameters": case.parameters, "case": case.json} for case in plan.cases]
        write_text(self.path / MARKER, json.dumps(marker, indent=2) + "\n")
        write_text(self.path / scenario, plan.text)
        write_text(self.path / PLAN, "".join(json.dumps(line) + "\n" for line in lines))
        self.write_index()


def _claim(path: Path) -> int:
    """Locks the folder, making it if need be. The lock goes with the process, however that ends."""
    if path.exists() and not path.is_dir():
        raise PacketloomError(f"{path}: is a file; results need a folder: name another with -o DIR")
    if path.is_dir() and not (path / MARKER).exists() and any(entry.name != LOCK for entry in path.iterdir()):
        raise PacketloomError(
            f"{path}: not empty and not a results folder (it has no {MARKER}), so nothing is written there: "
            "name another with -o DIR"
        )
    path.mkdir(parents=True, exist_ok=True)
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(lock, 32).decode(errors="replace").strip()
        os.close(lock)
        raise PacketloomError(
            f"{path}: another run{f' (process {owner})' if owner else ''} is writing there: "
            "wait for it, or name another folder with -o DIR"
        ) from None
    try:
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        os.close(lock)
        raise
    return lock


def _finished_cases(path: Path, plan: Plan) -> list[CaseRow]:
    """What is finished already; an error if it belongs to another scenario."""
    if not (path / MARKER).exists():
        return []
    marker = read_marker(path)
    rows = read_rows(path)
    planned = {case.id for case in plan.cases}
    strangers = [row for row in rows if row.case_id not in planned]
    if strangers:
        version = marker.get("version")
        cause = (
            f"it was written by packetloom {version}, this is {_core.version()}"
            if version != _core.version()
            else f"it was made from {marker['origin'] or 'a scenario in Python'}, or that has changed since"
        )
        raise PacketloomError(
            f"{path}: holds the results of another scenario: {len(strangers)} of its {len(rows)} finished cases "
            f"are not in this one ({cause}). Name another folder with -o DIR, or delete this one"
        )
    return rows


def _partition(row: CaseRow, columns: Mapping[str, Any]) -> pa.Table:
    """One case's part of a table: its columns, preceded by what tells the case from others."""
    length = len(next(iter(columns.values())))
    scheme, load, seed = (row.parameters.get(name) for name in EVERY_CASE_HAS)
    case = {
        "case_id": pa.repeat(pa.scalar(row.case_id), length),
        "scheme": pa.repeat(pa.scalar(scheme, pa.string()), length),
        "load": pa.repeat(pa.scalar(None if load is None else float(load), pa.float64()), length),
        "seed": pa.repeat(pa.scalar(seed, pa.int64()), length),
    }
    table = table_of({**case, **columns})
    return table.replace_schema_metadata({CASE_ROW_KEY: row.to_json()})
