"""A tuning: it proposes, runs and judges, goes on where it was, and says what is wrong with what it is asked."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import packetloom
from packetloom.cli.main import main
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.plan import read_plan
from packetloom.store.results import Results
from packetloom.tuning import goal, outcome, ranges, space, statistic
from packetloom.tuning.goal import Measured
from packetloom.tuning.ranges import Choices, Range
from packetloom.tuning.sampler import Importance, Sampler
from packetloom.tuning.space import Sample
from packetloom.tuning.telling import print_tuning

pytestmark = pytest.mark.unaudited

MARK = "scheme.DCTCP.queue.mark_above"


def incast() -> dict[str, Any]:
    """Hosts that send to one of them: the higher the threshold, the longer DCTCP's queue."""
    return {
        "topology": {"kind": "rack", "hosts": 10, "link": {"rate": "10Gbps", "delay": "1us"}},
        "workload": [
            {
                "sizes": {"kind": "uniform", "minimum": "20KB", "maximum": "400KB"},
                "arrivals": {"kind": "poisson", "rate_per_second": 4000},
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": 8},
            }
        ],
        "scheme": [
            {
                "name": "DCTCP",
                "transport": "dctcp",
                "queue": {"kind": "ecn", "capacity": "300KB", "mark_above": "200KB"},
            },
            {"name": "TCP", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": "300KB"}},
        ],
        "run": {"flows": 40, "seeds": 2},
        "measure": {"queues": True},
    }


def tuned(folder: Path | None, **changes: Any) -> packetloom.Tuning:
    given: dict[str, Any] = {"minimise": "ports.queue_mean_bytes.max", "trials": 6, "together": 4, "held_out": 4}
    given |= {"vary": {MARK: "3KB..200KB:log"}, "output": folder, "progress": False}
    given |= changes
    return packetloom.tune(incast(), given.pop("vary"), **given)


def test_a_range_is_read_as_it_is_written() -> None:
    for text, alike in (("50Mbps..2Gbps:log", "50Mbps..2000Mbps:log"), ("0.5us..1ms", "0.5us..1000us")):
        assert ranges.parse(f"a.b={text}") == ranges.parse(f"a.b={alike}"), "ends have the unit of the first"
    one = ranges.parse("scheme.A.queue.mark_above=10KB..400KB:log")
    assert one == Range("scheme.A.queue.mark_above", 10, 400, "KB", True, False)
    assert one.text == "scheme.A.queue.mark_above=10KB..400KB:log"
    assert one.ends == ('"10KB"', '"400KB"')
    assert one.value_text(37.2918) == '"37.3KB"'
    assert one.value_text(9.99) == '"10KB"'
    assert ranges.parse("a.b=1..80").value_text(41.0) == "41"
    assert ranges.parse("a.b=10..20us").value_text(12.34567) == '"12.35us"'
    assert ranges.parse("a.gain=0.001..0.5:log").value_text(0.00390625) == "0.00391"
    assert ranges.parse("a.b=one | 2") == Choices("a.b", ("one", "2"))
    assert ranges.parse("a.b=one|2").ends == ('"one"', "2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b", "write it as KEY="),
        ("=1..2", "write it as KEY="),
        ("a.b=1..", "write it as KEY="),
        ("a.b=one", "write it as KEY="),
        ("a.b=2..1", "the smaller end first"),
        ("a.b=1..1", "the smaller end first"),
        ("a.b=1KB..1us", "write both in one"),
        ("a.b=1KiB..1MB", "write both in one"),
        ("a.b=0..1.5:log", "begins above 0"),
        ("a.b=1e999..1e1000", "the smaller end first"),
        ("a.b=one|one", "twice"),
        ("a.b=" + "9" * 5000, "write it as KEY="),
    ],
)
def test_a_range_that_is_none_is_told(text: str, message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        ranges.parse(text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("flow.slowdown.p99", "did you mean 'flows'"),
        ("flows.slowdwon.p99", "did you mean 'slowdown'"),
        ("flows.slowdown", "end it with one of mean"),
        ("flows.slowdown.p199", "end it with one of mean"),
        ("cases.drop", "did you mean 'drops'"),
        ("cases.version", "no column of numbers"),
        ("ports.queue_max_bytes.max@..1KB", "only flows have sizes"),
        ("flows.slowdown.p99@", "write the sizes as"),
        ("flows.slowdown.p99@2KB..1KB", "write the sizes as"),
        ("", "there is no table"),
    ],
)
def test_a_statistic_that_is_none_is_told(name: str, message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        statistic.parse(name)


def test_statistics_are_those_of_the_tables(tmp_path: Path) -> None:
    results = packetloom.run(incast(), tmp_path, progress=False)
    row, flows = next(results.partitions("flows"))
    slowdown = [one for one in flows["slowdown"].to_pylist() if not math.isnan(one)]
    sizes = flows["size_bytes"].to_pylist()
    assert statistic.parse("flows.slowdown.mean").of(results, row) == pytest.approx(sum(slowdown) / len(slowdown))
    assert statistic.parse("flows.slowdown.max").of(results, row) == max(slowdown)
    assert statistic.parse("flows.size_bytes.sum@..100KB").of(results, row) == sum(one for one in sizes if one <= 1e5)
    assert statistic.parse("flows.size_bytes.min@100KB..").of(results, row) == min(one for one in sizes if one > 1e5)
    assert statistic.parse("cases.marks").of(results, row) == row.counters["marks"]
    assert statistic.parse("cases.slowdown_p99.9").of(results, row) == row.counters["slowdown_p99.9"]
    assert statistic.parse("jobs.jct_ns.mean").of(results, row) is None


def test_flows_that_give_up_are_not_fast() -> None:
    sought = goal.goal_of("flows.slowdown.mean", None, ["cases.drops<=2"])
    sample: Sample = ("A", None, 1)
    own = {sample: Measured(2.0, 0.0, 0.1)}
    assert goal.loss(sought, {sample: Measured(3.0, 0.0, 0.1)}, {sample: 2.0}) == pytest.approx(0.5)
    assert goal.violation({sample: Measured(1.0, 0.0, 0.3)}, own, 0.01) == pytest.approx(0.19)
    assert goal.violation({sample: Measured(1.0, 0.0, 0.105)}, own, 0.01) == 0
    (need,) = sought.requirements
    assert (need.violation(2.0), need.violation(3.0), need.violation(None)) == (0.0, 0.5, math.inf)
    most = goal.goal_of(None, "flows.goodput_gbps.mean", [])
    assert goal.loss(most, {sample: Measured(3.0, 0.0, 0.1)}, {sample: 2.0}) == pytest.approx(-0.5)
    # Beside an own value of 0 no ratio can be had.
    assert goal.loss(sought, {sample: Measured(3.0, 0.0, 0.1)}, {sample: 0.0}) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("factor", "is_least", "verdict"),
    [(0.8, True, "better"), (0.8, False, "worse"), (1.25, True, "worse"), (0.995, True, "alike")],
)
def test_a_verdict_takes_more_than_chance_and_a_hundredth(factor: float, is_least: bool, verdict: str) -> None:
    name = "flows.slowdown.mean"
    sought = goal.goal_of(name, None, []) if is_least else goal.goal_of(None, name, [])
    own: dict[Sample, Measured] = {("A", None, seed): Measured(1.0 + 0.1 * seed, 0, 0) for seed in range(5)}
    other = {sample: Measured((one.value or 0) * (factor + 0.001 * sample[2]), 0, 0) for sample, one in own.items()}
    (judged,) = outcome.judge(sought, own, other, 0.01)
    assert judged.verdict == verdict
    # One seed that says the contrary: then nothing is told.
    noisy = {sample: Measured((one.value or 0) * 1.5 ** (-1) ** sample[2], 0, 0) for sample, one in own.items()}
    assert outcome.judge(sought, own, noisy, 0.01)[0].verdict == "alike"


