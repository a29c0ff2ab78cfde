"""The files of finished cases: one for each case and table, in a folder for each table.

A case counts as finished once its file in `flows.parquet` has its name; that file holds the case's row, too. A file
gets its name when it is on the disk for good. Many are brought there together, which costs little more than one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from packetloom.outcome import Columns, Outcome
from packetloom.results import EVERY_CASE_HAS, FLOWS, PARTITIONED, CaseRow
from packetloom.storage import (
    CASE_COLUMNS,
    CASE_ROW_KEY,
    TEMPORARY_SUFFIX,
    read_parquet,
    sync_folder,
    table_of,
    write_parquet,
)

COMMIT = "flows"
OTHERS = tuple(name for name in PARTITIONED if name != COMMIT)
SYNC_THREADS = 8


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
        """Makes the folders of the tables."""
        for name in PARTITIONED.values():
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def clear_leftovers(self) -> None:
        """Removes what a killed run left; nobody else may be writing here."""
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
        files = {}
        for name, columns in outcome.tables.items():
            if columns:
                files[name] = self._temporary(name, row.case_id)
                _write(files[name], _partition(row, columns))
        self._staged.append(_Staged(row, files))

    def stage_copy(self, row: CaseRow, source: CaseFiles) -> None:
        """Takes over a finished case of another folder, without a second copy on the disk where that can be."""
        files = {}
        for name in PARTITIONED:
            original = source.file(name, row.case_id)
            if original.exists():
                files[name] = self._temporary(name, row.case_id)
                _link_or_copy(original, files[name])
        self._staged.append(_Staged(row, files))

    def settle(self) -> list[CaseRow]:
        """Makes all that was staged last, and gives the rows of these cases."""
        staged, self._staged = self._staged, []
        _sync_files([file for one in staged for file in one.files.values()])
        for name in OTHERS:
            self._name([one.files[name] for one in staged if name in one.files])
        self._name([one.files[COMMIT] for one in staged])
        return [one.row for one in staged]

    def read(self, case_id: str) -> tuple[CaseRow, Outcome] | None:
        """A finished case, or nothing if it is not there or cannot be read."""
        try:
            # The file that is the commit is read last: if it is there then, the others were.
            tables = {
                name: read_parquet(self.file(name, case_id))
                for name in (*OTHERS, COMMIT)
                if name == COMMIT or self.file(name, case_id).exists()
            }
            row = CaseRow.from_json(tables[COMMIT].schema.metadata[CASE_ROW_KEY])
        except (OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError):
            return None
        outcome = Outcome(
            tables={name: _columns(tables[name]) if name in tables else {} for name in ("flows", *OTHERS)},
            counters=row.counters,
            fingerprint=row.fingerprint,
            version=row.version,
            warnings=row.warnings,
        )
        return row, outcome

    def _temporary(self, table: str, case_id: str) -> Path:
        file = self.file(table, case_id)
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
    except OSError:  # on a full disk, what was written of it only takes room
        file.unlink(missing_ok=True)
        raise


def _link_or_copy(original: Path, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    try:
        os.link(original, copy)
    except OSError:  # another file system, or one without links
        shutil.copyfile(original, copy)


def _sync_files(files: list[Path]) -> None:
    """Brings files onto the disk. Asked for together, they share the disk's waits."""
    if len(files) == 1:
        _sync_file(files[0])
    elif files:
        with ThreadPoolExecutor(SYNC_THREADS) as pool:
            list(pool.map(_sync_file, files))


def _sync_file(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _columns(table: pa.Table) -> dict[str, Any]:
    own = [name for name in table.column_names if name not in CASE_COLUMNS]
    return {name: table[name].combine_chunks() for name in own}


def _partition(row: CaseRow, columns: Columns) -> pa.Table:
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
