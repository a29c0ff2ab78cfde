"""`packetloom new`: all that it can write passes `check`, fits the schema and can be simulated; the rest is refused."""

import itertools
import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import commands
import packetloom
from packetloom import _core
from packetloom.cli.main import main
from packetloom.errors import PacketloomError
from packetloom.new import choices
from packetloom.new.command import write_scenario
from packetloom.new.fabrics import FABRICS
from packetloom.new.questions import ask_all
from packetloom.new.recipes import ALIASES, OPTIONS, RECIPES
from packetloom.new.text import FLOWS, Answers, scenario_text
from packetloom.scenario import confounders
from packetloom.scenario.facts import facts
from packetloom.scenario.plan import plan_from_text, read_plan
from packetloom.stats.steadiness.diagnosis import diagnosed
from packetloom.stats.summary import ALL_SIZES

pytestmark = pytest.mark.unaudited

JOBS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "training",
    "moe",
    "kv-cache",
    "perftest",
    "serving",
)
"""What has messages wait for others, and requests, whose messages do, too."""
WITHOUT_JOBS = ("ideal", "max-min", "syn", "asy")
OF_ONE_LINK = {
    "flowtune",
    "fastpass",
    "dcpim",
    "expresspass",
    "rcp",
    "d3",
    "pdq",
    "daq",
    "numfabric",
    "ideal",
    "max-min",
    "asy",
}
"""What knows of one link at each host, and accelerators have one to their server's others, too."""
SCHEMA = jsonschema.Draft202012Validator(json.loads(_core.schema()))
ROOT = Path(__file__).parents[2]
HELD: set[str] = set()
RATES = ("1Gbps", "100Gbps", "400Gbps")
FEW = ("web-search", "permutation", "incast", "all-reduce", "serving")


def go_together(fabric: str, workload: str, scheme: str) -> bool:
    """Flow-level models and controllers run no jobs, and SYN's controller knows leaves and spines only."""
    if workload in JOBS and scheme in WITHOUT_JOBS:
        return False
    if scheme == "syn":
        return fabric in ("leaf-spine", "rack")
    return fabric != "rail-optimised" or scheme not in OF_ONE_LINK


def answers(fabric: str, workload: str, schemes: list[str], rate: str = "10Gbps") -> Answers:
    loads = [0.5] if choices.workloads()[workload].loads else None
    return Answers(fabric=fabric, workload=workload, schemes=schemes, loads=loads, seeds=1, rate=rate)


def compatible(fabric: str, workload: str) -> list[str]:
    return [scheme for scheme in RECIPES if go_together(fabric, workload, scheme)]


def fits_the_schema(document: dict[str, Any]) -> None:
    """A scheme that has been held to it is left out: what it may hold does not depend on the rest."""
    new = [scheme for scheme in document["scheme"] if json.dumps(scheme) not in HELD]
    SCHEMA.validate({**document, "scheme": new or document["scheme"][:1]})
    HELD.update(map(json.dumps, new))


@pytest.mark.parametrize("fabric", FABRICS)
def test_every_combination_passes_check_and_fits_the_schema(fabric: str) -> None:
    distributions = _core.distributions()
    others = [name for name in choices.workloads() if name not in distributions]
    asked = [answers(fabric, name, ["tcp", "dctcp", "line-rate"]) for name in distributions]
    whole = answers(fabric, "web-search", compatible(fabric, "web-search"))
    asked += [whole, *(answers(fabric, name, compatible(fabric, name)) for name in others)]
    asked += [answers(fabric, "web-search", compatible(fabric, "web-search"), rate) for rate in RATES]
    for one in asked:
        text = scenario_text(one.checked(), "new.toml")
        plan = plan_from_text(text, "toml", "new.toml", ())
        assert plan.warnings == ()
        assert facts(plan.cases if one is whole else plan.cases[:3])
        fits_the_schema(tomllib.loads(text))
        assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("workload", ["web-search", "all-reduce"])
def test_every_scheme_can_be_begun(fabric: str, workload: str, tmp_path: Path) -> None:
    schemes = compatible(fabric, workload)
    said = write_scenario(tmp_path / "new.toml", answers(fabric, workload, schemes))
    cases = read_plan(tmp_path / "new.toml").cases
    assert said[0].endswith(f"new.toml: {len(cases)} case{'s' * (len(cases) != 1)}")
    assert {case.parameters["scheme"] for case in cases} == {RECIPES[scheme].label for scheme in schemes}


