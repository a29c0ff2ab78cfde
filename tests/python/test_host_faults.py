"""What the machine does to a campaign: full disks, folders that can't be written, signals, clocks that jump.

Nothing finished is lost, and nothing half-written is read as a result. What needs a file system of its own skips where
the machine lets nobody mount one."""

import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import commands
import packetloom
from conftest import CASES, LONG_SCENARIO, SCENARIO, as_in_a_test
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

COMMAND = [sys.executable, "-m", "packetloom", "run"]
INTERRUPTED = 130
MISTAKE = 2


class SmallDisk:
    """A file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def limit(self, options: str) -> None:
        """Mounts it, or changes its limits."""
        is_mounted = self.path.is_mount()
        how = f"remount,{options}" if is_mounted else options
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", how, "packetloom-test", str(self.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"this machine lets nobody mount a small file system: {done.stderr.strip()}")

    @property
    def entries(self) -> int:
        """How many files and folders it holds, itself included."""
        return 1 + sum(1 for _ in self.path.rglob("*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    disk.path.mkdir()
    try:
        yield disk
    finally:
        if disk.path.is_mount():
            subprocess.run(["umount", str(disk.path)], check=True)


def run(scenario: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return commands.packetloom("run", scenario, "-o", out)


def fingerprints(folder: Path) -> list[str]:
    prints: list[str] = Results(folder).cases["fingerprint"].to_pylist()
    return prints


def assert_a_message_and_no_traceback(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == MISTAKE, done.stderr
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def assert_goes_on(scenario: Path, out: Path, through: Path) -> None:
    """The same command resumes, keeps what was finished, and comes to what an undisturbed run came to."""
    again = run(scenario, out)
    assert again.returncode == 0, again.stderr
    assert fingerprints(out) == fingerprints(through)
    assert not list(out.rglob("*.tmp"))


@pytest.fixture(scope="module")
def long_through(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The results of a long run that nothing disturbed, to be looked at only, and how many seconds it took."""
    folder = tmp_path_factory.mktemp("through")
    scenario = folder / "long.toml"
    scenario.write_text(LONG_SCENARIO)
    began = time.monotonic()
    with as_in_a_test():
        assert run(scenario, folder / "out").returncode == 0
    return folder / "out", time.monotonic() - began


def run_half(scenario: Path, out: Path) -> None:
    """Half of the cases, with nothing in the way."""
    assert packetloom.run(scenario, out, overrides=["run.seeds=1"], progress=False).cases.num_rows == CASES / 2


@pytest.mark.parametrize("limit", ["size", "nr_inodes"])
def test_a_disk_without_room_keeps_what_is_finished(
    scenario: Path, tmp_path: Path, finished: Path, small_disk: SmallDisk, limit: str
) -> None:
    """First so little room that some cases find it and others do not, then enough."""
    small_disk.limit("size=100m")
    out = small_disk.path / "out"
    run_half(scenario, out)
    used_bytes = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    half = len(fingerprints(out))
    room = {"size": f"size={used_bytes // 1024 + 60}k", "nr_inodes": f"nr_inodes={small_disk.entries + 4}"}
    small_disk.limit(room[limit])
    full = run(scenario, out)
    assert_a_message_and_no_traceback(full, "disk is full", "then run the same command to resume")
    kept = len(fingerprints(out))
    assert half <= kept < CASES
    small_disk.limit("size=100m,nr_inodes=10000")
    assert_goes_on(scenario, out, finished)


def run_with_files_up_to(limit_bytes: int, scenario: Path, out: Path) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    command = [*COMMAND, str(scenario), "-o", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, preexec_fn=limit)


