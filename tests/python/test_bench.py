"""Benchmarks: each runs, and its figures are the contract's."""

import json
import sys
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench import run_benchmarks
from packetloom.bench_comparison import compare_builds
from packetloom.errors import PacketloomError

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


def test_a_build_compared_with_itself_is_as_fast(tmp_path: Path) -> None:
    (ratio,) = compare_builds(["pfabric-websearch-k6"], Path(sys.executable), 1, tmp_path / "ratios.json")
    (written,) = json.loads((tmp_path / "ratios.json").read_text())
    assert written["name"] == ratio.name == "pfabric-websearch-k6"
    assert written["measured_on"]["other_build"] == written["measured_on"]["build"]
    assert 0.2 < ratio.least == ratio.median == ratio.most < 5


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="is no Python with a packetloom"):
        compare_builds([], tmp_path / "python", 1, None)
    with pytest.raises(PacketloomError, match="not both builds have nothing-like-it"):
        compare_builds(["nothing-like-it"], Path(sys.executable), 1, None)