def test_importances_are_corrected_for_their_number() -> None:
    found = outcome.corrected([Importance("a", 0.9, 0.5, 1.0, 0.01), Importance("b", 0.1, 0.0, 0.4, 0.03)])
    assert [(one.p, one.is_told) for one in found] == [(0.02, True), (0.03, True)]
    found = outcome.corrected([Importance("a", 0.9, 0.5, 1.0, 0.03), Importance("b", 0.1, 0.0, 0.4, 0.3)])
    assert [(one.p, one.is_told) for one in found] == [(0.06, False), (0.3, False)]


def test_what_can_not_be_tuned_is_told() -> None:
    def read(vary: str, **more: Any) -> space.Space:
        return space.read_space(incast() | more, (), ranges.parse_all([vary]))

    with pytest.raises(ScenarioError, match="mark_abov"):
        read("scheme.DCTCP.queue.mark_abov=3KB..200KB")
    with pytest.raises(PacketloomError, match=r"none of DCTCP, TCP"):
        read("scheme.NONE.queue.mark_above=3KB..200KB")
    with pytest.raises(ScenarioError, match="mark_above"):
        read(f"{MARK}=3us..200us")
    with pytest.raises(PacketloomError, match="makes no difference"):
        read("run.seeds=1..9")
    with pytest.raises(PacketloomError, match=r"run\.precision"):
        read(f"{MARK}=3KB..200KB", run={"flows": 40, "seeds": 2, "precision": {"within": 0.1}})
    with pytest.raises(PacketloomError, match="twice"):
        ranges.parse_all([f"{MARK}=3KB..200KB", f"{MARK}=3KB..100KB"])
    with pytest.raises(PacketloomError, match="name one statistic"):
        goal.goal_of(None, None, [])
    with pytest.raises(PacketloomError, match="--require"):
        goal.goal_of("cases.drops", None, ["cases.marks==3"])
    # One end is refused: the other, and what lies between, may be run.
    assert "alone is refused" in read("workload.0.pattern.fan_in=2..10").warnings[-1]


