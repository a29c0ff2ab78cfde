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

from packetloom.common.files import CASE_ROW_KEY
from packetloom.store.case_rows import INDEX, MARKER, CaseRow
from packetloom.store.results import Results

TIMES = ("cpu_s", "wall_s")
KILLS = 10


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


def test_killed_ten_times_and_resumed(long_scenario: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "packetloom", "run", str(long_scenario), "--workers", "2"]
    settings = ["--set", "run.seeds=4"]
    began = time.monotonic()
    subprocess.run([*command, *settings, "-o", str(tmp_path / "through")], capture_output=True, check=True)
    lasted_s = time.monotonic() - began
    expected = fingerprints(tmp_path / "through")
    moments = random.Random(7)
    killed = 0
    for _ in range(KILLS):
        resumed = subprocess.Popen(
            [*command, *settings, "-o", str(tmp_path / "killed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            resumed.wait(timeout=moments.uniform(0.2, 0.3 + lasted_s / 4))
        except subprocess.TimeoutExpired:
            resumed.kill()
            killed += 1
        assert resumed.wait() in (0, -9)
        if (tmp_path / "killed" / MARKER).exists():
            assert fingerprints(tmp_path / "killed") <= expected
    assert killed >= KILLS / 2
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
