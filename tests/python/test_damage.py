"""Damaged results folders: named, never a traceback; what is whole stays usable; `check` names it, `run` repairs it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import packetloom
from conftest import CASES, FLOWS, SCENARIO
from packetloom.campaign.combine import combine
from packetloom.cli import main as cli
from packetloom.common.files import DamageError
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

RUBBISH = b"\x00rubbish\xff" * 40
MISTAKE = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    (place / "small.toml").write_text(SCENARIO)
    packetloom.run(place / "small.toml", place / "out", progress=False)
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str]:
    """The exit code, and all that was said."""
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["packetloom", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    said = capsys.readouterr()
    code = stopped.value.code or 0
    assert isinstance(code, int)
    return code, said.out + said.err


def victim(folder: Path, table: str = "flows") -> Path:
    return sorted((folder / f"{table}.parquet").iterdir())[2]


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def rubbish(file: Path) -> None:
    file.write_bytes(RUBBISH)


def overwrite_the_middle(file: Path) -> None:
    """The end, where Parquet begins to read, stays whole."""
    content = bytearray(file.read_bytes())
    content[100 : len(content) // 2] = bytes(len(content) // 2 - 100)
    file.write_bytes(content)


def rewrite(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.slice(1), file)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def swap(file: Path) -> None:
    shutil.copyfile(sorted(file.parent.iterdir())[0], file)


DAMAGE = [cut, rubbish, overwrite_the_middle, empty, swap, Path.unlink]


@pytest.mark.parametrize("damage", [*DAMAGE, rewrite])
@pytest.mark.parametrize("table", ["flows", "ports"])
@pytest.mark.parametrize("indexed", [True, False])
def test_one_damaged_case(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    table: str,
    indexed: bool,
) -> None:
    """Whether or not cases.parquet is there to tell of it."""
    whole = Results(folder)
    flows, ports = whole.flows, whole.ports
    file = victim(folder, table)
    damage(file)
    if not indexed:
        (folder / "cases.parquet").unlink()
    if damage is Path.unlink and table == "flows":
        damaged = 0  # the case is not finished, as far as anybody can know
    else:
        damaged = 1
        code, said = command(capsys, monkeypatch, "check", folder)
        assert code == MISTAKE
        assert f"error: {file}: " in said
    if damage is not rewrite:  # that is sound by itself: only what was written is known to be another
        capsys.readouterr()
        left = Results(folder)
        assert left.to_polars("flows").height == FLOWS * (CASES - (table == "flows"))
        assert left.to_polars("ports").height == 8 * (CASES - (table == "ports" or not indexed or not damaged))
        assert capsys.readouterr().err.count(f"warning: {file}: ") == damaged
    code, said = command(capsys, monkeypatch, "run", folder)
    assert code == 0
    assert said.count("done: ") == 1
    assert said.count(f"warning: {file}: ") == damaged
    assert command(capsys, monkeypatch, "check", folder)[0] == 0
    mended = Results(folder)
    assert mended.flows.equals(flows)
    assert mended.ports.equals(ports)


@pytest.mark.parametrize(("damage", "table"), [(cut, "flows"), (Path.unlink, "ports")])
def test_reports_figures_and_exports_go_on_with_the_rest(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    table: str,
) -> None:
    file = victim(folder, table)
    damage(file)
    for words in (
        ("report", folder),
        ("plot", "slowdown-by-size" if table == "flows" else "queue-by-tier", folder, "-o", folder / "a.png"),
        ("export", folder, "-o", folder / "exported"),
    ):
        code, said = command(capsys, monkeypatch, *words)
        assert code == 0
        assert said.count(f"warning: {file}: ") == 1
        assert f"`packetloom run {folder}` repairs it" in said
    assert f"passed over: {file}: " in (folder / "report.html").read_text()
    assert len(list((folder / "exported").iterdir())) == CASES - 1


@pytest.mark.parametrize("damage", [cut, rubbish, empty, rewrite])
def test_a_damaged_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    index, whole = folder / "cases.parquet", Results(folder).cases
    damage(index)
    assert Results(folder).cases.equals(whole)
    if damage is not rewrite:
        code, said = command(capsys, monkeypatch, "check", folder)
        assert code == MISTAKE
        assert f"error: {index}: " in said
    code, said = command(capsys, monkeypatch, "run", folder)
    assert (code, said.count("done: ")) == (0, 0)
    assert pq.read_table(index).equals(whole)
    assert command(capsys, monkeypatch, "check", folder)[0] == 0


def half_a_line(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def a_line_less(file: Path) -> None:
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))


def other_json(file: Path) -> None:
    file.write_text('{"id": 3}\n[]\nnull\n"x"\n')


@pytest.mark.parametrize("damage", [Path.unlink, rubbish, empty, half_a_line, a_line_less, other_json])
def test_a_damaged_plan_is_made_again_from_the_scenario(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    plan = folder / "plan.jsonl"
    whole = plan.read_bytes()
    damage(plan)
    code, said = command(capsys, monkeypatch, "check", folder)
    assert code == MISTAKE
    assert f"error: {plan}: " in said
    assert Results(folder).flows.num_rows == CASES * FLOWS
    code, said = command(capsys, monkeypatch, "run", folder)
    assert (code, said.count("done: ")) == (0, 0)
    assert f"warning: {plan}: " in said
    assert plan.read_bytes() == whole
    assert command(capsys, monkeypatch, "check", folder)[0] == 0


@pytest.mark.parametrize("damage", [Path.unlink, rubbish, cut, lambda file: file.write_text("[run]\nseeds = 99\n")])
def test_a_damaged_scenario_is_written_again_by_running_it(
    made: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
) -> None:
    file = folder / "scenario.toml"
    damage(file)
    for words in (("check", folder), ("run", folder)):
        code, said = command(capsys, monkeypatch, *words)
        assert code == MISTAKE
        assert f"error: {file}: " in said
        assert f"`packetloom run {made / 'small.toml'} -o {folder}` writes it again" in said
    assert Results(folder).flows.num_rows == CASES * FLOWS
    assert isinstance(Results(folder).scenario_text, str)
    code, said = command(capsys, monkeypatch, "run", made / "small.toml", "-o", folder)
    assert (code, said.count("done: ")) == (0, 0)
    assert command(capsys, monkeypatch, "check", folder)[0] == 0


MARKERS: list[tuple[str, object]] = [
    ("version", 3),
    ("scenario", "../../etc/passwd"),
    ("scenario", None),
    ("origin", ["a"]),
    ("set", "run.seeds=3"),
    ("set", [3]),
    ("precision", {"within": "x"}),
    ("format", True),
    ("format", "2"),
]


@pytest.mark.parametrize(("key", "value"), [*MARKERS, *((key, ...) for key in ("format", "version", "set", "origin"))])
def test_a_damaged_marker(
    made: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
    value: object,
) -> None:
    file = folder / "packetloom.json"
    marker = json.loads(file.read_text()) | {key: value}
    if value is ...:
        del marker[key]
    file.write_text(json.dumps(marker))
    for words in (("check", folder), ("run", folder), ("export", folder, "-o", folder / "exported")):
        code, said = command(capsys, monkeypatch, *words)
        assert code == MISTAKE
        assert str(folder) in said
        assert "Traceback" not in said
    file.unlink()  # as the message says
    code, said = command(capsys, monkeypatch, "run", made / "small.toml", "-o", folder)
    assert (code, said.count("done: ")) == (0, 0)
    assert command(capsys, monkeypatch, "check", folder)[0] == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "\udcff"])
def test_a_marker_that_is_no_marker(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (folder / "packetloom.json").write_text(text, errors="surrogateescape")
    code, said = command(capsys, monkeypatch, "check", folder)
    assert code == MISTAKE
    assert f"error: {folder / 'packetloom.json'}: is damaged" in said


@pytest.mark.parametrize(
    "name", ["plan.jsonl", "scenario.toml", "packetloom.json", "cases.parquet", "flows.parquet/X", "ports.parquet/X"]
)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    make: Callable[[Path], object],
) -> None:
    file = victim(folder, name.partition(".")[0]) if name.endswith("X") else folder / name
    file.unlink()
    make(file)
    for words in (("check", folder), ("run", folder)):
        code, said = command(capsys, monkeypatch, *words)
        assert code == MISTAKE or (words[0], name, make) == ("run", "plan.jsonl", os.mkfifo)  # it can be replaced
        assert str(file) in said
    code, said = command(capsys, monkeypatch, "export", folder, "-o", folder / "exported")
    assert code == (MISTAKE if name == "packetloom.json" else 0)
    assert str(file) in said or name == "scenario.toml" or (not file.is_fifo() and not file.is_dir())


@pytest.mark.parametrize("name", ["flows.parquet", "ports.parquet"])
def test_a_file_where_the_folder_of_a_table_should_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    shutil.rmtree(folder / name)
    (folder / name).write_text("")
    for words in (("check", folder), ("run", folder)):
        code, said = command(capsys, monkeypatch, *words)
        assert code == MISTAKE
        assert str(folder / name) in said
    assert Results(folder).ports.num_rows == 0


def test_a_file_that_must_not_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no damage: `run` does not put another in its place."""
    file, original = victim(folder), pq.ParquetFile

    def refuse(path: Path, **options: object) -> object:
        if path == file:
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, **options)

    monkeypatch.setattr("packetloom.common.files.pq.ParquetFile", refuse)
    for words in (("check", folder), ("run", folder)):
        code, said = command(capsys, monkeypatch, *words)
        assert code == MISTAKE
        assert f"error: {file}: cannot be read (Permission denied): make it readable" in said
    assert Results(folder).flows.num_rows == (CASES - 1) * FLOWS


