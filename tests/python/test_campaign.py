"""Campaigns: parallel, resumable, and nothing finished is ever lost."""

import errno
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

import pytest

import packetloom
from conftest import CASES, FLOWS
from packetloom import _core
from packetloom.campaign.progress import LogReporter, SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.campaign.time_left import RemainingTime
from packetloom.common import files as storage
from packetloom.errors import Interrupted, PacketloomError
from packetloom.scenario.plan import Parameter, read_plan
from packetloom.store.case_rows import CaseRow, row_label
from packetloom.store.results import Results
from packetloom.store.writer import ResultsFolder

pytestmark = pytest.mark.unaudited


class StopAfter(SilentReporter):
    """Presses Ctrl-C once so many cases are done."""

    def __init__(self, cases: int) -> None:
        self.left = cases

    def finished(self, row: CaseRow) -> None:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


class Ran(SilentReporter):
    """Notes which cases ran."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def finished(self, row: CaseRow) -> None:
        self.labels.append(row_label(row.parameters))


def test_all_cases_run_and_are_in_the_tables(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "out", progress=False)
    assert results.cases.num_rows == CASES
    assert results.flows.num_rows == CASES * FLOWS
    assert set(results.cases["scheme"].to_pylist()) == {"TCP", "DCTCP"}
    assert results.cases["flows_finished"].to_pylist() == [FLOWS] * CASES
    assert all(seconds > 0 for seconds in results.cases["cpu_s"].to_pylist())


def test_results_do_not_depend_on_the_number_of_workers(scenario: Path, tmp_path: Path) -> None:
    one = packetloom.run(scenario, tmp_path / "one", workers=1, progress=False)
    three = packetloom.run(scenario, tmp_path / "three", workers=3, progress=False)
    assert one.cases["fingerprint"].to_pylist() == three.cases["fingerprint"].to_pylist()
    assert one.cases["case_id"].to_pylist() == three.cases["case_id"].to_pylist()


def test_interrupted_run_keeps_what_is_finished_and_resumes_the_rest(long_scenario: Path, tmp_path: Path) -> None:
    plan = read_plan(long_scenario)
    with pytest.raises(Interrupted, match="of 8 cases are finished and kept"):
        run_plan(plan, tmp_path / "out", 1, StopAfter(3))
    kept = Results(tmp_path / "out").cases.num_rows
    assert 3 <= kept < CASES
    ran = Ran()
    results = run_plan(plan, tmp_path / "out", 2, ran)
    assert len(ran.labels) == CASES - kept
    assert results.cases.num_rows == CASES


def test_ctrl_c_cancels_running_cases_at_once(scenario: Path, tmp_path: Path) -> None:
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        run_plan(read_plan(scenario, ["run.flows=50_000_000"]), tmp_path / "out", 2, SilentReporter())
    assert time.monotonic() - began < 5
    assert Results(tmp_path / "out").cases.num_rows == 0


def test_killed_run_loses_nothing_finished(long_scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "packetloom", "run", str(long_scenario)]
    process = subprocess.Popen([*command, "-o", str(out), "--workers", "1"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while len(list((out / "flows.parquet").glob("*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    finished = {path.stem for path in (out / "flows.parquet").glob("*.parquet")}
    assert 2 <= len(finished) < CASES
    (out / "cases.parquet").unlink()  # the index may lag behind, or be lost: the flows files know
    assert set(Results(out).cases["case_id"].to_pylist()) == finished
    ran = Ran()
    run_plan(read_plan(long_scenario), out, 2, ran)
    assert len(ran.labels) == CASES - len(finished)


def test_a_part_of_a_file_is_not_a_result(scenario: Path, out: Path) -> None:
    flows = sorted((out / "flows.parquet").glob("*.parquet"))
    half = flows[0].read_bytes()[:100]
    flows[0].unlink()
    flows[0].with_name(flows[0].name + ".tmp").write_bytes(half)
    assert Results(out).cases.num_rows == CASES - 1
    ran = Ran()
    run_plan(read_plan(scenario), out, 1, ran)
    assert len(ran.labels) == 1
    assert not list(out.rglob("*.tmp"))


def test_more_seeds_extend_a_folder(scenario: Path, out: Path) -> None:
    ran = Ran()
    run_plan(read_plan(scenario, ["run.seeds=3"]), out, 2, ran)
    assert len(ran.labels) == 4
    assert all(label.endswith("seed 3") for label in ran.labels)


def test_folder_runs_again_from_itself(scenario: Path, tmp_path: Path) -> None:
    first = packetloom.run(scenario, tmp_path / "out", progress=False)
    scenario.unlink()
    again = packetloom.run(tmp_path / "out", tmp_path / "again", progress=False)
    assert again.cases["fingerprint"].to_pylist() == first.cases["fingerprint"].to_pylist()


def test_folder_of_another_scenario_is_refused(scenario: Path, out: Path) -> None:
    with pytest.raises(PacketloomError, match="another scenario: 8 of its 8"):
        run_plan(read_plan(scenario, ["run.flows=99"]), out, 2, SilentReporter())
    assert Results(out).cases.num_rows == CASES


def test_folder_that_is_not_ours_is_left_alone(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.tex").write_text("precious")
    with pytest.raises(PacketloomError, match="not a results folder"):
        run_plan(read_plan(scenario), out, 1, SilentReporter())
    assert [entry.name for entry in out.iterdir()] == ["chapter.tex"]


def test_file_in_place_of_a_folder(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(PacketloomError, match="is a file"):
        run_plan(read_plan(scenario), tmp_path / "out", 1, SilentReporter())


def test_two_runs_into_one_folder(scenario: Path, tmp_path: Path) -> None:
    plan = read_plan(scenario)
    with ResultsFolder(tmp_path / "out", plan), pytest.raises(PacketloomError, match="another run"):
        ResultsFolder(tmp_path / "out", plan)
    ResultsFolder(tmp_path / "out", plan).close()


def test_newer_format_is_refused(out: Path) -> None:
    marker = out / "packetloom.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"format": 99}))
    with pytest.raises(PacketloomError, match="format 99"):
        Results(out)


def test_full_disk_keeps_what_is_finished(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = 3
    original = storage.write_parquet

    def write_parquet(file: IO[bytes], table: Any) -> None:
        nonlocal room
        if "/flows.parquet/" in file.name:
            room -= 1
            if room < 0:
                file.write(b"PAR1")
                raise OSError(errno.ENOSPC, "No space left on device")
        original(file, table)

    monkeypatch.setattr("packetloom.store.case_files.write_parquet", write_parquet)
    with pytest.raises(PacketloomError, match=r"disk is full.*3 of 8 cases are finished and kept"):
        run_plan(read_plan(scenario), tmp_path / "out", 2, SilentReporter())
    monkeypatch.undo()
    ran = Ran()
    assert run_plan(read_plan(scenario), tmp_path / "out", 2, ran).cases.num_rows == CASES
    assert len(ran.labels) == 5


def test_read_only_place(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("packetloom.store.writer.os.open", refuse)
    with pytest.raises(PacketloomError, match="read-only"):
        run_plan(read_plan(scenario), tmp_path / "out", 1, SilentReporter())


def test_bug_in_one_case_keeps_the_others(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulation(case: _core.Case) -> object:
        if case.parameters["scheme"] == "DCTCP":
            raise RuntimeError("a bug")
        return original(case)

    original = _core.Simulation
    monkeypatch.setattr(_core, "Simulation", simulation)
    with pytest.raises(RuntimeError, match="a bug"):
        run_plan(read_plan(scenario), tmp_path / "out", 1, SilentReporter())
    assert set(Results(tmp_path / "out").cases["scheme"].to_pylist()) == {"TCP"}
    assert Results(tmp_path / "out").cases.num_rows == 4


def test_workers_must_be_positive(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="workers is 0"):
        run_plan(read_plan(scenario), tmp_path / "out", 0, SilentReporter())


def test_plain_log_names_each_case(scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_plan(read_plan(scenario), tmp_path / "out", 1, LogReporter())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("8 cases; results in")
    assert sum(line.startswith("done: DCTCP load 0.8 seed") for line in lines) == 2


def test_remaining_time_learns_from_cases_of_the_same_scheme() -> None:
    remaining = RemainingTime()
    waiting: Counter[Parameter] = Counter(["slow", "fast"])
    assert remaining.estimate_s([], waiting, workers=2) is None
    remaining.finished("fast", 1.0)
    remaining.finished("slow", 10.0)
    assert remaining.estimate_s([("slow", 5.0, 0.5)], waiting, workers=2) == pytest.approx((5 + 10 + 1) / 2)
    assert remaining.estimate_s([], Counter[Parameter](["unknown"]), workers=2) == pytest.approx(5.5 / 2)
