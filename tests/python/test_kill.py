"""A campaign that is killed at any moment resumes to the same results folder, byte for byte but for times."""

import io
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packetloom.common.files import CASE_ROW_KEY
from packetloom.store.case_rows import INDEX, MARKER, CaseRow
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

TIMES = ("cpu_s", "wall_s")
KILLS = 5


def without_times(file: Path) -> bytes:
    """The file's bytes, as if everything had taken no time."""
    if file.name == MARKER:
        return json.dumps(json.loads(file.read_text()) | {"started": ""}).encode()
    if file.suffix != ".parquet":
        return file.read_bytes()
    table = pq.read_table(file, partitioning=None)
    kept = table.schema.metadata[CASE_ROW_KEY].decode()
    rows = [timeless(text) for text in json.loads(kept)] if file.name == INDEX else [timeless(kept)]
    for name in TIMES:
        if name in table.column_names:
            zeros = pa.array([0.0] * table.num_rows)
            table = table.set_column(table.column_names.index(name), table.schema.field(name), zeros)
    rewritten = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({CASE_ROW_KEY: json.dumps(rows)}), rewritten)
    return rewritten.getvalue()


def timeless(text: str) -> str:
    row = CaseRow.from_json(text)
    row.counters.update(dict.fromkeys(TIMES, 0.0))
    return row.to_json()


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(folder)): without_times(file) for file in files}


def fingerprints(folder: Path) -> set[str]:
    return set(Results(folder).cases["fingerprint"].to_pylist())


def finished(folder: Path) -> int:
    return len(list(folder.glob("flows.parquet/*.parquet")))


def test_killed_again_and_again_and_resumed(long_scenario: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "packetloom", "run", str(long_scenario), "--workers", "2"]
    settings = ["--set", "run.seeds=4"]
    subprocess.run([*command, *settings, "-o", str(tmp_path / "through")], capture_output=True, check=True)
    expected = fingerprints(tmp_path / "through")
    moments = random.Random(7)
    killed, found = 0, []
    for kill in range(KILLS):
        before = finished(tmp_path / "killed")
        resumed = subprocess.Popen(
            [*command, *settings, "-o", str(tmp_path / "killed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # The first one while the command loads, the others soon after a case more is finished.
        while kill and resumed.poll() is None and finished(tmp_path / "killed") == before:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.1))
        resumed.kill()
        code = resumed.wait()
        assert code in (0, -9)
        killed += code == -9
        if (tmp_path / "killed" / MARKER).exists():
            found.append(fingerprints(tmp_path / "killed"))
            assert found[-1] <= expected
    assert killed > KILLS / 2
    assert any(0 < len(kept) < len(expected) for kept in found), "no kill was in the middle of the campaign"
    last = subprocess.run([*command, *settings, "-o", str(tmp_path / "killed")], capture_output=True, check=True)
    assert last.returncode == 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "through")


def test_killed_before_the_marker_was_written(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "flows.parquet").mkdir(parents=True)
    (out / ".lock").write_text("1\n")
    (out / "plan.jsonl.tmp").write_text("{")
    command = [sys.executable, "-m", "packetloom", "run", str(scenario), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
