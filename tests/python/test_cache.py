"""The result cache: what one campaign computed, no other computes again."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import packetloom
from conftest import CASES, SCENARIO, as_in_a_test
from packetloom.campaign.cache import LOOKED, ResultCache, build_fingerprint, open_cache
from packetloom.campaign.combine import combine
from packetloom.campaign.progress import LogReporter, SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.common.cache_folder import cache_folder
from packetloom.common.files import CASE_ROW_KEY
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import row_in
from packetloom.store.content_hash import content_of

pytestmark = pytest.mark.unaudited


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultCache:
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    opened = open_cache()
    assert opened
    return opened


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache, and the results that were computed for it, to be looked at and copied only."""
    folder = tmp_path_factory.mktemp("computed")
    (folder / "small.toml").write_text(SCENARIO)
    with as_in_a_test(folder / "cache"):
        packetloom.run(folder / "small.toml", folder / "first", progress=False)
    return folder


@pytest.fixture
def filled(cache: ResultCache, computed: Path) -> ResultCache:
    """A copy of the cache."""
    shutil.copytree(computed / "cache", cache.root, dirs_exist_ok=True)
    assert len(cache.ids()) == CASES
    return cache


@pytest.fixture
def first(computed: Path, tmp_path: Path) -> packetloom.Results:
    """A copy of the results."""
    return packetloom.Results(shutil.copytree(computed / "first", tmp_path / "first"))


def simulate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("this case is in the cache")

    monkeypatch.setattr("packetloom.campaign.executor._core.Simulation", refuse)


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


def test_another_build_never_answers(filled: ResultCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "_core.so"
    built.write_bytes(b"another")
    monkeypatch.setattr("packetloom.common.build._core.__file__", str(built))
    assert filled.files.path.name != build_fingerprint()
    other = open_cache()
    assert other
    assert other.ids() == set()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def rewrite(file: Path, **columns: float) -> None:
    """As a script that improves its results would: all is in order but the values, which are so many times as large."""
    table = pq.read_table(file, partitioning=None)
    for name, factor in columns.items():
        scaled = pc.multiply(table[name], factor).cast(table[name].type)
        table = table.set_column(table.column_names.index(name), table.schema.field(name), scaled)
    pq.write_table(table, file)


def forge(file: Path) -> None:
    """Other values with the hash that belongs to them: only the case's fingerprint tells."""
    rewrite(file, fct_ns=100.0)
    table = pq.read_table(file, partitioning=None)
    row = row_in(file)
    row.tables["flows"] = content_of(table)
    pq.write_table(table.replace_schema_metadata({CASE_ROW_KEY: row.to_json()}), file)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        forge,
        partial(rewrite, slowdown=100.0, fct_ns=100.0),
        partial(rewrite, size_bytes=2),
        partial(rewrite, load=2.0),
        lambda file: file.write_bytes(b"rubbish"),
        lambda file: shutil.copyfile(next(other for other in file.parent.iterdir() if other != file), file),
    ],
    ids=["cut", "forged", "times", "sizes", "load", "rubbish", "another case"],
)
def test_a_damaged_entry_is_dropped_told_and_computed_anew(
    filled: ResultCache,
    first: packetloom.Results,
    scenario: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
) -> None:
    victim = sorted(filled.files.path.glob("flows.parquet/*"))[3]
    damage(victim)
    again = packetloom.run(scenario, tmp_path / "again", progress=False)
    assert again.flows.equals(first.flows)
    warning = capsys.readouterr().err
    assert warning.startswith(f"warning: {victim}: ")
    assert warning.endswith("dropped from the cache, its case is computed again\n")
    packetloom.run(scenario, tmp_path / "third", progress=False)
    assert capsys.readouterr().err == ""


def test_damage_to_another_of_a_cases_tables_counts(
    filled: ResultCache, first: packetloom.Results, scenario: Path, tmp_path: Path
) -> None:
    one, another, *_ = sorted(filled.files.path.glob("ports.parquet/*"))
    rewrite(one, queue_mean_bytes=100.0)
    another.unlink()
    again = packetloom.run(scenario, tmp_path / "again", progress=False)
    assert again.ports.equals(first.ports)


def test_rewriting_a_results_folder_changes_no_later_run(cache: ResultCache, scenario: Path, tmp_path: Path) -> None:
    """Written in place, as `open(file, "wb")` and so most tools do."""
    first = packetloom.run(scenario, tmp_path / "first", progress=False)
    flows = first.flows
    mean = flows["slowdown"].to_numpy().mean()
    for file in (tmp_path / "first" / "flows.parquet").iterdir():
        rewrite(file, slowdown=100.0)
    assert first.flows["slowdown"].to_numpy().mean() == pytest.approx(100 * mean)
    second = packetloom.run(scenario, tmp_path / "second", progress=False)
    assert second.flows.equals(flows)
    # Nor the other way round: who rewrites what came from the cache changes nothing in it.
    for file in (tmp_path / "second" / "flows.parquet").iterdir():
        rewrite(file, slowdown=100.0)
    assert packetloom.run(scenario, tmp_path / "third", progress=False).flows.equals(flows)
    assert all(file.stat().st_nlink == 1 for file in cache.root.rglob("*.parquet") if file.is_file())


def test_combining_takes_copies(first: packetloom.Results, tmp_path: Path) -> None:
    flows = first.flows
    combined, _ = combine([tmp_path / "first"], tmp_path / "all")
    for file in (tmp_path / "first" / "flows.parquet").iterdir():
        rewrite(file, slowdown=100.0)
    assert combined.flows.equals(flows)


def test_results_survive_the_loss_of_the_cache(cache: ResultCache, scenario: Path, tmp_path: Path) -> None:
    first = packetloom.run(scenario, tmp_path / "first", progress=False)
    flows = first.flows
    cache.prune(most_bytes=0)
    assert cache.ids() == set()
    assert packetloom.Results(tmp_path / "first").flows.equals(flows)


def test_pruning_drops_the_oldest_cases_whole(filled: ResultCache) -> None:
    ids = sorted(filled.ids())
    for age, case_id in enumerate(ids):
        for table in ("flows", "ports"):
            os.utime(filled.files.file(table, case_id), (1e9 - age, 1e9 - age))
    total = sum(file.stat().st_size for file in filled.files.path.glob("*/*"))
    filled.prune(most_bytes=total // 2)
    kept = filled.ids()
    assert kept == set(ids[: len(kept)])
    assert 0 < len(kept) < CASES
    assert {file.stem for file in filled.files.path.glob("ports.parquet/*")} == kept


def test_sizes_are_read_at_most_once_an_hour_or_after_much_was_added(
    filled: ResultCache, monkeypatch: pytest.MonkeyPatch, scenario: Path, tmp_path: Path
) -> None:
    pruned: list[int] = []
    monkeypatch.setattr(ResultCache, "prune", lambda cache: pruned.append(len(cache.ids())))
    (filled.root / LOOKED).unlink(missing_ok=True)

    def looks(name: str) -> int:
        packetloom.run(scenario, tmp_path / name, progress=False)
        return len(pruned)

    assert [looks("one"), looks("two")] == [1, 1]
    an_hour_ago = (filled.root / LOOKED).stat().st_mtime - 3601
    os.utime(filled.root / LOOKED, (an_hour_ago, an_hour_ago))
    assert [looks("three"), looks("four")] == [2, 2]
    shutil.rmtree(filled.files.path)
    monkeypatch.setattr("packetloom.campaign.cache.LOOK_BYTES", 0)
    assert [looks("five"), looks("six")] == [3, 3]


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
