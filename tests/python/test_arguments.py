"""Python functions that are given something else: `PacketloomError`, and what it should have been."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packetloom
from packetloom import Results, Scenario, Scheme, _core, control
from packetloom.errors import ArgumentError, Interrupted, InvariantError, PacketloomError, ScenarioError
from packetloom.scenario.plan import read_plan

api: Any = packetloom
arrays: Any = control
"""Whose arguments a type checker would refuse."""


def scenario(**changed: Any) -> dict[str, Any]:
    sections = {
        "topology": {"kind": "rack", "hosts": 3},
        "workload": [{"sizes": {"kind": "constant", "size": "2KB"}}],
        "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
        "run": {"loads": [0.5], "flows": 3},
    }
    return {**sections, **changed}


def with_run(**keys: Any) -> dict[str, Any]:
    return scenario(run={"loads": [0.5], "flows": 3, **keys})


def test_all_errors_have_one_base() -> None:
    assert issubclass(ScenarioError, PacketloomError)
    assert packetloom.ScenarioError is _core.ScenarioError is ScenarioError
    with pytest.raises(PacketloomError, match="tpology"):
        _core.Scenario.read("[tpology]", "", "toml")
    for kind in (PacketloomError, ScenarioError, ArgumentError, InvariantError, Interrupted):
        again = pickle.loads(pickle.dumps(kind("what and where")))
        assert type(again) is kind
        assert str(again) == "what and where"


def itself() -> dict[str, Any]:
    whole = scenario()
    whole["run"]["again"] = whole
    return whole


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def doubled() -> list[Any]:
    nested: list[Any] = [1]
    for _ in range(60):
        nested = [nested, nested]
    return nested


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "scenario is 5 of type int"),
        (None, "scenario is None of type NoneType"),
        (b"demo.toml", "scenario is b'demo.toml' of type bytes"),
        ([scenario()], "scenario is "),
        ("a\0b", "without the character NUL"),
        ({}, "topology"),
        ({3: 4}, "the key 3 is of type int"),
        (scenario(run={("a", 1): 2}), r"run: the key \('a', 1\) is of type tuple"),
        (with_run(seeds=None), "run.seeds: is None; leave it out"),
        (with_run(seeds={1, 2}), r"run\.seeds: \{1, 2\} is of type set"),
        (with_run(seeds=b"1"), "run.seeds: b'1' is of type bytes"),
        (with_run(loads=[0.5, 1j]), r"run\.loads\[1\]: 1j is of type complex"),
        (with_run(loads=np.array([0.5, np.nan])), r"run\.loads\[1\]: nan is not finite"),
        (with_run(loads=[float("inf")]), r"run\.loads\[0\]: inf is not finite"),
        (with_run(flows=10**30), "run.flows: a whole number of more than 64 bits"),
        (with_run(flows=lambda: 3), "run.flows: <function"),
        (with_run(flows=(one for one in [3])), "run.flows: <generator"),
        (with_run(flows=int), "run.flows: <class 'int'> is of type type"),
        (with_run(loads=range(10**15)), "values; write fewer"),
        (with_run(loads=doubled()), "values; write fewer|holds itself"),
        (with_run(loads=deep(5_000)), "more than 100 levels"),
        (itself(), "holds itself"),
        (scenario(scheme=[{"name": "\ud800", "transport": "tcp"}]), r"scheme\[0\]\.name: .* surrogate"),
        (scenario(scheme=[Scheme(name="TCP", transport="tcp")]), r"scheme\[0\]: Scheme.* is of type Scheme"),
        (
            Scenario(topology="rack", workload=[{}], schemes=[Scheme(name=3, transport="tcp")], run={}),  # type: ignore[arg-type]
            r"scheme\[0\]\.name",
        ),
        (scenario(scheme="TCP"), "scheme"),
        (scenario(workload=7), "workload"),
        (
            Scenario(topology=5, workload=7, schemes=9, run=11, faults=13, measure=15),  # type: ignore[arg-type]
            "topology",
        ),
        (Scenario(topology={"kind": "rack"}, workload=[3], schemes=[None], run={}), "scheme"),  # type: ignore[list-item]
    ],
)
def test_scenarios(given: Any, message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        packetloom.run(given, progress=False)


def test_what_a_scenario_may_hold() -> None:
    plain = read_plan(with_run(loads=[0.25, 0.5], seeds=2)).cases
    arrays = read_plan(with_run(loads=np.array([0.25, 0.5]), seeds=np.int64(2))).cases
    tuples = read_plan(with_run(loads=(0.25, 0.5), seeds=2)).cases
    assert [case.id for case in plain] == [case.id for case in arrays] == [case.id for case in tuples]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": 7}, "output is 7 of type int; give a path"),
        ({"output": b"out"}, "output is b'out'"),
        ({"output": "a\0b"}, "NUL"),
        ({"workers": "x"}, "workers is 'x' of type str; give a whole number from 1 to 4096"),
        ({"workers": 0}, "workers is from 1 to 4096, not 0"),
        ({"workers": -1}, "not -1"),
        ({"workers": 10**12}, "not 1000000000000"),
        ({"workers": 1.5}, "workers is 1.5 of type float"),
        ({"workers": True}, "workers is True of type bool"),
        ({"overrides": "run.seeds=5"}, r'overrides is .* give a list of texts such as \["run.seeds=5"\]'),
        ({"overrides": [5]}, "overrides is 5 of type int"),
        ({"overrides": None}, "overrides is None"),
        ({"overrides": 5}, "overrides is 5 of type int"),
        ({"overrides": {"run.seeds": None}}, "run.seeds: is None"),
        ({"shard": 2}, 'shard is 2 of type int; give a text such as "2/8"'),
        ({"shard": "9" * 5000 + "/1"}, "write it as i/n"),
        ({"shard": "²/³"}, "write it as i/n"),
        ({"cache": "no"}, "cache is 'no' of type str; give True or False"),
        ({"audit": 1}, "audit is 1 of type int; give True or False"),
        ({"progress": None}, "progress is None"),
        ({"ray": 5}, "ray is 5 of type int"),
    ],
)
def test_options_of_run(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match=message):
        api.run(scenario(), **{"output": tmp_path / "out", "progress": False, **options})
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return packetloom.run(scenario(), tmp_path_factory.mktemp("arguments") / "out", progress=False, cache=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda results: api.Results("nonexistent"), "nonexistent: there is no such folder"),
        (lambda results: api.Results(5), "path is 5 of type int"),
        (lambda results: api.Results(None), "path is None"),
        (lambda results: api.summary(None), "results is None of type NoneType; give a packetloom.Results"),
        (lambda results: api.summary("out"), "results is 'out' of type str"),
        (lambda results: api.summary(results, [3]), r"bins is \[3\]"),
        (lambda results: api.summary(results, 3), "bins is 3"),
        (lambda results: api.plot("nope", results), "there is no figure 'nope'"),
        (lambda results: api.plot(["fct-cdf"], results), "figure is "),
        (lambda results: api.plot("fct-cdf", None), "results is None"),
        (lambda results: api.plot("fct-cdf", []), r"results is \[\]"),
        (lambda results: api.plot("fct-cdf", "out"), "results is 'out'"),
        (lambda results: api.plot("fct-cdf", [results, 3]), "results is "),
        (lambda results: api.plot("fct-cdf", results, colour="red"), "has no option --colour"),
        (lambda results: api.plot("fct-cdf", results, load=[0.5]), r"load is \[0.5\] of type list"),
        (lambda results: api.plot("fct-cdf", results, load=np.array([0.5, 0.6])), "load is "),
        (lambda results: api.plot("fct-cdf", results, load=float("nan")), "there is no load nan"),
        (lambda results: api.plot("fct-cdf", results, load="high"), "there is no load 'high'"),
        (lambda results: api.plot("fct-cdf", results, ax=5), "ax is 5 of type int"),
        (lambda results: api.report(results, 5), "output is 5 of type int"),
        (lambda results: api.report(5, "x.html"), "results is 5 of type int"),
        (lambda results: api.report(results, "x.html", bins=[None]), "bins is "),
        (lambda results: api.read_fct(5), "path is 5 of type int"),
        (lambda results: api.read_fct("/dev/zero"), "/dev/zero: it is a device, not a regular file"),
        (lambda results: api.largest_held(scenario(), 5, 1, 2), "key is 5 of type int"),
        (lambda results: api.largest_held(scenario(), "run.flows", "1", 2), "lowest is '1' of type str"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 2.5), "highest is 2.5 of type float"),
        (lambda results: api.largest_held(scenario(), "run.flows", -1, 2), "lowest is from 0"),
        (lambda results: api.largest_held(scenario(), "run.flows", 3, 2), "3..2 holds no number"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 10**30), "highest is from 0"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 2, share="x"), "share is 'x'"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 2, share=float("nan")), "the share"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 2, workers="x"), "workers is 'x'"),
        (lambda results: api.largest_held(scenario(), "run.flows", 1, 2, output=3), "output is 3"),
        (lambda results: api.largest_held(None, "run.flows", 1, 2), "scenario is None"),
        (lambda results: arrays.maximum_matching([0], [0], servers=-1), "servers is from 0"),
        (lambda results: arrays.maximum_matching([0], [0], servers=10**12), "servers is from 0"),
        (lambda results: arrays.maximum_matching([0], [0], servers="x"), "servers is 'x' of type str"),
        (lambda results: arrays.maximum_matching(None, [0], servers=1), "src is a one-dimensional array"),
        (lambda results: arrays.maximum_matching([[0], [1, 2]], [0], servers=3), "src is"),
        (lambda results: arrays.normalise_rates([0], [0], ["x"], servers=1), "offered is a one-dimensional array"),
        (lambda results: arrays.normalise_rates([0], [0], [1.0], servers=1, rounds=-1), "rounds is from 0"),
        (lambda results: arrays.utility_rates([0, 1], [0], [1.0], step="x"), "step is 'x'"),
        (lambda results: arrays.max_min_rates([0, 1], [0], [[1.0]]), "capacity is a one-dimensional array"),
        (
            lambda results: arrays.edge_colouring([0] * 99, [0] * 99, leaves=1 << 20),
            "1048576 leaves of 99 edges take more than 1 GiB",
        ),
        (lambda results: arrays.edge_colouring([0], [0], leaves=2.0), "leaves is 2.0 of type float"),
    ],
)
def test_functions(call: Any, message: str, results: Results) -> None:
    with pytest.raises(PacketloomError, match=message):
        call(results)


def test_fct_files(tmp_path: Path) -> None:
    file = tmp_path / "fct.txt"
    for text, message in [
        (b"\xff\xfe", r"fct\.txt: not a text file \(byte 0"),
        (b"\x00", r"fct\.txt:1: 1 fields where there should be 8"),
        (b"1 2 3 4 5 6 7 " + b"9" * 6000, r"fct\.txt:1: ideal_fct_ns is 9+, which is too large"),
        ("1 2 3 4 5 6 7 ²".encode(), r"fct\.txt:1: ideal_fct_ns is '²'"),
        (b"0bzzzzzz 2 3 4 5 6 7 8", r"fct\.txt:1: 0bzzzzzz is not a node's address"),
    ]:
        file.write_bytes(text)
        with pytest.raises(PacketloomError, match=message):
            packetloom.read_fct(file)
