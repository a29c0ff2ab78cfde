"""Benchmarks: each runs, and its figures are the contract's."""

import json
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench import run_benchmarks

KEYS = {
    "name",
    "threads",
    "packet_hops",
    "events",
    "cpu_s",
    "wall_s",
    "packet_hops_per_cpu_s",
    "peak_memory_bytes",
}


@pytest.mark.parametrize("name", _core.bench_names())
def test_benchmark(name: str, tmp_path: Path) -> None:
    run_benchmarks([name], tmp_path / "bench.json")
    (figure,) = json.loads((tmp_path / "bench.json").read_text())
    assert set(figure) == {*KEYS, "measured_on"}
    assert figure["name"] == name
    assert figure["packet_hops"] > 400_000
    assert 1 <= figure["events"] / figure["packet_hops"] <= 2
    assert 10e6 < figure["peak_memory_bytes"] < 1e9
