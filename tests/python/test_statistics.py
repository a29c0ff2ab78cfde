"""Statistics against the same numbers worked out by other means."""

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import packetloom
from conftest import SCENARIO
from made_results import Runs
from packetloom import _core
from packetloom.errors import PacketloomError
from packetloom.stats.summary import DEFAULT_BINS, by_seed, jain_of_servers, over_seeds, size_bins
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


@pytest.mark.parametrize("freedom", [1, 2, 3, 19, 60, 10_000])
@pytest.mark.parametrize("t", [0.0, 1e-3, 0.7, -2.0, 12.0, 1e3])
def test_students_t_is_that_of_scipy(freedom: int, t: float) -> None:
    p = 2 * stats.t.sf(abs(t), freedom)
    assert _core.student_two_sided_p(freedom, t) == pytest.approx(p, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("freedom", [1, 2, 3, 19, 60, 10_000])
@pytest.mark.parametrize("p", [0.9, 0.4, 0.05, 0.01, 1e-4])
def test_quantiles_of_students_t_are_those_of_scipy(freedom: int, p: float) -> None:
    assert _core.student_two_sided_t(freedom, p) == pytest.approx(stats.t.isf(p / 2, freedom), rel=1e-9)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("statistics")
    overrides = ["run.seeds=4", "run.flows=400"]
    return packetloom.run(tomllib.loads(SCENARIO), out, overrides=overrides, progress=False)


def value(frame: pl.DataFrame, load: float, bin: str, metric: str, statistic: str) -> dict[str, float]:
    return frame.filter(
        pl.col("label") == "TCP",
        pl.col("load") == load,
        pl.col("bin") == bin,
        pl.col("metric") == metric,
        pl.col("statistic") == statistic,
    ).row(0, named=True)


def samples(results: Results, load: float, low: float, high: float) -> list[np.ndarray]:
    flows = results.to_polars().filter(pl.col("scheme") == "TCP", pl.col("load") == load, pl.col("measured"))
    flows = flows.filter(pl.col("size_bytes") > low, pl.col("size_bytes") <= high, pl.col("slowdown").is_not_nan())
    return [flows.filter(pl.col("seed") == seed)["slowdown"].to_numpy() for seed in range(1, 5)]


@pytest.mark.parametrize(("statistic", "quantile"), [("p50", 50), ("p95", 95), ("p99", 99), ("p99.9", 99.9)])
def test_percentiles_and_their_intervals(results: Results, statistic: str, quantile: float) -> None:
    per_seed = [np.percentile(seed, quantile) for seed in samples(results, 0.8, 100e3, 10e6)]
    got = value(packetloom.summary(results), 0.8, "(100KB, 10MB]", "slowdown", statistic)
    interval = stats.t.interval(0.95, 3, loc=np.mean(per_seed), scale=stats.sem(per_seed))
    assert got["value"] == pytest.approx(np.mean(per_seed))
    assert (got["low"], got["high"]) == pytest.approx(interval)
    assert got["seeds"] == 4


def test_means_of_all_sizes(results: Results) -> None:
    per_seed = samples(results, 0.2, 0, math.inf)
    got = value(packetloom.summary(results), 0.2, "all", "slowdown", "mean")
    assert got["value"] == pytest.approx(np.mean([seed.mean() for seed in per_seed]))
    assert got["flows"] == sum(len(seed) for seed in per_seed)


def test_variation_is_the_deviation_over_the_mean(results: Results) -> None:
    per_seed = [seed.std(ddof=1) / seed.mean() for seed in samples(results, 0.8, 0, 100e3)]
    got = value(packetloom.summary(results), 0.8, "(0, 100KB]", "slowdown", "cv")
    assert got["value"] == pytest.approx(np.mean(per_seed))


def test_jains_index_is_over_servers_of_what_their_flows_got_of_their_best(results: Results) -> None:
    # Server 0 gets 1/2 and 1 of its best, server 1 a quarter; a flow that did not finish does not count.
    src, share = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.5, 1.0, 0.25, math.nan])
    assert jain_of_servers(src, share) == pytest.approx(1.0 / (2 * (0.75**2 + 0.25**2)))
    assert jain_of_servers(src, np.full(4, math.nan)) is None
    assert 0 < value(packetloom.summary(results), 0.8, "all", "server_share", "jain")["value"] <= 1


