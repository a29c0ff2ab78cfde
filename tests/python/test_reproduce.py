"""The frame that papers are redone in."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import packetloom
from conftest import SCENARIO
from packetloom import _core, reproduce
from packetloom.cli.main import main
from packetloom.common.build import this_build
from packetloom.errors import PacketloomError
from packetloom.pages.panels import Panel, panel_json
from packetloom.reproduce import (
    PAPERS,
    Experiment,
    Paper,
    PaperEntry,
    PaperFigure,
    Scale,
    check_acceptable,
    check_verdicts,
    find_paper,
    fingerprints,
    reproduce_paper,
    sync_or_not,
    tables,
)
from packetloom.reproduce.claims import Claim, Measured, NotComparable, judge, value_of, with_numbers
from packetloom.reproduce.sync_or_not.figures import imperfect
from packetloom.reproduce.tables import (
    BEGIN,
    END,
    claims_table,
    number_text,
    numbers_text,
    readme_of,
    readme_with_table,
    with_table,
)
from packetloom.reproduce.verdicts import (
    Committed,
    committed_file,
    committed_verdicts,
    numbers_of,
    stale,
    verdicts_file,
    with_texts,
)
from packetloom.scenario.plan import plan_from_text
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


def never(_: object) -> list[Measured]:
    buffers = [Measured(f"with {size} KB", size / 10, size / 10 - 1, size / 10 + 1) for size in (100, 200)]
    raise NotComparable("the paper does not give its buffer size", buffers)


def tail(results: Mapping[str, Results]) -> list[Measured]:
    value, low, high = value_of(results["main"], "TCP", 0.8, "all", "p99")
    return [Measured("TCP", value, low, high, (1.0, 1000.0))]


def two_numbers(_: object) -> list[Measured]:
    fitted = Measured("b, fitted", 2.25, 2, 2.5, band=(3, 4), decides=False)
    return [Measured("a", 1, band=(1, 1)), Measured("b", 3, band=(2, 2)), fitted]


def at_a_load_that_was_not_run(results: Mapping[str, Results]) -> list[Measured]:
    return [Measured("TCP", *value_of(results["main"], "TCP", 0.9, "all", "p99"))]


PAPER = Paper(
    name="toy",
    title="A toy paper",
    experiments=(Experiment("main", "main.toml", quick=("run.flows=40",)), Experiment("unused", "none.toml")),
    claims=(
        Claim("T1", "TCP has a tail", "> 1", "1 to 1000", ("main",), tail, ("2",)),
        Claim("T2", "two numbers", "1; 2", "exact", (), two_numbers, explanation="b counts the root, too"),
        Claim("T3", "unknowable", "9", "±1", (), never),
    ),
    figures=(PaperFigure("2", "tails", ("main",), lambda _: [Panel("tails", "load", "slowdown", [])]),),
)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "papers" / "toy" / "scenarios").mkdir(parents=True)
    (tmp_path / "papers" / "toy" / "scenarios" / "main.toml").write_text(SCENARIO)
    monkeypatch.setattr(reproduce, "PAPERS_FOLDER", tmp_path / "papers")
    monkeypatch.setattr(tables, "readme_of", lambda paper: tmp_path / "readmes" / paper / "README.md")
    monkeypatch.setitem(reproduce.PAPERS, "toy", PaperEntry("A toy paper", lambda: PAPER))


def test_claims_as_table_json_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce_paper("toy", None, "quick", tmp_path / "toy.json", tmp_path / "out")
    rows = json.loads((tmp_path / "toy.json").read_text())
    assert [row["id"] for row in rows] == ["T1", "T2", "T3"]
    assert [row["verdict"] for row in rows] == ["holds", "differs", "not comparable"]
    assert set(rows[0]) == {"id", "claim", "paper", "measured", "interval", "bands", "band", "verdict"}
    assert rows[0]["bands"] == [1.0, 1000.0]
    assert rows[1]["bands"] == {"a": [1, 1], "b": [2, 2]}
    assert rows[0]["interval"][0] < rows[0]["measured"] < rows[0]["interval"][1]
    assert rows[1]["measured"] == {"a": 1, "b": 3}
    assert rows[1]["outside"] == ["b"]
    assert rows[1]["beside"] == {"b, fitted": {"measured": 2.25, "interval": [2, 2.5]}}
    assert rows[1]["reason"] == "b counts the root, too"
    assert rows[2]["reason"] == "the paper does not give its buffer size"
    assert rows[2]["measured"] is None
    assert list(rows[2]["beside"]) == ["with 100 KB", "with 200 KB"]
    printed = "".join(capsys.readouterr().out.split())
    assert "1of3claimshold" in printed
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Figure 2: tails" in page
    assert "beside the verdict: b, fitted 2.25 (2 to 2.5)" in page
    assert "beside the verdict: with 100 KB 10 (9 to 11)" in page


def test_a_page_says_which_of_its_experiments_are_not_steady(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longer = replace(PAPER, experiments=(Experiment("main", "main.toml", quick=("run.flows=400", "run.loads=[1.5]")),))
    one = replace(PAPER.claims[0], measure=never)
    monkeypatch.setitem(reproduce.PAPERS, "toy", PaperEntry("A toy paper", lambda: replace(longer, claims=(one,))))
    reproduce_paper("toy", None, "quick", None, tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Is it steady?" in page
    assert "Not known to be steady: main;" in page
    assert "main: Not steady: under TCP at load 1.5, " in page
    assert "what follows holds for that time alone" in page


def test_one_figure_runs_and_judges_only_what_it_shows(tmp_path: Path) -> None:
    findings = reproduce_paper("toy", "2", "quick", None, tmp_path / "out")
    assert [finding.claim.id for finding in findings] == ["T1"]


def test_clocks_are_drawn_from_one_seed_too(tmp_path: Path) -> None:
    """`quick` has one, which gives no interval."""
    scenario = Path(sync_or_not.__file__).parent / "scenarios" / "imperfect.toml"
    few = ["run.duration=6ms", "run.warm_up=1ms", "run.seeds=1"]
    results = packetloom.run(scenario, tmp_path / "out", overrides=few, progress=False)
    panels = imperfect({"imperfect": results})
    assert [len(panel.marks) for panel in panels] == [4, 4]
    assert all("low" not in mark for panel in panels for mark in panel_json(panel)["marks"])


def test_unknown_figure_and_missing_scenario(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="no figure '9' here; there are: 2"):
        reproduce_paper("toy", "9", "quick", None, tmp_path / "out")
    (tmp_path / "papers" / "toy" / "scenarios" / "main.toml").unlink()
    with pytest.raises(PacketloomError, match="install it again"):
        reproduce_paper("toy", None, "quick", None, tmp_path / "out")


def test_statistic_without_flows_is_not_comparable(tmp_path: Path) -> None:
    claim = Claim("X", "", "", "", (), at_a_load_that_was_not_run)
    finding = reproduce_paper("toy", "2", "quick", None, tmp_path / "out")[0]
    assert finding.verdict == "holds"
    assert judge(claim, {"main": Results(tmp_path / "out" / "main")}).verdict == "not comparable"


def test_numbers_beside_decide_nothing_and_choices_are_always_told() -> None:
    fitted = Measured("fitted", 9, band=(0, 1), decides=False)
    claim = Claim("X", "", "", "", (), lambda _: [Measured("a", 1, band=(1, 1)), fitted], choices="33 workers: ours.")
    finding = judge(claim, {})
    assert finding.verdict == "holds"
    assert finding.to_dict()["reason"] == "33 workers: ours."
    alone = judge(Claim("Y", "", "", "", (), lambda _: [fitted], explanation="not published"), {})
    assert (alone.verdict, alone.why) == ("not comparable", "not published")


def test_an_explanation_has_the_numbers_of_the_run_that_it_is_of() -> None:
    def measured(value: float) -> list[Measured]:
        return [Measured("a", value, value - 1, value + 1, (9, 9)), Measured("b: p99", 0.5, decides=False)]

    text = "a is {|±.1f}, b {b: p99|.0%}"
    claim = Claim("X", "", "", "", (), lambda _: measured(3), explanation=text)
    assert judge(claim, {}).why == "a is 3.0 ± 1.0, b 50 %"
    assert judge(replace(claim, measure=lambda _: measured(4)), {}).why == "a is 4.0 ± 1.0, b 50 %"
    row = judge(claim, {}).to_dict()
    assert with_texts(row, replace(claim, explanation="{b: p99|.2f}"))["reason"] == "0.50"
    with pytest.raises(PacketloomError, match="X: its explanation names 'c', and no number is called so"):
        judge(replace(claim, explanation="{c|.1f}"), {}).to_dict()


def test_two_numbers_of_one_name_are_refused() -> None:
    twice = Claim("X", "", "", "", (), lambda _: [Measured("a", 1), Measured("a", 2)])
    with pytest.raises(PacketloomError, match="two numbers are called 'a'"):
        judge(twice, {})


def test_verdicts_are_held_against_the_committed_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = reproduce_paper("toy", None, "quick", None, tmp_path / "out")
    capsys.readouterr()
    assert check_verdicts("toy", None, "quick", findings, accept=False)
    assert "no verdicts are committed for toy at --scale quick" in capsys.readouterr().out
    committed = accepted(tmp_path)
    capsys.readouterr()
    assert check_verdicts("toy", None, "quick", findings, accept=False)
    assert "every verdict is the committed one, and every number within its interval" in capsys.readouterr().out
    content = json.loads(committed.read_text())
    assert set(content) == {"build", "date", "fingerprints", "claims"}
    assert content["build"] == str(this_build())
    assert list(content["fingerprints"]) == ["main"], "what no claim needs has none"
    rows = content["claims"]
    rows[0]["verdict"] = "differs"
    committed.write_text(json.dumps(content | {"claims": [*rows[:2], rows[2] | {"id": "T9"}]}))
    assert not check_verdicts("toy", None, "quick", findings, accept=False)
    said = capsys.readouterr().out
    assert "T1: differs is committed, holds today" in said
    assert "T2" not in said
    assert "T3: not comparable today; no verdict is committed" in said
    assert "T9: not comparable is committed; today there is no such claim" in said
    assert not check_verdicts("toy", "2", "quick", findings[:1], accept=False)
    assert "of 1 of 3 claims: a figure was chosen" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "interval", "said"),
    [
        (3.1, [2.9, 3.3], None),
        (3.1, [3.05, 3.2], "T2, b: 3.1 (3.05 to 3.2) is committed, 3 today"),
        (3.001, None, "T2, b: 3.001 is committed, 3 today"),
        (3.0, None, None),
    ],
)
def test_numbers_are_held_within_their_intervals(
    number: float, interval: list[float] | None, said: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = accepted(tmp_path)
    findings = reproduce_paper("toy", None, "quick", None, tmp_path / "out")
    content = json.loads(committed.read_text())
    content["claims"][1]["measured"]["b"] = number
    content["claims"][1]["interval"]["b"] = interval
    committed.write_text(json.dumps(content))
    capsys.readouterr()
    assert check_verdicts("toy", None, "quick", findings, accept=False) is (said is None)
    assert said is None or said in capsys.readouterr().out


def test_numbers_that_are_not_measured_any_more_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed = accepted(tmp_path)
    findings = reproduce_paper("toy", None, "quick", None, tmp_path / "out")
    content = json.loads(committed.read_text())
    content["claims"][2]["beside"]["with 300 KB"] = content["claims"][2]["beside"].pop("with 200 KB")
    committed.write_text(json.dumps(content))
    capsys.readouterr()
    assert not check_verdicts("toy", None, "quick", findings, accept=False)
    printed = capsys.readouterr().out
    assert "T3, with 300 KB: is not measured any more" in printed
    assert "T3, with 200 KB: no number is committed" in printed


def run_fingerprints(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    fingerprints._first_moments.cache_clear()
    monkeypatch.setattr(sys, "argv", ["fingerprints", "toy", *arguments])
    with pytest.raises(SystemExit) as ended:
        fingerprints.main()
    return ended.value.code


def test_verdicts_of_another_scenario_are_stale_until_they_are_redone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = accepted(tmp_path)
    assert run_fingerprints(monkeypatch) == 0
    assert "toy, quick: of this code" in capsys.readouterr().out
    scenario = tmp_path / "papers" / "toy" / "scenarios" / "main.toml"
    scenario.write_text(SCENARIO.replace("225KB", "220KB"))
    assert scenario.read_text() != SCENARIO
    assert run_fingerprints(monkeypatch) == 1
    assert "toy, quick: stale: main" in capsys.readouterr().out
    assert run_fingerprints(monkeypatch, "--mark") == 0
    assert "the code has changed what comes of: main." in json.loads(committed.read_text())["stale"]
    assert "**`quick` is stale.**" in tables.readme_of("toy").read_text()
    assert readme_with_table("toy") == tables.readme_of("toy").read_text()
    assert run_fingerprints(monkeypatch) == 0
    assert "stale: main, as its file says" in capsys.readouterr().out


def test_verdicts_of_other_code_are_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted(tmp_path)
    assert run_fingerprints(monkeypatch) == 0
    outcome = fingerprints._outcome
    monkeypatch.setattr(fingerprints, "_outcome", lambda case: ["another", *outcome(case)[1:]])
    assert run_fingerprints(monkeypatch) == 1


def test_a_fingerprint_is_of_what_a_claim_measures_as_well() -> None:
    (case, *_) = plan_from_text(SCENARIO, "toml", "", ()).cases
    outcome = fingerprints._outcome(case)
    assert fingerprints._outcome(case) == outcome
    counters = _core.Simulation(case).run(1).counters
    assert dict(zip(fingerprints.COUNTED, outcome[1:], strict=True)) == {
        name: counters[name] for name in fingerprints.COUNTED
    }
    assert counters["packet_hops"] > counters["packets_sent"] > 0


def test_a_count_alone_makes_verdicts_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many drops more, with the same flows: a claim may be of drops."""
    accepted(tmp_path)
    outcome, drops = fingerprints._outcome, 1 + fingerprints.COUNTED.index("drops")

    def with_a_drop_more(case: _core.Case) -> list[object]:
        found = outcome(case)
        return [*found[:drops], found[drops] + 1, *found[drops + 1 :]]  # type: ignore[operator]

    monkeypatch.setattr(fingerprints, "_outcome", with_a_drop_more)
    assert run_fingerprints(monkeypatch) == 1


