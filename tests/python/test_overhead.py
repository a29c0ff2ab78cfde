"""What a campaign costs beside its simulations. Other load on the machine disturbs it: `make validate` runs it."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.scenario.plan import read_plan

TINY = """\
[topology]
kind = "rack"
hosts = 2

[[workload]]
sizes = "web-search"

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[run]
loads = [0.5]
seeds = 3
flows = 1
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "tiny.toml").write_text(TINY)
    return [sys.executable, "-m", "packetloom", "run", str(tmp_path / "tiny.toml"), "-o"]


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def simulation_cpu_s(scenario: Path) -> float:
    """What one of the cases takes by itself."""
    (case, *_) = read_plan(scenario).cases
    began = time.process_time()
    for _ in range(200):
        _core.Simulation(case).run(threads=1)
    return (time.process_time() - began) / 200


def test_ten_thousand_tiny_cases_cost_less_than_5_ms_each(command: list[str], tmp_path: Path) -> None:
    cases = 10_000
    before = children_cpu_s()
    subprocess.run([*command, str(tmp_path / "out"), "--set", f"run.seeds={cases}"], capture_output=True, check=True)
    spent_s = children_cpu_s() - before
    simulated_s = cases * simulation_cpu_s(tmp_path / "tiny.toml")
    assert (spent_s - simulated_s) / cases < 0.005


def test_the_first_case_is_done_within_a_second(command: list[str], tmp_path: Path) -> None:
    waits = []
    for attempt in range(5):
        began = time.monotonic()
        running = subprocess.Popen([*command, str(tmp_path / f"{attempt}")], stderr=subprocess.PIPE, text=True)
        assert running.stderr
        for line in running.stderr:
            if line.startswith("done: "):
                waits.append(time.monotonic() - began)
                break
        running.communicate()
    assert min(waits) < 1
