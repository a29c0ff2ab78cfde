"""The wheel installs and runs where there is neither Rust nor a compiler. `make wheel` builds it and runs this."""

import os
import platform
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import packetloom

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def wheel() -> Path:
    (built,) = (ROOT / "dist").glob(f"packetloom-*_{platform.machine()}.whl")
    return built


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The commands of a new virtual environment with the wheel in it, and an environment that names no others."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=True)
    commands = folder / "bin"
    kept = {name: value for name, value in os.environ.items() if not re.match("PYTHON|VIRTUAL_ENV|CARGO|RUST", name)}
    environment = {**kept, "PATH": str(commands)}
    install = [str(commands / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel)]
    subprocess.run(install, env=environment, check=True)
    return commands, environment


def test_it_is_for_any_python_and_any_linux_of_the_last_ten_years(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    assert "manylinux_2_17_" in wheel.name


def test_there_is_no_rust(clean: tuple[Path, dict[str, str]]) -> None:
    _, environment = clean
    for tool in ("cargo", "rustc", "gcc", "cc"):
        with pytest.raises(FileNotFoundError):
            subprocess.run([tool, "--version"], env=environment, check=False)


@pytest.fixture(scope="module")
def own_build() -> None:
    """This clone's own build of the same sources."""
    if subprocess.run(
        ["make", "--question", ".venv/.installed"], cwd=ROOT, capture_output=True, check=False
    ).returncode:
        pytest.skip("this clone has no build of its own, or one of other sources: make install")


def test_it_runs(clean: tuple[Path, dict[str, str]], scenario: Path, tmp_path: Path) -> None:
    there = run_there(clean, scenario, tmp_path / "wheel")
    report = [str(clean[0] / "packetloom"), "report", str(there)]
    subprocess.run(report, env=clean[1], check=True)
    assert "new Fabric(" in (there / "report.html").read_text()


@pytest.mark.usefixtures("own_build")
def test_it_computes_the_same(clean: tuple[Path, dict[str, str]], scenario: Path, tmp_path: Path) -> None:
    there = packetloom.Results(run_there(clean, scenario, tmp_path / "wheel"))
    here = packetloom.run(scenario, tmp_path / "here", progress=False)
    assert there.cases["fingerprint"].equals(here.cases["fingerprint"])


def run_there(clean: tuple[Path, dict[str, str]], scenario: Path, folder: Path) -> Path:
    """The results folder of a run of the wheel's command."""
    commands, environment = clean
    command = [str(commands / "packetloom"), "run", str(scenario), "-o", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Slowdown at load 0.8" in done.stdout
    return folder


def test_the_readmes_first_commands_work_with_it(clean: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    commands, environment = clean
    install, activate, *others = first_commands()
    assert install.startswith("make install")
    assert activate.startswith("source .venv/bin/activate")
    for command in others:
        words = [str(commands / "packetloom"), *command.partition("#")[0].split()[1:]]
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/first/report.html").exists()


def first_commands() -> list[str]:
    """The first block of commands in the README."""
    (block,) = re.findall(r"\n\n((?:    .*\n)+)", (ROOT / "README.md").read_text())[:1]
    return [line.strip() for line in block.splitlines()]


def test_it_is_the_package_of_the_wheel_that_runs(clean: tuple[Path, dict[str, str]]) -> None:
    commands, environment = clean
    code = "import packetloom._core; print(packetloom._core.__file__)"
    command = [str(commands / "python"), "-c", code]
    place = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert place.startswith(str(commands.parent))
    assert sys.prefix not in place


def test_it_carries_papers_and_types(clean: tuple[Path, dict[str, str]]) -> None:
    commands, environment = clean
    listed = subprocess.run(
        [str(commands / "packetloom"), "list"], env=environment, capture_output=True, text=True, check=True
    )
    assert "pfabric" in listed.stdout
    (package,) = commands.parent.glob("lib/python*/site-packages/packetloom")
    assert (package / "py.typed").exists()
    assert (package / "_core.pyi").exists()
    assert list(package.glob("reproduce/*/scenarios/*.toml"))


def test_papers_come_with_their_scenarios_and_verdicts(clean: tuple[Path, dict[str, str]]) -> None:
    commands, environment = clean
    look = (
        "from packetloom.reproduce import PAPERS, paper_folder\n"
        "from packetloom.reproduce.verdicts import committed_verdicts\n"
        "for paper in PAPERS:\n"
        "    assert committed_verdicts(paper, 'quick'), paper\n"
        "    assert [*(paper_folder(paper) / 'scenarios').glob('*.toml')], paper\n"
    )
    subprocess.run([str(commands / "python"), "-c", look], env=environment, check=True)
    accept = [str(commands / "packetloom"), "reproduce", "daq", "--accept"]
    done = subprocess.run(accept, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "verdicts are committed in packetloom's source tree" in done.stderr
