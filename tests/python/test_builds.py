"""A results folder knows the build that computed each case; another build's are computed again, or named."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import packetloom
from conftest import CASES, LONG_FLOWS
from packetloom import _core
from packetloom.campaign.combine import combine
from packetloom.campaign.progress import LogReporter, SilentReporter
from packetloom.campaign.ray_executor import simulate
from packetloom.campaign.runner import run_plan
from packetloom.campaign.schedule import Shard
from packetloom.campaign.search import largest_held
from packetloom.cli.main import app
from packetloom.common.build import this_build
from packetloom.common.files import CASE_ROW_KEY
from packetloom.errors import Interrupted, PacketloomError
from packetloom.pages.report import report
from packetloom.scenario.plan import read_plan
from packetloom.store.case_files import CaseFiles
from packetloom.store.case_rows import INDEX, CaseRow
from packetloom.store.results import Results
from packetloom.store.writer import ResultsFolder
from test_precision import PRECISION
from test_search import incast

pytestmark = pytest.mark.unaudited

OTHER = "0123456789abcdef"
VERSION = f"packetloom {_core.version()}"


class Ran(SilentReporter):
    """Counts the cases that ran, and stops after so many."""

    def __init__(self, stop_after: int = -1) -> None:
        self.count = 0
        self.stop_after = stop_after

    def finished(self, row: CaseRow) -> None:
        self.count += 1
        if self.count == self.stop_after:
            signal.raise_signal(signal.SIGINT)


def of_another_build(folder: Path, cases: int = CASES, build: str = OTHER) -> list[str]:
    """Makes the first cases of a folder another build's; an empty one is as format 1 wrote them. Gives their names."""
    files = sorted((folder / "flows.parquet").iterdir())[:cases]
    for file in files:
        for part in folder.glob(f"*.parquet/{file.name}"):
            table = pq.read_table(part, partitioning=None)
            row = json.loads(table.schema.metadata[CASE_ROW_KEY]) | {"build": build}
            if not build:
                del row["build"], row["tables"]
            pq.write_table(table.replace_schema_metadata({CASE_ROW_KEY: json.dumps(row)}), part)
    (folder / INDEX).unlink()
    if not build:
        marker = folder / "packetloom.json"
        marker.write_text(json.dumps(json.loads(marker.read_text()) | {"format": 1}))
    return [file.stem for file in files]


def builds(results: Results) -> list[str | None]:
    found: list[str | None] = results.cases["build"].to_pylist()
    return found


def test_every_case_says_which_build_computed_it(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "out", progress=False)
    assert builds(results) == [this_build().digest] * CASES
    assert results.build_note() == ""


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("build", [OTHER, ""])
def test_another_builds_cases_are_named_and_computed_again(
    scenario: Path, out: Path, finished: Path, capsys: pytest.CaptureFixture[str], build: str, cache: bool
) -> None:
    of_another_build(out, 3, build)
    run_plan(read_plan(scenario), out, 2, LogReporter(), cache=cache)
    opening, *lines = capsys.readouterr().err.splitlines()
    what = f"build {build}" if build else "a build that is not recorded"
    assert opening == (f"3 finished cases are computed again: they are by {VERSION}, {what} (--keep-older keeps them)")
    assert sum(line.startswith("done: ") for line in lines) == 3
    again = Results(out)
    assert builds(again) == [this_build().digest] * CASES
    assert again.flows.equals(Results(finished).flows)


def test_a_folder_run_from_itself_does_the_same(out: Path) -> None:
    of_another_build(out)
    ran = Ran()
    run_plan(read_plan(out), out, 2, ran)
    assert ran.count == CASES


def test_kept_ones_are_told_wherever_there_is_a_table(scenario: Path, tmp_path: Path, out: Path) -> None:
    of_another_build(out, 3)
    said = f"3 of 8 cases were computed by another build: {VERSION}, build {OTHER}"
    done = CliRunner().invoke(app, ["run", str(scenario), "-o", str(out), "--keep-older"])
    assert done.exit_code == 0
    assert f"8 cases, 8 of them finished before; results in {out}" in done.output
    table, _, below = done.stdout.partition("slowdown = completion time")
    assert "DCTCP" in table
    assert said in below
    assert sorted(map(str, builds(Results(out)))) == sorted([OTHER] * 3 + [this_build().digest] * 5)
    page = report([Results(out)], tmp_path / "page.html").read_text()
    assert said in page
    assert said in Results(out)._repr_html_()
    assert said in repr(Results(out))
    kept = packetloom.run(scenario, out, progress=False, keep_older=True)
    assert builds(kept).count(OTHER) == 3


def test_a_search_computes_again_what_another_build_probed(tmp_path: Path) -> None:
    search = ("workload.pattern.fan_in", 1, 9)
    first = largest_held(incast("1ms"), *search, share=1.0, output=tmp_path)
    cases = len(Results(tmp_path).rows())
    of_another_build(tmp_path, cases)
    largest_held(incast("1ms"), *search, share=1.0, output=tmp_path, keep_older=True)
    assert builds(Results(tmp_path)) == [OTHER] * cases
    assert largest_held(incast("1ms"), *search, share=1.0, output=tmp_path).equals(first)
    assert builds(Results(tmp_path)) == [this_build().digest] * cases