def test_damaged_committed_verdicts_are_named(tmp_path: Path) -> None:
    findings = reproduce_paper("toy", "2", "quick", None, tmp_path / "out")
    committed = accepted(tmp_path)
    for text, said in (("[", "not JSON"), ("{}", "not a paper's verdicts"), ('[{"id": "T1"}]', "not a paper's")):
        committed.write_text(text)
        with pytest.raises(PacketloomError, match=f"quick.json: {said}"):
            check_verdicts("toy", "2", "quick", findings, accept=False)


def test_only_whole_papers_with_a_place_for_the_table_are_accepted(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="leave --figure out"):
        check_acceptable("toy", "2")
    with pytest.raises(PacketloomError, match=r"README.md: there is no such file"):
        check_acceptable("toy", None)
    tables.readme_of("toy").parent.mkdir(parents=True)
    tables.readme_of("toy").write_text("# Toy\n")
    with pytest.raises(PacketloomError, match="has no place for the claims"):
        check_acceptable("toy", None)


def accepted(tmp_path: Path) -> Path:
    """The toy paper's committed verdicts, after `--accept`; its README has the table."""
    findings = reproduce_paper("toy", None, "quick", None, tmp_path / "out")
    readme = tables.readme_of("toy")
    readme.parent.mkdir(parents=True)
    readme.write_text(f"# Toy\n\n{BEGIN}\n{END}\n\nProse.\n")
    check_acceptable("toy", None)
    check_verdicts("toy", None, "quick", findings, accept=True)
    text = readme.read_text()
    assert text.startswith("# Toy\n")
    assert text.endswith("Prose.\n")
    assert "1 of 3 claims hold" in text
    assert "| T2 | two numbers | 1; 2 | a: 1; b: **3** | differs |" in text
    assert "| T3 | unknowable | 9 |  | not comparable |" in text
    assert "- **T2.** b counts the root, too\n- **T3.** the paper does not give its buffer size" in text
    assert readme_with_table("toy") == text
    return tmp_path / "papers" / "toy" / "verdicts" / "quick.json"


