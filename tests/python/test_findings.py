"""What came out, in sentences: of numbers that are written here, and of campaigns."""

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import commands
import packetloom
from packetloom.common.quantities import axis_scale
from packetloom.common.terminal import console
from packetloom.errors import PacketloomError
from packetloom.pages.compare import print_along, times_said
from packetloom.pages.figures import chart
from packetloom.pages.grid_costs import along, axes_meant, axis_name, point_of, scheme_of
from packetloom.pages.measures import STALLED, UNFINISHED, Condition, Measure, Question, Stopped, question_of
from packetloom.pages.panels import Curve, Dots
from packetloom.pages.plots import save_figure
from packetloom.pages.ranking import Answer
from packetloom.pages.report import report_page
from packetloom.pages.sentences import Number, sentences, told_briefly
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

HERE = Condition(0.8)
GRID = [(1.0, "never"), (1.0, "0us"), (2.0, "never"), (2.0, "0us")]
SIMPLE = {"topology": {"kind": "rack", "hosts": 6}}
RUN = {"loads": [0.3, 0.7], "flows": 60, "seeds": 3}
SCHEMES = [
    {"name": "TCP", "transport": "tcp", "queue": "drop-tail"},
    {"name": "DCTCP", "transport": "dctcp", "queue": "ecn"},
    {"name": "MinTCP", "transport": "min-tcp", "queue": "pfabric"},
]


def question(values: dict[str, list[float]], **changes: object) -> Question:
    """Slowdowns at one load: a list of seeds for each scheme."""
    by_seed = {(name, HERE): dict(enumerate(own, 1)) for name, own in values.items()}
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", by_seed)
    seeds = max(map(len, values.values()))
    return Question("slowdown", tuple(values), frozenset(), (HERE,), (measure,), seeds, **changes)  # type: ignore[arg-type]


def told(asked: Question) -> dict[str, str]:
    """The first sentence of each kind."""
    found: dict[str, str] = {}
    for sentence in sentences(Answer(asked)):
        found.setdefault(sentence.answers, sentence.text)
    return found


def test_what_is_told_from_the_best_and_what_is_not() -> None:
    asked = question({"A": [1.0, 1.1, 1.2], "B": [1.01, 1.09, 1.215], "C": [3.0, 3.3, 3.61]})
    found = told(asked)
    assert found["compared"] == "Compared: A, B and C, at load 0.8; 3 seeds."
    assert found["best"].startswith(
        "At load 0.8, none is shown to be best: the mean slowdown of all flows is lowest with A, 1.10 ± 0.25; "
        "B has 1.00 times that (0.975 to 1.03), which may be chance; worst is C"
    )
    assert "worst is C with 3.00 times that (2.99 to 3.01)" in found["best"]
    assert found["sure"].startswith("3 seeds tell A from C (95 %, Holm over 3 comparisons), but not from B (about ")
    assert found["sure"].endswith(" seeds would).")


def test_an_interval_that_shows_it_alone_but_not_among_all_comparisons() -> None:
    """B's interval leaves 1 out; of three comparisons one such is to be expected too often."""
    found = told(question({"A": [1.0, 1.1, 1.2], "B": [1.025, 1.15, 1.24], "C": [1.0, 1.4, 1.3]}))["best"]
    assert "B has 1.03 times that (1.01 to 1.06), which may be chance as one of 3 comparisons; worst is C" in found


def test_the_worst_is_the_last_told_or_not() -> None:
    """C and D may be as good as A, by their seeds; D is the worst all the same, and not B, which is told from A."""
    values = {"A": [3.6, 3.5, 3.7], "B": [4.2, 4.1, 4.3], "C": [6.0, 8.0, 14.0], "D": [5.0, 14.0, 28.0]}
    found = told(question(values))["best"]
    assert "lowest with A, 3.60 ± 0.25; next is B with 1.17 times that (1.16 to 1.18); C has 2.43 times that" in found
    assert "; worst is D with 3.48 times that (" in found
    assert found.endswith("), which may be chance.")


def test_none_is_called_worst_where_chance_may_have_ordered_the_last() -> None:
    values = {"A": [1.0, 1.1, 1.2], "B": [1.93, 2.2, 2.3], "C": [2.0, 2.1, 2.4]}
    found = told(question(values))["best"]
    assert "; next are B with 1.95 times that (1.84 to 2.06) and C with 1.97 times that (1.84 to 2.11), which" in found
    assert found.endswith(", which are not told apart.")
    values |= {"D": [1.97, 2.15, 2.35], "E": [1.2, 1.31, 1.45]}
    found = told(question(values))["best"]
    assert "; next is E with 1.20 times that (1.18 to 1.22); worst are 3, from B with 1.95 times that (" in found
    found = told(question({"A": [1.0, 1.1, 1.2], "B": [2.0, 2.2, 2.3], "C": [2.0, 2.2, 2.3]}))["best"]
    assert found.endswith(", which are alike.")