def test_what_a_precision_no_longer_asks_for_is_computed_again_too(scenario: Path, tmp_path: Path) -> None:
    one_load = "run.loads=[0.2]"
    packetloom.run(scenario, tmp_path / "out", overrides=[one_load, "run.seeds=12"], progress=False)
    of_another_build(tmp_path / "out", 24)
    asked = packetloom.run(scenario, tmp_path / "precise", overrides=[one_load, PRECISION], progress=False)
    results = packetloom.run(scenario, tmp_path / "out", overrides=[one_load, PRECISION], progress=False)
    assert builds(results) == [this_build().digest] * 24
    assert len(asked.rows()) < 24


def test_stopped_half_way_a_folder_knows_which_are_which(long_scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    packetloom.run(long_scenario, out, progress=False)
    of_another_build(out)
    with pytest.raises(Interrupted):
        run_plan(read_plan(long_scenario), out, 1, Ran(stop_after=2))
    found = Results(out)
    assert len(found.rows()) == CASES  # what is not computed again yet is there as it was
    assert found.flows.num_rows == LONG_FLOWS * CASES
    computed = builds(found).count(this_build().digest)
    assert 2 <= computed < CASES
    assert f"{CASES - computed} of 8 cases were computed by another build" in found.build_note()
    ran = Ran()
    run_plan(read_plan(long_scenario), out, 2, ran)
    assert ran.count == CASES - computed
    assert found.build_note() == ""


def test_killed_in_between_two_files_of_a_case(scenario: Path, out: Path, finished: Path) -> None:
    """Its ports are of this build already, its flows not yet: it counts as another build's."""
    name, *_ = of_another_build(out)
    (out / f"ports.parquet/{name}.parquet").write_bytes((finished / f"ports.parquet/{name}.parquet").read_bytes())
    assert builds(Results(out)) == [OTHER] * CASES
    ran = Ran()
    assert builds(run_plan(read_plan(scenario), out, 2, ran)) == [this_build().digest] * CASES
    assert ran.count == CASES


def test_killed_by_force_while_computing_again(long_scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = packetloom.run(long_scenario, out, progress=False).flows
    of_another_build(out)
    command = [sys.executable, "-m", "packetloom", "run", str(long_scenario), "-o", str(out), "--workers", "1"]
    environment = os.environ | {"PACKETLOOM_CACHE": "off"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr
    for line in process.stderr:
        if line.startswith("done: "):
            break
    process.kill()
    process.communicate()
    found = Results(out)
    assert found.flows.equals(first)
    assert 0 < builds(found).count(this_build().digest) < CASES
    rows = {row.case_id: row.build for row in found.rows()}
    files = CaseFiles(out)
    assert {id: files.read(id)[0].build for id in rows} == rows


def test_a_table_that_a_case_no_longer_has_goes_with_its_old_result(scenario: Path, out: Path) -> None:
    name, *_ = of_another_build(out)
    left = out / f"jobs.parquet/{name}.parquet"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes((out / f"ports.parquet/{name}.parquet").read_bytes())
    packetloom.run(scenario, out, progress=False)
    assert not left.exists()


def test_shards_of_two_builds_are_told_and_this_builds_are_preferred(scenario: Path, tmp_path: Path) -> None:
    shards = [tmp_path / "one", tmp_path / "two", tmp_path / "one again"]
    for index, shard in zip((1, 2, 1), shards, strict=True):
        run_plan(read_plan(scenario), shard, 1, SilentReporter(), shard=Shard(index, 2))
    of_another_build(shards[0])
    mixed, _ = combine(shards[:2], tmp_path / "all")
    assert f"4 of 8 cases were computed by another build: {VERSION}, build {OTHER}" in mixed.build_note()
    combine(shards, tmp_path / "best")
    assert Results(tmp_path / "best").build_note() == ""
    combine([shards[2]], tmp_path / "all")
    assert mixed.build_note() == ""


def test_a_node_with_another_build_is_refused(scenario: Path) -> None:
    case = read_plan(scenario).cases[0]
    assert simulate(case.json, case.id, False, this_build().digest, []).build == this_build().digest
    with pytest.raises(PacketloomError, match=f"the machine that sends the cases has build {OTHER}: install the same"):
        simulate(case.json, case.id, False, OTHER, [])


def test_a_folder_of_another_scenario_names_the_build(scenario: Path, out: Path) -> None:
    of_another_build(out)
    with pytest.raises(PacketloomError, match=f"another scenario: 8 of its 8 .*computed by {VERSION}, build {OTHER}"):
        packetloom.run(scenario, out, overrides=["run.flows=60"], progress=False)


def test_the_digest_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    here = this_build()
    monkeypatch.setattr("packetloom.common.build.hashlib.file_digest", None)
    assert this_build() == here


def test_a_case_of_another_build_is_not_put_into_the_cache(
    scenario: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from packetloom.campaign.cache import open_cache

    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    cache = open_cache()
    assert cache
    with ResultsFolder(tmp_path / "out", read_plan(scenario)) as folder:
        row = replace(Results(finished).rows()[0], build=OTHER)
        cache.put(row, CaseFiles(finished))
        assert folder.rows == {}
    assert cache.ids() == set()
