"""Files that are either whole or not there, and tables that explain their columns."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from packetloom import _core
from packetloom.errors import PacketloomError

TEMPORARY_SUFFIX = ".tmp"
CASE_ROW_KEY = b"packetloom.case"


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a file such that a crash at any moment leaves the old one, or the new one, but no part of it."""
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


def write_table(path: Path, table: pa.Table) -> None:
    """Writes a Parquet file whole."""
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def sync_folder(folder: Path) -> None:
    """Makes the renames in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    reason = advice.get(error.errno or 0, error.strerror or str(error))
    return PacketloomError(f"{doing}: {reason}")


def table_of(columns: Mapping[str, Any], roles: Mapping[str, str] | None = None) -> pa.Table:
    """A table whose fields carry their meaning (and, where given, their role) as metadata."""
    meanings = {**OWN_MEANINGS, **_core.column_meanings()}
    arrays = [_array(values) for values in columns.values()]
    fields = []
    for name, array in zip(columns, arrays, strict=True):
        metadata = {"meaning": meanings[name]} if name in meanings else {}
        if roles and name in roles:
            metadata["role"] = roles[name]
        fields.append(pa.field(name, array.type, metadata=metadata))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(values: Any) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, list):
        return pa.array(unify(values))
    return pa.array(values)


def unify(values: Sequence[Any]) -> list[Any]:
    """One type for a column: numbers become floats where one is, everything becomes text where one is."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return list(values)
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else _as_text(value) for value in values]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


OWN_MEANINGS = {
    "case_id": "The case: a hash over all that can change its result",
    "scheme": "The scheme's name in the scenario",
    "load": "Target load: mean bytes offered per host per second, headers included, over the host link's rate",
    "seed": "The seed of every random draw of the case",
    "fingerprint": "Hash over all flow records: equal results have equal fingerprints",
    "version": "The version of packetloom that computed the case",
    "warnings": "What the run had to say, one per line",
}
