"""What a scenario is read from, and what it names, has to be a regular file of some size; all else is refused."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import packetloom
from packetloom import _core
from packetloom.campaign.progress import SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.cli.main import main
from packetloom.common.text_files import MOST_LIST_BYTES, MOST_SCENARIO_BYTES
from packetloom.errors import PacketloomError
from packetloom.scenario.input_files import must_be_as_read
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow

NAMING = {
    "topology.file": '[topology]\nkind = "hpcc"\nfile = "{file}"\n[[workload]]\nsizes = "web-search"\n',
    "workload[0].arrivals.file": '[topology]\nkind = "rack"\nhosts = 3\n[[workload]]\n'
    'arrivals = {{ kind = "list", file = "{file}" }}\n',
    "workload[0].sizes": '[topology]\nkind = "rack"\nhosts = 3\n[[workload]]\nsizes = "{file}"\n',
}
REST = '[[scheme]]\nname = "TCP"\ntransport = "tcp"\nqueue = "drop-tail"\n[run]\nloads = [0.5]\nflows = 3\n'


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """What is there but no file of a sensible size, by what is said of it."""
    files = {kind: tmp_path / f"{kind}.toml" for kind in ("pipe", "folder", "socket", "scenario", "list")}
    os.mkfifo(files["pipe"])
    files["folder"].mkdir()
    here = Path.cwd()
    os.chdir(tmp_path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket.toml")
        os.chdir(here)
        for name, most in (("scenario", MOST_SCENARIO_BYTES), ("list", MOST_LIST_BYTES)):
            with files[name].open("wb") as file:
                file.truncate(most + 1)
        yield {**files, "device": Path("/dev/zero")}


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
@pytest.mark.parametrize("key", [*NAMING, ""])
def test_no_regular_file(key: str, kind: str, strange: dict[str, Path], tmp_path: Path) -> None:
    if not key and kind == "folder":
        pytest.skip("a folder is one of results")
    scenario = tmp_path / "scenario-itself.toml"
    if key:
        scenario.write_text(NAMING[key].format(file=strange[kind]) + REST)
    with pytest.raises(PacketloomError, match=f"it is a {kind}, not a regular file") as raised:
        read_plan(scenario if key else strange[kind])
    assert str(strange[kind]) in str(raised.value)
    assert f"{scenario if key else strange[kind]}" in str(raised.value)
    assert key in str(raised.value)


@pytest.mark.parametrize("key", [*NAMING, ""])
def test_larger_than_memory(key: str, strange: dict[str, Path], tmp_path: Path) -> None:
    large = strange["list" if key.endswith("file") else "scenario"]
    scenario = tmp_path / "scenario-itself.toml"
    if key:
        scenario.write_text(NAMING[key].format(file=large) + REST)
    with pytest.raises(PacketloomError, match=r"larger than (4|1024) MiB, the most that is read") as raised:
        read_plan(scenario if key else large)
    assert str(large) in str(raised.value)
    assert key in str(raised.value)


def test_the_command_line_tells_it(
    strange: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["packetloom", "check", str(strange["pipe"])])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"error: {strange['pipe']}: it is a pipe, not a regular file\n"


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"\xff.toml")
    file.write_text(NAMING["workload[0].sizes"].format(file="web-search") + REST)
    with pytest.raises(PacketloomError, match="the name of this file is not UTF-8"):
        read_plan(file)


GOAL = "num_ranks 2\nrank 0 {{\ns: send {bytes}b to 1 tag 0\n}}\nrank 1 {{\nr: recv {bytes}b from 0 tag 0\n}}\n"
HPCC = "3 1 2\n2\n0 2 10Gbps {delay}us 0\n1 2 10Gbps {delay}us 0\n"
READ = {
    "list": (NAMING["workload[0].arrivals.file"], "src,dst,size_bytes,start_ns\n0,1,10000,0\n", ("10000", "90000")),
    "hpcc": (NAMING["topology.file"], HPCC.format(delay=1), (" 1us", " 9us")),
    "goal": (
        NAMING["workload[0].arrivals.file"].replace('"list"', '"goal"'),
        GOAL.format(bytes=1000),
        ("1000b", "9000b"),
    ),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def interrupted(kind: str, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A campaign that reads a file and lacks one of its two cases: the file, the results folder, and that case's."""
    text, content, _ = READ[kind]
    file, scenario, out = tmp_path / "input.txt", tmp_path / "reads.toml", tmp_path / "out"
    file.write_text(content)
    loads = "loads = [0.5]\n" if kind == "hpcc" else ""
    of_kind = (text.format(file=file) + REST).replace("loads = [0.5]\n", loads)
    scenario.write_text(of_kind + "seeds = 2\n" if kind != "list" else of_kind.replace("flows = 3", "seeds = 2"))
    packetloom.run(scenario, out, progress=False)
    lacking = sorted((out / "flows.parquet").iterdir())[0]
    lacking.unlink()
    (out / "cases.parquet").unlink()
    return file, out, lacking