def test_points_of_a_grid_that_are_named_are_those_that_are_meant() -> None:
    """Every oversubscription with every fault would be four, and two were meant."""
    points = [Condition(None, (("topology.oversubscription", over), ("fault.at", at))) for over, at in GRID]
    good, bad = {1: 1.0, 2: 1.1, 3: 1.2}, {1: 2.0, 2: 2.2, 3: 2.41}
    best = ["A", "B", "B", "A"]
    values = {(one, here): good if one == own else bad for here, own in zip(points, best, strict=True) for one in "AB"}
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", values)
    asked = Question("slowdown", ("A", "B"), frozenset(), tuple(points), (measure,), 3)
    assert told(asked)["compared"].startswith(
        "Compared: A and B, with oversubscription 1:1 and 2:1, with no fault and fault at 0us"
    )
    exception = "with oversubscription 1:1, fault at 0us; with oversubscription 2:1, no fault: B is best"
    assert f"Not so {exception}" in " ".join(one.text for one in sentences(Answer(asked)))


def test_one_seed_says_nothing_about_how_sure_it_is() -> None:
    found = told(question({"A": [1.0], "B": [2.0]}))
    assert found["best"] == (
        "At load 0.8, the mean slowdown of all flows is lowest with A, 1.00; B has 2.00 times that."
    )
    assert "cannot be said from one seed" in found["sure"]
    assert "--set run.seeds=5" in found["sure"]


def test_those_that_are_equally_good() -> None:
    found = told(question({"A": [2.0, 2.5], "B": [2.0, 2.5], "C": [4.0, 5.0]}))
    assert found["best"].startswith("At load 0.8, A and B are the same, and best: ")
    assert "; C has " in found["best"]
    same = told(question({"A": [2.0, 2.5], "B": [2.0, 2.5]}))
    assert same["best"] == "At load 0.8, A and B are the same: the mean slowdown of all flows is 2.25 ± 3.18."


def test_what_differs_by_less_than_is_worth_a_word_is_alike() -> None:
    """A is before B in every seed, by 0.5 %: told from chance, and not worth naming a winner."""
    values = {"A": [2.0, 2.5, 2.2], "B": [2.01, 2.5126, 2.2111]}
    found = told(question(values))
    assert found["best"].startswith(
        "At load 0.8, A and B are alike, within 1 %: the mean slowdown of all flows is 2.23 to 2.24."
    )
    assert found["sure"] == "What differs by less than 1 % is called alike (run.alike), sure or not."
    assert told(question(values, alike=0.001))["best"].startswith("At load 0.8, A is best: ")
    third = told(question(values | {"C": [4.0, 5.0, 4.41]}))
    assert third["best"].startswith("At load 0.8, A and B are alike, within 1 %, and best: ")
    assert "; C has 2.0" in third["best"]


def test_the_headline_is_what_most_conditions_show_and_exceptions_are_named() -> None:
    loads = [Condition(load) for load in (0.2, 0.4, 0.6, 0.8)]
    a, b = {1: 1.0, 2: 1.1, 3: 1.2}, {1: 2.0, 2: 2.2, 3: 2.41}
    values = {("A", here): a for here in loads[:3]} | {("B", here): b for here in loads[:3]}
    values |= {("A", loads[3]): b, ("B", loads[3]): a}
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", values)
    asked = Question("slowdown", ("A", "B"), frozenset(), tuple(loads), (measure,), 3)
    best = [one.text for one in sentences(Answer(asked)) if one.answers == "best"]
    assert best[0].startswith(
        "At load 0.6, as at 2 of the 3 other points, A is best: the mean slowdown of all flows is 1.10"
    )
    assert best[1] == "Not so at load 0.8: B is best (1.10)."


def test_where_none_is_best_anywhere_others_are_only_lowest_elsewhere() -> None:
    loads = [Condition(load) for load in (0.3, 0.5)]
    values: dict[tuple[str, Condition], dict[int, float]] = {}
    for here, (a, b) in zip(
        loads, (([1.0, 1.1, 1.3], [1.1, 1.3, 1.0]), ([1.4, 1.6, 1.5], [1.6, 1.4, 1.3])), strict=True
    ):
        values |= {("A", here): dict(enumerate(a, 1)), ("B", here): dict(enumerate(b, 1))}
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", values)
    asked = Question("slowdown", ("A", "B"), frozenset(), tuple(loads), (measure,), 3)
    best = [one.text for one in sentences(Answer(asked)) if one.answers == "best"]
    assert best[0].startswith(
        "At load 0.5, none is shown to be best: the mean slowdown of all flows is lowest with B, 1.43"
    )
    assert best[1] == "Nor at load 0.3: lowest is A (1.13)."


