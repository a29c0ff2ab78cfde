"""Arrow columns from Python's values, and numpy's from Arrow's, through their bytes.

Arrow's own `array`, `scalar` and `to_numpy` first ask whether pandas has a say, and load it for that where it is
installed: half a second, in which Ctrl-C would come out as an error of that import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

TYPES: dict[type | None, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    bytes: pa.binary(),
    None: pa.null(),
}
MOST_TEXT_BYTES = 2**31 - 1
"""What a column of texts holds in one piece."""
NUMBERS: dict[pa.DataType, type] = {pa.int64(): np.int64, pa.float64(): np.float64, pa.bool_(): np.bool_}


def column_of(values: Sequence[Any], kind: type | None) -> pa.Array:
    """A column of values of one type, or `None`."""
    arrow = TYPES[kind]
    if kind is None:
        return pa.nulls(len(values))
    absent = np.fromiter((value is None for value in values), np.bool_, len(values))
    valid = _bits(~absent) if absent.any() else None
    if kind in (str, bytes):
        texts = [b"" if value is None else value.encode() if kind is str else value for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        return pa.Array.from_buffers(arrow, len(values), [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])
    filled = [kind() if value is None else value for value in values]
    return packed(np.array(filled, NUMBERS[arrow]), valid)


def repeated(value: Any, kind: type | None, length: int) -> pa.Array | pa.ChunkedArray:
    """A column that has the same value in each row: of texts in pieces, as Arrow counts their bytes in 32 bits."""
    arrow = TYPES[kind]
    if value is None:
        return pa.nulls(length, arrow)
    if kind is not str:
        return packed(np.full(length, value, NUMBERS[arrow]))
    text = value.encode()
    piece = MOST_TEXT_BYTES // max(len(text), 1)
    if length <= piece:
        return _texts(text, length)
    whole, rest = divmod(length, piece)
    full = _texts(text, piece)
    return pa.chunked_array([*[full] * whole, full.slice(0, rest)], arrow)


def _texts(text: bytes, length: int) -> pa.Array:
    ends = np.arange(length + 1, dtype=np.int32) * np.int32(len(text))
    return pa.Array.from_buffers(TYPES[str], length, [None, pa.py_buffer(ends), pa.py_buffer(text * length)])


def packed(values: NDArray[Any], valid: pa.Buffer | None = None) -> pa.Array:
    """A column of numpy's numbers, as they lie in memory."""
    held = _bits(values) if values.dtype == bool else pa.py_buffer(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, held])


def numbers_of(column: pa.Array) -> NDArray[Any]:
    """What a column's `to_numpy` gives, with 1 and 0 for true and false: where a value is missing, all are floats."""
    held = column.buffers()[1]
    here = slice(column.offset, column.offset + len(column))
    if pa.types.is_boolean(column.type):
        values = _unpacked(held or b"")[here]
    else:
        values = np.frombuffer(held or b"", column.type.to_pandas_dtype())[here]
    return values if not column.null_count else np.where(validity_of(column), values, np.nan)


def validity_of(column: pa.Array) -> NDArray[np.uint8]:
    """1 for each value that is there, 0 for each that is missing."""
    valid = column.buffers()[0]
    if valid is None:
        return np.full(len(column), 0 if pa.types.is_null(column.type) else 1, np.uint8)
    return _unpacked(valid)[column.offset : column.offset + len(column)]


def _unpacked(bits: pa.Buffer | bytes) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")


def _bits(values: NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))
