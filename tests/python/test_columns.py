"""Columns through their bytes: what Arrow's own functions give, without pandas."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from packetloom.common.columns import TYPES, column_of, numbers_of, repeated

pytestmark = pytest.mark.unaudited

NUMBERS = [1, 2, None, 128, 7, None, 9, 11, 200, 3]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (int, [3, None, -(2**63)]),
        (int, []),
        (float, [0.5, None, float("inf")]),
        (bool, [True, False, None, True, True, False, True, True, True]),
        (str, ["a", None, "", "größer"]),
        (str, [None]),
        (bytes, [b"\x00pcapng", None, b""]),
        (None, [None, None]),
    ],
)
def test_a_column_is_the_one_that_arrow_makes(kind: type | None, values: list[object]) -> None:
    column = column_of(values, kind)
    column.validate(full=True)
    assert column.equals(pa.array(values, TYPES[kind]))


@pytest.mark.parametrize(("kind", "value"), [(int, 5), (float, 0.25), (bool, True), (str, "über"), (str, None)])
@pytest.mark.parametrize("length", [0, 1, 9])
def test_one_value_repeated(kind: type, value: object, length: int) -> None:
    column = repeated(value, kind, length)
    column.validate(full=True)
    assert column.equals(pa.array([value] * length, TYPES[kind]))


@pytest.mark.parametrize("length", [3, 4, 7, 8])
def test_texts_of_more_bytes_than_one_column_counts_are_in_pieces(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr("packetloom.common.columns.MOST_TEXT_BYTES", 14)
    column = repeated("DCTCP", str, length)
    column.validate(full=True)
    assert column.to_pylist() == ["DCTCP"] * length


def test_numbers_too_large_are_refused() -> None:
    with pytest.raises(OverflowError):
        column_of([2**63], int)


@pytest.mark.parametrize("type", [pa.uint8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("values", [NUMBERS, [one for one in NUMBERS if one], [None], []])
def test_numpys_numbers_are_those_that_arrow_gives(type: pa.DataType, values: list[int | None]) -> None:
    whole = pa.array(values, type)
    for column in (whole, whole[1:], whole[2:3]):
        ours, theirs = numbers_of(column), column.to_numpy(zero_copy_only=False)
        assert ours.tobytes() == theirs.tobytes()
        assert len(ours) == 0 or ours.dtype == theirs.dtype


def test_truths_are_ones_and_zeros() -> None:
    assert numbers_of(pa.array([True, False, True])).tolist() == [1, 0, 1]
    assert np.isnan(numbers_of(pa.array([True, None]))).tolist() == [False, True]


def test_a_run_never_loads_pandas(scenario: Path, tmp_path: Path) -> None:
    """From an empty folder to the table of results, and again where all is finished."""
    code = (
        "import sys; from packetloom.start import main\n"
        "try: main()\n"
        "finally: print('loaded' if 'pandas' in sys.modules else 'without pandas')"
    )
    for _ in range(2):
        command = [sys.executable, "-c", code, "run", str(scenario), "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Slowdown at load" in done.stdout
        assert done.stdout.endswith("without pandas\n")