def test_a_table_of_two_scales() -> None:
    def row(id: str, verdict: str, **more: object) -> dict[str, object]:
        return {"id": id, "claim": "a | b", "paper": "1", "measured": 1.5, "interval": None, "verdict": verdict} | more

    quick = [row("A", "differs", reason="too short."), row("B", "holds"), row("C", "differs", reason="x.")]
    full = [row("A", "holds"), row("B", "holds", interval=[1.45, 1.55]), row("C", "not comparable", reason="y.")]
    of_both = {
        "quick": Committed("a build", "2026-11-26", {}, quick),
        "full": Committed("another", "2026-11-20", {}, full, stale="It is old."),
    }
    lines = claims_table(of_both).splitlines()
    assert " ".join(lines).startswith(
        "At `--scale quick` 1 of 3 claims hold (2026-11-26). At `--scale full` 2 of 3 claims hold, 1 not comparable "
        "(stale). **`full` is stale.** It is old."
    )
    assert "|  | Claim | Paper | Measured, quick | Verdict |" in lines, "what is stale has no column"
    assert lines[-6:] == [
        r"| A | a \| b | 1 | **1.5** | differs (full: holds) |",
        r"| B | a \| b | 1 | 1.5 | holds |",
        r"| C | a \| b | 1 | **1.5** | differs (full: not comparable) |",
        "",
        "- **A.** too short.",
        "- **C.** x.",
    ]
    lines = claims_table({**of_both, "full": replace(of_both["full"], stale="")}).splitlines()
    assert "|  | Claim | Paper | Measured, full | Verdict |" in lines, "the largest scale alone has a column"
    assert r"| B | a \| b | 1 | 1.50 ± 0.05 | holds |" in lines
    assert lines[-2:] == ["- **A.** At `quick`: too short.", "- **C.** y."], "why claims hold is in the verdicts' files"
    alike = [row(id, "not comparable", reason="not built." if id != "D" else "z.") for id in "ABCD"]
    lines = claims_table({"quick": Committed("a build", "2026-11-26", {}, alike)}).splitlines()
    assert lines[-2:] == ["- **A to C.** not built.", "- **D.** z."], "claims in a row with one reason are one item"


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (1.0537, [0.9937, 1.1137], "1.05 ± 0.06"),
        (25.4, [13.4, 37.4], "25 ± 12"),
        (123456, [120456, 126456], "123000 ± 3000"),
        (0.99931, [0.99928, 0.99934], "0.9993"),
        (2.5, [2.4, 4.9], "2.5 (2.4 to 4.9)"),
        (0.0, [0.0, 0.0], "0"),
        (1 / 3, None, "0.3333"),
    ],
)
def test_digits_that_the_interval_supports(value: float, interval: list[float] | None, text: str) -> None:
    assert number_text(value, interval) == text


