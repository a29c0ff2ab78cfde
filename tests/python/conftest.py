"""A small scenario that every test starts from, and an end to the figures that it leaves open."""

import shutil
import sys
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
    with as_in_a_test():
        return packetloom.run(scenario, folder / "out", progress=False).path


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to do anything with."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


@pytest.fixture
def long_scenario(tmp_path: Path) -> Path:
    """As small, but each case takes about a quarter of a second, audited."""
    path = tmp_path / "long.toml"
    path.write_text(LONG_SCENARIO)
    return path


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test computes, it computes; those of the cache set a place of their own."""
    monkeypatch.setenv("PACKETLOOM_CACHE", "off")


@pytest.fixture(autouse=True)
def _audited(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every simulation of a test is audited, except those that measure time."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setenv("PACKETLOOM_AUDIT", "1")


@contextmanager
def as_in_a_test(cache: Path | str = "off") -> Iterator[None]:
    """For what the tests of a module share, which is made before any of them begins: computed, and audited."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PACKETLOOM_CACHE", str(cache))
        patch.setenv("PACKETLOOM_AUDIT", "1")
        yield
