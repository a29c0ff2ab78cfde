"""Comparisons that one can get wrong: each draws its warning, or its "alike", and names no winner it should not.

An entry is what was compared, what the first sentence has to say, what has to be said after it, and what must not be.
Add one for each new way to be wrong.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import packetloom
from packetloom.campaign.search import Range, Sought
from packetloom.cli.main import main
from packetloom.pages.compare import Sides, print_comparison
from packetloom.pages.measures import STALLED, UNFINISHED, Condition, Measure, Question, Stopped, question_of
from packetloom.pages.ranking import Answer
from packetloom.pages.report import report_page
from packetloom.pages.sentences import sentences
from packetloom.pages.waits.speeds import Speed, notes_of, print_jobs, speeds
from packetloom.scenario import confounders
from packetloom.scenario.plan import plan_from_text
from packetloom.stats.collectives import Kind
from packetloom.store.results import Results
from test_footing import SCENARIO as UNLIKE

HERE = Condition(0.8)
LEAD = Measure("mean-slowdown", "mean slowdown of all flows", "mean slowdown", "ratio", {})
Told = Sequence[str]


def question(values: Mapping[str, Sequence[float]], unit: str = "ratio", **changes: Any) -> Question:
    """Values at one load: a list of seeds for each scheme."""
    by_seed = {(name, HERE): dict(enumerate(own, 1)) for name, own in values.items()}
    is_share = unit == "share"
    lead = replace(LEAD, values=by_seed, unit=unit, lower_is_better=not is_share, by_ratio=not is_share)
    seeds = max(map(len, values.values()))
    made = Question("slowdown", tuple(values), frozenset(), (HERE,), (lead,), seeds)
    return replace(made, **changes)


def told(asked: Question) -> Told:
    return [one.text for one in sentences(Answer(asked)) if one.answers in ("steady", "best", "sure")]


FAR = {"A": [1.0, 1.1, 1.2], "B": [2.0, 2.2, 2.41]}
CLEAR = {"A": [1.00, 1.10, 1.20, 1.05], "B": [1.30, 1.43, 1.55, 1.37]}


def loads(best_of: Sequence[str]) -> Question:
    conditions = tuple(Condition(round(0.2 * (place + 1), 1)) for place in range(len(best_of)))
    good, bad = ({1: 1.0, 2: 1.1, 3: 1.2}, {1: 2.0, 2: 2.2, 3: 2.41})
    values = {
        (one, here): good if one == best else bad
        for here, best in zip(conditions, best_of, strict=True)
        for one in "AB"
    }
    return Question("slowdown", ("A", "B"), frozenset(), conditions, (replace(LEAD, values=values),), 3)


def capped() -> Question:
    limit = Measure("limit", "largest fan_in", "largest", "count", {}, lower_is_better=False, by_ratio=False)
    asked = question({"A": [80.0, 80.0, 80.0], "B": [40.0, 44.0, 42.0]})
    sought = Sought(Range.parse("workload.0.pattern.fan_in=1..80"), 0.99)
    measure = replace(limit, values=asked.lead.values)
    return replace(asked, kind="search", measures=(measure,), sought=sought, capped=frozenset({"A"}))


MADE: dict[str, tuple[Callable[[], Question], str, str, str]] = {
    "chance at 1.00": (
        lambda: question({"A": [2.0, 2.5, 2.2], "B": [2.1, 2.41, 2.21]}),
        "none is shown to be best",
        "which may be chance",
        " is best",
    ),
    "0.5 % in every seed": (
        lambda: question({"A": [2.0, 2.5, 2.2], "B": [2.01, 2.5125, 2.211]}),
        "A and B are alike, within 1 %",
        "are alike, within 1 %",
        " is best",
    ),
    "0.4 points of deadlines": (
        lambda: question({"A": [0.996, 0.995, 0.997], "B": [0.992, 0.991, 0.993]}, unit="share"),
        "A and B are alike, within 1 %",
        "are alike, within 1 %",
        " is best",
    ),
    "the same to the last bit": (
        lambda: question({"A": [2.0, 2.5], "B": [2.0, 2.5]}, twins=(("A", "B"),)),
        "A and B are the same",
        "what sets them apart never came into play",
        " is best",
    ),
    "luck of ECMP's hashes in three seeds": (
        lambda: question({"ECMP": [1.9, 1.2, 1.3], "flowlets": [1.3, 1.25, 1.2]}),
        "none is shown to be best",
        "3 seeds do not tell flowlets from ECMP",
        "flowlets is best",
    ),
    "one seed": (
        lambda: question({"A": [1.0], "B": [2.0]}),
        "is lowest with A, 1.00",
        "cannot be said from one seed",
        " is best",
    ),
    "two seeds, by a little": (
        lambda: question({"A": [1.0, 1.2], "B": [1.1, 1.25]}),
        "none is shown to be best",
        "2 seeds do not tell A from B",
        " is best",
    ),
    "six schemes, and one p of 0.03": (
        lambda: question(
            {"A": [1.0, 1.1, 1.2, 1.05], "B": [1.1, 1.14, 1.3, 1.13]}
            | {f"C{place}": [1.1 + place / 50, 1.0, 1.3, 1.1 - place / 50] for place in range(4)}
        ),
        "none is shown to be best",
        "none is shown to be best",
        " is best",
    ),
    "a scheme whose other seeds stalled": (
        lambda: question(CLEAR | {"C": [0.5]}, stopped={("C", HERE): Stopped(3, 4, STALLED)}),
        "A is best: ",
        "C stalled in 3 of 4 seeds, at load 0.8",
        "C is best",
    ),
    "a scheme of which nothing ended": (
        lambda: replace(question(CLEAR), entities=("A", "B", "C"), stopped={("C", HERE): Stopped(4, 4, UNFINISHED)}),
        "A is best: ",
        "C did not finish in all of 4 seeds",
        "C is best",
    ),
    "the best of the flows that finished": (
        lambda: question(FAR, unfinished_at={("A", HERE): 0.25}),
        "A is best, of the flows that finished: ",
        "A left up to 25 % of its own",
        "A is best: ",
    ),
    "an estimate beside packets": (
        lambda: question(FAR, estimated=frozenset({"A"})),
        "A is best, by an estimate beside packets: ",
        "Estimates beside packets: A was not run packet by packet",
        "A is best: ",
    ),
    "a reference without packets": (
        lambda: question({"Ideal": [1.0, 1.0, 1.0]} | FAR, references=frozenset({"Ideal"})),
        "A is best: ",
        "A is best",
        "Ideal is best",
    ),
    "another winner at the last load alone": (
        lambda: loads("AAAB"),
        "as at 2 of the 3 other points, A is best: ",
        "Not so at load 0.8: B is best",
        "At load 0.8, B is best",
    ),
    "a limit at the end of what was searched": (capped, "so the true limit is higher", "", "nothing"),
    "an easy seed that one alone has": (
        lambda: question({"A": [2.0, 2.4, 2.2], "B": [2.1, 2.5, 2.31, 0.5]}),
        "A is best: the mean slowdown of all flows is 2.20",
        "A is best: the mean slowdown of all flows is 2.20",
        "B is best",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_comparison_that_one_can_get_wrong_is_not(name: str) -> None:
    made, first, says, never = MADE[name]
    found = told(made())
    assert first in found[0]
    assert says in " ".join(found)
    assert never not in " ".join(found)


def test_what_is_clear_is_still_said() -> None:
    """The warnings mean something only if a difference that is there is named."""
    assert told(question(CLEAR))[0].startswith("At load 0.8, A is best: ")


BASE = {
    "topology": {"kind": "rack", "hosts": 4},
    "scheme": [
        {"name": "TCP", "transport": "tcp", "queue": "drop-tail"},
        {"name": "DCTCP", "transport": "dctcp", "queue": "ecn"},
    ],
}


def run(folder: Path, **changes: Any) -> Results:
    return packetloom.run({**BASE, **changes}, folder, progress=False)


def test_tails_that_the_end_cut_off_are_told(tmp_path: Path) -> None:
    workload = [{"sizes": {"kind": "constant", "size": "1MB"}}]
    cut = {"loads": [0.9], "flows": 100, "seeds": 2, "max_time": "3ms"}
    results = run(tmp_path / "cut", workload=workload, run=cut)
    asked = question_of(results)
    assert asked
    never = sum(row.counters["flows_never_started"] for row in results.rows())
    assert never > 0
    for scheme, share in asked.unfinished.items():
        rows = [row for row in results.rows() if row.scheme == scheme]
        started, finished = ([row.counters[f"flows_{what}"] for row in rows] for what in ("started", "finished"))
        shares = [1 - done / begun for done, begun in zip(finished, started, strict=True)]
        assert share == pytest.approx(sum(shares) / len(shares))
    assert "Not every flow finished" in " ".join(told(asked))


def test_overloaded_links_are_not_steady(tmp_path: Path) -> None:
    """Two spines for eight hosts a leaf: at load 0.9 the queues grow until arrivals end."""
    results = run(
        tmp_path / "overloaded",
        topology={"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1, "link": {"rate": "10Gbps"}},
        workload=[{"sizes": {"kind": "constant", "size": "100KB"}}],
        run={"loads": [0.9], "flows": 1500, "seeds": 2},
    )
    asked = question_of(results)
    assert asked
    assert told(asked)[0].startswith("Not steady: ")


def test_flowlets_whose_gap_never_occurs_are_said_to_be_the_same(tmp_path: Path) -> None:
    fabric = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2}
    routings = [{"kind": "letflow", "flowlet_gap": gap} for gap in ("1s", "2s")]
    schemes = [
        {"name": f"{place}", "transport": "dctcp", "queue": "ecn", "routing": routing}
        for place, routing in enumerate(routings)
    ]
    workload = [{"sizes": {"kind": "constant", "size": "100KB"}}]
    few = {"loads": [0.4], "flows": 30}
    asked = question_of(run(tmp_path / "flowlets", topology=fabric, workload=workload, scheme=schemes, run=few))
    assert asked
    assert asked.twins == (("0", "1"),)
    assert "what sets them apart never came into play" in " ".join(told(asked))


RAILS = {
    "topology": {
        "kind": "rail-optimised",
        "servers": 2,
        "accelerators": 4,
        "scale_up": {"rate": "800Gbps", "delay": "0.5us"},
        "link": {"rate": "100Gbps", "delay": "1us"},
    },
    "workload": [
        {
            "arrivals": {
                "kind": "training",
                "data": 2,
                "tensor": 4,
                "layers": 2,
                "forward": "20us",
                "activations": "100KB",
                "gradients": "900KB",
            }
        }
    ],
    "scheme": [
        {"name": "RoCE", "transport": "roce", "queue": {"kind": "shared-buffer", "buffer": "16MB"}},
    ],
}


def test_networks_are_never_averaged_and_the_roofline_is_explained(tmp_path: Path) -> None:
    results = packetloom.run(RAILS, tmp_path / "rails", progress=False)
    (speed,) = speeds(results)
    jobs = results.to_polars("jobs")
    assert {kind.network for kind in speed.buses} == {"scale-up", "fabric"}
    for kind, (value,) in speed.buses.items():
        own = jobs.filter(operation=kind.operation, network=kind.network)
        carried = (own["bus_gbps"].to_numpy() * own["jct_ns"].to_numpy()).sum() / own["jct_ns"].to_numpy().sum()
        assert value == pytest.approx(carried)
    asked = question_of(results)
    assert asked
    names = [one.name for one in asked.measures if one.name.startswith("bus-bandwidth")]
    assert names == ["bus-bandwidth-all-reduce-scale-up", "bus-bandwidth-all-reduce-fabric"]
    assert any("no repetition can be below 1" in note for note in notes_of([speed]))
    assert min(speed.ratios) >= 1.0


def test_the_names_of_a_grid_can_be_read_in_a_narrow_terminal() -> None:
    points = [f"Ultra Ethernet, topology.oversubscription {over}, no fault" for over in (1, 2)]
    buses = {Kind("all-reduce", network): [1346.0, 1390.0] for network in ("scale-up", "fabric")}
    took, exposed = [14.7e6, 15.2e6], [5.1e6, 5.6e6]
    found = [Speed(one, None, 0, took=took, ratios=[1.53, 1.58], exposed=exposed, buses=buses) for one in points]
    console = Console(width=80, file=StringIO(), color_system=None)
    print_jobs(found, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 80
    for words in ("Ultra Ethernet, ", "oversubscription ", "1, no fault "):
        assert any(line.lstrip().startswith(words) for line in lines)
    assert any(line.rstrip().endswith("(fabric)") for line in lines)


def test_the_last_axis_of_a_wide_grid_has_a_line_for_each_value() -> None:
    """Not names that are broken over seven lines, as "DCTCP, / oversubscription / 4, / arrivals.algorithm / ring"."""
    buses = {Kind("all-reduce", "fabric"): [393.0, 394.0]}
    key, took = "workload.arrivals.algorithm", [14.7e6, 15.2e6]
    found = [
        Speed(f"DCTCP, oversubscription {over}, {axis}", None, 0, (key, axis), took, [1.5, 1.6], took, buses)
        for over in (1, 4)
        for axis in ("arrivals.algorithm ring", "arrivals.algorithm halving-doubling")
    ]
    console = Console(width=70, file=StringIO(), color_system=None)
    print_jobs(found, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(f"Jobs: DCTCP, oversubscription {over}" in text for over in (1, 4))
    starts = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert starts.count("ring") == starts.count("halving-doubling") == starts.count("algorithm") == 2
    assert "exposed" not in text, "nothing is computed: all of it is exposed"


@pytest.mark.parametrize("what", ["payload of a packet", "acknowledgements", "buffer of a switch's port"])
def test_what_differs_beside_the_schemes_is_named(what: str) -> None:
    """UEC beside DCQCN with packets of 4,096 B for 1,000 B: whatever decides between them, it is listed."""
    cases = plan_from_text(UNLIKE, "toml", "", ()).cases
    assert what in [one.what for one in confounders.unequal(cases)]


ELSEWHERE = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": {"rate": "100Gbps"}},
    "workload": [{"sizes": {"kind": "constant", "size": "1MB"}, "pattern": {"kind": "incast", "fan_in": 4}}],
    "scheme": [
        {"name": "Homa", "transport": "homa", "queue": {"kind": "classes", "strict": 8}},
        {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": "2MB", "mark_above": "300KB"}},
    ],
    "run": {"flows": 4, "loads": [0.1, 0.2]},
}


def test_constants_of_another_line_rate_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flow alone takes four times what its links need, and DCTCP was called best."""
    slow = r"Homa: scheme.transport: alone on the network, a flow of .* takes 4\.. times"
    with pytest.warns(packetloom.ScenarioWarning, match=slow) as said:
        packetloom.run(ELSEWHERE, tmp_path / "elsewhere", progress=False)
    assert not [one for one in said if "DCTCP: scheme.transport" in str(one.message)]
    assert [one for one in packetloom.check(ELSEWHERE).warnings if "alone on the network" in one]
    out = tmp_path / "elsewhere"
    assert "Homa: scheme.transport: alone on the network" in report_page([Results(out)]).render()
    told = StringIO()
    print_comparison(Sides.parse(f"{out}:DCTCP", ":Homa"), Console(width=1000, file=told))
    assert re.search(f"warning: {slow}", told.getvalue())
    monkeypatch.setattr(sys, "argv", ["packetloom", "compare", str(out), "--along", "load"])
    with pytest.raises(SystemExit):
        main()
    assert "warning: Homa: scheme.transport: alone on the network" in capsys.readouterr().out
    here = ["scheme.Homa.transport.blind=47KB", "scheme.Homa.transport.window=47KB"]
    assert not [one for one in packetloom.check(ELSEWHERE, overrides=here).warnings if "alone on the network" in one]


