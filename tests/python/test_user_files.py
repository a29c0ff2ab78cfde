"""What a scenario is read from, and what it names, has to be a regular file of some size; all else is refused."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packetloom.cli import main
from packetloom.errors import PacketloomError
from packetloom.scenario import read_plan
from packetloom.text_files import MOST_LIST_BYTES, MOST_SCENARIO_BYTES

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
