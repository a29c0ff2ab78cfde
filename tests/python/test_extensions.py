"""A precision makes runs longer until they are steady, all schemes under the same traffic alike; then it adds seeds."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import packetloom
from packetloom import _core
from packetloom.campaign.combine import combine
from packetloom.campaign.progress import SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.campaign.schedule import Judgement, Schedule, Shard
from packetloom.errors import Interrupted, PacketloomError
from packetloom.scenario.plan import Plan, read_plan
from packetloom.scenario.run_lengths import first_round, planned, said_of_more
from packetloom.store.case_files import CaseFiles
from packetloom.store.case_rows import PARTITIONED, CaseRow
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

FLOWS = 150
SCENARIO = f"""\
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = {{ kind = "constant", size = "15KB" }}

[[scheme]]
name = "TCP"
transport = "tcp"
queue = {{ kind = "drop-tail", capacity = "225KB" }}

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = "ecn"

[run]
loads = [0.3, 0.6]
seeds = 2
flows = {FLOWS}
precision = {{ statistic = "mean", within = 0.02, max_seeds = 6, max_extensions = 2 }}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    file = tmp_path_factory.mktemp("scenario") / "longer.toml"
    file.write_text(SCENARIO)
    return read_plan(file)


class Notes(SilentReporter):
    """Keeps what is said at the end; stops the campaign once so many cases are finished."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.notes: Sequence[str] = ()
        self.finished_cases = 0
        self._stop_after = stop_after

    def finished(self, row: CaseRow) -> None:
        self.finished_cases += 1
        if self.finished_cases >= self._stop_after:
            raise Interrupted

    def close(self, notes: Sequence[str]) -> None:
        self.notes = notes


@pytest.fixture(scope="module")
def through(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Notes]:
    """The campaign in one go."""
    notes = Notes()
    return run_plan(plan, tmp_path_factory.mktemp("through") / "out", 2, notes, cache=False), notes


def lengths(results: Results) -> dict[float, set[int]]:
    """The flows of the cases at each load."""
    found: dict[float, set[int]] = {}
    for row in results.rows():
        found.setdefault(row.load or 0.0, set()).add(int(row.counters["flows_started"]))
    return found


def files(folder: Path) -> set[str]:
    return {file.stem for table in PARTITIONED.values() for file in (folder / table).glob("*.parquet")}


def same(results: Results, other: Results) -> bool:
    return [(row.case_id, row.fingerprint) for row in results.rows()] == [
        (row.case_id, row.fingerprint) for row in other.rows()
    ]


def run_by_hand(schedule: Schedule, mean: float = 2.0) -> list[tuple[str, float, int, int]]:
    """Finishes all that is asked for: of each case its scheme, load, seed and flows, in that order."""
    taken = []
    while schedule.waiting:
        case = schedule.take()
        scheme, load, seed = (case.parameters[name] for name in ("scheme", "load", "seed"))
        taken.append((str(scheme), float(load or 0), int(seed or 0), json.loads(case.json)["run"]["flows"]))
        schedule.finish(CaseRow(case.id, case.parameters, {"slowdown_mean": mean}, "", "", ()))
    return taken


def judged(steady_from: dict[float, int]) -> tuple[list[tuple[float, int]], object]:
    """A judge who calls cases at a load steady from so many flows on, and what it was asked."""
    asked: list[tuple[float, int]] = []

    def judge(cases: Sequence[_core.Case]) -> Judgement:
        loads = {float(case.parameters["load"] or 0) for case in cases}
        flows = {json.loads(case.json)["run"]["flows"] for case in cases}
        assert len(loads) == len(flows) == 1, "all schemes under the same traffic together"
        assert len(cases) == 4, "two schemes, two seeds"
        asked.append((loads.pop(), flows.pop()))
        return Judgement(() if asked[-1][1] >= steady_from[asked[-1][0]] else ("DCTCP: drifting",))

    return asked, judge


def test_all_schemes_under_the_same_traffic_run_for_twice_as_long_until_they_are_steady(plan: Plan) -> None:
    asked, judge = judged({0.3: FLOWS, 0.6: 4 * FLOWS})
    schedule = Schedule(plan, None, {}, judge)  # type: ignore[arg-type]
    taken = run_by_hand(schedule)
    assert asked == [(0.3, FLOWS), (0.6, FLOWS), (0.6, 2 * FLOWS), (0.6, 4 * FLOWS)]
    assert len(taken) == 4 + 3 * 4
    assert schedule.lengths() == ["load 0.6: 4 times as long as written, until steady"]
    others = {(0.3, 2), (0.3, 4), (0.6, 1), (0.6, 2)}
    superseded = {case.id for case, times in planned(plan) if (case.parameters["load"], times) in others}
    assert schedule.superseded() == superseded


def test_seeds_come_after_the_length_and_at_that_length(plan: Plan) -> None:
    asked, judge = judged({0.3: 2 * FLOWS, 0.6: 10**6})
    schedule = Schedule(plan, None, {}, judge)  # type: ignore[arg-type]
    values = iter([1.0, 3.0] * 1000)
    seeds: dict[tuple[str, float, int], list[int]] = {}
    while schedule.waiting:
        case = schedule.take()
        flows = json.loads(case.json)["run"]["flows"]
        key = (str(case.parameters["scheme"]), float(case.parameters["load"] or 0), flows)
        seeds.setdefault(key, []).append(int(case.parameters["seed"] or 0))
        schedule.finish(CaseRow(case.id, case.parameters, {"slowdown_mean": next(values)}, "", "", ()))
    assert len(asked) == len(set(asked)) == 5
    for scheme in ("TCP", "DCTCP"):
        assert seeds[scheme, 0.3, FLOWS] == seeds[scheme, 0.6, FLOWS] == seeds[scheme, 0.6, 2 * FLOWS] == [1, 2]
        assert seeds[scheme, 0.3, 2 * FLOWS] == seeds[scheme, 0.6, 4 * FLOWS] == [1, 2, 3, 4, 5, 6]
    steady, not_steady = schedule.lengths()
    assert steady == "load 0.3: 2 times as long as written, until steady"
    assert not_steady == (
        "load 0.6: 4 times as long as written, and not known to be steady by the first 2 seeds (DCTCP: drifting): no "
        "more is allowed (run.precision.max_extensions)"
    )


def test_what_no_length_makes_steady_is_not_extended(plan: Plan) -> None:
    schedule = Schedule(plan, None, {}, lambda _: Judgement(("TCP: growing",), can_be_steady=False))
    assert len(run_by_hand(schedule)) == 8
    assert schedule.lengths()[0] == (
        "load 0.3: as long as written, and not known to be steady by the first 2 seeds (TCP: growing): links are "
        "offered what they carry or more, so no length is steady"
    )


def test_overloaded_links_are_known_beforehand(tmp_path: Path) -> None:
    notes = Notes()
    file = tmp_path / "overloaded.toml"
    file.write_text(SCENARIO.replace("[0.3, 0.6]", "[1.1]"))
    results = run_plan(read_plan(file), tmp_path / "out", 2, notes)
    assert lengths(results) == {1.1: {FLOWS}}
    assert "so no length is steady" in notes.notes[0]


def test_the_folder_holds_cases_of_the_length_that_was_needed_and_nothing_else(
    plan: Plan, through: tuple[Results, Notes]
) -> None:
    results, notes = through
    found = lengths(results)
    assert all(len(flows) == 1 for flows in found.values())
    assert max(max(flows) for flows in found.values()) > FLOWS, "with 150 flows nothing is known to be steady"
    for load, flows in found.items():
        times = flows.copy().pop() // FLOWS
        assert any(note.startswith(f"load {load:g}: {times} times as long as written") for note in notes.notes)
    ids = {row.case_id for row in results.rows()}
    assert files(results.path) == ids
    assert set(results.cases["case_id"].to_pylist()) == ids
    assert set(packetloom.Results(results.path).flows["case_id"].to_pylist()) == ids
    assert len(results.plan_lines()) == len(plan.cases)
    for line in results.plan_lines():
        assert {json.loads(line["case"])["run"]["flows"]} == found[line["parameters"]["load"]]


@pytest.mark.parametrize("stop_after", [3, 8, 9, 11, 16, 18])
def test_stopped_anywhere_it_goes_on_to_the_same_cases(
    plan: Plan, through: tuple[Results, Notes], tmp_path: Path, stop_after: int
) -> None:
    with pytest.raises(Interrupted):
        run_plan(plan, tmp_path / "out", 1, Notes(stop_after), cache=False)
    stopped = Results(tmp_path / "out")
    for load, flows in lengths(stopped).items():
        assert len(flows) == 1, f"lengths are never mixed, at load {load}"
    assert set(stopped.cases["case_id"].to_pylist()) <= {line["id"] for line in stopped.plan_lines()}
    resumed = run_plan(plan, tmp_path / "out", 2, Notes(), cache=False)
    assert same(resumed, through[0])
    assert files(resumed.path) == files(through[0].path)
    again = Notes()
    run_plan(plan, tmp_path / "out", 2, again, cache=False)
    assert again.finished_cases == 0
    assert again.notes == through[1].notes


def test_killed_while_the_shorter_cases_are_removed(
    plan: Plan, through: tuple[Results, Notes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(self: CaseFiles, ids: set[str]) -> None:
        for file in sorted((self.path / PARTITIONED["flows"]).glob("*.parquet"))[::2]:
            if file.stem in ids:
                file.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(CaseFiles, "remove", half)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, tmp_path / "out", 2, Notes(), cache=False)
    monkeypatch.undo()
    assert same(Results(tmp_path / "out"), through[0])
    again = Notes()
    assert same(run_plan(plan, tmp_path / "out", 2, again, cache=False), through[0])
    assert again.finished_cases == 0
    assert files(tmp_path / "out") == files(through[0].path)


def test_a_damaged_case_of_the_last_length_is_computed_again(
    plan: Plan, through: tuple[Results, Notes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(through[0].path, tmp_path / "out"))
    file = out / PARTITIONED["flows"] / f"{through[0].rows()[0].case_id}.parquet"
    file.write_bytes(file.read_bytes()[:100])
    assert same(run_plan(plan, out, 2, Notes(), cache=False), through[0])
    assert files(out) == files(through[0].path)
    assert "its case is computed again" in capsys.readouterr().err


def test_a_folder_goes_on_by_itself_and_shards_make_the_same(
    plan: Plan, through: tuple[Results, Notes], tmp_path: Path
) -> None:
    again = packetloom.run(through[0].path, through[0].path, progress=False)
    assert same(again, through[0])
    shards = [tmp_path / f"shard{index}" for index in (1, 2)]
    for index, shard in enumerate(shards, 1):
        run_plan(plan, shard, 1, Notes(), shard=Shard(index, 2), cache=False)
    combined, missing = combine(shards, tmp_path / "combined")
    assert missing == 0
    assert same(combined, through[0])


def test_combined_half_way_it_lacks_no_decision(plan: Plan, through: tuple[Results, Notes], tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run_plan(plan, tmp_path / "one", 1, Notes(10), shard=Shard(1, 2), cache=False)
    run_plan(plan, tmp_path / "two", 1, Notes(), shard=Shard(2, 2), cache=False)
    combined, missing = combine([tmp_path / "one", tmp_path / "two"], tmp_path / "combined")
    assert missing > 0
    assert all(len(flows) == 1 for flows in lengths(combined).values())
    assert same(run_plan(plan, tmp_path / "combined", 2, Notes(), cache=False), through[0])


def test_the_cache_has_shorter_cases_too(
    plan: Plan, through: tuple[Results, Notes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    run_plan(plan, tmp_path / "one", 2, Notes())
    simulated: list[str] = []
    monkeypatch.setattr("packetloom.campaign.executor.simulation_of", lambda case: simulated.append(case.id))
    assert same(run_plan(plan, tmp_path / "two", 2, Notes()), through[0])
    assert simulated == []


def test_a_scenario_without_the_precision_is_another(through: tuple[Results, Notes], tmp_path: Path) -> None:
    out = Path(shutil.copytree(through[0].path, tmp_path / "out"))
    file = tmp_path / "shorter.toml"
    file.write_text(SCENARIO.replace(", max_extensions = 2", ", max_extensions = 0"))
    with pytest.raises(PacketloomError, match="holds the results of another scenario"):
        run_plan(read_plan(file), out, 2, Notes())


def test_extensions_that_change_nothing_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "at-once.toml"
    at_once = SCENARIO.replace("[[scheme]]", 'arrivals = "at-once"\n\n[[scheme]]', 1)
    at_once = at_once.replace("loads = [0.3, 0.6]\n", "").replace(f"flows = {FLOWS}\n", "")
    file.write_text(at_once)
    warned = [line for line in read_plan(file).warnings if "max_extensions" in line]
    assert len(warned) == 1
    assert "changes nothing: no flows start by the clock" in warned[0]
    file.write_text(at_once.replace(", max_extensions = 2", ""))
    assert not [line for line in read_plan(file).warnings if "max_extensions" in line]


def test_what_it_may_come_to_is_said_before(tmp_path: Path, plan: Plan) -> None:
    assert len(first_round(plan)) == 8
    (more,) = said_of_more(plan)
    assert more == (
        "run.precision may ask for more: runs of up to 4 times that length until they are steady, then up to 6 seeds "
        "for each scheme and point of the grid"
    )


def test_a_page_says_which_runs_are_longer(through: tuple[Results, Notes], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    packetloom.report(through[0], page)
    told = (
        "Runs are longer than written, as run.precision asks until they are steady: load 0.3, 2 times as long; load 0.6"
    )
    assert told in page.read_text()