def test_a_late_rank_that_holds_up_its_ring_is_said(tmp_path: Path) -> None:
    """An all-reduce of gradients takes thrice what its links need, and a whole fabric seemed slower than one with a
    failed link. In pieces that follow one another the ring goes on with the first."""
    training = {"kind": "training", "data": 4, "layers": 4, "forward": "10us"}
    training |= {"activations": "2MB", "gradients": "10MB"}
    ndp = {"name": "NDP", "transport": "ndp", "queue": "ndp"}
    given = {
        "topology": {"kind": "rack", "hosts": 4, "link": {"rate": "100Gbps"}},
        "workload": [{"arrivals": training}],
        "scheme": [ndp],
        "fault": [{"kind": "rank-delay", "rank": 2, "by": "4ms", "at": ["never", "0us"]}],
        "run": {"seeds": 1},
    }
    took: dict[tuple[int, object], float] = {}
    said: dict[tuple[int, object], str] = {}
    for chunks in (1, 8):
        training["chunks"] = chunks
        results = packetloom.run(given, tmp_path / str(chunks), progress=False)
        late = {row.case_id: row.parameters["fault.at"] for row in results.rows()}
        said |= {(chunks, row.parameters["fault.at"]): " ".join(row.warnings) for row in results.rows()}
        rows = results.to_polars("iterations").select("case_id", "jct_ns").rows()
        took |= {(chunks, late[case]): jct_ns / 1e6 for case, jct_ns in rows}
    # Six steps of 2.5 MB at 100 Gb/s for each of four layers.
    assert 4.8 < took[1, "never"] < 5.5
    assert took[1, "0us"] > 4 + 2 * took[1, "never"]
    assert took[8, "0us"] < 4 + 1.3 * took[8, "never"]
    held_up = "of 4 ring operations a rank was late, and messages of several steps went side by side"
    assert [place for place, text in said.items() if held_up in text] == [(1, "0us")]


