"""Ctrl-C while the command line loads, and output that nobody can take: a word and an exit code, no traceback."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unaudited

SIGINT_AT_IMPORT = """
import os, sys
for name in ("signal", "enum"):
    sys.modules.pop(name, None)
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Stop())
sys.argv = ["packetloom", *{arguments!r}]
from packetloom.start import main
main()
"""


@pytest.fixture(autouse=True)
def heeded_sigint() -> Iterator[None]:
    """Started in a shell's background, the tests and what they start would ignore Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("signal", ["list"]),
        ("enum", ["list"]),
        ("packetloom.cli.main", ["list"]),
        ("typer", ["list"]),
        ("packetloom.errors", ["list"]),
        ("rich.console", ["list"]),
        ("packetloom._core", ["list"]),
        ("polars", ["report", "nowhere"]),
        ("pyarrow", ["report", "nowhere"]),
        ("numpy", ["report", "nowhere"]),
        ("matplotlib", ["plot", "fct-cdf", "nowhere", "-o", "x.pdf"]),
    ],
)
def test_ctrl_c_while_loading(module: str, arguments: list[str]) -> None:
    code = SIGINT_AT_IMPORT.format(module=module, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("stopped"), done.stderr
    assert "Traceback" not in done.stderr


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    code = SIGINT_AT_IMPORT.format(module="typer", arguments=["--version"])
    ignored = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{code}"
    done = subprocess.run([sys.executable, "-c", ignored], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("packetloom ")


def packetloom(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "packetloom", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def test_a_reader_that_leaves() -> None:
    process = packetloom("schema")
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    process.stdout = None
    assert process.communicate()[1] == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_the_output() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "packetloom", "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: standard output, or a file that was open: No space left on device\n"


def test_a_terminal_without_the_letters(scenario: Path, tmp_path: Path) -> None:
    process = packetloom("run", str(scenario), "-o", str(tmp_path / "out"), PYTHONIOENCODING="ascii", LC_ALL="C")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Slowdown at load 0.8" in out
    assert out.isascii()


def test_without_any_output(scenario: Path, tmp_path: Path) -> None:
    closed = f"{sys.executable} -m packetloom run {scenario} -o {tmp_path / 'out'} >&- 2>&-"
    assert subprocess.run(["sh", "-c", closed], check=False).returncode == 0


def test_sigint_does_not_outlive_the_command() -> None:
    code = "import signal, sys; sys.argv = ['packetloom', '--version']\nfrom packetloom.start import main\n" + (
        "try: main()\nfinally: print(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("True\n")
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL


@pytest.mark.parametrize("columns", ["1", "20"])
def test_a_narrow_terminal(columns: str) -> None:
    process = packetloom("explain", "ecn", COLUMNS=columns, NO_COLOR="1")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out