LOADS = (0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9)


def test_many_numbers_are_told_as_ranges_but_for_those_outside() -> None:
    measured = {f"{short} {load}": load + 1 for short in ("W", "D") for load in LOADS}
    interval = {what: [value - 0.1, value + 0.1] for what, value in measured.items()}
    row = {"verdict": "differs", "measured": measured, "interval": interval, "outside": ["D 0.9"]}
    assert numbers_text(row) == (
        "W 0.2 to 0.9: 1.20 to 1.90 (± 0.10 at most); "
        "D 0.2 to 0.8: 1.20 to 1.80 (± 0.10 at most); D 0.9: **1.90 ± 0.10**"
    )


def test_a_few_numbers_are_told_one_by_one() -> None:
    measured = {"WS at 0.8": 2.0, "WS at 0.2": 1.0, "DM at 0.2, k 4": 3.0, "DM at 0.8, k 6": 4.0}
    row = {
        "verdict": "differs",
        "measured": measured,
        "interval": dict.fromkeys(measured),
        "outside": ["WS at 0.8"],
    }
    assert numbers_text(row) == "WS at 0.8, 0.2: **2**, 1; DM at 0.2, k 4: 3; DM at 0.8, k 6: 4"
    alone = {"measured": 0.5, "interval": None}
    assert numbers_text(alone | {"verdict": "differs"}) == "**0.5**"
    assert numbers_text(alone | {"verdict": "holds"}) == "0.5"


