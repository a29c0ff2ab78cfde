"""The files of finished cases: one for each case and table, in a folder for each table.

A case counts as finished once its file in `flows.parquet` has its name; that file holds the case's row, too. A file
gets its name when it is on the disk for good. Many are brought there together, which costs little more than one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from packetloom import _core
from packetloom.common.columns import numbers_of, repeated
from packetloom.common.files import (
    CASE_COLUMNS,
    CASE_ROW_KEY,
    TEMPORARY_SUFFIX,
    DamageError,
    read_parquet,
    table_of,
    write_parquet,
)
from packetloom.common.system import sync_file, sync_folder
from packetloom.store.case_rows import EVERY_CASE_HAS, FLOWS, PARTITIONED, CaseRow, row_in
from packetloom.store.content_hash import Content, content_of
from packetloom.store.outcome import Columns, Outcome

COMMIT = "flows"
OTHERS = tuple(name for name in PARTITIONED if name != COMMIT)
SYNC_THREADS = 8
PIECE = 1 << 16
"""Rows that are compared at a time: a whole column of texts would take as much memory as the table's own."""
FINGERPRINTED = (
    "flow_id",
    "src",
    "dst",
    "size_bytes",
    "start_ns",
    "fct_ns",
    "sender_fct_ns",
    "packets_sent",
    "retransmissions",
    "timeouts",
)


@dataclass(frozen=True, slots=True)
class _Staged:
    row: CaseRow
    files: dict[str, Path]


class CaseFiles:
    """The files of finished cases below a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._staged: list[_Staged] = []

    def make_folders(self) -> None:
        """Makes the folder of the table that every case has; the others' are made with their first case."""
        for name in PARTITIONED.values():
            if (self.path / name).is_file():
                raise DamageError(self.path / name, "is a file where a folder should be", "move it away")
        self._make_folder(COMMIT)

    def place(self, table: str, case_id: str) -> Path:
        """Where a case's part of a table is to be: its folder is there."""
        self._make_folder(table)
        return self.file(table, case_id)

    def _make_folder(self, table: str) -> None:
        folder = self.path / PARTITIONED[table]
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(self.path)

    def clear_leftovers(self) -> None:
        """Removes what a killed run left; no other process may be writing here."""
        for leftover in self.path.rglob(f"*{TEMPORARY_SUFFIX}"):
            leftover.unlink()

    @property
    def has_staged(self) -> bool:
        """Whether something waits to be settled."""
        return bool(self._staged)

    def file(self, table: str, case_id: str) -> Path:
        """Where a case's part of a table is, once it is there."""
        return self.path / PARTITIONED[table] / f"{case_id}.parquet"

    def ids(self) -> set[str]:
        """The finished cases."""
        return {file.stem for file in (self.path / FLOWS).glob("*.parquet")}

    def stage(self, row: CaseRow, outcome: Outcome) -> None:
        """Writes a finished case; `settle` makes it last."""
        tables = {name: _partition(row, columns) for name, columns in outcome.tables.items() if columns}
        row = replace(row, tables={name: content_of(table) for name, table in tables.items()})
        files = {name: self._temporary(name, row.case_id) for name in tables}
        for name, table in tables.items():
            _write(files[name], table.replace_schema_metadata({CASE_ROW_KEY: row.to_json()}))
        self._staged.append(_Staged(row, files))

    def stage_copy(self, row: CaseRow, source: CaseFiles) -> None:
        """Takes over a finished case of another folder; from then on neither's files are the other's."""
        files = {}
        for name in PARTITIONED:
            original = source.file(name, row.case_id)
            if original.exists():
                files[name] = self._temporary(name, row.case_id)
                shutil.copyfile(original, files[name])
        self._staged.append(_Staged(row, files))

    def settle(self) -> list[CaseRow]:
        """Makes all that was staged last, and gives the rows of these cases."""
        staged, self._staged = self._staged, []
        _sync_files([file for one in staged for file in one.files.values()])
        for name in OTHERS:
            self._name([one.files[name] for one in staged if name in one.files])
        self._name([one.files[COMMIT] for one in staged])
        for one in staged:  # what the case had before and has no more
            for name in OTHERS:
                if name not in one.files:
                    self.file(name, one.row.case_id).unlink(missing_ok=True)
        return [one.row for one in staged]

    def remove(self, ids: Set[str]) -> None:
        """Removes cases, finished or not; what makes one count goes first."""
        for name in (COMMIT, *OTHERS) if ids else ():
            for file in (self.path / PARTITIONED[name]).glob("*.parquet"):
                if file.stem in ids:
                    file.unlink(missing_ok=True)

    def table(self, name: str, case_id: str) -> pa.Table:
        """A finished case's part of a table."""
        return read_parquet(self.file(name, case_id))

    def read(self, case_id: str) -> tuple[CaseRow, Outcome]:
        """A finished case, all of which is as it was written; `DamageError` otherwise."""
        commit = self.file(COMMIT, case_id)
        tables = {COMMIT: read_parquet(commit)}
        row = row_in(commit, tables[COMMIT].schema.metadata or {})
        for name in OTHERS:
            file = self.file(name, case_id)
            if name in row.tables or (not row.tables and file.exists()):
                tables[name] = read_parquet(file)
                if not row_in(file, tables[name].schema.metadata or {}).is_of(row):
                    raise DamageError(file, "is of another run of its case than the file of its flows")
        for name, table in tables.items():
            _must_hold(self.file(name, case_id), table, row, row.tables.get(name))
        if row.tables and fingerprint_of(tables[COMMIT]) != row.fingerprint:
            raise DamageError(commit, "holds other flows than its case's fingerprint is of")
        outcome = Outcome(
            tables={name: _columns(tables[name]) if name in tables else {} for name in (COMMIT, *OTHERS)},
            counters=row.counters,
            fingerprint=row.fingerprint,
            version=row.version,
            build=row.build,
            warnings=row.warnings,
        )
        return row, outcome

    def _temporary(self, table: str, case_id: str) -> Path:
        file = self.place(table, case_id)
        return file.with_name(file.name + TEMPORARY_SUFFIX)

    def _name(self, temporaries: Iterable[Path]) -> None:
        folders = set()
        for temporary in temporaries:
            temporary.replace(temporary.with_suffix(""))
            folders.add(temporary.parent)
        for folder in folders:
            sync_folder(folder)