def test_another_statistic_is_not_told_without_where_it_turns() -> None:
    """By p99 A is best with few senders, and B with many: not to be kept back."""
    loads = [Condition(load) for load in (0.2, 0.4, 0.8)]
    low, high = {1: 1.0, 2: 1.1, 3: 1.2}, {1: 2.0, 2: 2.2, 3: 2.41}
    mean = {(one, here): low if one == "A" else high for here in loads for one in "AB"}
    tail = mean | {("A", loads[2]): high, ("B", loads[2]): low}
    measures = tuple(Measure(name, name, name, "ratio", values) for name, values in (("mean", mean), ("p99", tail)))
    asked = Question("slowdown", ("A", "B"), frozenset(), tuple(loads), measures, 3)
    more = [one.text for one in sentences(Answer(asked)) if one.answers == "more"]
    assert more[0].startswith("By the p99 at load 0.4, as at load 0.2, A is best")
    assert more[1] == "Not so at load 0.8: B is best (1.10)."


def test_what_did_not_finish_is_no_gap_and_best_at_nothing() -> None:
    values = {("A", HERE): {1: 1.0, 2: 1.1}, ("B", HERE): {1: 2.0, 2: 2.2}, ("C", HERE): {1: 0.5}}
    measure = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", values)
    stopped = {("C", HERE): Stopped(1, 2, STALLED), ("D", HERE): Stopped(2, 2, UNFINISHED)}
    asked = Question("slowdown", tuple("ABCD"), frozenset(), (HERE,), (measure,), 2, stopped=stopped)
    best = [one.text for one in sentences(Answer(asked)) if one.answers == "best"]
    assert best[0].startswith("At load 0.8, A is best") or "lowest with A" in best[0]
    assert best[1] == (
        "C stalled in 1 of 2 seeds, at load 0.8; D did not finish in all of 2 seeds, at load 0.8. "
        "What did not finish, or measured nothing, is best at nothing there."
    )


def test_schemes_that_never_differed_are_said_to() -> None:
    found = [one.text for one in sentences(Answer(question({"A": [2.0], "B": [2.0]}, twins=(("A", "B"),))))]
    assert "A and B gave the same flows to the last bit: what sets them apart never came into play." in found


def test_schemes_are_ranked_by_the_seeds_that_all_of_them_have() -> None:
    """The third seed is an easy one, and only B has it."""
    found = told(question({"A": [2.0, 2.4], "B": [2.1, 2.5, 1.0]}))
    assert "the mean slowdown of all flows is lowest with A, 2.20 ± " in found["best"]
    assert "B has 1.05 times that" in found["best"]


def test_too_many_to_name_are_named_by_their_settings() -> None:
    values = {f"{scheme}, {count} rings": [1.0 + count] for scheme in ("A", "B") for count in (1, 2, 4, 8)}
    compared = told(question(values))["compared"]
    assert compared == "Compared: A and B, each with 1, 2, 4 and 8 rings, at load 0.8; 1 seed."
    del values["B, 8 rings"]
    compared = told(question(values))["compared"]
    assert compared.startswith('Compared: "A, 1 rings", ')
    assert "and 3 more" in compared


def test_one_scheme_alone() -> None:
    found = told(question({"A": [2.0, 2.5]}))
    assert found["best"] == "At load 0.8, the mean slowdown of all flows of A is 2.25 ± 3.18."
    assert found["sure"] == "± is half a 95 % interval over 2 seeds."


def test_references_are_best_at_nothing() -> None:
    asked = question({"Ideal": [1.0, 1.0], "A": [2.0, 2.1], "B": [3.0, 3.2]}, unfinished_at={("B", HERE): 0.25})
    asked = Question(**{name: getattr(asked, name) for name in asked.__slots__} | {"references": frozenset({"Ideal"})})
    found = list(sentences(Answer(asked)))
    assert found[0].text == "Compared: A and B, beside Ideal, at load 0.8; 2 seeds."
    assert found[1].text.startswith("At load 0.8, A is best")
    assert "Ideal, a reference without packets, has 1.00." in [one.text for one in found]
    left = [one for one in found if "B left up to 25 % of its own" in one.text]
    assert [one.answers for one in left] == ["sure"], "below a table, too"


def campaign(folder: Path, **changes: object) -> Results:
    base = {**SIMPLE, "workload": [{"sizes": "web-search"}], "scheme": SCHEMES}
    return packetloom.run({**base, "run": RUN, **changes}, folder, progress=False)


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return campaign(tmp_path_factory.mktemp("loads") / "loads")


