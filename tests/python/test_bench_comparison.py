"""Two builds in pairs of runs. The builds are fakes, whose benchmarks tell where and when they ran."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench.comparison import PairedRuns, compare_builds
from packetloom.bench.pairs import Figure
from packetloom.errors import PacketloomError

pytestmark = pytest.mark.unaudited

ONE_THREAD = "fifo-permutation-k8"
TWO_THREADS = "fifo-permutation-k16-two-threads"
FAKE_CORE = 'version, bench_names = (lambda: "9.9.9"), (lambda: ["fifo-permutation-k8"])\n'
# As builds were before there was a reference loop, and runs were repeated.
# A process counts from when it was started (proc(5): starttime), as on a busy machine its Python may come much later.
# That is in whole ticks, rounded down: the next one counts, or it would have begun before the process that just ended.
FAKE_BENCH = """\
import os, time
from pathlib import Path
ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
began = last = (int(ticks) + 1) / os.sysconf("SC_CLK_TCK")
def measure(name):
    global last
    time.sleep(0.05)
    since, last = last, time.monotonic()
    cores = sorted(os.sched_getaffinity(0))
    figure = dict(name=name, packet_hops={rate}, events=1, cpu_s=1.0, peak_memory_bytes=1)
    return dict(**figure, began=began, cores=cores, wall_s=last - since)
"""


def fake_python(folder: Path, rate: float) -> Path:
    """A Python that has a packetloom whose benchmarks all have this rate."""
    package = folder / "packetloom"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_core.py").write_text(FAKE_CORE)
    (package / "bench.py").write_text(FAKE_BENCH.format(rate=rate))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


@dataclass
class Builds:
    """This one and the other."""

    this: Path
    other: Path


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    """One that is 1.25 times as fast as the other."""
    this, other = fake_python(tmp_path / "this", 10.0), fake_python(tmp_path / "other", 8.0)
    monkeypatch.setattr(sys, "executable", str(this))
    return Builds(this, other)


def overlap(one: Figure, two: Figure) -> bool:
    ended = [figure["began"] + figure["wall_s"] for figure in (one, two)]
    return bool(one["began"] < ended[1] and two["began"] < ended[0])


@pytest.mark.alone
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_both_run_at_once_and_exchange_their_cores(builds: Builds, tmp_path: Path) -> None:
    (comparison,) = compare_builds([ONE_THREAD], builds.other, 3, tmp_path / "ratios.json")
    assert comparison.runs == "at once"
    assert all(overlap(*pair) for pair in comparison.pairs)
    first, second, third = [(ours["cores"], theirs["cores"]) for ours, theirs in comparison.pairs]
    assert first == third == second[::-1]
    assert len(first[0]) == len(first[1]) == 1
    assert first[0] != first[1]
    assert comparison.ratios == [1.25] * 3


@pytest.mark.parametrize("why", ["one core", "no affinity"])
def test_where_they_cannot_be_kept_apart_they_run_in_turn(
    why: str, builds: Builds, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if why == "one core":
        monkeypatch.setattr("packetloom.bench.pairs.usable_cores", lambda: [0])
    else:
        monkeypatch.delattr(os, "sched_setaffinity")
    (comparison,) = compare_builds([ONE_THREAD], builds.other, 2, None)
    assert comparison.runs == "in turn"
    assert not any(overlap(*pair) for pair in comparison.pairs)
    began = [ours["began"] < theirs["began"] for ours, theirs in comparison.pairs]
    assert began == [True, False]
    assert "in turn" in capsys.readouterr().out


def test_a_benchmark_on_two_threads_needs_two_cores_for_each_build(monkeypatch: pytest.MonkeyPatch) -> None:
    from packetloom.bench.pairs import pair_runner

    assert _core.bench_threads(TWO_THREADS) == 2
    monkeypatch.setattr("packetloom.bench.pairs.usable_cores", lambda: [0, 1, 2])
    assert pair_runner(TWO_THREADS, Path("python"))[0] == "in turn"
    assert pair_runner(ONE_THREAD, Path("python"))[0] == "at once"
    monkeypatch.setattr("packetloom.bench.pairs.usable_cores", lambda: [0, 1, 2, 3])
    assert pair_runner(TWO_THREADS, Path("python"))[0] == "at once"


def test_of_few_pairs_the_spread_is_the_least_and_the_most_of_more_the_quartiles() -> None:
    def of(ratios: list[float]) -> PairedRuns:
        pairs = [({"packet_hops_per_cpu_s": 2 * r}, {"packet_hops_per_cpu_s": 2.0}) for r in ratios]
        return PairedRuns("any", "at once", pairs)

    few, more = of([1.5, 0.5, 1.0]), of([1.25, 0.25, 0.5, 1.0, 0.75])
    assert (few.median, few.spread) == (1.0, (0.5, 1.5))
    assert few.as_figure()["ratio"] == {"median": 1.0, "least_and_most": [0.5, 1.5], "of_pairs": [1.5, 0.5, 1.0]}
    assert (more.median, more.spread) == (0.75, (0.5, 1.0))
    assert more.as_figure()["ratio"]["quartiles"] == [0.5, 1.0]


def test_the_file_has_every_run_and_both_builds(builds: Builds, tmp_path: Path) -> None:
    compare_builds([ONE_THREAD], builds.other, 1, tmp_path / "ratios.json")
    (written,) = json.loads((tmp_path / "ratios.json").read_text())
    (pair,) = written["pairs"]
    assert (pair["this"]["packet_hops_per_cpu_s"], pair["other"]["packet_hops_per_cpu_s"]) == (10.0, 8.0)
    assert written["ratio"]["median"] == 1.25
    assert written["measured_on"]["build"]["version"] == _core.version()
    assert written["measured_on"]["other_build"]["version"] == "9.9.9"


def test_the_real_benchmark_can_be_bound_to_a_core(tmp_path: Path) -> None:
    (comparison,) = compare_builds(["pfabric-websearch-k6"], Path(sys.executable), 1, tmp_path / "ratios.json")
    ((ours, theirs),) = comparison.pairs
    assert ours["packet_hops"] == theirs["packet_hops"] > 400_000
    assert 0.2 < comparison.median < 5
    assert comparison.spread == (comparison.median, comparison.median)
    (written,) = json.loads((tmp_path / "ratios.json").read_text())
    assert written["name"] == comparison.name == "pfabric-websearch-k6"


def test_what_cannot_be_compared_is_said(builds: Builds, tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="is not a Python that has packetloom"):
        compare_builds([], tmp_path / "python", 1, None)
    with pytest.raises(PacketloomError, match="not both builds have nothing-like-it"):
        compare_builds(["nothing-like-it"], builds.other, 1, None)
    with pytest.raises(PacketloomError, match=f"not both builds have {TWO_THREADS}"):
        compare_builds([TWO_THREADS], builds.other, 1, None)