@pytest.mark.parametrize(
    ("fabric", "workload", "scheme"),
    [
        (fabric, workload, scheme)
        for fabric, workload, scheme in itertools.product(FABRICS, FEW, RECIPES)
        if not go_together(fabric, workload, scheme)
    ],
)
def test_what_does_not_go_together_is_not_written(fabric: str, workload: str, scheme: str, tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="these do not go together"):
        write_scenario(tmp_path / "new.toml", answers(fabric, workload, [scheme]))
    assert not (tmp_path / "new.toml").exists()


def test_topologies_that_cannot_be_chosen_are_named() -> None:
    text = scenario_text(Answers(fabric="rack"), "x.toml")
    kinds = {entry["kind"] for entry in json.loads(_core.registry()) if entry["section"] == "topology"}
    said = " ".join(text.partition("[topology]")[2].partition("kind =")[0].replace("#", "").split())
    assert all(kind in said for kind in kinds - {"rack"})


def test_every_transport_has_a_recipe() -> None:
    kinds = {entry["kind"] for entry in json.loads(_core.registry()) if entry["section"] == "transport"}
    own = {kind for kind in kinds if kind.startswith("python")}
    assert kinds - own == set(RECIPES), "add the transport to python/packetloom/new/recipes.py"


@pytest.mark.parametrize("workload", ["web-search", "incast", "all-reduce"])
def test_what_is_written_runs_at_once(workload: str, tmp_path: Path) -> None:
    schemes = compatible("rack", workload)
    file = tmp_path / "new.toml"
    write_scenario(file, answers("rack", workload, schemes))
    small = ["run.flows=30"] if workload == "web-search" else []
    small += ['workload.0.arrivals.size="200KB"'] if workload == "all-reduce" else []
    small += ['run.duration="6ms"'] if workload == "incast" else []
    results = packetloom.run(file, tmp_path / "out", overrides=small, progress=False)
    started = results.to_polars("cases")
    assert started["flows_started"].min() == started.filter(stalled=0)["flows_finished"].min()
    assert set(started["scheme"]) == {RECIPES[scheme].label for scheme in schemes}
    assert started["flows_finished"].to_list() == started["flows_started"].to_list()