def test_loads_lead_with_slowdown_by_load_and_size(loads: Results) -> None:
    asked = question_of(loads)
    assert asked
    assert asked.kind == "slowdown"
    assert [one.text for one in asked.conditions] == ["load 0.3", "load 0.7"]
    assert [one.name for one in asked.measures] == ["mean-slowdown", "p99-slowdown-small", "mean-slowdown-large"]
    flows = loads.to_polars("flows").filter("measured", pl.col("slowdown").is_not_nan())
    for seed, value in asked.lead.values["DCTCP", Condition(0.7)].items():
        own = flows.filter(scheme="DCTCP", load=0.7, seed=seed)["slowdown"]
        assert value == pytest.approx(own.to_numpy().mean())


def test_incast_leads_with_completion_by_fan_in(tmp_path: Path) -> None:
    incast = {
        "sizes": {"kind": "constant", "size": "30KB"},
        "arrivals": {"kind": "periodic", "interval": "5ms"},
        "pattern": {"kind": "incast", "receiver": 0, "fan_in": [2, 5]},
    }
    results = campaign(tmp_path / "incast", workload=[incast], run={"duration": "20ms", "seeds": 2})
    asked = question_of(results)
    assert asked
    assert (asked.kind, asked.lead.name) == ("incast", "mean-fct")
    assert asked.entities == ("TCP", "DCTCP", "MinTCP")
    assert [one.text for one in asked.conditions] == ["2 senders", "5 senders"]
    assert told(asked)["best"].startswith("With 5 senders, ")


def test_deadlines_lead_with_the_share_that_was_met(tmp_path: Path) -> None:
    flows = {"sizes": {"kind": "constant", "size": "30KB"}, "deadlines": {"kind": "exponential", "mean": "100us"}}
    results = campaign(tmp_path / "deadlines", workload=[flows])
    asked = question_of(results)
    assert asked
    assert (asked.kind, asked.lead.name) == ("deadlines", "deadlines")
    measured = results.to_polars("flows").filter("measured")
    shares = measured.filter(load=0.7).group_by("scheme", "seed").agg(pl.col("met_deadline").cast(float).mean())
    means = {scheme: own["met_deadline"].to_numpy().mean() for (scheme,), own in shares.group_by("scheme")}
    best = max(means, key=lambda one: means[one])
    assert f"{best} is best" in told(asked)["best"] or f"is highest with {best}, " in told(asked)["best"]


def test_collectives_lead_with_operation_time_and_bus_bandwidth(tmp_path: Path) -> None:
    ring = {"kind": "collective", "operation": "all-reduce", "size": "1MB", "algorithm": ["ring", "halving-doubling"]}
    rack = {"kind": "rack", "hosts": 4}
    results = campaign(tmp_path / "jobs", topology=rack, workload=[{"arrivals": ring}], run={"seeds": 2})
    asked = question_of(results)
    assert asked
    assert (asked.kind, [one.name for one in asked.measures]) == ("jobs", ["operation-time", "bus-bandwidth"])
    assert "TCP, ring" in asked.entities
    assert "DCTCP, halving-doubling" in asked.entities
    jobs = results.to_polars("jobs").filter(pl.col("scheme") == "TCP", pl.col("seed") == 2)
    own = jobs.filter(pl.col("workload.arrivals.algorithm") == "ring")["jct_ns"].to_numpy().mean()
    assert asked.lead.values["TCP, ring", Condition()][2] == pytest.approx(own)
    assert "the time of the all-reduce is" in told(asked)["best"]


def test_searches_lead_with_the_limit_found(tmp_path: Path) -> None:
    incast = {
        "sizes": {"kind": "constant", "size": "30KB"},
        "arrivals": {"kind": "periodic", "interval": "5ms"},
        "pattern": {"kind": "incast", "receiver": 0, "fan_in": 2},
        "deadlines": {"kind": "exponential", "mean": "1us", "floor": "100us"},
    }
    scenario = {**SIMPLE, "workload": [incast], "scheme": SCHEMES, "run": {"duration": "20ms", "seeds": 2}}
    held = packetloom.largest_held(scenario, "workload.0.pattern.fan_in", 1, 5, output=tmp_path / "search")
    asked = question_of(Results(tmp_path / "search"))
    assert asked
    assert (asked.kind, asked.lead.name) == ("search", "limit")
    for row in held.iter_rows(named=True):
        assert asked.lead.mean(row["scheme"], Condition()) == pytest.approx(row["value"])
    assert "meets 99 % of the deadlines" in told(asked)["best"]


