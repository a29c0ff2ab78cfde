"""Benchmarks: each runs, and its figures are the contract's."""

import json
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench import benchmarks
from packetloom.bench.benchmarks import beside_reference_loop, run_benchmarks, together
from packetloom.bench.threads_model import THREADS, foresee, print_model
from packetloom.errors import PacketloomError

KEYS = {
    "name",
    "threads",
    "runs",
    "packet_hops",
    "events",
    "cpu_s",
    "wall_s",
    "packet_hops_per_cpu_s",
    "peak_memory_bytes",
    "reference_packet_hops_per_cpu_s",
    "share_of_reference",
}


QUICK = ("fifo-permutation-k8", "fifo-permutation-k16-two-threads", "dcqcn-websearch-k8")
"""The others run the same code, for some seconds each."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in _core.bench_names()]
)
def test_benchmark(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "YARDSTICK_CPU_S", 0.05)
    run_benchmarks([name], tmp_path / "bench.json")
    (figure,) = json.loads((tmp_path / "bench.json").read_text())
    assert set(figure) == {*KEYS, "measured_on"}
    assert figure["name"] == name
    assert figure["packet_hops"] > 400_000
    assert 1 <= figure["events"] / figure["packet_hops"] <= 2
    assert 10e6 < figure["peak_memory_bytes"] < 1e9
    # One CPU-second on the machine that the numbers of runs were chosen on; there may be faster ones.
    assert figure["cpu_s"] > 0.6
    assert figure["packet_hops_per_cpu_s"] == figure["packet_hops"] / figure["cpu_s"]
    share = figure["packet_hops_per_cpu_s"] / figure["reference_packet_hops_per_cpu_s"]
    assert figure["share_of_reference"] == pytest.approx(share)
    # A loop that does next to nothing: not a hundred times as fast as the simulator, nor the other way round.
    assert 0.01 < share < 100


def test_the_reference_loop_moves_packets_for_as_long_as_it_is_told_to() -> None:
    short, long = (_core.bench_reference_loop("fifo-permutation-k8", cpu_s) for cpu_s in (0.02, 0.2))
    assert 0.02 <= short["cpu_s"] < long["cpu_s"]
    assert long["cpu_s"] >= 0.2
    assert 0 < short["packet_hops"] < long["packet_hops"]


def test_the_share_is_of_what_the_reference_loop_did_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    reference_loops = iter([{"packet_hops": 10e6, "cpu_s": 0.5}, {"packet_hops": 5e6, "cpu_s": 0.5}])

    def reference_loop(name: str) -> dict[str, float]:
        order.append(f"reference loop of {name}")
        return next(reference_loops)

    def benchmark(_: Path, name: str) -> dict[str, float]:
        order.append(name)
        return {"packet_hops_per_cpu_s": 30e6}

    monkeypatch.setattr(benchmarks, "_reference_loop", reference_loop)
    monkeypatch.setattr(benchmarks, "in_process_of", benchmark)
    figure = beside_reference_loop("any")
    assert order == ["reference loop of any", "any", "reference loop of any"]
    assert (figure["reference_packet_hops_per_cpu_s"], figure["share_of_reference"]) == (15e6, 2.0)


def test_runs_are_summed_up() -> None:
    first = {"name": "any", "threads": 2, "packet_hops": 10, "events": 20, "cpu_s": 1.0, "wall_s": 2.0}
    first |= {"packet_hops_per_cpu_s": 10.0, "peak_memory_bytes": 7}
    second = first | {"cpu_s": 3.0, "wall_s": 4.0, "packet_hops_per_cpu_s": 10 / 3, "peak_memory_bytes": 8}
    figure = together([first, second])
    assert figure == {
        **{"name": "any", "threads": 2, "runs": 2, "packet_hops": 20, "events": 40, "cpu_s": 4.0, "wall_s": 6.0},
        **{"packet_hops_per_cpu_s": 5.0, "peak_memory_bytes": 8},
    }


def test_what_threads_would_gain_follows_from_what_their_shares_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {1: (3.0, 2.0, 2.0), 2: (3.1, 2.0, 1.1), 4: (3.2, 2.0, 0.6)}

    def in_turn(_: str, threads: int) -> dict[str, float]:
        cpu_s, all_s, longest_s = costs[threads]
        busiest_s = all_s / threads
        return {"cpu_s": cpu_s, "windows": 1_000, "all_s": all_s, "longest_s": longest_s, "busiest_s": busiest_s}

    monkeypatch.setattr(_core, "bench_in_turn", in_turn)
    monkeypatch.setattr(_core, "bench_meeting", lambda: (1e-4, 1e-5))
    one, two, four = foresee("any", (1, 2, 4))
    assert (one.wall_s, one.meetings_s, one.gain) == (3.0, 0.0, 1.0)
    assert two.wall_s == pytest.approx(1.1 + 1.1 + 0.1)
    assert four.wall_s == pytest.approx(1.2 + 0.6 + 0.12)
    assert four.gain == pytest.approx(3.0 / 1.92)


def test_the_model_of_threads_prints_a_row_for_each_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_model(["nscc-reps-permutation-k8"], tmp_path / "model.json")
    rows = json.loads((tmp_path / "model.json").read_text())
    assert [row["threads"] for row in rows] == list(THREADS)
    assert all(row["busiest_s"] <= row["in_windows_s"] <= row["wall_s"] for row in rows)
    assert rows[1]["measured_gain"] > 0
    assert "measured" in capsys.readouterr().out
    with pytest.raises(PacketloomError, match="did you mean"):
        print_model(["fifo-permutation-k6"], None)
