"""pFabric's claims: each number on flows made by hand, so that it is known what must come out."""

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_results import Runs, failing, runs, values
from packetloom.pages.panels import Curve
from packetloom.reproduce import PAPERS, PaperEntry, paper_folder, reproduce_paper
from packetloom.reproduce.claims import Claim, NotComparable, judge
from packetloom.reproduce.pfabric import PAPER, claims, measure, steady
from packetloom.reproduce.pfabric.figures import FIGURES
from packetloom.reproduce.pfabric.measure import LARGE, SMALL, Slowdowns
from packetloom.stats.summary import ALL_SIZES

pytestmark = pytest.mark.unaudited

READ_ALL = """
from packetloom.reproduce import PAPERS_FOLDER
from packetloom.reproduce.pfabric import PAPER
from packetloom.scenario.plan import read_plan
for one in PAPER.experiments:
    file = PAPERS_FOLDER / "pfabric" / "scenarios" / one.scenario
    print(one.name, len(read_plan(file, one.quick).cases), len(read_plan(file, one.full).cases))
"""


def every_size(small: float, medium: float = 1.0, large: float = 1.0) -> dict[str, list[Any]]:
    return {"size_bytes": [1_000, 1_000_000, 50_000_000], "slowdown": [float(small), float(medium), float(large)]}


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


def test_all_sizes_means_the_workload_but_a_bin_takes_all_its_flows() -> None:
    flows: dict[str, list[Any]] = {"size_bytes": [10, 10, 10**8], "slowdown": [2.0, 4.0, 9.0], "source": [0, 1, 0]}
    slowdowns = Slowdowns(Runs(({"scheme": "TCP"}, flows)))
    assert slowdowns.of("TCP", 0.8, ALL_SIZES, "mean").value == 5.5
    assert slowdowns.of("TCP", 0.8, SMALL, "mean").value == 3.0


def test_the_senders_time_ends_with_the_last_ack() -> None:
    best = 10_000.0 + 6 * 432  # there is an ACK's way back of six links
    flows: dict[str, list[Any]] = {"size_bytes": [1_000], "slowdown": [1.5], "sender_fct_ns": [2 * best]}
    slowdowns = Slowdowns(Runs(({"scheme": "TCP"}, flows)))
    assert slowdowns.of("TCP", 0.8, SMALL, "sender's mean").value == 2.0


def test_ratios_are_taken_seed_by_seed() -> None:
    made = [({"scheme": name, "seed": seed}, every_size(slow)) for name, slows in (("A", (8, 2)), ("B", (2, 1)))
            for seed, slow in enumerate(slows)]  # fmt: skip
    ratio = Slowdowns(Runs(*made)).ratio("A", "B", 0.8, SMALL, "mean")
    assert ratio.value == 3.0
    assert ratio.low is not None
    assert ratio.low < 2.0


def test_a_scheme_that_was_not_run_is_not_comparable() -> None:
    slowdowns = Slowdowns(Runs(({"scheme": "TCP"}, every_size(2))))
    with pytest.raises(NotComparable, match="DCTCP, load 0"):
        slowdowns.of("DCTCP", 0.8, SMALL, "mean")


def by_load(slowdown: dict[str, dict[float, float]]) -> Runs:
    """Small flows' slowdown of each scheme at each load; at the receiver it is half of that at the sender."""
    best = 10_000.0 + 6 * 432

    def flow(slow: float) -> dict[str, list[Any]]:
        return {"size_bytes": [1_000], "slowdown": [slow / 2], "sender_fct_ns": [slow * best]}

    return Runs(
        *(
            ({"scheme": scheme, "load": load}, flow(slow))
            for scheme, loads in slowdown.items()
            for load, slow in loads.items()
        )
    )