def test_there_are_twenty() -> None:
    own = [name for name in globals() if name.startswith("test_") and "one_can_get_wrong" not in name]
    assert len(MADE) + len(own) - 2 >= 20


def test_what_left_most_of_its_flows_is_best_at_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Senders that crawl finish a few flows at once, and the rest never: of those that finished, they were best."""
    crawling = {"kind": "tcp", "initial_window": 1, "min_rto": "1s", "rto_estimation": False}
    losing = {"kind": "drop-tail", "capacity": "3KB"}
    given = {
        "topology": {"kind": "rack", "hosts": 8},
        "workload": {"sizes": "web-search"},
        "scheme": [
            {"name": "TCP", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": "225KB"}},
            {"name": "crawls", "transport": crawling, "queue": losing},
        ],
        "run": {"flows": 100, "loads": [0.5], "max_time": "60ms", "seeds": 2},
    }
    out = tmp_path / "out"
    results = packetloom.run(given, out, progress=False)
    asked = question_of(results)
    assert asked is not None
    shares = asked.unfinished_at
    assert shares["crawls", Condition(0.5)] > shares.get(("TCP", Condition(0.5)), 0.0) + 0.05
    (best,) = [one.text for one in sentences(Answer(asked)) if one.answers == "best"][:1]
    assert "crawls" not in best
    assert any("of its flows unfinished" in one.text for one in sentences(Answer(asked)))
    monkeypatch.setattr(sys, "argv", ["packetloom", "compare", f"{out}:TCP", ":crawls", "--worse-than", "1000"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert "did not finish" in capsys.readouterr().out