def test_every_number_is_in_a_table(loads: Results) -> None:
    asked = question_of(loads)
    assert asked
    numbers = [part for one in sentences(Answer(asked)) for part in one.parts if isinstance(part, Number)]
    page = report_page([loads]).render()
    assert page.count('<a class="number') == len(numbers) > 5


def compared(*arguments: object) -> subprocess.CompletedProcess[str]:
    return commands.packetloom("compare", *arguments)


def test_compare_says_it_of_two_schemes_and_its_exit_code_tells(loads: Results, tmp_path: Path) -> None:
    file = tmp_path / "compared.json"
    done = compared(f"{loads.path}:MinTCP", ":TCP", "--worse-than", "1.05", "--json", file)
    assert done.returncode == 1, done.stderr
    assert "worse: TCP at load 0.7 is" in done.stderr
    text = " ".join(done.stdout.split())
    assert "the mean slowdown of all flows is" in text
    assert "MinTCP is best: " in text or "is lowest with MinTCP, " in text
    rows = {row["condition"]: row for row in json.loads(file.read_text())}
    flows = loads.to_polars("flows").filter("measured", pl.col("slowdown").is_not_nan(), pl.col("load") == 0.7)
    means = {}
    for scheme in ("MinTCP", "TCP"):
        for seed in (1, 2, 3):
            means[scheme, seed] = flows.filter(scheme=scheme, seed=seed)["slowdown"].to_numpy().mean()
    ratio = np.exp(np.mean([np.log(means["TCP", seed] / means["MinTCP", seed]) for seed in (1, 2, 3)]))
    assert rows["load 0.7"]["ratio_or_difference"] == pytest.approx(ratio)
    assert rows["load 0.7"]["times_as_bad"] == pytest.approx(ratio)
    assert compared(f"{loads.path}:TCP", ":MinTCP", "--worse-than", "1.05").returncode == 0
    assert compared(f"{loads.path}:TCP", ":MinTCP").returncode == 0


def test_compare_of_two_folders(loads: Results, tmp_path: Path) -> None:
    early = {**SCHEMES[1], "queue": {"kind": "ecn", "mark_above": "3KB"}}
    other = campaign(tmp_path / "other", scheme=[SCHEMES[0], early, SCHEMES[2]])
    done = compared(loads.path, other.path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "12 of 18 cases that both have are the same in every flow" in text
    assert "Mean slowdown of all flows: 4 more rows are the same in every seed" in text
    same = compared(loads.path, f"{other.path}:TCP", "--worse-than", "1")
    assert same.returncode == 0, same.stderr
    assert " are the same: the mean slowdown of all flows is " in " ".join(same.stdout.split())
    assert "B is nowhere worse than A" in same.stdout


def test_what_b_lacks_is_never_good(loads: Results, tmp_path: Path) -> None:
    """Nothing of B has ended by its end; DCTCP and a load are not in it at all."""
    nothing = campaign(tmp_path / "nothing", run={**RUN, "max_time": "1ns"})
    file = tmp_path / "compared.json"
    done = compared(loads.path, nothing.path, "--worse-than", "9", "--json", file)
    assert done.returncode == 1, done.stdout + done.stderr
    for scheme in ("TCP", "DCTCP", "MinTCP"):
        assert f"lacking: {scheme} at load 0.7 has no value in B" in done.stderr
        assert f"{scheme} at load 0.7 has no value in B" in done.stdout
    rows = json.loads(file.read_text())
    assert len(rows) == 6
    assert all(row["a_mean"] > 1 and row["b_mean"] is None and row["times_as_bad"] is None for row in rows)
    assert compared(loads.path, nothing.path).returncode == 0

    part = campaign(tmp_path / "part", scheme=[SCHEMES[0], SCHEMES[2]], run={**RUN, "loads": [0.7]})
    done = compared(loads.path, part.path, "--worse-than", "9", "--json", file)
    assert done.returncode == 1, done.stderr
    assert set(done.stderr.splitlines()) == {
        *(f"lacking: {scheme} at load 0.3 has no value in B" for scheme in ("TCP", "DCTCP", "MinTCP")),
        "lacking: DCTCP at load 0.7 has no value in B",
    }
    assert len(json.loads(file.read_text())) == 2 + 4
    assert compared(part.path, loads.path, "--worse-than", "9").returncode == 0


def test_what_shares_nothing_is_not_compared(loads: Results, tmp_path: Path) -> None:
    other = campaign(tmp_path / "other", scheme=SCHEMES[:1], run={**RUN, "loads": [0.45]})
    done = compared(loads.path, other.path, "--worse-than", "9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the two have no load (or other point of the grid) in common" in done.stderr
    nothing = campaign(tmp_path / "nothing", scheme=SCHEMES[:1], run={**RUN, "max_time": "1ns"})
    done = compared(nothing.path, loads.path, "--worse-than", "9")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}", "{}"], "name two schemes of"),
        (["{}:TCP", ":UDP"], "there is no 'UDP'; there are: TCP, DCTCP, MinTCP"),
        (["{}:TCP", ":TCP"], "is the same on both sides"),
        (["{}:TCP", "nowhere"], "nowhere: there is no such folder"),
        (
            ["{}:TCP", ":DCTCP", "--by", "p42"],
            "there is no statistic 'p42' to compare by; there are mean-slowdown, p99",
        ),
    ],
)
def test_mistakes_in_compare(arguments: list[str], message: str, loads: Results) -> None:
    done = compared(*(argument.format(loads.path) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_job_of_several_operations_is_about_its_repetition(tmp_path: Path) -> None:
    arrivals = {
        "kind": "training",
        "data": 4,
        "layers": 2,
        "forward": "10us",
        "activations": "1KB",
        "gradients": "90KB",
    }
    queue = {"kind": "ecn", "capacity": "1MB", "mark_above": "100KB"}
    scenario = {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"arrivals": arrivals}],
        "scheme": [{"name": "DCTCP", "transport": "dctcp", "queue": queue}],
    }
    asked = question_of(packetloom.run(scenario, tmp_path / "out", progress=False))
    assert asked is not None
    names = ["iteration-time", "jct-ratio", "exposed-communication", "operation-time", "bus-bandwidth"]
    assert (asked.kind, [one.name for one in asked.measures]) == ("jobs", names)
    assert asked.lead.unit == "ns"
    several = packetloom.run(scenario, tmp_path / "several", overrides=["workload.0.arrivals.repeat=3"], progress=False)
    asked = question_of(several)
    assert asked is not None
    assert [one.name for one in asked.measures] == [names[0], "time-between-ends", *names[1:]]
    repetitions = several.to_polars("iterations")
    ends = repetitions["start_ns"] + repetitions["jct_ns"]
    (pace,) = asked.measures[1].values.values()
    assert pace == {1: pytest.approx((ends[2] - ends[0]) / 2)}


