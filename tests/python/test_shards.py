"""Shards, and results folders made into one."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import packetloom
from conftest import CASES
from packetloom.campaign.combine import combine
from packetloom.campaign.progress import SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.campaign.schedule import Shard
from packetloom.cli.main import main
from packetloom.common.files import write_table
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import INDEX, index_table
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


def run_shards(scenario: Path, folder: Path, count: int) -> list[Path]:
    outputs = [folder / f"shard{index}" for index in range(1, count + 1)]
    for index, output in enumerate(outputs, start=1):
        run_plan(read_plan(scenario), output, 1, SilentReporter(), shard=Shard(index, count))
    return outputs


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_shards_share_out_the_cases_and_combine_to_the_whole(scenario: Path, tmp_path: Path, finished: Path) -> None:
    whole = Results(finished)
    shards = run_shards(scenario, tmp_path, 3)
    assert sorted(Results(shard).cases.num_rows for shard in shards) == [2, 3, 3]
    results, missing = combine(shards, tmp_path / "all")
    assert missing == 0
    assert results.cases["fingerprint"].equals(whole.cases["fingerprint"])
    assert results.cases["case_id"].equals(whole.cases["case_id"])
    assert results.flows.equals(whole.flows)
    assert results.ports.equals(whole.ports)


def test_a_missing_shard_can_be_run_in_the_combined_folder(scenario: Path, tmp_path: Path, finished: Path) -> None:
    shards = run_shards(scenario, tmp_path, 4)
    _, missing = combine(shards[:3], tmp_path / "all")
    assert missing == 2
    whole, results = Results(finished), packetloom.run(tmp_path / "all", tmp_path / "all", progress=False)
    assert results.cases.num_rows == CASES
    assert results.cases["fingerprint"].equals(whole.cases["fingerprint"])
    assert results.flows.equals(whole.flows)


def test_combining_again_adds_what_is_new(scenario: Path, tmp_path: Path) -> None:
    shards = run_shards(scenario, tmp_path, 2)
    combine(shards[:1], tmp_path / "all")
    results, missing = combine(shards, tmp_path / "all")
    assert (results.cases.num_rows, missing) == (CASES, 0)


def test_two_scenarios_are_not_combined(scenario: Path, tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "a")
    packetloom.run(scenario, tmp_path / "b", overrides=["run.flows=60"], progress=False)
    before = contents(tmp_path)
    with pytest.raises(PacketloomError, match="different scenarios: 16 cases are in only one"):
        combine([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert contents(tmp_path) == before
    assert not (tmp_path / "all").exists()


def test_runs_with_other_seeds_are_combined(scenario: Path, tmp_path: Path) -> None:
    runs = []
    for name, seeds in (("a", "1"), ("b", "3,4"), ("c", "4,2")):
        runs.append(tmp_path / name)
        packetloom.run(scenario, runs[-1], overrides=[f"run.seeds=[{seeds}]", "run.flows=20"], progress=False)
    both, missing = combine(runs[:2], tmp_path / "some")
    assert (sorted(set(both.cases["seed"].to_pylist())), missing) == ([1, 3, 4], 0)
    results, missing = combine([tmp_path / "some", runs[2]], tmp_path / "all")
    whole = packetloom.run(
        scenario, tmp_path / "whole", overrides=["run.seeds=[1,2,3,4]", "run.flows=20"], progress=False
    )
    assert missing == 0
    assert results.cases["fingerprint"].equals(whole.cases["fingerprint"])
    # The folder can be run again, too.
    assert packetloom.run(tmp_path / "all", tmp_path / "all", progress=False).flows.equals(whole.flows)


def test_a_case_with_two_results_is_refused(tmp_path: Path, finished: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(finished, tmp_path / name)
    second = Results(tmp_path / "b")
    row, *others = second.rows()
    changed = [replace(row, fingerprint="0" * 16), *others]
    write_table(tmp_path / "b" / INDEX, index_table(changed, second.parameter_types()))
    with pytest.raises(PacketloomError, match=f"differ in case {row.case_id}"):
        combine([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.usefixtures("scenario")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "small.toml", "--shard", "0/4"], "--shard 0/4: out of range; shards of 4 are 1/4 to 4/4"),
        (["run", "small.toml", "--shard", "5/4"], "--shard 5/4: out of range"),
        (["run", "small.toml", "--shard", "1/0"], "--shard 1/0: out of range"),
        (["run", "small.toml", "--shard", "two"], "write it as i/n"),
        (["combine", "a", "newer", "-o", "all"], "newer than this one"),
        (["combine", "a", "format", "-o", "all"], "written in format 99"),
        (["combine", "a", "-o", "newer"], "newer than this one"),
        (["combine", "a", "nowhere", "-o", "all"], "there is no such folder"),
        (["combine", "a"], "--output"),
        (["run", "small.toml", "-o", "newer"], "newer than this one"),
        (["run", "newer"], "newer than this one"),
        (["report", "newer"], "newer than this one"),
        (["run", "small.toml", "-o", "format"], "written in format 99"),
    ],
)
def test_mistakes_touch_nothing(
    arguments: list[str],
    message: str,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, change in (("a", {}), ("newer", {"version": "99.0.0"}), ("format", {"format": 99})):
        shutil.copytree(finished, tmp_path / name)
        marker = tmp_path / name / "packetloom.json"
        marker.write_text(json.dumps(json.loads(marker.read_text()) | change))
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["packetloom", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert contents(tmp_path) == before


def test_a_shard_has_a_folder_of_its_own(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for shard in ("1/2", "2/2"):
        monkeypatch.setattr(sys, "argv", ["packetloom", "run", str(scenario), "--shard", shard])
        with pytest.raises(SystemExit):
            main()
    folders = ["results/small-shard-1-of-2", "results/small-shard-2-of-2"]
    monkeypatch.setattr(sys, "argv", ["packetloom", "combine", *folders, "-o", "results/small"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert f"{CASES} cases in results/small" in capsys.readouterr().out