def test_a_point_is_the_case_that_run_would_run() -> None:
    here = space.read_space(incast(), (), ranges.parse_all([f"{MARK}=3KB..200KB"]))
    assert here.seeds == [1, 2]
    assert here.held_out(3) == [3, 4, 5]
    cases = here.cases((f'{MARK}="50KB"',))
    assert {sample[0] for sample in cases} == {"DCTCP"}  # TCP does not depend on it
    run = read_plan(incast(), [f"{MARK}=50KB"]).cases
    assert {case.id for case in cases.values()} == {case.id for case in run if case.parameters["scheme"] == "DCTCP"}


def test_without_optuna_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert command(tmp_path, monkeypatch, "--vary", f"{MARK}=3KB..200KB", "--minimise", "flows.slowdown.mean") == 2
    assert "pip install 'optuna>=4'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vary", f"{MARK}=9KB..3KB", "--minimise", "flows.slowdown.mean"], "the smaller end first"),
        (["--vary", "scheme.DCTCP.queue.mrk=3KB..9KB", "--minimise", "flows.slowdown.mean"], "mrk"),
        (["--vary", f"{MARK}=3KB..9KB", "--minimise", "flows.slowdwn.mean"], "did you mean 'slowdown'"),
        (["--vary", f"{MARK}=3KB..9KB"], "name one statistic to minimise"),
        (["--minimise", "flows.slowdown.mean"], "--vary"),
        (["--vary", f"{MARK}=3KB..9KB", "--minimise", "cases.drops", "--held-out", "1"], "--held-out"),
        (["--vary", f"{MARK}=3KB..9KB", "--minimise", "cases.drops", "--trials", "0"], "--trials"),
    ],
)
def test_mistakes_are_messages(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(tmp_path, monkeypatch, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str, document: dict[str, Any] | None = None
) -> object:
    """`packetloom tune` in a folder, and how it ends."""
    scenario = folder / "incast.json"
    scenario.write_text(json.dumps(document or incast()))
    monkeypatch.setattr(sys, "argv", ["packetloom", "tune", str(scenario), "-o", str(folder / "out"), *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optuna: Any) -> None:
    asked = ["--vary", f"{MARK}=3KB..200KB:log", "--minimise", "ports.queue_mean_bytes.max"]
    assert not command(tmp_path, monkeypatch, *asked, "--trials", "4", "--held-out", "3")
    page = (tmp_path / "out" / "tuning.html").read_text()
    assert "incast: tuned for the least ports.queue_mean_bytes.max" in page
    held_out, mattered = page.split("What mattered</h2>")
    assert "on the seeds 3 to 5" in held_out
    assert "run.alike" in held_out
    assert "One key varied" in mattered
    assert mattered.count("<tr") == 5  # a head, and each point


def test_the_best_point_of_runs_that_drift_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optuna: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    overloaded = incast()
    overloaded["workload"][0]["arrivals"]["rate_per_second"] = 12_000
    overloaded["run"]["flows"] = 1_000
    asked = [
        "--vary",
        f"{MARK}=3KB..200KB:log",
        "--minimise",
        "flows.slowdown.mean",
        "--trials",
        "2",
        "--held-out",
        "2",
    ]
    assert not command(tmp_path, monkeypatch, *asked, document=overloaded)
    assert "warning: Not steady: under DCTCP" in capsys.readouterr().err
    assert "Not steady: under DCTCP" in (tmp_path / "out" / "tuning.html").read_text()


@pytest.fixture
def optuna() -> Any:
    """It need not be there."""
    return pytest.importorskip("optuna", reason="a tuning needs Optuna")


class TestWithOptuna:
    """What takes it."""

    pytestmark = pytest.mark.usefixtures("optuna")

    def test_it_finds_what_is_better_and_says_so(self, tmp_path: Path) -> None:
        found = tuned(tmp_path)
        assert len(found.points) == 6
        assert found.best is not None
        assert found.held_out_seeds == (3, 4, 5, 6)
        (judged,) = found.judged
        assert (judged.label, judged.verdict) == ("DCTCP", "better")
        assert judged.tuned < judged.own
        assert judged.comparison.high is not None
        assert judged.comparison.high < 1
        assert found.importances == ()  # of one key there is nothing to tell
        # Every point and the scenario's own values, each with both seeds; and a folder like any other.
        assert len(Results(tmp_path).rows()) == 2 * 7
        assert found.held_out is not None
        assert len(Results(found.held_out).rows()) == 2 * 4
        json.dumps(found.to_dict())

    def test_the_same_seed_proposes_the_same(self, tmp_path: Path) -> None:
        one, other = tuned(tmp_path / "one", workers=1), tuned(tmp_path / "other", workers=2)
        assert one.points == other.points
        assert one.judged == other.judged
        third = tuned(tmp_path / "third", sampler_seed=2)
        assert [point.settings for point in third.points] != [point.settings for point in one.points]

    def test_it_goes_on_where_it_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PACKETLOOM_CACHE", "off")
        whole = tuned(tmp_path / "whole", trials=10)
        tuned(tmp_path / "part", trials=6)  # it ends within a round
        part = tmp_path / "part"
        kept = {file.name: file.stat().st_mtime_ns for file in (part / "flows.parquet").iterdir()}
        lost = sorted(kept)[-1]
        (part / "flows.parquet" / lost).unlink()  # as if it had been killed before that was written
        (part / "cases.parquet").unlink()
        again = tuned(part, trials=10)
        assert again.points == whole.points
        assert again.judged == whole.judged
        now = {file.name: file.stat().st_mtime_ns for file in (part / "flows.parquet").iterdir()}
        assert {name: time for name, time in now.items() if name in kept and name != lost} == {
            name: time for name, time in kept.items() if name != lost
        }
        with pytest.raises(PacketloomError, match="holds another tuning: its vary"):
            tuned(part, vary={MARK: "3KB..100KB"})
        with pytest.raises(PacketloomError, match="holds another tuning: its sampler_seed"):
            tuned(part, sampler_seed=7)
        (part / "tuning.json").write_text("{}")
        with pytest.raises(PacketloomError, match="is damaged"):
            tuned(part)

    def test_what_is_required_bounds_the_choice(self, tmp_path: Path) -> None:
        found = tuned(tmp_path, require=["cases.marks>=1e9"])
        assert (found.best, found.judged) == (None, ())
        assert all(point.violation > 0 and not point.is_allowed for point in found.points)

    def test_points_that_are_no_scenario_are_counted(self, tmp_path: Path) -> None:
        # Of 9 senders and a receiver there are ten hosts; more are refused.
        with pytest.warns(packetloom.ScenarioWarning, match="alone is refused"):
            found = tuned(tmp_path, vary={"workload.0.pattern.fan_in": "4..60"}, minimise="flows.slowdown.mean")
        refused = [point for point in found.points if point.refusal]
        assert refused
        assert "fan_in" in refused[0].refusal
        assert all(point.loss is None and not point.is_allowed for point in refused)

    def test_what_mattered_is_told_with_how_sure_it_is(self, tmp_path: Path) -> None:
        vary = {MARK: "3KB..200KB:log", "scheme.DCTCP.transport.min_rto": "1ms..2ms"}
        found = tuned(tmp_path, vary=vary, trials=24, together=12)
        marks, timeout = found.importances
        assert (marks.key, timeout.key) == (MARK, "scheme.DCTCP.transport.min_rto")
        assert marks.is_told
        assert not timeout.is_told
        assert marks.share + timeout.share == pytest.approx(1)
        assert 0 <= marks.low <= marks.share <= marks.high <= 1

    def test_the_command_tells(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = tmp_path / "found.json"
        options = ["--vary", f"{MARK}=3KB..200KB:log", "--minimize", "ports.queue_mean_bytes.max", "--json", str(found)]
        options += ["--trials", "4", "--together", "4", "--held-out", "3"]
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        assert command(tmp_path, monkeypatch, *options) in (0, None)
        said = capsys.readouterr()
        assert "better" in said.out
        assert "--set 'scheme.DCTCP.queue.mark_above=" in said.out
        assert "points 1 to 4 of 4" in said.err
        # The scenario's own values and four points with two seeds each, and two points with three.
        assert re.match(r"cost of the 16 cases to run: about .* of processor time", said.err), "before a person waits"
        assert json.loads(found.read_text())["judged"][0]["verdict"] == "better"
        assert command(tmp_path, monkeypatch, *options) in (0, None)
        assert "cost of" not in capsys.readouterr().err, "all of it is there"

    def test_a_point_that_is_not_better_is_not_recommended(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = tuned(tmp_path, trials=2, together=2)
        print_tuning(found, ())
        assert "keep those" not in capsys.readouterr().out
        judged = [replace(one, own=2e7, tuned=3e7, verdict="worse") for one in found.judged]
        print_tuning(replace(found, goal="the least iterations.jct_ns.mean", judged=tuple(judged)), ())
        told = capsys.readouterr().out
        assert "20.00 ms" in told
        assert "Nowhere is it shown to be better than the scenario's own values: keep those." in told

    def test_another_optuna_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tuned(tmp_path, trials=1, together=1)
        monkeypatch.setattr(Sampler, "version", "0.1")
        with pytest.raises(PacketloomError, match="its optuna is"):
            tuned(tmp_path, trials=1, together=1)
