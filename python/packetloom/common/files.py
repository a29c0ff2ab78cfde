"""Files that are either whole or not there, and tables that explain their columns."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from packetloom import _core
from packetloom.common.columns import column_of, packed
from packetloom.common.percentiles import PERCENTILES
from packetloom.common.system import sync_folder
from packetloom.errors import PacketloomError

TEMPORARY_SUFFIX = ".tmp"
UNREADABLE = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, NotImplementedError, MemoryError)
"""What pyarrow raises where a Parquet file is cut or overwritten."""
PARQUET = {"write_statistics": False, "write_page_checksum": True}
WORTH_COMPRESSING = 100
"""Rows: in smaller tables, what describes the columns is most of the file, and is not compressed anyway."""
CASE_ROW_KEY = b"packetloom.case"
CASE_COLUMNS = ("case_id", "scheme", "load", "seed")
"""They come first in every table, and each is the same in all rows of a case."""


class DamageError(PacketloomError):
    """A file of a results folder that is not what was written there, or cannot be read."""

    def __init__(self, path: Path, what: str, advice: str = "") -> None:
        super().__init__(f"{path}: {what}{advice and f': {advice}'}")
        self.path = path
        self.advice = advice
        """What only the user can do about it; empty where writing the file again is enough."""


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a file such that a crash at any moment leaves the old one, or the new one, but no part of it."""
    if not path.name:  # such as "/" and "."
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes a text file whole."""
    write_whole(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: object, what: str) -> None:
    """Writes a JSON file whole; `what`: its contents, for error messages."""
    try:
        write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write {what}") from None


def write_table(path: Path, table: pa.Table) -> None:
    """Writes a Parquet file whole."""
    write_whole(path, lambda file: write_parquet(file, table))


def write_parquet(file: IO[bytes], table: pa.Table) -> None:
    """Writes a Parquet file. Only what repeats has a dictionary: others cost more time and space than they save."""
    constant = [name for name in CASE_COLUMNS if name in table.column_names]
    compression = "zstd" if table.num_rows >= WORTH_COMPRESSING else "none"
    whole = pa.BufferOutputStream()  # to write each piece through Python's file takes as long as all the rest
    pq.write_table(table, whole, compression=compression, use_dictionary=constant, **PARQUET)
    file.write(whole.getvalue())


ADDED_SINCE = frozenset({"link_gbps", "framing_bytes"})
"""Columns that tables of earlier builds lack: readers do without."""


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Reads one Parquet file, of a table's columns only these when given; `DamageError` if it is not whole."""
    must_be_a_file(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(columns=None if columns is None else [*columns], use_threads=False)
    except UNREADABLE as error:
        raise unreadable(path, error) from None
    missing = [name for name in columns or () if name not in ADDED_SINCE and name not in table.column_names]
    if missing:
        raise DamageError(path, f"has no column {', '.join(missing)}: something else was written there")
    return table


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata of a Parquet file; `DamageError` if its end, where that is, is not whole."""
    return read_schema(path).metadata or {}


def read_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file and its metadata; `DamageError` as of `read_metadata`."""
    must_be_a_file(path)
    try:
        return pq.read_schema(path)
    except UNREADABLE as error:
        raise unreadable(path, error) from None


def must_be_a_file(path: Path) -> None:
    """`DamageError` if there is none, or a folder or a pipe is in its place."""
    try:
        kind = path.stat().st_mode
    except OSError as error:
        raise unreadable(path, error) from None
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "no regular file"
        raise DamageError(path, f"is {what} where a file should be", "move it away")


def unreadable(path: Path, error: BaseException) -> DamageError:
    """Why a file could not be read."""
    if isinstance(error, FileNotFoundError):
        return DamageError(path, "is missing")
    if isinstance(error, OSError) and error.errno:
        return DamageError(path, f"cannot be read ({os.strerror(error.errno)})", "make it readable")
    return DamageError(path, f"is damaged, cut short or overwritten ({str(error).partition('. ')[0].strip()})")


def explain_os_error(error: OSError, doing: str) -> PacketloomError:
    """What an operating system's error means for the person who sees it."""
    advice = {
        errno.ENOSPC: "the disk is full: free some space",
        errno.EDQUOT: "your disk quota is used up: free some space",
        errno.EFBIG: "the file would be larger than the system allows here",
        errno.EROFS: "that file system is read-only: write somewhere else with -o DIR",
        errno.EACCES: "you have no permission to write there: write somewhere else with -o DIR",
        errno.EPERM: "you have no permission to write there: write somewhere else with -o DIR",
    }
    file = error.filename2 or error.filename
    reason = advice.get(error.errno or 0, f"{error.strerror or error}{f' ({file})' if file else ''}")
    return PacketloomError(f"{doing}: {reason}")


def table_of(columns: Mapping[str, Any], roles: Mapping[str, str] | None = None) -> pa.Table:
    """A table whose fields carry their meaning (and, where given, their role) as metadata."""
    arrays = [_array(values) for values in columns.values()]
    fields = [_field(name, array.type, (roles or {}).get(name)) for name, array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@cache
def column_meanings() -> Mapping[str, str]:
    """What the columns of results mean."""
    return {**OWN_MEANINGS, **_core.column_meanings()}


@cache
def _field(name: str, type: pa.DataType, role: str | None) -> pa.Field:
    meaning = column_meanings().get(name)
    metadata = ({"meaning": meaning} if meaning else {}) | ({"role": role} if role else {})
    return pa.field(name, type, metadata=metadata)


def _array(values: Any) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, list):
        kind = common_type(values)
        return column_of([as_type(value, kind) for value in values], kind)
    return packed(values)


def common_type(values: Iterable[Any]) -> type | None:
    """One type for a column: numbers become floats where one is, everything becomes text where one is."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return next(iter(kinds), None)
    return float if kinds <= {int, float} else str


def as_type(value: Any, kind: type | None) -> Any:
    """A value in the type of its column."""
    if value is None or type(value) is kind:
        return value
    if kind is float:
        return float(value)
    return _as_text(value) if kind is str else value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


OWN_MEANINGS = {
    "case_id": "The case: a hash over all that can change its result",
    "scheme": "The scheme's name in the scenario",
    "load": "Target load: mean bytes offered per host per second, headers included, over the host link's rate",
    "seed": "The seed of every random draw of the case",
    "fingerprint": "Hash over all flow records: equal results have equal fingerprints",
    "version": "The version of packetloom that computed the case",
    "build": "The compiled simulator that computed the case: a hash over its code; null if it was not recorded",
    "warnings": "What the run had to say, one per line",
    "library": "Who chose the algorithm: plain, the workload's own parameters; or nccl",
    "protocol": "How the library sends data and flags: ll, ll128 or simple; of plain operations nothing",
    "channels": "In how many parts the operation runs that are under way at once",
    "model_ns": "What the library's cost model says that the operation takes, in ns; NaN of plain operations",
    "slowdown_mean": "Mean slowdown of the measured flows that finished; null if none did",
}
OWN_MEANINGS |= {
    f"slowdown_{name}": f"{quantile * 100:g}th percentile of the slowdown of the measured flows that finished"
    for name, quantile in PERCENTILES.items()
}