OVERSUBSCRIBED = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": [4, 1]},
    "workload": [{"sizes": {"kind": "constant", "size": "300KB"}, "pattern": "permutation", "arrivals": "at-once"}],
    "scheme": SCHEMES[1:],
    "run": {"seeds": 3},
}


@pytest.fixture(scope="module")
def spines(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return packetloom.run(OVERSUBSCRIBED, tmp_path_factory.mktemp("spines") / "spines", progress=False)


def test_compare_along_an_axis_says_what_a_value_costs(spines: Results, tmp_path: Path) -> None:
    file = tmp_path / "along.json"
    done = compared(spines.path, "--along", "spines", "--json", file)
    assert done.returncode == 0, done.stderr
    rows = {row["condition"]: row for row in json.loads(file.read_text())}
    flows = spines.to_polars("flows").filter("measured")
    for scheme in ("DCTCP", "MinTCP"):
        logs = []
        for seed in (1, 2, 3):
            own = flows.filter(scheme=scheme, seed=seed)
            few, many = (own.filter(pl.col("topology.spines") == spines)["slowdown"].to_numpy() for spines in (1, 4))
            logs.append(np.log(few.mean() / many.mean()))
        assert rows[scheme]["ratio_or_difference"] == pytest.approx(np.exp(np.mean(logs)))
        assert (rows[scheme]["a"], rows[scheme]["b"]) == ("4", "1")
        assert rows[scheme]["ratio_or_difference"] > 1
    assert "Spines 1 over 4, mean slowdown of all flows: DCTCP " in " ".join(done.stdout.split())
    back = compared(spines.path, "--along", "topology.spines", "--from", "1", "--worse-than", "1", "--json", file)
    assert back.returncode == 0, back.stdout + back.stderr
    turned = {row["condition"]: row for row in json.loads(file.read_text())}
    assert turned["DCTCP"]["ratio_or_difference"] == pytest.approx(1 / rows["DCTCP"]["ratio_or_difference"])
    assert compared(spines.path, "--along", "spines", "--worse-than", "1").returncode == 1


def test_below_the_table_stands_what_is_best_by_another_statistic(tmp_path: Path) -> None:
    """Of an incast, serving one after the other is best in the mean, and not when all have to be there."""
    schemes = [
        {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "mark_above": "22.5KB"}},
        {"name": "pFabric", "transport": "line-rate", "queue": {"kind": "pfabric", "capacity": "22.5KB"}},
    ]
    incast = {
        "sizes": {"kind": "constant", "size": "30KB"},
        "arrivals": {"kind": "periodic", "interval": "5ms"},
        "pattern": {"kind": "incast", "receiver": 0, "fan_in": [15]},
    }
    link = {"rate": "10Gbps", "delay": "1us"}
    results = packetloom.run(
        {
            "topology": {"kind": "rack", "hosts": 16, "link": link},
            "workload": [incast],
            "scheme": schemes,
            "run": {"duration": "50ms", "seeds": 3},
        },
        tmp_path / "incast",
        progress=False,
    )
    said = " ".join(told_briefly(results))
    assert "pFabric is best: the mean completion time" in said
    assert "By the p99 completion time" in said
    assert "DCTCP is best" in said.partition("By the p99")[2]


