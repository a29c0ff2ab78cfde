"""The C library, where `make library` has built it: a program in C, compiled and run."""

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = Path(os.environ.get("PACKETLOOM_LIBRARY", ROOT / "target" / "library"))
PROGRAM = ROOT / "crates/packetloom-c/tests/parameter_server.c"
COMPILER = shutil.which("cc")
VALGRIND = shutil.which("valgrind")

pytestmark = [
    pytest.mark.skipif(not (LIBRARY / "lib/libpacketloom.so").exists(), reason="make library was not run"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
]


def compiled(folder: Path) -> Path:
    assert COMPILER
    program, lib = folder / "program", LIBRARY / "lib"
    flags = ["-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{LIBRARY / 'include'}"]
    linked = [f"-L{lib}", "-lpacketloom", f"-Wl,-rpath,{lib.resolve()}", "-lm"]
    subprocess.run([COMPILER, *flags, str(PROGRAM), "-o", str(program), *linked], check=True)
    return program


@pytest.mark.slow
@pytest.mark.skipif(VALGRIND is None, reason="there is no valgrind")
def test_memory_is_used_as_it_may_be_and_given_back(tmp_path: Path) -> None:
    assert VALGRIND
    checks = ["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]
    command: list[str | Path] = [VALGRIND, "--quiet", *checks, compiled(tmp_path), tmp_path / "flows.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


def test_a_program_in_c_drives_a_network_and_is_told_what_it_gets_wrong(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    done = subprocess.run([program, tmp_path / "flows.csv"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second
    rows = list(csv.DictReader((tmp_path / "flows.csv").open()))
    assert [int(row["flow_id"]) for row in rows] == list(range(24))
    assert {(row["tag"], row["src"] == "0") for row in rows} == {("1", False), ("2", True)}
    ends = [float(row["start_ns"]) + float(row["sender_fct_ns"]) for row in rows]
    assert max(ends) * 1000 == pytest.approx(int(first), abs=1)
