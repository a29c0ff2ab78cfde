"""SYN against ASY: what the claims are made of, on flows made by hand, and that the scenarios can be read."""

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from packetloom.reproduce import PAPERS, PAPERS_FOLDER, Experiment
from packetloom.reproduce.claims import Finding, NotComparable, judge
from packetloom.reproduce.sync_or_not import PAPER, measure
from packetloom.scenario.plan import read_plan


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
    assert (measure.mean_fct(some), measure.fct_variance(some), measure.slowdown_variance(some)) == (2e6, 2e12, 2.0)
    with pytest.raises(NotComparable):
        measure.mean_slowdown(flows(slowdown=[float("nan")]))


def test_ratios_are_taken_seed_by_seed() -> None:
    table: measure.Table = {("one", 0.5): [(1, 4.0), (2, 9.0)], ("other", 0.5): [(2, 3.0), (1, 2.0)]}
    assert measure.ratio_of(table, "one", "other", 0.5).value == pytest.approx(2.5)
    with pytest.raises(NotComparable):
        measure.at(table, "one", 0.8)


def test_candidates_for_the_index_tell_whose_throughput_it_is_of() -> None:
    # Server 0 sends to 2 and 3, one of them slowly; server 1 to 2. The last flow starts before the slow one is done.
    some = flows(
        src=[0, 0, 1],
        dst=[2, 3, 2],
        size_bytes=[10.0, 10.0, 10.0],
        start_ns=[0.0, 0.0, 5.0],
        best_fct_ns=[1.0, 1.0, 1.0],
        fct_ns=[1.0, 10.0, 1.0],
    )
    found = {name: of(some) for name, of in measure.JAINS.items()}
    assert found["of a sender's flows' shares of their best"] == pytest.approx(1.55**2 / (2 * (0.55**2 + 1)))
    assert found["of a receiver's"] == pytest.approx(1.1**2 / (2 * 1.01))
    assert found["of a pair's"] == found["of each flow's"] == pytest.approx(2.1**2 / (3 * 2.01))
    assert found["of a sender's flows' rates"] == pytest.approx(15.5**2 / (2 * (5.5**2 + 100)))
    # The last flow has not arrived when it starts.
    assert found["of the bytes that a sender got through"] == pytest.approx(0.5)


Judge = Callable[[str, Mapping[str, Mapping[str, float]]], Finding]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A claim by numbers made by hand: for each measure what it finds of each scheme, the same at all loads."""

    def judged(claim: str, numbers: Mapping[str, Mapping[str, float]]) -> Finding:
        def found(name: str) -> measure.Table:
            loads = (0.1, 0.6, 0.9)
            return {(label, load): [(1, value)] for label, value in numbers[name].items() for load in loads}

        monkeypatch.setattr(measure, "of_flows", lambda _, of: found(of.__name__))
        return judge(next(one for one in PAPER.claims if one.id == claim), dict.fromkeys(EXPERIMENTS))  # type: ignore[arg-type]

    return judged


EXPERIMENTS = [experiment.name for experiment in PAPER.experiments]
OCF, MMF, SRJF = "SYN OCF", "SYN MMF", "SYN SRJF"


def test_orders_under_incast_are_judged_by_mean_and_variance_of_the_fct(judged: Judge) -> None:
    as_in_the_paper = {"mean": {OCF: 3.0, MMF: 2.0, SRJF: 1.0}, "spread": {OCF: 1.0, MMF: 2.0, SRJF: 3.0}}
    numbers = {
        "mean_fct": as_in_the_paper["mean"],
        "fct_variance": as_in_the_paper["spread"],
        "mean_slowdown": as_in_the_paper["mean"],
        "slowdown_variance": as_in_the_paper["spread"],
        "fct_variation": as_in_the_paper["spread"],
    }
    assert judged("SA2", numbers).verdict == "holds"
    # What decided before stands beside.
    for beside in ("mean_slowdown", "slowdown_variance", "fct_variation"):
        assert judged("SA2", numbers | {beside: dict.fromkeys((OCF, MMF, SRJF), 1.0)}).verdict == "holds"
    finding = judged("SA2", numbers | {"fct_variance": {OCF: 1.0, MMF: 2.0, SRJF: 1.5}})
    assert finding.verdict == "differs"
    assert finding.outside == ["variance SRJF/MMF at 0.6", "variance SRJF/MMF at 0.9"]


def test_one_rule_for_slots_decides_of_bimodal_and_facebook_web_lengths(judged: Judge) -> None:
    one_packet = {"SYN bimodal": 20.0, "SYN FBW": 30.0, "ASY bimodal": 1.0, "ASY FBW": 1.0}
    packed = {"SYN bimodal packed": 20.0, "SYN FBW packed": 15.0}
    numbers = {"mean_slowdown": one_packet | packed}
    assert judged("SA5", numbers).verdict == "holds"
    assert judged("SA5", {"mean_slowdown": one_packet | packed | {"SYN bimodal": 9.0}}).verdict == "differs"
    finding = judged("SA7", numbers)
    assert {"SYN/ASY at 0.9", "FBW / bimodal at 0.9"} <= {one.what for one in finding.deciding}
    assert finding.outside == ["SYN/ASY at 0.1", "FBW / bimodal at 0.9"]
    assert {one.what: one.value for one in finding.beside}["FBW / bimodal at 0.9, packed"] == 0.75


def test_an_index_that_the_paper_does_not_define_is_judged_by_every_reading(judged: Judge) -> None:
    names = [of.__name__ for of in measure.JAINS.values()]

    def of_asy(*values: float) -> Finding:
        return judged("SA1", {name: {MMF: 0.9, "ASY": value} for name, value in zip(names, values, strict=True)})

    finding = of_asy(*(0.8 for _ in names))
    assert finding.verdict == "differs"
    assert len(finding.deciding) == 2
    assert [one.value for one in finding.beside] == pytest.approx([-0.1] * 2 * (len(names) - 1))
    assert of_asy(*(0.89 for _ in names)).verdict == "holds"
    hangs = of_asy(*(0.89 if place == 3 else 0.8 for place, _ in enumerate(names)))
    assert hangs.verdict == "not comparable"
    assert "differs with of a sender's flows' shares of their best" in hangs.reason


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