def test_a_figure_of_what_values_cost_shows_every_other_condition(tmp_path: Path) -> None:
    """It had shown the last alone."""
    late = {"name": "TCP", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": ["20KB", "200KB"]}}
    results = campaign(tmp_path / "buffers", scheme=[late], run={"loads": [0.3, 0.7], "flows": 100, "seeds": 2})
    drawn = chart("along", results)
    assert [panel.title for panel in drawn.panels_at({"axis": "capacity"})] == ["load 0.3", "load 0.7"]
    (one,) = drawn.panels_at({"axis": "capacity", "where": "load 0.3"})
    assert one.title == "load 0.3"
    assert save_figure("along", results, tmp_path / "all.svg", {"axis": "capacity"}) == []
    with pytest.raises(PacketloomError, match=r"along: nothing is at 'load 0.8'; did you mean 'load 0.7'"):
        drawn.panels_at({"where": "load 0.8"})
    with pytest.raises(PacketloomError, match=r"2 panels; choose one by where=: load 0.3; load 0.7"):
        packetloom.plot("along", results)
    assert packetloom.plot("along", results, where="load 0.7").get_title() == "load 0.7"


def test_no_two_series_of_a_figure_of_an_axis_look_alike(tmp_path: Path) -> None:
    """NDP, as it looks elsewhere, had the colour and the marker of DCTCP's third buffer."""
    buffers = ["50KB", "225KB", "1MB"]
    schemes = [
        {"name": name, "transport": name.lower(), "queue": {"kind": queue, "capacity": buffers}}
        for name, queue in (("DCTCP", "ecn"), ("TCP", "drop-tail"))
    ]
    schemes.append({"name": "NDP", "transport": "ndp", "queue": "ndp"})
    incast = {
        "sizes": {"kind": "constant", "size": "30KB"},
        "arrivals": "at-once",
        "pattern": {"kind": "incast", "receiver": 0, "fan_in": [2, 4]},
    }
    results = campaign(tmp_path / "incast", workload=[incast], scheme=schemes, run={"flows": 4, "seeds": 1})
    (panel,) = chart("along", results).panels_at({"axis": "senders"})
    looks = [mark.look for mark in panel.marks if isinstance(mark, Curve | Dots)]
    assert len(looks) == 7 == len(set(looks))


def test_a_figure_says_what_it_does_not_show(tmp_path: Path) -> None:
    results = campaign(tmp_path / "loads", scheme=SCHEMES[:1], run={"loads": [0.3, 0.7], "flows": 100, "seeds": 1})
    unshown = save_figure("fct-cdf", results, tmp_path / "cdf.svg", {})
    assert unshown == ["load 0.7 (--load for 0.3)"]
    assert save_figure("fct-cdf", results, tmp_path / "cdf.svg", {"load": 0.3}) == []


def test_an_axis_of_the_scheme_and_the_load_are_axes_too(tmp_path: Path) -> None:
    early = {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "mark_above": ["5KB", "50KB"]}}
    results = campaign(tmp_path / "marks", scheme=[SCHEMES[0], early])
    found = along(results, "mark_above")
    assert [scheme_of(here) for here in found.answer.question.conditions] == ["DCTCP", "DCTCP"]
    assert [point_of(here).text for here in found.answer.question.conditions] == ["load 0.3", "load 0.7"]
    assert (found.base, found.others) == ("5KB", ["50KB"])
    by_load = along(results, "load")
    schemes = [scheme_of(here) for here in by_load.answer.question.conditions]
    assert schemes == ["TCP", "DCTCP, queue.mark_above 5KB", "DCTCP, queue.mark_above 50KB"]