def test_what_a_cell_cannot_hold_is_counted_and_what_is_outside_named() -> None:
    schemes = ("DCQCN", "HPCC", "IRN", "Swift", "TIMELY")
    measured = {f"quite a long name, {scheme}": 1.0 for scheme in schemes}
    row = {"verdict": "holds", "measured": measured, "interval": dict.fromkeys(measured)}
    assert numbers_text(row) == "all 5 in their bands"
    some = numbers_text(row | {"verdict": "differs", "outside": [*measured][:2]})
    assert some == ("3 of 5 in their bands; quite a long name, DCQCN: **1**; quite a long name, HPCC: **1**")
    every = numbers_text(row | {"verdict": "differs", "outside": [*measured]})
    assert every.endswith("quite a long name, HPCC: **1**; and 3 more")
    assert len(every) <= tables.CHARACTERS_OF_A_CELL


def test_new_texts_reach_the_committed_verdicts_and_numbers_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = accepted(tmp_path)
    before = json.loads(committed.read_text())
    claims = [replace(claim, band="another", explanation="counted twice") for claim in PAPER.claims]
    monkeypatch.setitem(
        reproduce.PAPERS, "toy", PaperEntry("A toy paper", lambda: replace(PAPER, claims=tuple(claims)))
    )
    monkeypatch.setattr(sys, "argv", ["tables", "toy"])
    tables.main()
    after = json.loads(committed.read_text())
    reasons = [None, "counted twice", "the paper does not give its buffer size"]
    assert [row.get("reason") for row in after["claims"]] == reasons
    assert {row["band"] for row in after["claims"]} == {"another"}
    assert "- **T2.** counted twice" in tables.readme_of("toy").read_text()
    for old, new in zip(before["claims"], after["claims"], strict=True):
        assert list(old) == list(new)
        assert {**old, "band": 0, "reason": 0} == {**new, "band": 0, "reason": 0}


