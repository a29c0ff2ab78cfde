"""The hash of a table's content."""

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from packetloom.store.content_hash import _lengths, content_of

TEXTS = ["", "one", "zwei", "tres", "čtyři", "", "6"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
@pytest.mark.parametrize("absent", [False, True])
def test_lengths_are_those_that_arrow_counts(kind: pa.DataType, absent: bool) -> None:
    values = pa.array([*TEXTS, *([None] if absent else [])], pa.string()).cast(kind)
    for chunk in (values, values[2:], values[1:4], values[:0]):
        counted = pc.binary_length(chunk)
        expected = counted.cast(pa.float64()).to_numpy(zero_copy_only=False) if chunk.null_count else counted.to_numpy()
        assert _lengths(chunk).tobytes() == expected.tobytes()


def test_chunks_make_no_difference_and_each_value_does() -> None:
    whole = pa.table({"name": TEXTS})
    cut = pa.table({"name": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]], pa.string())})
    assert content_of(whole) == content_of(cut)
    moved = ["".join(pair) for pair in pairwise(["", *TEXTS])]
    assert content_of(pa.table({"name": moved})) != content_of(whole)
