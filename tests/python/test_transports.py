"""The claims on transports of 2017 to 2025: each number on samples, queues and flows made by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from made_results import Runs, Sampled, failing, runs, samples, values
from packetloom.reproduce import PAPERS, PAPERS_FOLDER
from packetloom.reproduce.claims import Claim, Finding, judge
from packetloom.reproduce.transports import PAPER, measure
from packetloom.reproduce.transports.abm import ABM, DYNAMIC
from packetloom.reproduce.transports.floodgate import CONTROLS, FLOODGATE, IDEAL
from packetloom.reproduce.transports.powertcp import (
    ARRIVALS_NS,
    DCQCN,
    HPCC,
    LESS_BETA,
    PACED,
    POWERTCP,
    SIMULATOR,
    THETA,
    TIMELY,
)
from packetloom.scenario.plan import read_plan

pytestmark = pytest.mark.unaudited

LINE_BYTES_PER_US = 12_500.0


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


def flows(by_scheme: dict[str, dict[str, list[Any]]]) -> Runs:
    return Runs(*(({"scheme": scheme}, columns) for scheme, columns in by_scheme.items()))


def tails(short_us: dict[str, float], count: int = 2000) -> Finding:
    """One flow in a hundred is that slow."""
    of: dict[str, dict[str, list[Any]]] = {
        scheme: {"size_bytes": [5_000] * count + [10**6], "fct_ns": [1e3] * (count - 20) + [us * 1e3] * 20 + [1e9]}
        for scheme, us in short_us.items()
    }
    return judge(claim_of("PW1"), runs(web_search=flows(of)))


@pytest.mark.parametrize(("hpcc", "verdict"), [(10.0, "holds"), (8.8, "differs")])
def test_the_tail_is_that_of_one_short_flow_in_a_thousand(hpcc: float, verdict: str) -> None:
    found = tails({POWERTCP: 8.0, LESS_BETA: 4.0, SIMULATOR: 4.0, HPCC: hpcc, DCQCN: 16.0, TIMELY: 16.0})
    assert values(found.deciding)["flows up to 10 KB: PowerTCP / DCQCN"] == 0.5
    assert values(found.beside)["flows up to 100 KB: PowerTCP, its simulator's / HPCC"] == round(4.0 / hpcc, 9)
    assert found.verdict == verdict


def test_a_tail_of_too_few_flows_is_none() -> None:
    found = tails({POWERTCP: 8.0, LESS_BETA: 8.0, SIMULATOR: 8.0, HPCC: 9.0, DCQCN: 40.0, TIMELY: 40.0}, 999)
    assert found.verdict == "not comparable"
    assert found.reason == "999 flows up to 10 KB are too few for p99.9: run more seeds"


def burst(scheme: str, size: float, used: float, drained_us: int) -> Any:
    """The queue of 1 MB from 1.01 ms on, until a time after that."""
    sent = [LINE_BYTES_PER_US] * 1000 + [LINE_BYTES_PER_US * used] * 1000
    waiting = [0.0] * 1010 + [1e6] * drained_us + [9e4] * (990 - drained_us)
    return {"scheme": scheme, "workload[1].sizes.size_bytes": size}, {("leaf0", "host0", 0): samples(sent, waiting)}


def bursts(powertcp_us: int, endless_us: int) -> Finding:
    drained = {POWERTCP: 0, HPCC: 90, DCQCN: 200, TIMELY: 980}
    used = {POWERTCP: 1.0, HPCC: 0.9, DCQCN: 1.0, TIMELY: 0.8}
    made = [
        burst(scheme, size, used[scheme], us if scheme == POWERTCP else drained[scheme])
        for size, us in ((250e3, powertcp_us), (1e9, endless_us))
        for scheme in drained
    ]
    slow, port = burst(SIMULATOR, 250e3, 1.0, 16)
    first = Sampled((slow | {"scheme.transport.initial_rate_gbps": 12.5}, port))
    return judge(claim_of("PW2"), runs(burst=Sampled(*made), first_windows=first))


def test_a_burst_is_drained_in_three_round_trips() -> None:
    found = bursts(24, 24)
    assert values(found.deciding) == {
        "PowerTCP: of the link": 1.0,
        "PowerTCP: round trips until drained to a tenth": round(24e3 / measure.ROUND_TRIP_NS, 9),
        "of the link, HPCC / PowerTCP": 0.9,
        "DCQCN: round trips until drained to a tenth": round(200e3 / measure.ROUND_TRIP_NS, 9),
        "TIMELY: round trips until drained to a tenth": round(980e3 / measure.ROUND_TRIP_NS, 9),
    }
    assert found.verdict == "holds"
    name = "PowerTCP, its simulator's, first windows of 1.25 BDPs together: round trips until drained"
    assert values(found.beside)[name] == round(16e3 / measure.ROUND_TRIP_NS, 9)
    assert failing(bursts(25, 25).deciding) == ["PowerTCP: round trips until drained to a tenth"]
    assert bursts(24, 25).verdict == "not comparable", "the claim does not say how long the burst's flows are"


def test_a_queue_that_never_drains_counts_until_the_end() -> None:
    port = samples([0.0] * 5, [0.0, 50.0, 100.0, 99.0, 98.0])
    assert measure.round_trips_until(port, 0.0, 1e6, 0.1) * measure.ROUND_TRIP_NS == pytest.approx(2000)


@pytest.mark.parametrize(("late_us", "verdict"), [(100, "holds"), (200, "differs")])
def test_shares_are_even_once_they_stay_so(late_us: int, verdict: str) -> None:
    ports: dict[tuple[str, str, int], pl.DataFrame] = {}
    for name, start_ns in ARRIVALS_NS.items():
        start = int(start_ns / 1000)
        sent = np.where(np.arange(4000) < start, 0.0, 1000.0)
        if name == "host9":
            # Even for a moment, then not, then for good.
            sent[start + 50 : start + late_us] = 0.0
        ports[name, "leaf0", 0] = samples(sent.tolist())
    found = judge(claim_of("PW3"), runs(fairness=Sampled(({"scheme": POWERTCP}, ports))))
    of_four = values(found.deciding)["PowerTCP, 4 flows: round trips until even"]
    assert late_us < of_four * measure.ROUND_TRIP_NS / 1e3 < late_us + 41
    assert found.verdict == verdict


def test_a_form_by_delay_keeps_the_short_and_slows_the_medium() -> None:
    def of(short: float, medium: float) -> dict[str, list[Any]]:
        return {
            "size_bytes": [5_000, 50_000, 500_000, 10**7],
            "slowdown": [1.0 * short, 1.0 * short, 1.0 * medium, 99.0],
        }

    schemes = {POWERTCP: of(2, 2), SIMULATOR: of(2, 2), "theta-PowerTCP, its simulator's": of(4, 4)}
    found = judge(claim_of("PW4"), runs(web_search=flows(schemes | {THETA: of(3, 2.5)})))
    assert values(found.deciding) == {
        "flows up to 10 KB: p99, theta-PowerTCP / PowerTCP": 1.5,
        "100 KB to 1 MB: p99, theta-PowerTCP / PowerTCP": 1.25,
    }
    assert found.verdict == "holds"
    assert judge(claim_of("PW4"), runs(web_search=flows(schemes | {THETA: of(3, 2)}))).verdict == "differs"


@pytest.mark.parametrize(("slowest", "outside"), [(2.2, []), (2.4, ["p99 slowdown, paced only / with its window"])])
def test_paced_only_is_nearly_the_same(slowest: float, outside: list[str]) -> None:
    of = {SIMULATOR: {"slowdown": [1.0] * 98 + [2.0] * 2}, PACED: {"slowdown": [1.0] * 98 + [slowest] * 2}}
    assert failing(judge(claim_of("PW6"), runs(web_search=flows(of))).deciding) == outside


def test_what_abm_lacks_keeps_its_tails_beside_the_verdict() -> None:
    # The second flow stays in its leaf, the third is no short one, and the last two are a burst's.
    where = {"src": [0, 0, 0, 1, 2], "dst": [40, 1, 40, 5, 5], "source": [0, 0, 0, 1, 1]}
    sizes = {"size_bytes": [50_000, 50_000, 100_000, 36_864, 36_864]}
    of: dict[str, dict[str, list[Any]]] = {
        scheme: {"slowdown": [short, 99.0, 99.0, 10.0, 10.0], **where, **sizes}
        for scheme, short in ((DYNAMIC, 4.0), (ABM, 2.0))
    }
    found = judge(claim_of("AB1"), runs(cubic=flows(of)))
    assert found.verdict == "not comparable"
    assert "first round trip" in found.reason
    assert values(found.beside) == {
        "p99 of short flows, ABM / dynamic thresholds": 0.5,
        "p99 of flows of bursts, ABM / dynamic thresholds": 1.0,
    }


@pytest.mark.parametrize(("rate", "verdict"), [(1250.0, "holds"), (1240.0, "differs")])
def test_drain_times_are_held_to_the_bound_of_their_class(rate: float, verdict: str) -> None:
    """500 KB of class 1 leave within the bound of 400 us if they have the whole port, of 1250 B/us."""
    queues = {
        # Later, when all is steady, 100 KB.
        ("switch0", "host0", 1): samples([rate] * 410 + [1250.0] * 5590, [5e5, *[0.0] * 5799, 1e5, *[0.0] * 199]),
        # Of another class twice as much may wait; what has not left by the end, and hosts' queues, do not count.
        ("switch0", "host1", 0): samples([1250.0] * 410, [5e5, *[0.0] * 408, 1e9]),
        ("host1", "switch0", 1): samples([1.0] * 410, [400.0] * 410),
    }
    found = judge(claim_of("AB4"), runs(drain=Sampled(({"scheme": ABM}, queues))))
    longest = np.ceil(5e5 / rate) / 400
    ((_, drained),) = measure.drain_times(Sampled(({"scheme": ABM}, queues)))
    assert drained["drain_ns"].min() == 0, "what is empty takes no time"
    assert values(found.deciding)["ABM: longest over the bound"] == pytest.approx(longest)
    assert values(found.beside)["ABM: the same of steady queues"] == pytest.approx(0.2)
    assert found.verdict == verdict


@pytest.mark.parametrize(("fullest", "verdict"), [(1000.0, "holds"), (1002.0, "differs")])
def test_floodgate_is_judged_by_the_switch_that_holds_most(fullest: float, verdict: str) -> None:
    """Ports of a switch add up at each moment; those of others, and of hosts, do not. Either network can refute it."""

    def case(scheme: str, most: float) -> tuple[dict[str, Any], dict[tuple[str, str, int], pl.DataFrame]]:
        return {"scheme": scheme}, {
            ("leaf0", "host0", 1): samples([0.0] * 3, [most, 0.0, most / 2]),
            ("leaf0", "spine0", 1): samples([0.0] * 3, [0.0, most - 1.0, most / 2]),
            ("leaf1", "host9", 1): samples([0.0] * 3, [most / 4] * 3),
            ("host0", "leaf0", 1): samples([0.0] * 3, [1e6] * 3),
        }

    cases: dict[float, list[Any]] = {900.0: [], fullest: []}
    for most, those in cases.items():
        for control in CONTROLS:
            those += [case(control, 3000.0), case(f"{control}, {FLOODGATE}", most), case(f"{control}, {IDEAL}", 300.0)]
    theirs, usual = (Sampled(*those) for those in cases.values())
    found = judge(claim_of("FG1"), runs(floodgate_incast=theirs, floodgate_incast_t32=usual))
    assert set(values(found.deciding).values()) == {round(3000 / most, 9) for most in cases}
    assert set(values(found.beside).values()) == {10.0}
    assert found.verdict == verdict


@pytest.mark.parametrize(("fct_ns", "verdict"), [(1029.0, "holds"), (1035.0, "differs")])
def test_windows_must_not_slow_flows_of_no_incast(fct_ns: float, verdict: str) -> None:
    def of(slowed_ns: float) -> dict[str, dict[str, list[float]]]:
        columns: dict[str, dict[str, list[float]]] = {}
        for control in CONTROLS:
            columns |= {control: {"fct_ns": [500.0, 1500.0]}, f"{control}, {IDEAL}": {"fct_ns": [2000.0]}}
            columns[f"{control}, {FLOODGATE}"] = {"fct_ns": [slowed_ns]}
        return columns

    theirs, usual = flows(of(fct_ns)), flows(of(1000.0))
    found = judge(claim_of("FG2"), runs(floodgate_poisson=theirs, floodgate_poisson_t32=usual))
    assert set(values(found.deciding).values()) == {round(1000 / fct_ns, 9), 1.0}
    assert set(values(found.beside).values()) == {0.5}
    assert found.verdict == verdict


def test_claims_that_cannot_be_judged_are_listed() -> None:
    ids = [claim.id for claim in PAPER.claims]
    assert len(set(ids)) == len(ids)
    for id in ("PW5", "AB3"):
        assert judge(claim_of(id), {}).verdict == "not comparable"


def test_experiments_are_there_and_every_scenario_stands() -> None:
    assert PAPERS["transports"].load() is PAPER
    for experiment in PAPER.experiments:
        for settings in (experiment.quick, experiment.full):
            assert read_plan(PAPERS_FOLDER / "transports" / "scenarios" / experiment.scenario, settings).cases
