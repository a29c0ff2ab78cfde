"""What a case's table holds, as a hash: the same whatever file it is in, and however that is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from packetloom.common.columns import numbers_of
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
        yield from _numbers(pc.is_valid(column).cast(pa.uint8()))
    if pa.types.is_primitive(column.type):
        yield from _numbers(column)
    else:
        yield from _numbers(pc.binary_length(column))
        for chunk in column.chunks:
            yield from _texts(chunk)


def _numbers(column: pa.ChunkedArray) -> Iterator[bytes]:
    for chunk in column.chunks:
        yield numbers_of(chunk).tobytes()


def _texts(chunk: pa.Array) -> Iterator[memoryview | bytes]:
    """The characters of all values in a row, as they lie in memory."""
    if chunk.null_count:
        yield from (value.encode() if isinstance(value, str) else value or b"" for value in chunk.to_pylist())
        return
    _, offsets, characters = chunk.buffers()
    if characters is None or not len(chunk):
        return
    width = 8 if pa.types.is_large_string(chunk.type) or pa.types.is_large_binary(chunk.type) else 4
    ends = memoryview(offsets).cast("q" if width == 8 else "i")
    yield memoryview(characters)[ends[chunk.offset] : ends[chunk.offset + len(chunk)]]
