"""Adaptive seeds: as many as a precision takes, in rounds, the same wherever the campaign runs."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import packetloom
from conftest import SCENARIO, as_in_a_test
from packetloom import _core
from packetloom.campaign.progress import LogReporter, SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.campaign.schedule import Judgement, Schedule, Shard
from packetloom.common.confidence import half_interval
from packetloom.errors import Interrupted
from packetloom.scenario.plan import Plan, read_plan
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

PRECISION = 'run.precision={ statistic = "mean", within = 0.2, max_seeds = 12, max_extensions = 0 }'


def seeds_by_point(results: Results) -> dict[tuple[str, float | None], list[int]]:
    found: dict[tuple[str, float | None], list[int]] = {}
    for row in results.rows():
        found.setdefault((row.scheme, row.load), []).append(row.seed or 0)
    return found


def never_judged(_: Sequence[_core.Case]) -> Judgement:
    raise AssertionError("nothing to extend")


def finish(schedule: Schedule, means: list[float]) -> int:
    """Finishes all that is waiting, with these mean slowdowns seed by seed; gives how many cases that were."""
    count = 0
    while schedule.waiting:
        case = schedule.take()
        seed = int(case.parameters["seed"] or 0)
        counters = {"slowdown_mean": means[seed - 1]}
        schedule.finish(CaseRow(case.id, case.parameters, counters, "", "", ()))
        count += 1
    return count


def one_point(within: float) -> Plan:
    precision = {"statistic": "mean", "within": within, "max_extensions": 0}
    scenario = {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"sizes": "web-search"}],
        "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
        "run": {"loads": [0.5], "flows": 10, "seeds": 2, "precision": precision},
    }
    return read_plan(scenario)


def test_half_interval_is_students() -> None:
    # t for 3 degrees of freedom is 3.182; the deviation of 1, 2, 3, 4 is sqrt(5/3).
    assert half_interval([1, 2, 3, 4]) == pytest.approx(3.1824 * np.sqrt(5 / 3) / 2, rel=1e-4)
    assert half_interval([1.0]) == float("inf")


def test_rounds_grow_by_half_until_the_interval_is_narrow() -> None:
    assert finish(Schedule(one_point(0.05), None, {}, never_judged), [2.0, 2.0]) == 2
    wide = [1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0] + [2.0] * 30
    # 2 and 3 seeds are not enough, nor are 5 (half-width 0.878 of 2), 8 (0.447), 12, 18 (0.241); 27 (0.155) within 8 %.
    assert finish(Schedule(one_point(0.08), None, {}, never_judged), wide) == 27
    assert half_interval(wide[:27]) / 2 < 0.08 < half_interval(wide[:18]) / 2


def test_a_precision_out_of_reach_stops_at_the_cap_and_is_told() -> None:
    schedule = Schedule(one_point(0.001), None, {}, never_judged)
    assert finish(schedule, [1.0, 3.0] * 15) == 30
    (line,) = schedule.imprecise()
    assert line.startswith("TCP load 0.5: mean slowdown within 0.1 % takes more than 30 seeds; it is known to 19 %")


@pytest.fixture(scope="module")
def precise(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, str]:
    """The small scenario with as many seeds as the precision takes, run by two workers, and what was said of it."""
    folder = tmp_path_factory.mktemp("precise")
    (folder / "small.toml").write_text(SCENARIO)
    said = io.StringIO()
    with as_in_a_test():
        results = run_plan(read_plan(folder / "small.toml", [PRECISION]), folder / "out", 2, LogReporter(said))
    return results, said.getvalue()


def test_every_point_has_the_seeds_it_takes(precise: tuple[Results, str]) -> None:
    results, said = precise
    seeds = seeds_by_point(results)
    assert len({len(found) for found in seeds.values()}) > 1
    for (scheme, load), found in seeds.items():
        means = [row.counters["slowdown_mean"] for row in results.rows() if (row.scheme, row.load) == (scheme, load)]
        assert found == list(range(1, len(found) + 1))
        assert len(found) in (2, 3, 5, 8, 12)
        enough = half_interval(means) <= 0.2 * np.mean(means)
        assert enough or len(found) == 12
        assert enough != (f"{scheme} load {load:g}: mean slowdown within 20 % takes more than 12 seeds" in said)
        assert len(found) == 2 or half_interval(means[:2]) > 0.2 * np.mean(means[:2])


def test_seeds_do_not_depend_on_workers_shards_or_stops(
    scenario: Path, tmp_path: Path, precise: tuple[Results, str]
) -> None:
    plan = read_plan(scenario, [PRECISION])
    through, _ = precise
    one = run_plan(plan, tmp_path / "one", 1, SilentReporter())
    shards = [
        run_plan(plan, tmp_path / f"shard{index}", 2, SilentReporter(), shard=Shard(index, 3)) for index in (1, 2, 3)
    ]
    apart = sorted(row.case_id for shard in shards for row in shard.rows())
    assert one.cases["fingerprint"].equals(through.cases["fingerprint"])
    assert apart == sorted(row.case_id for row in through.rows())


def test_a_folder_goes_on_to_the_same_precision_by_itself(
    scenario: Path, tmp_path: Path, precise: tuple[Results, str]
) -> None:
    class Stop(SilentReporter):
        def finished(self, row: CaseRow) -> None:
            raise Interrupted

    plan = read_plan(scenario, [PRECISION])
    with pytest.raises(Interrupted):
        run_plan(plan, tmp_path / "out", 1, Stop())
    scenario.unlink()
    resumed = packetloom.run(tmp_path / "out", tmp_path / "out", progress=False)
    assert resumed.cases["fingerprint"].equals(precise[0].cases["fingerprint"])