def test_interval_by_hand() -> None:
    per_seed = pl.DataFrame({"label": ["a"] * 3, "seed": [1, 2, 3], "value": [1.0, 2.0, 6.0], "flows": [5, 5, 5]})
    got = over_seeds(per_seed).row(0, named=True)
    # mean 3, deviation sqrt(7), t(0.975, 2) = 4.302653
    half = 4.302653 * math.sqrt(7) / math.sqrt(3)
    assert got == {
        "label": "a",
        "value": 3.0,
        "low": pytest.approx(3 - half, abs=1e-5),
        "high": pytest.approx(3 + half, abs=1e-5),
        "seeds": 3,
        "flows": 15,
    }


def test_one_seed_has_no_interval(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "one", overrides=["run.seeds=1"], progress=False)
    frame = packetloom.summary(results)
    assert frame["low"].null_count() == frame.height
    assert frame["high"].null_count() == frame.height


def test_unfinished_and_unmeasured_flows(scenario: Path, tmp_path: Path) -> None:
    overrides = ["run.flows=400", "run.max_time=100ms", "run.warm_up=20ms", "run.seeds=1"]
    results = packetloom.run(scenario, tmp_path / "cut", overrides=overrides, progress=False)
    flows = results.to_polars().filter(pl.col("scheme") == "TCP", pl.col("load") == 0.8)
    assert flows.filter(pl.col("start_ns") < 20e6).height > 0
    counted = flows.filter(pl.col("start_ns") >= 20e6)
    missing = counted["fct_ns"].is_nan().sum()
    assert missing > 0
    frame = packetloom.summary(results)
    assert value(frame, 0.8, "all", "unfinished", "mean")["value"] == pytest.approx(missing / counted.height)
    assert value(frame, 0.8, "all", "slowdown", "mean")["flows"] == counted.height - missing
    met = (counted["start_ns"] + counted["fct_ns"] <= counted["deadline_ns"]).sum()  # an unfinished flow has missed it
    assert value(frame, 0.8, "all", "met_deadline", "mean")["value"] == pytest.approx(met / counted.height)


def test_bins() -> None:
    assert [size.label for size in DEFAULT_BINS] == ["(0, 100KB]", "(100KB, 10MB]", "(10MB, ∞)"]
    assert [size.label for size in size_bins(1500)] == ["(0, 1.5KB]", "(1.5KB, ∞)"]
    sizes = pl.DataFrame({"size_bytes": [100_000, 100_001]})
    assert [sizes.filter(size.selects()).height for size in DEFAULT_BINS] == [1, 1, 0]
    with pytest.raises(PacketloomError, match="rising"):
        size_bins(10e6, 100e3)


def test_grid_axes_make_series_of_their_own(scenario: Path, tmp_path: Path) -> None:
    sweep = ["scheme.DCTCP.queue.capacity=['100KB', '225KB']"]
    results = packetloom.run(scenario, tmp_path / "sweep", overrides=sweep, progress=False)
    labels = packetloom.summary(results)["label"].unique(maintain_order=True).to_list()
    assert labels == ["TCP", "DCTCP, queue.capacity 100KB", "DCTCP, queue.capacity 225KB"]
    assert "scheme.queue.capacity_bytes" in results.flows.column_names


def test_nothing_finished_yet(scenario: Path, tmp_path: Path) -> None:
    from packetloom.scenario.plan import read_plan
    from packetloom.store.writer import ResultsFolder

    ResultsFolder(tmp_path / "empty", read_plan(scenario)).close()
    with pytest.raises(PacketloomError, match="no case is finished"):
        packetloom.summary(Results(tmp_path / "empty"))


class Short(Runs):
    """Cases two of whose flows never started."""

    stalled = 1

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        for row, table in super().partitions(name, columns):
            yield replace(row, counters={"stalled": self.stalled, "flows_never_started": 2}), table


def test_what_a_stall_kept_from_starting_is_unfinished() -> None:
    flows = {"size_bytes": [1e3, 1e3], "fct_ns": [1e3, float("nan")], "slowdown": [1.0, float("nan")]}
    flows |= {"goodput_gbps": [1.0, float("nan")], "deadline_ns": [float("nan")] * 2, "met_deadline": [False] * 2}
    for stalled, share in ((1, 0.75), (0, 0.5)):
        short = Short(({"scheme": "A"}, flows))
        short.stalled = stalled
        row = by_seed(short).filter(pl.col("metric") == "unfinished", pl.col("bin") == "all")
        assert row["value"].to_list() == [share]