def test_small_flows_within_half_as_much_again_of_the_range_at_both_ends_of_the_loads() -> None:
    tails = {
        measure.TCP: {0.1: 21.0, 0.5: 200.0, 0.8: 60.0},
        measure.DCTCP: {0.1: 5.0, 0.5: 1.0, 0.8: 26.0},
        measure.MIN_TCP: dict.fromkeys((0.1, 0.5, 0.8), 1.0),
        measure.LINE_RATE: dict.fromkeys((0.1, 0.5, 0.8), 1.0),
    }
    one = by_load(tails)
    found = judge(claim_of("PF3"), runs(data_mining=one, web_search=one))
    assert values(found.deciding)["WS 0.8 TCP/MinTCP"] == 60.0
    assert failing(found.deciding) == [
        f"{short} {where}/{name}"
        for where in ("0.1 TCP", "0.8 DCTCP")
        for short in ("DM", "WS")
        for name in ("MinTCP", "LineRate")
    ]
    # Other loads are shown, and do not decide.
    assert values(found.beside) == {
        "TCP/pFabric, smallest of all loads": 21.0,
        "TCP/pFabric, largest of all loads": 200.0,
        "TCP/pFabric, load from which on all are in the band": 0.8,
        "DCTCP/pFabric, smallest of all loads": 1.0,
        "DCTCP/pFabric, largest of all loads": 26.0,
    }


def test_no_other_load_stands_for_the_papers_lowest_and_highest() -> None:
    schemes = (measure.TCP, measure.DCTCP, measure.MIN_TCP, measure.LINE_RATE)
    for loads in ((0.2, 0.8), (0.1, 0.7)):
        one = by_load({scheme: dict.fromkeys(loads, 1.2) for scheme in schemes})
        for claim in (claim_of(id) for id in ("PF2", "PF3", "PF4", "PF5")):
            assert judge(claim, runs(data_mining=one, web_search=one)).verdict == "not comparable"
    tail = judge(claim_of("PF7"), runs(web_search=one))
    assert tail.verdict == "not comparable"


def test_data_minings_small_flows_are_judged_at_both_ends_of_the_loads_at_the_sender() -> None:
    one = by_load({measure.LINE_RATE: {0.1: 1.7, 0.2: 9.0, 0.8: 1.25}})
    found = judge(claim_of("PF4"), runs(data_mining=one))
    assert values(found.deciding) == {"mean at 0.1": 1.7, "mean at 0.8": 1.25, "p99 at 0.1": 1.7, "p99 at 0.8": 1.25}
    assert failing(found.deciding) == ["mean at 0.1", "p99 at 0.8"]
    assert values(found.beside)["p99 at 0.1, at the receiver"] == 0.85


def test_web_searchs_tail_is_judged_at_the_sender() -> None:
    printed = {measure.LINE_RATE: 1.5, measure.DCTCP: 12.0, measure.TCP: 40.0}
    found = judge(claim_of("PF7"), runs(web_search=by_load({name: {0.8: slow} for name, slow in printed.items()})))
    assert found.verdict == "holds"
    assert values(found.deciding) == {"LineRate": 1.5, "DCTCP": 12.0, "TCP": 40.0}
    assert failing(found.beside) == []
    assert values(found.beside)["LineRate, at the receiver"] == 0.75
    late = judge(claim_of("PF7"), runs(web_search=by_load({name: {0.8: 2 * slow} for name, slow in printed.items()})))
    assert failing(late.deciding) == ["LineRate", "DCTCP"]


def test_schemes_must_be_apart_in_order() -> None:
    slow = {measure.TCP: 3.0, measure.DCTCP: 1.0, measure.MIN_TCP: 1.0, measure.LINE_RATE: 1.2}
    one = Runs(*(({"scheme": name}, every_size(slow, slow, slow)) for name, slow in slow.items()))
    found = judge(claim_of("PF1"), runs(data_mining=one, web_search=one))
    assert failing(found.deciding) == [
        f"{short} 0.8 DCTCP/{name}" for short in ("DM", "WS") for name in ("MinTCP", "LineRate")
    ]


def test_close_to_ideal_is_neither_above_nor_below_it() -> None:
    slow = {measure.IDEAL: 1.0, measure.LINE_RATE: 0.8}
    one = Runs(*(({"scheme": name}, every_size(1, medium, 1)) for name, medium in slow.items()))
    found = judge(claim_of("PF6"), runs(data_mining=one))
    assert failing(found.deciding) == ["(100KB, 10MB] at 0.8"]


def test_elephants_order_and_band() -> None:
    slow = {measure.TCP: 2.0, measure.DCTCP: 2.2, measure.MIN_TCP: 2.5, measure.LINE_RATE: 2.4}
    one = Runs(*(({"scheme": name}, every_size(1, 1, large)) for name, large in slow.items()))
    found = list(claims.web_search_elephants(runs(web_search=one)))
    assert values(found)["MinTCP/TCP"] == 1.25
    assert failing(found) == ["LineRate/MinTCP"]


