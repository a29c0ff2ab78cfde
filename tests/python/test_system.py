"""What not every system has is asked for in one module, which does without where it is missing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import packetloom
from packetloom.common import system
from packetloom.errors import PacketloomError
from packetloom.validate.kernel import network

HOUSE = Path(packetloom.__file__).parent
OF_SOME_SYSTEMS = re.compile(
    r"import (?:fcntl|resource|termios|pwd|grp|pty)\b|\bos\.(?:sched_|fork|pwrite|pread|getuid|geteuid|setsid|killpg)"
    r"|\"/(?:proc|sys|dev)/|SIGXCPU|SIGKILL|faulthandler\.register"
)
OF_LINUX = {"common/system.py", "validate/kernel/guest.py", "validate/kernel/network.py"}
"""The one module; and of the comparison with Linux, what makes namespaces and what runs in a virtual machine."""


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Python without these modules."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def test_no_other_module_asks_for_what_some_systems_lack() -> None:
    files = {str(file.relative_to(HOUSE)): file.read_text() for file in HOUSE.rglob("*.py")}
    assert {name for name, text in files.items() if OF_SOME_SYSTEMS.search(text)} == OF_LINUX


def test_a_lock_is_one_process_s_and_locks_nothing_without_fcntl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        assert system.lock(one)
        assert not system.lock(other)
        without(monkeypatch, "fcntl")
        assert system.lock(other)
    finally:
        os.close(one)
        os.close(other)


def test_peak_memory_is_that_of_the_process_or_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("Name: x\nVmHWM:   2048 kB\n")
    monkeypatch.setattr(system, "STATUS", status)
    assert system.peak_memory_bytes() == 2 << 20
    status.unlink()
    assert system.peak_memory_bytes() > 2 << 20
    without(monkeypatch, "resource")
    assert system.peak_memory_bytes() == 0


def test_without_limits_a_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "resource")
    system.limit_process(0, 0)
    assert not system.ended_by_limit(0)
    assert system.ended_by_limit(-9)


def test_all_cores_count_where_a_process_is_not_told_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.usable_cores() == sorted(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")
    assert len(system.usable_cores()) == os.cpu_count()
    assert not system.can_choose_cores()


def test_a_command_is_kept_to_cores() -> None:
    first = system.usable_cores()[:1]
    command = system.on_cores([sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"], first)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == str(first)


def test_files_and_folders_are_synced_and_windows_folders_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    system.sync_file(tmp_path / "file")
    system.sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        system.sync_folder(tmp_path / "none")
    monkeypatch.setattr(os, "name", "nt")
    system.sync_folder(tmp_path / "none")


def test_linux_is_compared_with_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(PacketloomError, match="runs on Linux; elsewhere give a kernel with --vm"):
        network.require("cubic")


def test_a_campaign_runs_without_any_of_it(tmp_path: Path) -> None:
    """In a process of its own, whose Python lacks what Windows lacks; a folder can be synced, and is."""
    code = """
import os, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("sched_getaffinity", "sched_setaffinity", "geteuid", "pwrite"):
    delattr(os, name)
import packetloom
scenario = {
    "topology": {"kind": "rack", "hosts": 2},
    "workload": [{"sizes": {"kind": "constant", "size": "10KB"}}],
    "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
    "run": {"flows": 10, "loads": [0.2]},
}
results = packetloom.run(scenario, sys.argv[1], workers=1)
print(len(results.rows()), packetloom.check(scenario).cost.memory_bytes > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["1", "True"], done.stderr
