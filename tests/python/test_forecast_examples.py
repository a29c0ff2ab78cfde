"""What each example will cost, against what it did: packet-hops, processor time, memory and disk.

The examples run with one seed, as `make validate` has them.
"""

import os
import sys
from pathlib import Path

import pytest

from packetloom.campaign.forecast import forecast
from packetloom.scenario.plan import read_plan
from packetloom.store.results import Results
from test_forecast import gpt

pytestmark = pytest.mark.unaudited

WITHIN = 1.5
ROOT = Path(__file__).parents[2]
EXAMPLES = [one for one in sorted((ROOT / "examples").glob("*.toml")) if one.stem != "gpt-16k"]
"""But one that takes minutes: smaller versions of it are here."""


def measured(arguments: list[str]) -> tuple[float, float]:
    """Processor seconds, and the most memory in bytes, of a command."""
    child = os.posix_spawn(
        arguments[0], arguments, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)]
    )
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0


@pytest.mark.slow
@pytest.mark.parametrize(("data", "together"), [(4, 16), (16, 64)], ids=["512 ranks", "2048 ranks"])
def test_what_smaller_versions_of_gpt_16k_cost_is_foreseen(data: int, together: int, tmp_path: Path) -> None:
    example = ROOT / "examples/gpt-16k.toml"
    settings = gpt(data, together)
    expected = forecast(read_plan(example, settings).cases, 1)
    command = [str(Path(sys.executable).parent / "packetloom"), "run", str(example), "-o", str(tmp_path), "--no-cache"]
    cpu_s, memory_bytes = measured([*command, "--workers", "1", *(f"--set={setting}" for setting in settings)])
    assert not expected.unknown
    assert 1 / WITHIN < expected.cpu_s / cpu_s < WITHIN
    assert 1 / WITHIN < expected.memory_bytes / memory_bytes < WITHIN
    disk_bytes = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert 1 / WITHIN < expected.disk_bytes / disk_bytes < WITHIN


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_what_an_example_costs_is_foreseen(example: Path, tmp_path: Path) -> None:
    settings = ("run.seeds=1",) if "\nseeds" in example.read_text() else ()
    expected = forecast(read_plan(example, settings).cases, 2)
    out = tmp_path / "out"
    command = [str(Path(sys.executable).parent / "packetloom"), "run", str(example), "-o", str(out), "--no-cache"]
    command += ["--workers", "2", *(f"--set={setting}" for setting in settings)]
    cpu_s, memory_bytes = measured(command)
    hops = sum(row.counters.get("packet_hops", 0) for row in Results(out).rows())
    disk_bytes = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    ratios = {
        "memory": (expected.memory_bytes / memory_bytes, WITHIN),
        "disk": (expected.disk_bytes / disk_bytes, WITHIN),
        "cpu": (expected.cpu_s / cpu_s, WITHIN),
    }
    assert not expected.unknown
    if hops:
        ratios["packet-hops"] = (expected.packet_hops / hops, WITHIN)
    wrong = {what: ratio for what, (ratio, within) in ratios.items() if not 1 / within < ratio < within}
    assert not wrong, ratios
