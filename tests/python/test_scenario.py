"""Scenarios from files, dicts and objects, and keys overridden."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import packetloom
from conftest import SCENARIO
from packetloom import _core
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.overrides import override
from packetloom.scenario.plan import Scenario, Scheme, read_plan


def changed(setting: str, text: str = SCENARIO) -> dict[str, Any]:
    return tomllib.loads(override(text, "toml", [setting]))


@pytest.mark.parametrize(
    ("setting", "where", "value"),
    [
        ("run.seeds=5", ("run", "seeds"), 5),
        ("run.loads=[0.1, 0.9]", ("run", "loads"), [0.1, 0.9]),
        ("topology.link.rate=40Gbps", ("topology", "link", "rate"), "40Gbps"),
        ("scheme.DCTCP.queue.capacity=100KB", ("scheme", 1, "queue", "capacity"), "100KB"),
        ("scheme.0.queue.capacity=['100KB', '225KB']", ("scheme", 0, "queue", "capacity"), ["100KB", "225KB"]),
        ("scheme.TCP.queue.capacity=1KB", ("scheme", 0, "queue", "kind"), "drop-tail"),
        ("workload.sizes=data-mining", ("workload", 0, "sizes"), "data-mining"),
        ("scheme.*.transport.min_rto=1ms", ("scheme", 1, "transport"), {"kind": "dctcp", "min_rto": "1ms"}),
    ],
)
def test_override(setting: str, where: tuple[str | int, ...], value: object) -> None:
    node: Any = changed(setting)
    for step in where:
        node = node[step]
    assert node == value


def test_override_of_a_name_with_a_dot() -> None:
    text = SCENARIO.replace('"DCTCP"', '"DCTCP v1.1"')
    assert changed("scheme.DCTCP v1.1.queue.capacity=1KB", text)["scheme"][1]["queue"]["capacity"] == "1KB"


def test_override_keeps_the_rest_of_the_text() -> None:
    text = "# why so\n" + SCENARIO
    after = override(text, "toml", ["run.seeds=5"])
    assert after == text.replace("seeds = 2", "seeds = 5")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("run.seeds", "write it as key=value"),
        ("=3", "write it as key=value"),
        ("scheme.TPC.queue=x", "'TPC' is none of TCP, DCTCP"),
        ("run.loads=[0.1", "not a TOML value"),
        ("run.seeds.more=1", "not inside a table"),
    ],
)
def test_mistaken_override(setting: str, message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        changed(setting)


def test_error_after_an_override_names_it(scenario: Path) -> None:
    with pytest.raises(_core.ScenarioError, match=r"with --set tpology\.k=4"):
        read_plan(scenario, ["tpology.k=4"])


@pytest.mark.parametrize("arrivals", ["poisson", "periodic", "list"])
@pytest.mark.parametrize("key", ["max_time", "duration"])
def test_a_source_that_begins_after_the_end_is_warned_of(key: str, arrivals: str, tmp_path: Path) -> None:
    """What is warned of is so: no flow starts."""
    (tmp_path / "list.csv").write_text("src,dst,size_bytes,start_ns\n0,1,1000,0\n")
    document = tomllib.loads(SCENARIO)
    others: dict[str, Any] = {"loads": [0.2]} if arrivals == "poisson" else {}
    others |= {} if arrivals == "list" else {"flows": 5}
    source: dict[str, Any] = {"sizes": "web-search", "arrivals": {"kind": arrivals}}
    if arrivals == "list":
        source = {"arrivals": {"kind": "list", "file": str(tmp_path / "list.csv")}}
    if arrivals == "periodic":
        source["arrivals"]["interval"] = "1us"
    document |= {"workload": [source | {"start": "2ms"}], "run": {key: "1ms", **others}}
    document["scheme"] = document["scheme"][:1]
    plan = read_plan(document)
    begins = "workload[0].start: it begins after 2ms, and"
    assert plan.warnings == (f"{begins} run.{key} is 1ms: none of its flows starts",)
    assert len(packetloom.run(document, tmp_path / "out", progress=False).flows) == 0
    document["workload"][0]["start"] = "0.9ms"
    assert read_plan(document).warnings == ()


def test_a_job_goes_on_after_the_duration() -> None:
    document = tomllib.loads(SCENARIO)
    job = {"kind": "collective", "operation": "all-reduce", "size": "1MB"}
    document |= {"workload": [{"arrivals": job, "start": "2ms"}], "run": {"duration": "1ms"}}
    document["scheme"] = document["scheme"][:1]
    assert read_plan(document).warnings == ()
    document["run"] = {"max_time": "2ms"}
    assert len(read_plan(document).warnings) == 1


def test_same_cases_from_a_file_a_dict_and_objects(scenario: Path, tmp_path: Path) -> None:
    tree = tomllib.loads(SCENARIO)
    objects = Scenario(
        topology={"kind": "rack", "hosts": 4},
        workload=[{"sizes": "web-search", "deadlines": {"kind": "exponential", "mean": "10ms"}}],
        schemes=[
            Scheme(name="TCP", transport="tcp", queue="drop-tail"),
            Scheme(name="DCTCP", transport="dctcp", queue={"kind": "ecn", "capacity": "225KB"}),
        ],
        run={"loads": [0.2, 0.8], "seeds": 2, "flows": 50},
        measure={"queues": True},
    )
    as_json = tmp_path / "small.json"
    as_json.write_text(json.dumps(tree))
    expected = [case.id for case in read_plan(scenario).cases]
    for source in (tree, objects, as_json):
        assert [case.id for case in read_plan(source).cases] == expected
    results = packetloom.run(objects, tmp_path / "out", progress=False)
    assert json.loads(results.scenario_text) == tree


def test_dict_with_a_value_that_json_has_not() -> None:
    with pytest.raises(ScenarioError, match=r"run\.loads\[0\]: nan is not finite"):
        read_plan({"run": {"loads": [float("nan")]}})


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("")
    with pytest.raises(PacketloomError, match=r"no such file; in .* other\.toml"):
        read_plan(tmp_path / "small.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PacketloomError, match="not a text file"):
        read_plan(tmp_path / "binary.toml")


IDEAL = {"scheme": [{"name": "ideal", "transport": "ideal", "queue": "drop-tail", "routing": "ecmp"}]}
DOWN = {"fault": [{"kind": "link-down", "between": ["host0", "edge0"], "at": "2ms"}]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"workload": [{"sizes": "web-search", "arrivals": "at-once"}]}, ["run.loads: changes nothing"]),
        ({"measure": {"operations": True}}, ["measure.operations: records nothing: no source is a job"]),
        ({"measure": {"pauses": True}}, ["measure.pauses: records nothing: no scheme has a queue that pauses"]),
        (IDEAL, ["scheme[0].queue: changes nothing: ideal has no packets", "scheme[0].routing: changes nothing"]),
        (
            {"scheme": [{"name": "ideal", "transport": "ideal"}], "measure": {"queues": True}},
            ["measure.queues: records nothing: no scheme has packets"],
        ),
        (DOWN, []),
        (DOWN | {"run": {"loads": [0.2], "flows": 5, "max_time": "2ms"}}, ["fault[0].at: changes nothing: 2ms"]),
    ],
)
def test_what_changes_nothing_is_warned_of(changes: dict[str, Any], expected: list[str]) -> None:
    plain = {
        "topology": {"kind": "fat-tree", "k": 4},
        "workload": [{"sizes": "web-search"}],
        "scheme": [{"name": "tcp", "transport": "tcp", "queue": "drop-tail"}],
        "run": {"loads": [0.2], "flows": 5},
    }
    warnings = read_plan(plain | changes).warnings
    assert len(warnings) == len(expected)
    for warning, begins in zip(warnings, expected, strict=True):
        assert begins in warning
