"""A small scenario that every test starts from, and an end to the figures that it leaves open."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import packetloom

SCENARIO = """\
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = "web-search"
deadlines = { kind = "exponential", mean = "10ms" }

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", capacity = "225KB" }

[run]
loads = [0.2, 0.8]
seeds = 2
flows = 50

[measure]
queues = true
"""

CASES = 8
FLOWS = 50
LONG_FLOWS = 150
LONG_SCENARIO = SCENARIO.replace(f"flows = {FLOWS}", f"flows = {LONG_FLOWS}")


def pytest_configure(config: pytest.Config) -> None:
    """What numba compiles of a class is compiled once for all processes of the tests."""
    if not hasattr(config, "workerinput"):
        os.environ["PACKETLOOM_SCHEMES"] = tempfile.mkdtemp(prefix="packetloom-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop("PACKETLOOM_SCHEMES"), ignore_errors=True)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small scenario's results folder, computed once: to be looked at and copied, not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    scenario = folder / "small.toml"
    scenario.write_text(SCENARIO)
    with as_in_a_test(audited=True):
        return packetloom.run(scenario, folder / "out", progress=False).path


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to do anything with."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


@pytest.fixture
def long_scenario(tmp_path: Path) -> Path:
    """As small, but each case takes about a quarter of a second."""
    path = tmp_path / "long.toml"
    path.write_text(LONG_SCENARIO)
    return path


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test computes, it computes; those of the cache set a place of their own."""
    monkeypatch.setenv("PACKETLOOM_CACHE", "off")


@pytest.fixture(autouse=True)
def _audited(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation of a test is audited, which takes four times as long, except where that proves nothing more."""
    if not any(map(request.node.get_closest_marker, ("slow", "unaudited"))):
        monkeypatch.setenv("PACKETLOOM_AUDIT", "1")


@contextmanager
def as_in_a_test(cache: Path | str = "off", *, audited: bool = False) -> Iterator[None]:
    """For what the tests of a module share, which is made before any of them begins: computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PACKETLOOM_CACHE", str(cache))
        if audited:
            patch.setenv("PACKETLOOM_AUDIT", "1")
        yield