def test_what_a_load_costs_begins_with_what_is_not_steady(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    run = {"loads": [0.3, 1.5], "flows": 400, "seeds": 2}
    results = campaign(tmp_path / "loads", scheme=[SCHEMES[0]], run=run)
    print_along(along(results, "load"), console())
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("Not steady: under TCP at load 1.5, ")
    assert second.startswith("Load 1.5 over 0.3, mean slowdown of all flows: TCP ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["{}", "--along", "buffer"],
            "there is no axis 'buffer' of the grid to compare along; there are topology.spines",
        ),
        (["{}", "--along", "spines", "--from", "3"], "topology.spines has no value '3'; there are 4, 1"),
        (["{}"], "write B, or --along AXIS"),
        (["{}:DCTCP", ":MinTCP", "--from", "3"], "--from goes with --along"),
    ],
)
def test_mistakes_along_an_axis(arguments: list[str], message: str, spines: Results) -> None:
    done = compared(*(argument.format(spines.path) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_the_page_has_what_values_cost(spines: Results) -> None:
    page = report_page([spines]).render()
    assert "What values of the grid cost" in page
    assert "Spines 1 over 4" in page
    assert "along-" in page


def test_a_fault_that_never_comes_is_a_value_to_begin_at_and_unfinished_flows_are_said(tmp_path: Path) -> None:
    """What a link that dies for good cost was "1.02 times" of half the flows, over "fault"."""
    scenario = {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"sizes": "web-search"}],
        "run": {"loads": [0.5], "flows": 60, "seeds": 2, "max_time": "100ms"},
        "scheme": [{"name": "DCTCP", "transport": "dctcp", "queue": "ecn"}],
        "fault": [{"kind": "link-down", "between": ["host0", "switch0"], "at": ["100us", "never"]}],
    }
    results = packetloom.run(scenario, tmp_path / "cut", progress=False)
    found = along(results, "at", base="never")
    assert (found.name, found.base, found.others) == ("fault at", "never", ["100us"])
    console_ = console()
    with console_.capture() as shown:
        print_along(found, console_)
    said = " ".join(shown.get().split())
    assert "Fault at 100us over never" in said
    assert "This is of flows that finished. Unfinished are" in said
    assert "fault at 100us" in said.partition("Unfinished are")[2]


def test_how_often_as_bad_is_told_from_once() -> None:
    assert times_said(1.0004) == "1.0004 times"
    assert times_said(2.0) == "2 times"
    assert times_said(float("inf")) == "inf times"


def test_a_stall_is_in_every_comparison_and_counts_what_never_started(tmp_path: Path) -> None:
    """The link of a host dies for good: a transport that only probes never ends, at one point of the grid of two."""
    fault = {"kind": "link-down", "between": ["host0", "switch0"], "at": "100us"}
    base = {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"sizes": "web-search"}],
        "run": {"loads": [0.5], "flows": 40, "seeds": 2, "max_time": "1s"},
        "scheme": [
            {"name": "TCP", "transport": "tcp", "queue": "drop-tail"},
            {"name": "DCTCP", "transport": {"kind": "dctcp", "max_rto": "1ms"}, "queue": "ecn"},
        ],
    }
    whole = packetloom.run(base, tmp_path / "whole", progress=False)
    broken = packetloom.run({**base, "fault": [fault]}, tmp_path / "broken", progress=False)
    assert not question_of(whole).stopped  # type: ignore[union-attr]
    asked = question_of(broken)
    assert asked
    stalled = {row.scheme for row in broken.rows() if row.counters["stalled"]}
    assert {entity for entity, _ in asked.stopped} >= stalled
    for (entity, here), stopped in asked.stopped.items():
        assert stopped.of == 2
        assert entity not in [one for one, _ in Answer(asked).ranked(asked.lead, here)]


def test_senders_are_called_so_along_an_axis() -> None:
    axis = "workload.pattern.fan_in"
    assert axis_name(axis) == "senders"
    assert axis_scale(axis) == ("senders", 1.0)
    assert axes_meant("fan_in", [axis]) == axes_meant("senders", [axis]) == [axis]


def test_a_narrow_terminal_loses_no_column(tmp_path: Path) -> None:
    """At 80 columns the interval ended in the middle, and whether it was told apart was not there."""
    queue = {"kind": "drop-tail", "capacity": ["20KB", "200KB"]}
    named = [{"name": f"TCP with {name}", "transport": "tcp", "queue": queue} for name in ("a long name", "another")]
    run = {"loads": [0.3, 0.7], "flows": 100, "seeds": 2}
    results = campaign(tmp_path / "buffers", scheme=named, run=run)
    narrow = Console(width=72, force_terminal=False)
    with narrow.capture() as shown:
        print_along(along(results, "capacity"), narrow)
    words = shown.get().split()
    assert all(word in words for word in ("interval", "told", "apart"))
    assert max(map(len, shown.get().splitlines())) <= 72


def test_a_fault_is_an_axis_by_its_name() -> None:
    assert axes_meant("fault", ["topology.oversubscription", "fault.at"]) == ["fault.at"]
    assert axes_meant("link", ["topology.link.rate_gbps", "topology.link.delay_ns"]) != []