def test_a_table_needs_both_marks() -> None:
    with pytest.raises(PacketloomError, match="put these two lines"):
        with_table(f"{END} {BEGIN}", "table", Path("README.md"))


def test_the_command_exits_with_1_when_a_verdict_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = accepted(tmp_path)
    monkeypatch.setattr(sys, "argv", ["packetloom", "reproduce", "toy", "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as same:
        main()
    assert same.value.code == 0
    committed.write_text(committed.read_text().replace('"verdict": "differs"', '"verdict": "holds"'))
    with pytest.raises(SystemExit) as another:
        main()
    assert another.value.code == 1
    assert "T2: holds is committed, differs today" in capsys.readouterr().out


@pytest.mark.parametrize("paper", [*PAPERS])
def test_every_paper_has_committed_verdicts_and_its_readme_their_table(
    paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    committed = committed_verdicts(paper, "quick")
    assert committed is not None
    assert [row["id"] for row in committed] == [claim.id for claim in find_paper(paper).claims]
    assert readme_of(paper).read_text() == readme_with_table(paper), "python -m packetloom.reproduce.tables"
    for row, claim in zip(committed, find_paper(paper).claims, strict=True):
        assert with_texts(row, claim) == row, "python -m packetloom.reproduce.tables"
        assert row["verdict"] != "not comparable" or row["reason"].endswith(claim.choices)
    for scale in get_args(Scale):
        file = committed_file(paper, scale)
        rows = {row["id"]: row for row in file.claims} if file and not file.stale else {}
        for claim in find_paper(paper).claims:
            if claim.id in rows:
                assert "|" not in with_numbers(claim.explanation, dict(numbers_of(rows[claim.id])), claim.id)
    link = readme_of(paper).with_name("verdicts")
    assert link.is_symlink()
    assert link.resolve() == verdicts_file(paper, "quick").parent


@pytest.mark.parametrize("paper", [*PAPERS])
def test_committed_verdicts_are_of_this_code_or_say_that_they_are_not(
    paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    for scale in get_args(Scale):
        committed = committed_file(paper, scale)
        if committed is None or committed.stale:
            assert committed or scale == "full", "quick verdicts are committed for every paper"
            continue
        assert stale(committed, fingerprints.fingerprints(paper, scale)) == [], (
            f"make verdicts PAPERS={paper} SCALE={scale} ACCEPT=1 redoes these; make stale MARK=1 says so on their face"
        )


@pytest.mark.parametrize("paper", [*PAPERS])
def test_every_number_that_decides_has_its_band(paper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for scale in get_args(Scale):
        committed = committed_file(paper, scale)
        if committed is None or committed.stale:
            continue
        for row in committed.claims:
            measured, bands = row["measured"], row["bands"]
            pairs = [(measured[name], bands[name]) for name in measured] if isinstance(measured, dict) else []
            pairs += [] if measured is None or isinstance(measured, dict) else [(measured, bands)]
            holds = all((low is None or low <= one) and (high is None or one <= high) for one, (low, high) in pairs)
            assert row["verdict"] == ("not comparable" if not pairs else "holds" if holds else "differs"), row["id"]
