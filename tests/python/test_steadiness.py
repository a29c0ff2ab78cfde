"""Is it steady? Known cases of M/G/1, the level of the tests, and what is said of what drifts."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from made_results import Runs
from packetloom.pages.drift_words import how_steady
from packetloom.pages.measures import Condition, Measure, Question
from packetloom.pages.ranking import Answer
from packetloom.pages.results_table import MARKS, marks, results_columns, results_lines
from packetloom.pages.sentences import sentences
from packetloom.stats.steadiness.diagnosis import Steadiness, diagnosed
from packetloom.stats.steadiness.transient import truncation
from packetloom.stats.steadiness.trend import BATCHES, contrasts
from packetloom.stats.summary import summary

pytestmark = pytest.mark.unaudited

FloatArray = NDArray[np.float64]
FLOWS = 10_000
BACKLOG = 500.0
"""Mean times of service that wait at the start."""
DELAY = 10.0
"""What the network adds to each time of service, in mean times of service."""


class Flows(Runs):
    """Flows that start by the clock: a case for each seed, as `packetloom run` keeps them."""

    arrivals = "poisson"

    def plan_lines(self) -> list[dict[str, Any]]:
        case = json.dumps({"workloads": [{"arrivals": {"kind": self.arrivals}, "background": False}]})
        return [{"id": "", "parameters": parameters, "case": case} for parameters, _ in self.made]


def queue(seed: int, load: float, flows: int = FLOWS, *, backlog: float = 0.0, before: int = 0) -> Flows:
    """M/G/1, first come first served: times of service from 0.5 to 1.5, at random; `before`: flows that nobody saw."""
    random = np.random.default_rng(seed)
    service = random.uniform(0.5, 1.5, before + flows)
    arrivals = np.cumsum(random.exponential(1 / load, before + flows))
    steps = np.concatenate([[backlog], service[:-1] - np.diff(arrivals)])
    reached = np.cumsum(steps)
    waited = reached - np.minimum(0.0, np.minimum.accumulate(reached))
    alone = (service + DELAY)[before:]
    return made((arrivals[before:] - arrivals[before], waited[before:] + alone, alone), seed)


def made(flows: tuple[FloatArray, FloatArray, FloatArray], seed: int = 1, **columns: Any) -> Flows:
    """Flows: their starts, their completion times, and those alone, in us."""
    starts, response, alone = flows
    table: dict[str, Any] = {
        "start_ns": starts * 1e3,
        "fct_ns": response * 1e3,
        "best_fct_ns": alone * 1e3,
        "slowdown": response / alone,
        "size_bytes": np.full(len(starts), 1000),
        "sender_fct_ns": response * 1e3,
    }
    return Flows(({"scheme": "FIFO", "seed": seed}, table | columns))


def diagnosis(results: Flows) -> Steadiness:
    found = [one for one in diagnosed(results) if one.bin == "all"]
    assert len(found) == 1
    return found[0]


def test_a_queue_at_load_0_9_in_its_steady_state_is_called_steady_in_95_of_100_seeds() -> None:
    states = [diagnosis(queue(seed, 0.9, 20 * FLOWS, before=FLOWS)).state for seed in range(100)]
    assert states.count("steady") >= 95, states


def test_an_overloaded_queue_is_called_growing_in_95_of_100_seeds() -> None:
    states = [diagnosis(queue(seed, 1.1)).state for seed in range(100)]
    assert states.count("growing") >= 95, states


def test_a_backlog_that_drains_is_found_in_95_of_100_seeds_and_mser_5_leaves_none_of_it() -> None:
    # At load 0.6 what waits at the start is served after 500 / (1 - 0.6) times of service, a thirteenth of the run; in
    # one seed sooner, in another later, and where the queue does not run empty then, MSER-5 goes on until it does.
    ends_ns = BACKLOG / (1 - 0.6) * 1e3
    found = [diagnosis(queue(seed, 0.6, backlog=BACKLOG)) for seed in range(100)]
    assert sum(one.state == "starting" and one.start.value > 1 for one in found) >= 95
    cuts = np.array([one.transient_ns for one in found]) / ends_ns
    assert (cuts > 0.8).sum() >= 95
    assert 0.95 < np.median(cuts) < 1.1


def test_a_backlog_that_the_warm_up_leaves_out_is_steady() -> None:
    states = []
    for seed in range(20):
        results = queue(seed, 0.6, 4 * FLOWS, backlog=BACKLOG)
        table: dict[str, Any] = results.made[0][1]
        table["measured"] = np.asarray(table["start_ns"]) > 1.3 * BACKLOG / 0.4 * 1e3
        states.append(diagnosis(results).state)
    assert states.count("steady") >= 18, states


@pytest.mark.parametrize("seeds", [1, 3, 5])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_the_level_is_what_it_is_said_to_be(seeds: int, correlation: float) -> None:
    """Of what does not drift, heavy tails and correlated batches included, about 5 % are said to."""
    random = np.random.default_rng(seeds)
    rejected, runs = 0, 1000
    for _ in range(runs):
        noise = random.lognormal(0.0, 1.0, (seeds, BATCHES + 1))
        batches = noise[:, 1:] + correlation * noise[:, :-1]
        drift, start = contrasts(batches)
        rejected += 2 * min(drift.p, start.p) <= 0.05
    assert 0.015 < rejected / runs < 0.07


def test_mser_5_cuts_a_step_off_and_nothing_off_noise() -> None:
    random = np.random.default_rng(1)
    noise = random.normal(10.0, 1.0, 5000)
    assert truncation(noise) < 500
    stepped = noise + np.where(np.arange(5000) < 700, 8.0, 0.0)
    assert 695 <= truncation(stepped) <= 705
    assert truncation(np.arange(5000.0)) == 2500, "what rises throughout has no steady part"
    assert truncation(np.ones(3)) == 0


def test_flows_that_are_cut_off_and_flows_that_drain_are_told_apart() -> None:
    random = np.random.default_rng(2)
    starts, alone = np.cumsum(random.exponential(1.0, 3000)), np.full(3000, 10.0)
    response = random.uniform(10.0, 20.0, 3000)
    cut = np.where(random.random(3000) < 0.1, np.nan, response)
    found = diagnosis(made((starts, cut, alone)))
    assert (found.state, found.steady) == ("cut off", False)
    assert found.unfinished == pytest.approx(0.1, abs=0.02)
    late = np.where(starts > 2700, np.nan, response)
    assert diagnosis(made((starts, late, np.full(3000, 400.0)))).hopeless == pytest.approx(0.1, abs=0.02)
    slow = diagnosis(made((starts, response * 40, alone * 40)))
    assert slow.state == "draining"
    assert slow.drained > 0.05


def test_too_few_flows_and_flows_that_start_together_are_not_judged() -> None:
    few, many = np.arange(200.0), np.arange(1000.0)
    assert not diagnosed(made((few, few + 1, few + 1)))
    together = made((many, many + 1, many + 1))
    assert diagnosed(together)
    together.arrivals = "closed"
    assert not diagnosed(together)


def of_two_sizes(seed: int, large: int, *, drifts: bool = True, slowest: float = 0.0) -> Flows:
    """Small flows that are steady, and among them large ones, whose slowdowns double over the run, or do not."""
    random = np.random.default_rng(seed)
    starts = np.cumsum(random.exponential(1.0, FLOWS))
    is_large = np.zeros(FLOWS, dtype=bool)
    is_large[random.choice(FLOWS, large, replace=False)] = True
    rises = np.linspace(1.0, 2.0, FLOWS) if drifts else np.ones(FLOWS)
    alone = np.where(is_large, 100.0, 10.0)
    alone[np.flatnonzero(is_large)[large // 2 : large // 2 + large // 50]] += slowest
    response = alone * np.where(is_large, rises * random.uniform(1.0, 1.1, FLOWS), random.uniform(1.0, 3.0, FLOWS))
    unused = {name: np.full(FLOWS, np.nan) for name in ("goodput_gbps", "deadline_ns", "met_deadline")}
    return made((starts, response, alone), seed, size_bytes=np.where(is_large, 2 * 10**7, 1000), **unused)


def states(results: Flows) -> dict[str, str]:
    return {one.bin: one.state for one in diagnosed(results)}


def test_large_flows_that_drift_are_found_beside_small_ones_that_do_not() -> None:
    found = [states(of_two_sizes(seed, 150)) for seed in range(20)]
    assert sum(one["(10MB, ∞)"] == "growing" for one in found) >= 19, found
    assert sum(one["all"] == one["(0, 100KB]"] == "steady" for one in found) >= 18, found
    still = [states(of_two_sizes(seed, 150, drifts=False)) for seed in range(20)]
    assert sum(set(one.values()) == {"steady"} for one in still) >= 18, still


def test_too_few_flows_of_a_size_are_not_judged_and_their_mean_is_marked() -> None:
    few, many = of_two_sizes(1, 40), of_two_sizes(1, 150)
    assert "(10MB, ∞)" not in states(few)

    def shown(results: Flows) -> list[str]:
        statistics = summary(results)
        (line,) = results_lines(statistics, results_columns(statistics))
        assert marks([line]) == (MARKS if any(text.endswith(("?", "*")) for text in line.cells) else "")
        return line.cells

    *_, mean, p99, steady = shown(few)
    assert (mean[-1], p99[-1].isdigit(), steady) == ("?", True, "yes")
    *_, mean, p99, steady = shown(many)
    assert (mean[-1], p99[-1].isdigit(), steady) == ("*", True, "yes")
    assert not any(text.endswith(("?", "*")) for text in shown(of_two_sizes(1, 150, drifts=False)))


def test_a_run_is_too_short_for_flows_that_take_a_good_part_of_it() -> None:
    long = of_two_sizes(1, 150, drifts=False, slowest=0.2 * FLOWS)
    assert set(states(long).values()) == {"steady"}
    results = of_two_sizes(1, 150, drifts=False, slowest=0.3 * FLOWS)
    assert states(results) == {"all": "steady", "(0, 100KB]": "steady", "(10MB, ∞)": "too short"}
    (large,) = [one for one in diagnosed(results) if one.bin == "(10MB, ∞)"]
    still = diagnosis(queue(1, 0.3))
    said = asked(still, still, 2.0, 2.5, more={"(10MB, ∞)": large})[0]
    assert said.startswith("Steady: no case drifts over the run")
    assert "Too short to tell whether it is steady: flows above 10 MB under A at load 0.8 arrive for 10.0 ms" in said


HERE = Condition(0.8)


def asked(
    a: Steadiness, b: Steadiness, of_a: float, of_b: float, more: Mapping[str, Steadiness] | None = None
) -> list[str]:
    """What is said of two schemes, three seeds each; `more`: what is known of sizes of flows of the first."""
    values = {
        (name, HERE): {seed: value * (1 + seed / 1000) for seed in (1, 2, 3)}
        for name, value in (("A", of_a), ("B", of_b))
    }
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", values)
    known = {("A", HERE): {"all": a} | dict(more or {}), ("B", HERE): {"all": b}}
    question = Question("slowdown", ("A", "B"), frozenset(), (HERE,), (measure,), 3, steadiness=known)
    return [how_steady(question), *(one.text for one in sentences(Answer(question)))]


def test_what_drifts_is_said_first_and_names_no_winner_by_less() -> None:
    growing, still = diagnosis(queue(1, 1.1)), diagnosis(queue(1, 0.3))
    assert (growing.state, still.state) == ("growing", "steady")
    close = asked(growing, still, 2.0, 2.5)
    assert close[1].startswith("Not steady: under A at load 0.8 slowdowns rise to the end, from ")
    assert "no scheme is called best: A has 2.00" in close[3]
    assert "while A drifts by" in close[3]
    far = asked(growing, still, 2.0, 20.0)
    assert far[3].startswith("At load 0.8, A is best")
    assert "; rising)" in asked(still, growing, 2.0, 20.0)[3], "a longer run has another ratio"
    (large,) = [one for one in diagnosed(of_two_sizes(1, 150)) if one.bin == "(10MB, ∞)"]
    of_large = asked(still, still, 2.0, 2.5, more={"(10MB, ∞)": large})
    assert of_large[1].startswith("Not steady: under A at load 0.8, of flows above 10 MB, slowdowns rise to the end, ")
    assert of_large[3].startswith("At load 0.8, A is best"), "all flows do not drift"
    fine = asked(still, still, 2.0, 2.5)
    assert fine[0].startswith("Steady: no case drifts over the run (t tests at 2 % for all 2 cases together")
    assert fine[1].startswith("Compared: A and B")
    assert fine[2].startswith("At load 0.8, A is best")