def test_no_whole_case_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (folder / "flows.parquet").iterdir():
        rubbish(file)
    code, said = command(capsys, monkeypatch, "plot", "fct-by-load", folder, "-o", folder / "a.png")
    assert code == MISTAKE
    assert "no finished case can be read" in said
    assert said.count("warning: ") <= 7


def test_damaged_shards_are_combined_without_what_is_damaged(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(victim(folder))
    results, missing = combine([folder], tmp_path / "all")
    assert (len(results.rows()), missing) == (CASES - 1, 1)
    assert f"warning: {victim(folder)}: holds other values than were written there; left out" in capsys.readouterr().err


def test_bytes_that_change_are_noticed(folder: Path) -> None:
    """Single bits, anywhere in a file: a message, or the very same values."""
    import random

    from packetloom.store.case_files import CaseFiles

    files, draw = CaseFiles(folder), random.Random(20)
    file = victim(folder)
    content, expected = file.read_bytes(), files.read(file.stem)
    noticed = 0
    for _ in range(400):
        changed = bytearray(content)
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        try:
            row, outcome = files.read(file.stem)
        except DamageError as problem:
            noticed += problem.path == file
            continue
        assert row.fingerprint == expected[0].fingerprint
        for name, column in expected[1].tables["flows"].items():
            assert outcome.tables["flows"][name].equals(column) or "nan" in str(column)
    assert noticed > 200


def test_whole_folders_pass(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = command(capsys, monkeypatch, "check", folder)
    assert code == 0
    assert f"{folder}: {CASES} finished cases, and all files are as they were written" in said
