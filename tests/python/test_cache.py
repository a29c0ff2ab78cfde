"""The result cache: what one campaign computed, no other computes again."""

import os
from pathlib import Path

import pytest

import packetloom
from conftest import CASES
from packetloom.cache import ResultCache, build_fingerprint, cache_folder, open_cache
from packetloom.campaign import run_plan
from packetloom.progress import LogReporter, SilentReporter
from packetloom.scenario import read_plan


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultCache:
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    opened = open_cache()
    assert opened
    return opened


def simulate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("this case is in the cache")

    monkeypatch.setattr("packetloom.executor._core.Simulation", refuse)


def partitions(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob("*.parquet/*.parquet")}


@pytest.mark.usefixtures("cache")
def test_a_case_is_computed_once_and_comes_back_byte_for_byte(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_plan(read_plan(scenario), tmp_path / "first", 2, SilentReporter())
    simulate_nothing(monkeypatch)
    run_plan(read_plan(scenario), tmp_path / "second", 2, LogReporter())
    assert partitions(tmp_path / "second") == partitions(tmp_path / "first")
    assert len(partitions(tmp_path / "second")) == 2 * CASES
    assert f"{CASES} cases, {CASES} known from earlier runs (--no-cache" in capsys.readouterr().err


@pytest.mark.usefixtures("cache")
def test_the_same_case_in_another_grid_has_that_grids_columns(scenario: Path, tmp_path: Path) -> None:
    packetloom.run(scenario, tmp_path / "four", progress=False)
    wider = packetloom.run(scenario, tmp_path / "wider", overrides=["topology.hosts=[4, 5]"], progress=False)
    assert wider.axes == ["topology.hosts"]
    assert wider.cases["topology.hosts"].to_pylist().count(4) == CASES
    again = packetloom.run(scenario, tmp_path / "again", progress=False)
    assert again.axes == []


def test_opting_out_neither_reads_nor_writes(
    cache: ResultCache, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packetloom.run(scenario, tmp_path / "first", cache=False, progress=False)
    assert cache.ids() == set()
    packetloom.run(scenario, tmp_path / "second", progress=False)
    assert len(cache.ids()) == CASES
    simulate_nothing(monkeypatch)
    with pytest.raises(AssertionError, match="in the cache"):
        packetloom.run(scenario, tmp_path / "third", cache=False, progress=False)


def test_another_build_never_answers(
    cache: ResultCache, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packetloom.run(scenario, tmp_path / "first", progress=False)
    built = tmp_path / "_core.so"
    built.write_bytes(b"another")
    monkeypatch.setattr("packetloom.build._core.__file__", str(built))
    assert cache.files.path.name != build_fingerprint()
    other = open_cache()
    assert other
    assert other.ids() == set()


def test_a_damaged_entry_is_computed_anew(cache: ResultCache, scenario: Path, tmp_path: Path) -> None:
    first = packetloom.run(scenario, tmp_path / "first", progress=False)
    for file in cache.files.path.glob("flows.parquet/*"):
        damaged = file.read_bytes()[:-20]
        file.unlink()
        file.write_bytes(damaged)
    again = packetloom.run(scenario, tmp_path / "again", progress=False)
    assert again.flows.equals(first.flows)


def test_results_survive_the_loss_of_the_cache(cache: ResultCache, scenario: Path, tmp_path: Path) -> None:
    first = packetloom.run(scenario, tmp_path / "first", progress=False)
    flows = first.flows
    cache.prune(most_bytes=0)
    assert cache.ids() == set()
    assert packetloom.Results(tmp_path / "first").flows.equals(flows)


def test_pruning_drops_the_oldest_cases_whole(cache: ResultCache, scenario: Path, tmp_path: Path) -> None:
    packetloom.run(scenario, tmp_path / "first", progress=False)
    ids = sorted(cache.ids())
    for age, case_id in enumerate(ids):
        for table in ("flows", "ports"):
            os.utime(cache.files.file(table, case_id), (1e9 - age, 1e9 - age))
    total = sum(file.stat().st_size for file in cache.files.path.glob("*/*"))
    cache.prune(most_bytes=total // 2)
    kept = cache.ids()
    assert kept == set(ids[: len(kept)])
    assert 0 < len(kept) < CASES
    assert {file.stem for file in cache.files.path.glob("ports.parquet/*")} == kept


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PACKETLOOM_CACHE", "off")
    assert cache_folder() is None
    monkeypatch.delenv("PACKETLOOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "packetloom"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "packetloom"


def test_a_place_that_cannot_be_written_is_done_without(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "file"))
    assert packetloom.run(scenario, tmp_path / "out", progress=False).cases.num_rows == CASES