def _write(file: Path, table: pa.Table) -> None:
    try:
        with file.open("wb") as opened:
            write_parquet(opened, table)
    except OSError:  # on a full disk, what was written of it only takes space
        file.unlink(missing_ok=True)
        raise


def _must_hold(file: Path, table: pa.Table, row: CaseRow, written: Content | None) -> None:
    """Rows of an earlier format do not say what was written."""
    if written and content_of(table) != written:
        raise DamageError(file, "holds other values than were written there")
    rows = table.num_rows
    for name, column in _case_columns(row, min(rows, PIECE)).items():
        found = table[name] if name in table.column_names else pa.chunked_array([], column.type)
        piece = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        starts = range(0, rows, PIECE)
        if not all(found.slice(at, PIECE).equals(piece.slice(0, rows - at)) for at in starts):
            raise DamageError(file, f"holds another {name} than its case has")


def _sync_files(files: list[Path]) -> None:
    """Brings files onto the disk. Asked for together, they share the disk's waits."""
    if len(files) == 1:
        sync_file(files[0])
    elif files:
        with ThreadPoolExecutor(SYNC_THREADS) as pool:
            list(pool.map(sync_file, files))


def fingerprint_of(flows: pa.Table) -> str:
    """The fingerprint of a case, recomputed from its flows."""
    return _core.fingerprint_of({name: numbers_of(flows[name].combine_chunks()) for name in FINGERPRINTED})


def _columns(table: pa.Table) -> dict[str, Any]:
    own = [name for name in table.column_names if name not in CASE_COLUMNS]
    return {name: table[name].combine_chunks() for name in own}


def _partition(row: CaseRow, columns: Columns) -> pa.Table:
    """One case's part of a table: its columns, preceded by those that identify the case."""
    return table_of({**_case_columns(row, len(next(iter(columns.values())))), **columns})


def _case_columns(row: CaseRow, length: int) -> dict[str, pa.Array]:
    """The columns that come first in every table."""
    types = {"case_id": str, "scheme": str, "load": float, "seed": int}
    return {name: repeated(value, types[name], length) for name, value in _case_values(row).items()}


def _case_values(row: CaseRow) -> dict[str, str | float | int | None]:
    scheme, load, seed = (row.parameters.get(name) for name in EVERY_CASE_HAS)
    return {
        "case_id": row.case_id,
        "scheme": None if scheme is None else str(scheme),
        "load": None if load is None else float(load),
        "seed": None if seed is None else int(seed),
    }
