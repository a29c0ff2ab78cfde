"""An engine that is older than the sources beside it: one message that says what to do, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import packetloom
from packetloom.common import stale_engine
from packetloom.errors import MOST_LETTERS, harmless

pytestmark = pytest.mark.unaudited

WITHOUT_EXPLAIN = """
import sys
from packetloom import _core
if {is_missing}:
    del _core.explain
sys.argv = ["packetloom", *{arguments!r}]
from packetloom.start import main
main()
"""
MESSAGE = "the engine is older than the sources beside it; run make install"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose Cargo.toml is new, with the engine that is installed here."""
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "packetloom").symlink_to(Path(packetloom.__file__).parent)
    (tmp_path / "Cargo.toml").write_text("")
    (tmp_path / "Cargo.lock").write_text("")
    return tmp_path


def told(clone: Path, arguments: list[str], *, is_missing: bool) -> tuple[int, str]:
    program = WITHOUT_EXPLAIN.format(arguments=arguments, is_missing=is_missing)
    environment = os.environ | {"PYTHONPATH": str(clone / "python")}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    return ended.returncode, ended.stderr


def test_what_an_old_engine_lacks_is_a_message(clone: Path) -> None:
    code, said = told(clone, ["explain", "tcp"], is_missing=True)
    assert (code, len(said.splitlines())) == (2, 1)
    assert said.startswith(f"error: {MESSAGE} (AttributeError: ")
    assert "explain" in said
    # A scenario may be right for the engine that the sources would make.
    code, said = told(clone, ["explain", "nothing"], is_missing=False)
    assert code == 2
    assert said.splitlines()[-1] == f"note: {MESSAGE}"


def test_a_package_that_is_required_since_is_a_message(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_engine, "__file__", str(clone / "python" / "packetloom" / "common" / "stale_engine.py"))
    for name in stale_engine.SOURCES:
        (clone / name).touch() if name.startswith("Cargo") else (clone / name).mkdir()
        os.utime(clone / name, (0, 0))
    missing = ModuleNotFoundError("No module named 'jinja2.x'", name="jinja2.x")
    assert stale_engine.blamed(missing) == ""
    (clone / "requirements.txt").write_text("# pinned\nJinja2==3.1.6\n")
    assert stale_engine.blamed(missing) == "the package jinja2 is not installed; run make install"
    assert stale_engine.blamed(ModuleNotFoundError("No module named 'mine'", name="mine")) == ""


def test_of_a_new_engine_a_fault_is_a_fault(clone: Path) -> None:
    for file in ("Cargo.toml", "Cargo.lock"):
        os.utime(clone / file, (0, 0))
    code, said = told(clone, ["explain", "tcp"], is_missing=True)
    assert code == 1
    assert "Traceback" in said
    assert MESSAGE not in said
    assert MESSAGE not in told(clone, ["explain", "nothing"], is_missing=False)[1]


def test_no_message_turns_the_text_or_fills_the_screen() -> None:
    assert harmless("a\u202eb\x1b[31m") == "a\\u202Eb\\u001B[31m"
    long = harmless("x" * 10**6)
    assert len(long) < MOST_LETTERS + 10
    assert " ... " in long
    assert harmless("Größe: 4 µs\tä") == "Größe: 4 µs\tä"
