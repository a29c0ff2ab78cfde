"""SYN against ASY: what the claims are made of, on flows made by hand, and that the scenarios can be read."""

import polars as pl
import pytest

from packetloom.claims import NotComparable
from packetloom.reproduce import PAPERS, PAPERS_FOLDER, Experiment
from packetloom.reproduce.sync_or_not import PAPER, measure
from packetloom.scenario import read_plan


def flows(**columns: list[float]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_jain_is_of_what_servers_got_of_their_best() -> None:
    alike = flows(src=[0, 0, 1], best_fct_ns=[1.0, 3.0, 2.0], fct_ns=[2.0, 6.0, 4.0])
    assert measure.jain(alike) == pytest.approx(1.0)
    one_starves = flows(src=[0, 1], best_fct_ns=[1.0, 1.0], fct_ns=[1.0, 1e9])
    assert measure.jain(one_starves) == pytest.approx(0.5)


def test_statistics_leave_unfinished_flows_out() -> None:
    some = flows(slowdown=[1.0, 3.0, float("nan")], fct_ns=[1e6, 3e6, float("nan")])
    assert measure.mean_slowdown(some) == 2.0
    assert measure.variation(some) == pytest.approx(2**0.5 / 2)
    assert measure.fct_variation(some) == pytest.approx(2**0.5 / 2)
    with pytest.raises(NotComparable):
        measure.mean_slowdown(flows(slowdown=[float("nan")]))


def test_ratios_are_taken_seed_by_seed() -> None:
    table: measure.Table = {("one", 0.5): [(1, 4.0), (2, 9.0)], ("other", 0.5): [(2, 3.0), (1, 2.0)]}
    assert measure.ratio(table, "one", "other", 0.5).value == pytest.approx(2.5)
    with pytest.raises(NotComparable):
        measure.at(table, "one", 0.8)


@pytest.mark.parametrize("experiment", PAPER.experiments, ids=lambda experiment: experiment.name)
def test_every_scenario_can_be_read_at_both_scales(experiment: Experiment) -> None:
    file = PAPERS_FOLDER / "sync_or_not" / "scenarios" / experiment.scenario
    quick, full = (len(read_plan(file, settings).cases) for settings in (experiment.quick, experiment.full))
    assert 0 < quick <= full


def test_claims_and_figures_need_experiments_that_there_are() -> None:
    known = {experiment.name for experiment in PAPER.experiments}
    needed = {need for claim in PAPER.claims for need in claim.needs}
    needed |= {need for figure in PAPER.figures for need in figure.needs}
    assert needed == known
    assert {claim.id for claim in PAPER.claims} == {f"SA{number}" for number in range(1, 10)}
    assert PAPERS["sync-or-not"].load() is PAPER