def test_files_that_may_not_grow_so_large(scenario: Path, tmp_path: Path) -> None:
    """As by `ulimit -f`: some cases' files may be written, others not; then not even the table of cases."""
    scenario.write_text(SCENARIO.replace("seeds = 2", "seeds = 1"))  # so the plan is smaller than a case's flows
    cases = CASES // 2
    through, out = tmp_path / "through", tmp_path / "out"
    assert packetloom.run(scenario, through, progress=False).cases.num_rows == cases
    sizes = sorted(file.stat().st_size for file in (through / "flows.parquet").iterdir())
    refused = run_with_files_up_to(sizes[cases // 2] - 1, scenario, out)
    assert_a_message_and_no_traceback(refused, "larger than the system allows", "then run the same command to resume")
    assert len(fingerprints(out)) < cases
    assert not list(out.rglob("*.tmp"))
    none = run_with_files_up_to((out / "plan.jsonl").stat().st_size + 1, scenario, out)
    assert_a_message_and_no_traceback(none, "larger than the system allows")
    assert_goes_on(scenario, out, through)


def test_no_room_at_all_says_so_at_once(scenario: Path, small_disk: SmallDisk) -> None:
    small_disk.limit("size=100m,nr_inodes=2")
    assert_a_message_and_no_traceback(run(scenario, small_disk.path / "out"), "cannot write results there", "full")


def test_a_file_system_that_turns_read_only(
    scenario: Path, tmp_path: Path, finished: Path, small_disk: SmallDisk
) -> None:
    small_disk.limit("size=100m")
    out = small_disk.path / "out"
    run_half(scenario, out)
    small_disk.limit("ro")
    assert_a_message_and_no_traceback(run(scenario, out), "read-only")
    assert len(fingerprints(out)) == CASES / 2  # and what is there can still be read
    small_disk.limit("rw")
    assert_goes_on(scenario, out, finished)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_at_any_moment(
    long_scenario: Path, tmp_path: Path, long_through: tuple[Path, float], number: signal.Signals
) -> None:
    """From the interpreter's first breath to the last file. What ends without being asked is in `test_kill.py`."""
    out = tmp_path / "out"
    through, lasted_s = long_through
    moments = random.Random(number)
    expected = fingerprints(through)
    for _ in range(6):
        process = subprocess.Popen(
            [*COMMAND, str(long_scenario), "-o", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(moments.uniform(0.0, lasted_s))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        polite = {0, INTERRUPTED, -number}  # before it listens, a signal ends it as the system does
        assert process.returncode in polite, errors
        if process.returncode == INTERRUPTED:
            assert errors.endswith(("Run the same command to resume.\n", "stopped before anything began\n"))
        if (out / "packetloom.json").exists():
            found = fingerprints(out)
            assert set(found) <= set(expected)
    assert_goes_on(long_scenario, out, through)


def test_two_runs_into_one_folder_at_once(long_scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*COMMAND, str(long_scenario), "-o", str(out)]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    if codes == [0, MISTAKE]:
        assert any("another run" in error for error in errors)
    else:  # one began only when the other was through
        assert codes == [0, 0]
    assert len(fingerprints(out)) == CASES


def test_a_clock_that_jumps(scenario: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Years back while a campaign runs: what is finished and what is not does not hang on the time of day."""
    import datetime
    import os

    out = tmp_path / "out"
    run_half(scenario, out)
    for file in out.rglob("*"):
        os.utime(file, (4_000_000_000, 4_000_000_000))

    class Past(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Past":
            return cls(1999, 12, 31, 23, 59, 59, tzinfo=tz)

    monkeypatch.setattr("packetloom.store.writer.datetime", Past)
    monkeypatch.setattr(time, "time", lambda: 946_684_799.0)
    packetloom.run(scenario, out, progress=False)
    assert fingerprints(out) == fingerprints(finished)


def test_a_file_cut_short_is_no_result(scenario: Path, out: Path, finished: Path) -> None:
    """As on a file system that kept a name through a power cut, but not what was in the file."""
    victim = sorted((out / "flows.parquet").glob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-200])
    (out / "cases.parquet").unlink()
    mended = run(scenario, out)
    assert mended.returncode == 0
    assert f"{victim}: is damaged, cut short or overwritten" in mended.stderr
    assert mended.stderr.count("done: ") == 1
    assert fingerprints(out) == fingerprints(finished)
