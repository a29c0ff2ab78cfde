"""A small scenario that every test starts from, and an end to the figures that it leaves open."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
LONG_FLOWS = 300


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


@pytest.fixture
def long_scenario(tmp_path: Path) -> Path:
    """As small, but each case takes about half a second, audited."""
    path = tmp_path / "long.toml"
    path.write_text(SCENARIO.replace(f"flows = {FLOWS}", f"flows = {LONG_FLOWS}"))
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
