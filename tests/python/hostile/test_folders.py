"""Results folders that are damaged, or that are none."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import packetloom
from hostile.harness import SCENARIO, Answer, Worker


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folders") / "out"
    packetloom.run(SCENARIO, folder, progress=False, cache=False)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "out")
    return tmp_path / "out"


def first(folder: Path, table: str) -> Path:
    return sorted((folder / f"{table}.parquet").iterdir())[0]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def gone(path: Path) -> None:
    path.unlink()


Damage = Callable[[Path], None]


def marker(**changed: object) -> Damage:
    def damage(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    damage.__name__ = f"{changed!a}"[:40]
    return damage


def text(content: str) -> Damage:
    def damage(path: Path) -> None:
        path.write_text(content)

    damage.__name__ = f"{content[:20]!a}"
    return damage


def must_tell(answer: Answer, name: str) -> None:
    """Exit code 2, or what is whole with a warning; either names the file."""
    answer.must_be_sound()
    assert answer.code in (0, 2), answer.err
    assert name in answer.err, answer.err


def must_mend(worker: Worker, folder: Path, name: str) -> None:
    """`run` computes again what is damaged, or says why it does not."""
    ran = worker.command(folder.parent, "run", "out", "--workers", "1")
    ran.must_be_sound()
    if ran.code == 2:
        assert name in ran.err, ran.err
    else:
        ran.must_accept("Slowdown")
        again = worker.command(folder.parent, "report", "out")
        again.must_accept("wrote")
        assert name not in again.err, again.err


@pytest.mark.parametrize("damage", [cut, garbage, empty, a_folder, gone], ids=lambda one: one.__name__)
@pytest.mark.parametrize("table", ["flows", "ports"])
def test_damaged_tables(table: str, damage: Damage, folder: Path, worker: Worker) -> None:
    file = first(folder, table)
    if (table, damage) in (("flows", gone), ("ports", a_folder)):
        pytest.skip("a case that has no flows is not finished")
    damage(file)
    figure = "fct-cdf" if table == "flows" else "queue-by-tier"
    for command in (["report", "out"], ["plot", figure, "out", "-o", "x.pdf"], ["check", "out"]):
        must_tell(worker.command(folder.parent, *command), file.name)
    must_mend(worker, folder, file.name)


@pytest.mark.parametrize("damage", [cut, garbage, empty, gone], ids=lambda one: one.__name__)
def test_a_damaged_index_is_made_anew(damage: Damage, folder: Path, worker: Worker) -> None:
    damage(folder / "cases.parquet")
    worker.command(folder.parent, "report", "out").must_accept("wrote")
    worker.command(folder.parent, "run", "out", "--workers", "1").must_accept("Slowdown")


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        garbage,
        empty,
        a_folder,
        text("[]"),
        text("null"),
        text("5"),
        text('"text"'),
        text("{}"),
        text('{"format": 1}'),
        text('{"format": 1, "format": 2}'),
        text("[" * 50_000),
        text('{"format": ' + "9" * 9_000 + "}"),
        marker(format=999),
        marker(format="one"),
        marker(format=None),
        marker(version=None),
        marker(version="99.0.0"),
        marker(version=5),
        marker(version="9" * 9_000),
        marker(scenario=None),
        marker(scenario=5),
        marker(scenario="nowhere.toml"),
        marker(scenario="../../../../etc/passwd"),
        marker(scenario="/dev/zero"),
        marker(origin=5),
        marker(set=5),
        marker(set=[5]),
        marker(precision=5),
        marker(precision={"statistic": 5}),
        marker(precision={"colour": "red"}),
    ],
    ids=lambda one: one.__name__,
)
def test_a_damaged_marker(damage: Damage, folder: Path, worker: Worker) -> None:
    damage(folder / "packetloom.json")
    for command in (["report", "out"], ["run", "out", "--workers", "1"], ["combine", "out", "-o", "both"]):
        answer = worker.command(folder.parent, *command)
        answer.must_be_sound()
        assert answer.code in (0, 2), answer
        if answer.code == 2:
            answer.must_refuse("out")


def test_no_marker_at_all(folder: Path, worker: Worker) -> None:
    (folder / "packetloom.json").unlink()
    for command in (["report", "out"], ["plot", "fct-cdf", "out", "-o", "x.pdf"], ["export", "out", "-o", "exported"]):
        worker.command(folder.parent, *command).must_refuse("out", "packetloom.json")


@pytest.mark.parametrize(
    "damage",
    [cut, garbage, empty, a_folder, gone, text("null\n"), text("{}\n"), text('{"id": 5}\n'), text("[" * 50_000)],
    ids=lambda one: one.__name__,
)
def test_a_damaged_plan(damage: Damage, folder: Path, worker: Worker) -> None:
    damage(folder / "plan.jsonl")
    worker.command(folder.parent, "report", "out").must_be_sound()  # it needs no plan
    for command in (["combine", "out", "-o", "both"], ["check", "out"]):
        must_tell(worker.command(folder.parent, *command), "plan.jsonl")
    must_mend(worker, folder, "plan.jsonl")


@pytest.mark.parametrize("damage", [garbage, a_folder, gone, a_pipe], ids=lambda one: one.__name__)
def test_a_damaged_scenario(damage: Damage, folder: Path, worker: Worker) -> None:
    damage(folder / "scenario.json")
    for command in (["report", "out"], ["check", "out"]):
        must_tell(worker.command(folder.parent, *command), "scenario.json")
    must_mend(worker, folder, "scenario.json")


@pytest.mark.parametrize("name", ["nowhere", "file", "empty", "file/below", "out/flows.parquet", "", "a\nb", "-"])
def test_no_results_folder(name: str, folder: Path, worker: Worker) -> None:
    (folder.parent / "file").write_text("")
    (folder.parent / "empty").mkdir()
    for command in (["report", "--", name], ["view", "--", name], ["combine", "-o", "both", "--", name]):
        worker.command(folder.parent, *command).must_refuse(name.split("\n")[0] or ".")


@pytest.mark.parametrize("made", ["file", "other", "out"])
def test_no_place_to_write(made: str, folder: Path, worker: Worker) -> None:
    (folder.parent / "file").write_text("")
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "mine.txt").write_text("")
    (folder.parent / "changed.json").write_text(json.dumps({**SCENARIO, "run": {"loads": [0.7], "flows": 2}}))
    worker.command(folder.parent, "run", "changed.json", "-o", made, "--workers", "1").must_refuse(made)
    assert (folder.parent / "other" / "mine.txt").exists()


def test_strangers_among_the_tables(folder: Path, worker: Worker) -> None:
    shutil.copy(first(folder, "flows"), folder / "flows.parquet" / "stranger.parquet")
    answer = worker.command(folder.parent, "report", "out")
    answer.must_be_sound()
    (folder / "flows.parquet" / "notes.txt").write_text("")
    (folder / "flows.parquet" / "stranger.parquet").unlink()
    worker.command(folder.parent, "report", "out").must_accept("wrote")