def test_workload_facts_are_shares_of_flows_and_bytes() -> None:
    sizes = {"size_bytes": [1_000] * 8 + [5_000_000, 200_000_000]}
    made = Runs(({}, sizes))
    found = list(claims.workload_facts(runs(data_mining_sizes=made, web_search_sizes=made)))
    assert values(found)["DM flows < 10 KB"] == 0.8
    assert values(found)["DM bytes in flows > 100 MB"] == round(200_000_000 / 205_008_000, 9)
    assert values(found)["WS flows of 1-20 MB"] == 0.1


def test_the_best_timeout_is_that_of_the_sweep() -> None:
    sweep = {measure.TCP: {100: 2.0, 200: 2.2}, measure.DCTCP: {200: 1.0, 400: 1.5},
             measure.MIN_TCP: {20: 1.0, 40: 1.04}, measure.LINE_RATE: {40: 1.0}}  # fmt: skip
    made = Runs(
        *(
            ({"scheme": scheme, "transport.min_rto_ns": 1e3 * timeout}, {"slowdown": [slow]})
            for scheme, by_timeout in sweep.items()
            for timeout, slow in by_timeout.items()
        )
    )
    found = list(claims.best_timeouts(runs(timeouts=made)))
    assert failing(found) == ["TCP 200us / best (100us)"]
    assert found[2].value == pytest.approx(1.04)


def test_missed_deadlines_and_class_shares() -> None:
    met = {measure.TCP: [False, False], "SRPT": [True, False], "EDF": [True, True]}
    deadlines = Runs(*(({"scheme": name}, {"met_deadline": flags}) for name, flags in met.items()))
    flows: dict[str, list[Any]] = {
        "class": [0, 0, 1, 1, 0],
        "size_bytes": [30, 30, 20, 99, 1],
        "start_ns": [0.0, 10, 0, 0, 50],
        "fct_ns": [9.0, 9, 40, 60, 1],
    }
    found = list(
        claims.deadlines_and_classes(
            runs(deadlines=deadlines, classes=Runs(({"scheme": "weights 3:1", "load": None}, flows)))
        )
    )
    assert values(found) == {
        "missed, EDF/SRPT at 0.8": 0.0,
        "missed, EDF/TCP at 0.8": 0.0,
        "weights 3:1, class 0: share/weight": 1.0,
        "weights 3:1, class 1: share/weight": 1.0,
    }


def test_edf_misses_fewer_or_does_not_hold() -> None:
    def missed(edf: list[bool], other: list[bool]) -> list[str]:
        deadlines = {measure.TCP: [False, False], "SRPT": other, "EDF": edf}
        made = Runs(*(({"scheme": name}, {"met_deadline": flags}) for name, flags in deadlines.items()))
        return failing(list(claims._missed_deadlines(made)))

    assert missed([True, True], [True, False]) == []
    assert missed([True, False], [True, False]) == ["missed, EDF/SRPT at 0.8"]
    with pytest.raises(NotComparable, match="SRPT misses no deadline at load"):
        missed([True, False], [True, True])


def test_figures_have_a_line_per_scheme_and_their_numbers() -> None:
    schemes = (measure.TCP, measure.IDEAL)
    cases = [({"scheme": name, "load": load}, every_size(1 + load)) for name in schemes for load in (0.2, 0.8)]
    made = runs(data_mining=Runs(*cases), web_search=Runs(*cases))
    small, others = [1.2, 1.8], [1.0, 1.0]
    shown = {"2": [[(value + 2) / 3 for value in small]] * 2, "3": [small, small, others, others]}
    shown["4"] = shown["3"]
    for figure in FIGURES:
        panels = figure.panels(made)
        assert len(panels) == (2 if figure.number == "2" else 4)
        for panel, expected in zip(panels, shown[figure.number], strict=True):
            curves = [mark for mark in panel.marks if isinstance(mark, Curve)]
            assert [curve.label for curve in curves] == list(schemes)
            for curve in curves:
                assert list(curve.x) == [0.2, 0.8]
                assert list(curve.y) == pytest.approx(expected)
        assert figure.table is not None
        header, rows = figure.table(made)
        assert {len(row) for row in rows} == {len(header)}
        least = min(value for values in shown[figure.number] for value in values)
        assert f"{least:.2f}" in rows[0]