@pytest.mark.parametrize("kind", READ)
def test_a_file_that_changed_is_not_mixed_into_old_results(
    kind: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out, lacking = interrupted(kind, tmp_path)
    shutil.rmtree(cache)
    before, now = READ[kind][2]
    file.write_text((content := file.read_text()).replace(before, now))
    monkeypatch.setattr(sys, "argv", ["packetloom", "run", str(out)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert f"error: {file}: this file has changed since the scenario was read" in message
    assert "restore it, or run the scenario into a new folder" in message
    assert not lacking.exists()
    assert not list(cache.rglob(lacking.name))
    file.write_text(content)  # restored: all is well
    assert packetloom.run(out, out, progress=False).cases.num_rows == 2
    assert list(cache.rglob(lacking.name))


class ChangesAfterACase(SilentReporter):
    """Edits a file while a campaign runs."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def finished(self, row: CaseRow) -> None:
        self.file.write_text("src,dst,size_bytes,start_ns\n0,1,777,0\n")


def test_a_file_that_changes_while_a_campaign_runs(cache: Path, tmp_path: Path) -> None:
    file, scenario = tmp_path / "input.txt", tmp_path / "reads.toml"
    file.write_text(READ["list"][1])
    scenario.write_text(READ["list"][0].format(file=file) + REST.replace("flows = 3", "seeds = 20"))
    with pytest.raises(PacketloomError, match=f"{file}: this file has changed"):
        run_plan(read_plan(scenario), tmp_path / "out", 1, ChangesAfterACase(file))
    flows = packetloom.Results(tmp_path / "out").flows
    assert 1 <= len(flows) < 20
    assert set(flows["size_bytes"].to_pylist()) == {10000}
    assert len(list(cache.rglob("flows.parquet/*.parquet"))) == len(flows)


def test_the_files_of_all_ranks_count(tmp_path: Path) -> None:
    for rank in range(11):
        (tmp_path / f"job.{rank}.et").write_bytes(b"\x02\x0a\x00")
    text = NAMING["workload[0].arrivals.file"].replace('"list", file', '"chakra", files').replace("= 3", "= 11")
    (case,) = _core.Scenario.read(text.format(file="job") + REST, str(tmp_path / "x.toml"), "toml").cases()
    must_be_as_read(case)
    (tmp_path / "job.10.et").write_bytes(b"more")
    with pytest.raises(PacketloomError, match=rf"{tmp_path}/job: these files have changed"):
        must_be_as_read(case)
    (tmp_path / "job.10.et").unlink()
    with pytest.raises(PacketloomError, match="these files have changed"):
        must_be_as_read(case)


def test_each_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flows.csv").write_text(READ["list"][1])
    text = NAMING["workload[0].arrivals.file"].format(file="flows.csv") + REST + "seeds = 9\n"
    cases = _core.Scenario.read(text, str(tmp_path / "x.toml"), "toml").cases()
    must_be_as_read(cases[0])
    monkeypatch.setattr(Path, "read_bytes", lambda file: pytest.fail(f"{file} is read again"))
    for case in cases:
        must_be_as_read(case)