@pytest.mark.parametrize(
    ("workload", "oversubscription", "flows", "said"),
    [
        ("web-search", (), 3300, "long enough to be steady, as far as sizes and loads tell; the run tests it"),
        ("homa_W4_fb_hadoop_all", (), 15000, "long enough to be steady, as far as sizes and loads tell"),
        ("data-mining", (), FLOWS, "too few to be steady, which takes 25000"),
        ("web-search", (4.0,), FLOWS, "no number is steady in every case here"),
    ],
)
def test_it_has_flows_enough_or_says_that_it_has_not(
    workload: str, oversubscription: tuple[float, ...], flows: int, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "new.toml"
    write_scenario(file, Answers(workload=workload, schemes=["dctcp"], oversubscription=oversubscription))
    (line,) = [line for line in file.read_text().splitlines() if line.startswith("flows = ")]
    assert line.startswith(f"flows = {flows} # {said}")
    facts_of_it = [fact for fact in facts(read_plan(file).cases) if "steady" in fact]
    has_room = all("steady if 99 %" in fact and "has room" not in fact for fact in facts_of_it)
    assert has_room == said.startswith("long enough to be steady")


def test_what_it_writes_is_what_a_run_calls_long_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of TCP, too, whose flows wait for timeouts. A size of flows that is rare may take longer, which its line says."""
    monkeypatch.chdir(tmp_path)
    Path("sizes.csv").write_text("1000,0.5\n20000,0.8\n200000,0.97\n1000000,1\n")
    write_scenario(Path("new.toml"), Answers(workload="sizes.csv", schemes=["tcp"], loads=[0.5], seeds=2))
    results = packetloom.run("new.toml", "out", progress=False)
    (whole,) = [one for one in diagnosed(results) if one.bin == ALL_SIZES]
    assert not whole.is_short


@pytest.mark.parametrize(
    ("fabric", "rate", "expected"),
    [
        ("leaf-spine", "1Gbps", {"d3"}),  # its routers' rtt is their constant
        ("leaf-spine", "10Gbps", set()),
        ("rack", "10Gbps", set()),
        ("leaf-spine", "100Gbps", set()),
        ("leaf-spine", "400Gbps", {"daq"}),  # its rounds of allotments are longer than a flow alone can use
    ],
)
def test_a_flow_alone_uses_its_links_under_every_scheme(
    fabric: str, rate: str, expected: set[str], tmp_path: Path
) -> None:
    """Homa's windows were those of its authors' 10 Gb/s: a flow alone took ten times what its links need at 100."""
    slow: set[str] = set()
    warnings: dict[str, tuple[str, ...]] = {}
    for kind in [*RECIPES, *OPTIONS]:
        write_scenario(tmp_path / f"{kind}.toml", Answers(fabric=fabric, schemes=[kind], rate=rate, flows=10))
        plan = read_plan(tmp_path / f"{kind}.toml")
        slow |= {kind} if plan.cases[0].slow_alone else set()
        warnings |= {kind: plan.warnings} if plan.warnings else {}
    assert (slow, warnings) == (expected, {})


@pytest.mark.parametrize("rate", ["9" * 400 + "Gbps", "0Gbps", "10"])
def test_a_rate_that_no_link_has(rate: str) -> None:
    with pytest.raises(PacketloomError, match="write a rate with its unit"):
        choices.gbps("--rate", rate)


SIZES = "1000,0.5\n20000,0.9\n1000000,1\n"


@pytest.mark.parametrize("first_line", ["", "bytes,cumulative probability\n"])
def test_sizes_of_ones_own(first_line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sizes.csv").write_text(first_line + SIZES)
    Path("runs").mkdir()
    for file, named in (("new.toml", "sizes.csv"), ("runs/new.toml", "../sizes.csv")):
        write_scenario(Path(file), Answers(workload="sizes.csv", schemes=["tcp"], loads=[0.5]))
        assert tomllib.loads(Path(file).read_text())["workload"][0]["sizes"] == named
        said = " ".join(facts(read_plan(file).cases))
        assert "mean 557" in said, said
    with pytest.raises(PacketloomError, match=r"--workload other.csv: there is no such file"):
        Answers(workload="other.csv").checked()


def test_a_class_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = ROOT / "examples/table_driven.py"
    write_scenario(Path("new.toml"), Answers(schemes=["dctcp", f"{own}:TableDriven"], loads=[0.5], seeds=1))
    assert [case.parameters["scheme"] for case in read_plan("new.toml").cases] == ["DCTCP", "TableDriven"]
    with pytest.raises(PacketloomError, match="which class of it"):
        Answers(schemes=[str(own)]).chosen  # noqa: B018
    with pytest.raises(PacketloomError, match="there is no such file"):
        Answers(schemes=["mine.py:Mine"]).chosen  # noqa: B018


def test_names_that_papers_use() -> None:
    for name, kind in ALIASES.items():
        assert Answers(schemes=[name]).checked().chosen[0].kind == kind


@pytest.mark.parametrize("rate", ["10Gbps", "100Gbps"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_transport_with_an_option_has_a_recipe_of_its_own(name: str, rate: str, tmp_path: Path) -> None:
    kind, recipe = OPTIONS[name]
    one = answers("rack", "web-search", [kind, name], rate)
    plan = plan_from_text(scenario_text(one.checked(), "new.toml"), "toml", "new.toml", ())
    assert plan.warnings == ()
    assert {case.parameters["scheme"] for case in plan.cases} == {RECIPES[kind].label, recipe.label}
    write_scenario(tmp_path / "new.toml", one)
    results = packetloom.run(tmp_path / "new.toml", tmp_path / "out", overrides=["run.flows=30"], progress=False)
    assert results.to_polars("cases")["flows_finished"].to_list() == [30, 30]


def test_a_network_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("topology.txt").write_text("4 1 3\n3\n0 3 10Gbps 1000ns 0\n1 3 10Gbps 1000ns 0\n2 3 10Gbps 1000ns 0\n")
    write_scenario(Path("new.toml"), Answers(fabric="./topology.txt", schemes=["tcp", "dcqcn"], workload="permutation"))
    topology = tomllib.loads(Path("new.toml").read_text())["topology"]
    assert topology == {"kind": "hpcc", "file": "topology.txt"}


def test_roce_beside_uec_differs_in_nothing_else() -> None:
    """1.23 times the best had come of packets of 1000 B beside 4096 B."""
    for rate in ("10Gbps", "100Gbps", "400Gbps"):
        text = scenario_text(Answers(workload="all-reduce", schemes=["roce", "dcqcn", "uec"], rate=rate), "x.toml")
        cases = plan_from_text(text, "toml", "", ()).cases
        found = confounders.unequal(cases)
        assert not [one for one in found if one.is_foreign]
        assert {"header of a packet", "buffer of a switch's port"} <= {one.what for one in found}
        schemes = tomllib.loads(text)["scheme"]
        # Acknowledgements of several packets are constants of fast links.
        each = {"ack_every": 1} if rate == "10Gbps" else {}
        assert schemes[1]["transport"] == {"kind": "dcqcn", "preset": "deployed", **each}
        dcqcn = next(case for case in cases if case.parameters["scheme"] == "DCQCN")
        steps = json.loads(dcqcn.json)["scheme"]["transport"]["additive_increase"]
        assert steps == {"bps": {"10": 10, "100": 100, "400": 400}[rate[:-4]] * 1_000_000}
        assert ("queue_pairs" in str(schemes[0]["routing"])) == (rate != "10Gbps")


@pytest.mark.parametrize("rate", ["10Gbps", "100Gbps"])
def test_dcqcn_and_ultra_ethernet_are_alike_in_an_all_reduce(tmp_path: Path, rate: str) -> None:
    """At 10 Gb/s acknowledgements of 16 KB had emptied Ultra Ethernet's window: 1.57 times DCQCN's time."""
    answers = Answers(workload="all-reduce", schemes=["dcqcn", "uec"], rate=rate, seeds=2)
    write_scenario(tmp_path / "new.toml", answers)
    results = packetloom.run(tmp_path / "new.toml", tmp_path / "out", progress=False)
    took = results.to_polars("operations").group_by("scheme").agg(pl.col("end_ns").max())["end_ns"].to_list()
    assert max(took) < 1.03 * min(took)


def test_a_window_that_acknowledgements_empty_is_said() -> None:
    text = scenario_text(Answers(workload="all-reduce", schemes=["uec"]), "x.toml")
    seldom = ["scheme.Ultra Ethernet.transport.ack_every=16384B"]
    said = [plan_from_text(text, "toml", "", overrides).cases[0].doubts for overrides in ([], seldom)]
    assert [any("ack_every" in line for line in lines) for lines in said] == [False, True]


def test_the_engineers_question_needs_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "rails.toml"
    asked = Answers(
        fabric="rail-optimised",
        workload="training",
        schemes=["dcqcn", "uec"],
        rate="400Gbps",
        oversubscription=[1, 2],
        failed_link=True,
        seeds=1,
    )
    write_scenario(file, asked)
    plan = read_plan(file)
    assert plan.warnings == ()
    assert len(plan.cases) == 8
    small = ["workload.0.arrivals.layers=2", "workload.0.arrivals.microbatches=1", "workload.0.arrivals.repeat=1"]
    cases = packetloom.run(file, tmp_path / "out", overrides=small, progress=False).to_polars("cases")
    assert cases["flows_finished"].to_list() == cases["flows_started"].to_list()


REFUSE_FAULTS = {"daq", "bfc", "ideal", "max-min", "syn", "asy"}


@pytest.mark.parametrize("scheme", sorted({*RECIPES, *OPTIONS} - REFUSE_FAULTS))
def test_with_a_failed_link_every_scheme_is_set_up_for_it(tmp_path: Path, scheme: str) -> None:
    write_scenario(tmp_path / "any.toml", Answers(schemes=[scheme], rate="100Gbps", failed_link=True))
    assert read_plan(tmp_path / "any.toml").warnings == ()


def packetloom_new(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return commands.packetloom("new", *arguments, cwd=cwd)


def test_it_says_how_to_run_it_and_how_an_editor_completes_it(tmp_path: Path) -> None:
    (tmp_path / "my runs").mkdir()
    done = packetloom_new("my runs/first.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "wrote my runs/first.toml: 18 cases",
        "run it: packetloom run 'my runs/first.toml'",
        "for completion in an editor (Taplo, Even Better TOML): packetloom schema > 'my runs/packetloom.schema.json'",
        "the scenario's first line names that file: #:schema ./packetloom.schema.json",
    ]
    text = (tmp_path / "my runs/first.toml").read_text()
    assert text.startswith("#:schema ./packetloom.schema.json\n# TCP, DCTCP and pFabric (line rate): ")
    again = packetloom_new("my runs/first.toml", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr == (
        "error: my runs/first.toml: it exists already; name another file, or replace it with --force\n"
    )
    forced = packetloom_new("my runs/first.toml", "--force", "--scheme", "ndp,homa", "--seeds", "1", cwd=tmp_path)
    assert forced.returncode == 0, forced.stderr
    assert "wrote my runs/first.toml: 4 cases" in forced.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fabric", "leafspine"], "--fabric leafspine: there is no such choice; did you mean 'leaf-spine'?"),
        (["--fabric", "ring"], "--fabric ring: there is no such choice; choose one of: leaf-spine, fat-tree, "),
        (["--workload", "web"], "--workload web: there is no such choice"),
        (["--scheme", "tcp,dctpc"], "--scheme dctpc: there is no such choice; did you mean 'dctcp'?"),
        (["--scheme", "tcp", "--scheme", "tcp"], "--scheme tcp: it is named twice"),
        (["--scheme", "mine.py"], "--scheme mine.py: which class of it? Write mine.py:CLASS"),
        (["--workload", "mine.csv"], "--workload mine.csv: there is no such file"),
        (["--fabric", "mine.txt"], "--fabric mine.txt: there is no such file"),
        (["--oversubscription", "two"], "--oversubscription two: it is what hosts can send"),
        (["--oversubscription", "3"], "--oversubscription 3: four hosts a leaf have 4, 2 or 1 spines"),
        (["--oversubscription", "2", "--fabric", "rack"], "--oversubscription: rack has none to set; these have: leaf"),
        (["--failed-link", "--fabric", "rack"], "--failed-link: rack has no link that others stand in for"),
        (["--load", "80"], "--load 80: a load is a fraction of the hosts' link, such as 0.6"),
        (["--load", "nan"], "--load nan: a load"),
        (["--load", "0.3,"], "--load : a load"),
        (["--rate", "10"], "--rate 10: write a rate with its unit, such as 10Gbps"),
        (["--rate", "0Gbps"], "--rate 0Gbps: write a rate"),
        (["--rate", "1bps"], "--rate 1bps: write a rate"),
        (["--workload", "incast", "--load", "0.5"], "--load: the workload 'incast' has none; leave it out"),
        (["--workload", "all-reduce", "--flows", "5"], "--flows: the workload 'all-reduce' has none"),
        (["--fabric", "fat-tree", "--scheme", "syn"], "these do not go together: topology.kind: syn's controller"),
        (["--seeds", "0"], "--seeds"),
        (["--flows", "0"], "--flows"),
        (["new.json"], "new.json: end the name in .toml"),
        (["nowhere/new.toml"], "nowhere/new.toml: there is no folder nowhere"),
        (["folder.toml"], "folder.toml: it is a folder"),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["packetloom", "new", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.toml"]


def told(*said: str) -> Answers:
    """What comes of these answers."""
    waiting = iter(said)
    return ask_all(lambda question: next(waiting))


def test_enter_takes_what_is_usual() -> None:
    usual = told("", "", "", "", "", "")
    assert scenario_text(usual, "x.toml") == scenario_text(Answers(), "x.toml")


def test_a_wrong_answer_is_asked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    given = told("?", "ring", "rack", "fast", "40Gbps", "incast", "dctpc", "dctcp, ndp", "none", "2")
    assert given == Answers(fabric="rack", rate="40Gbps", workload="incast", schemes=["dctcp", "ndp"], seeds=2)
    said = " ".join(capsys.readouterr().out.split())
    assert "Hosts on one switch." in said
    assert "did you mean 'dctcp'?" in said


def test_in_a_terminal_it_asks_and_can_be_left(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "packetloom", "new"]
    for keys, code in ((b"rack\n\nincast\n\n1\n", 0), (b"rack\n\x04", 130)):
        (tmp_path / "scenario.toml").unlink(missing_ok=True)
        master, slave = pty.openpty()
        process = subprocess.Popen(command, cwd=tmp_path, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.write(master, keys)
        assert process.wait(timeout=60) == code
        os.close(master)
        assert (tmp_path / "scenario.toml").exists() == (code == 0)


def test_the_schema_knows_what_an_editor_would_mark() -> None:
    scenario: dict[str, Any] = tomllib.loads(scenario_text(Answers(), "x.toml"))
    scenario["scheme"][0]["queue"]["capcity"] = "1KB"
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(scenario)