def test_the_steady_state_is_corrected_by_what_models_tell_of_its_seeds() -> None:
    seeds = range(1, 7)

    def cases(scheme: str, slows: dict[int, float]) -> list[tuple[dict[str, Any], dict[str, list[Any]]]]:
        return [({"scheme": scheme, "seed": seed}, every_size(1.5, slow, slow)) for seed, slow in slows.items()]

    # Over many seeds equal shares have a mean of 12; those that were simulated have one of 3.5, and DCTCP twice that.
    model = {seed: float(seed) for seed in range(1, 24)}
    longer = Runs(*cases(measure.DCTCP, {seed: 2 * model[seed] for seed in seeds}))
    models = Runs(*cases(steady.MAX_MIN, model), *cases(measure.IDEAL, model))
    made = runs(
        web_search_steady=longer, web_search_models=models, data_mining_steady=longer, data_mining_models=models
    )
    of = steady.Steady("web-search", made).of
    large, small = of(measure.DCTCP, LARGE, "mean"), of(measure.DCTCP, SMALL, "mean")
    assert large
    assert large.value == pytest.approx(24)
    assert small
    assert small.value == 1.5
    assert of(measure.TCP, LARGE, "mean") is None
    header, rows = steady.FIGURE.table(made) if steady.FIGURE.table else ([], [])
    assert {len(row) for row in rows} == {len(header)}


@pytest.mark.parametrize("workload", steady.WORKLOADS)
def test_models_have_the_flows_of_the_schemes(workload: str) -> None:
    read = [
        tomllib.loads((paper_folder("pfabric") / "scenarios" / f"{name}.toml").read_text())
        for name in (workload, f"{workload}-models")
    ]
    assert read[0]["topology"] == read[1]["topology"]
    assert read[0]["workload"] == read[1]["workload"]


def test_every_scenario_can_be_read_at_both_scales() -> None:
    read = subprocess.run([sys.executable, "-c", READ_ALL], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    assert [line.split()[0] for line in read.stdout.splitlines()] == [one.name for one in PAPER.experiments]


def test_every_claim_needs_experiments_that_there_are() -> None:
    known = {one.name for one in PAPER.experiments}
    assert [claim.id for claim in PAPER.claims] == [f"PF{number}" for number in range(1, 13)]
    assert {need for claim in PAPER.claims for need in claim.needs} <= known


TINY = {
    "web-search": ("run.loads=[0.1, 0.8]", "run.flows=60", "run.warm_up=0us"),
    "data-mining": ("run.loads=[0.1, 0.8]", "run.duration=5ms", "run.warm_up=0us", "run.max_time=5ms"),
    "ecmp": ("run.loads=[0.8]", "run.flows=60", "run.warm_up=0us"),
    "timeouts": ("run.flows=20", "run.warm_up=0us"),
    "deadlines": ("run.loads=[0.8]", "run.flows=300"),
    "classes": ("run.duration=5ms",),
    "data-mining-sizes": ("run.flows=500",),
    "web-search-sizes": ("run.flows=500",),
    "web-search-steady": ("run.loads=[0.8]", "run.flows=60", "run.warm_up=0us"),
    "data-mining-steady": ("run.loads=[0.8]", "run.duration=5ms", "run.warm_up=0us", "run.max_time=5ms"),
    "web-search-models": ("run.flows=60", "run.warm_up=0us"),
    "data-mining-models": ("run.duration=5ms", "run.warm_up=0us", "run.max_time=5ms"),
}


def test_the_paper_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = tuple(replace(one, quick=(*TINY[one.name], "run.seeds=2")) for one in PAPER.experiments)
    monkeypatch.setitem(PAPERS, "pfabric", PaperEntry("", lambda: replace(PAPER, experiments=experiments)))
    findings = reproduce_paper("pfabric", None, "quick", tmp_path / "claims.json", tmp_path / "out")
    assert len(findings) == 12
    measured = {finding.claim.id for finding in findings if finding.measured}
    assert {"PF1", "PF2", "PF3", "PF4", "PF5", "PF9", "PF10", "PF11", "PF12"} <= measured
    assert {path.name for path in (tmp_path / "out").glob("figure-*")} == {
        f"figure-{number}.{ending}" for number in (2, 3, 4, "steady") for ending in ("pdf", "png")
    }
    assert "Figure 4" in (tmp_path / "out" / "index.html").read_text()
