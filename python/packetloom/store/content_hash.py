"""What a case's table holds, as a hash: the same whatever file it is in, and however that is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packetloom.common.columns import numbers_of, validity_of
from packetloom.common.files import CASE_COLUMNS

DIGITS = 32


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows a table has, and a hash over their values."""

    rows: int
    sha256: str


def content_of(table: pa.Table) -> Content:
    """What a case's table holds, beside the columns that are the same in all its rows."""
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in CASE_COLUMNS:
            digest.update(f"{name}: {column.type}\n".encode())
            for part in _parts(column):
                digest.update(part)
    return Content(table.num_rows, digest.hexdigest()[:DIGITS])


def _parts(column: pa.ChunkedArray) -> Iterator[memoryview | bytes]:
    """A column's values; how it is cut into chunks makes no difference."""
    if pa.types.is_null(column.type):  # of a table without rows, a column of texts
        return
    if column.null_count:
        yield from (validity_of(chunk).tobytes() for chunk in column.chunks)
    if pa.types.is_primitive(column.type):
        yield from (numbers_of(chunk).tobytes() for chunk in column.chunks)
    else:
        yield from (_lengths(chunk).tobytes() for chunk in column.chunks)
        for chunk in column.chunks:
            yield from _texts(chunk)


def _lengths(chunk: pa.Array) -> NDArray[Any]:
    """How many bytes each value has; where one is missing, all are floats, as in `numbers_of`.

    Arrow's own `binary_length` would do, but each command would take 0.04 CPU-s more to load it.
    """
    if not len(chunk):
        return np.empty(0)
    lengths = np.diff(_ends(chunk)[chunk.offset : chunk.offset + len(chunk) + 1])
    return lengths if not chunk.null_count else np.where(validity_of(chunk), lengths, np.nan)


def _ends(chunk: pa.Array) -> NDArray[Any]:
    """Where each value of a column of texts ends in its characters, after where the first begins."""
    is_large = pa.types.is_large_string(chunk.type) or pa.types.is_large_binary(chunk.type)
    return np.frombuffer(chunk.buffers()[1], np.int64 if is_large else np.int32)


def _texts(chunk: pa.Array) -> Iterator[memoryview | bytes]:
    """The characters of all values in a row, as they lie in memory."""
    if chunk.null_count:
        yield from (value.encode() if isinstance(value, str) else value or b"" for value in chunk.to_pylist())
        return
    characters = chunk.buffers()[2]
    if characters is None or not len(chunk):
        return
    ends = _ends(chunk)
    yield memoryview(characters)[ends[chunk.offset] : ends[chunk.offset + len(chunk)]]
