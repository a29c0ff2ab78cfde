"""Python functions with objects that misbehave; those of wrong types are in `test_arguments`."""

from pathlib import Path

import pytest

from hostile.harness import Worker

BEGIN = """\
import collections, collections.abc, enum, fractions, decimal, datetime, pathlib
import numpy as np
run = {"loads": [0.5], "flows": 3}
def scenario(**changed):
    return {
        "topology": {"kind": "rack", "hosts": 3},
        "workload": [{"sizes": {"kind": "constant", "size": "2KB"}}],
        "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
        "run": run,
        **changed,
    }
def go(given, **options):
    return packetloom.run(given, "out", progress=False, workers=1, **options)
class Loud:
    def __repr__(self): raise RuntimeError("no")
"""

MISTAKES: list[tuple[str, str]] = [
    ('go(scenario(run={**run, "flows": Loud()}))', "run.flows"),
    ("go(Loud())", "scenario is"),
    ('go(scenario(run={**run, "flows": fractions.Fraction(3)}))', "run.flows"),
    ('go(scenario(run={**run, "flows": decimal.Decimal(3)}))', "run.flows"),
    ('go(scenario(run={**run, "max_time": datetime.timedelta(1)}))', "run.max_time"),
    ('go(scenario(run={**run, "loads": np.array([[0.5]])}))', "run.loads"),
    ('go(scenario(run={**run, "loads": np.array(["0.5"])}))', "run.loads"),
    ('go(scenario(run={**run, "loads": np.array([0.5j])}))', "run.loads"),
    ('go(scenario(run={**run, "loads": np.array([None])}))', "run.loads[0]"),
    ('go(scenario(run={**run, "loads": memoryview(b"1")}))', "run.loads"),
    ('go(scenario(run={**run, "flows": float("1e300")}))', "run.flows"),
    ('go(scenario(run={**run, "flows": -0.0}))', "run.flows"),
    ('go(scenario(run={**run, "flows": "3"}))', "run.flows"),
    ('go(scenario(run={**run, "flows": [3, 3]}))', "run.flows"),
    ("go(scenario(run=[run, run]))", "run"),
    ("go(scenario(run=None))", "run: is None"),
    ('go(scenario(topology="rack of 3"))', "topology"),
    ("go(scenario(workload=[]))", "workload"),
    ("go(scenario(workload=[[]]))", "workload"),
    ("go(scenario(scheme=[{}]))", "scheme[0]"),
    ('go(scenario(scheme={"TCP": {}}))', "scheme"),
    ('go(scenario(scheme=[{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}] * 2))', "scheme"),
    ("go(scenario(nothing=1))", "nothing: unknown key"),
    ('go(scenario(**{"": 1}))', "scenario"),
    ('go(scenario(**{"run.flows": 1}))', "run.flows"),
    ("go(collections.UserDict(scenario(topology=5)))", "topology"),
    ('go(pathlib.Path("/dev/zero"))', "it is a device"),
    ('go("")', "."),
    ('go("x" * 5000)', "File name too long"),
    ('go(scenario(), overrides=["run.flows"])', "--set run.flows"),
    ('go(scenario(), overrides=("run.flows=x",))', "run.flows"),
    ('go(scenario(), overrides=["scheme.NOPE.x=1"])', "none of TCP"),
    ('go(scenario(), shard="2/1")', "--shard 2/1"),
    ('packetloom.run(scenario(), "/proc/nothing", progress=False)', "/proc/nothing"),
    (
        'packetloom.Scheme(name=3, transport=4).to_dict() and go(packetloom.Scenario(topology="rack", workload=[{}], '
        "schemes=[packetloom.Scheme(name=3, transport=4)], run={}))",
        "scheme[0]",
    ),
    ("packetloom.summary(go(scenario()).flows)", "results is"),
    ('packetloom.plot("fct-cdf", go(scenario()), load=0.7)', "there is no load 0.7; there are 0.5"),
    ('packetloom.plot("fct-cdf", go(scenario()), statistic="p99")', "--statistic"),
    ('packetloom.plot("", go(scenario()))', "which figure? there are: slowdown-by-load"),
    ('packetloom.report(go(scenario()), "/proc/x.html")', "/proc/x.html"),
    ('packetloom.report(go(scenario()), ".")', "."),
    ('packetloom.report([], "x.html")', "results is []"),
    ('packetloom.largest_held(scenario(), "run..flows", 1, 2)', "empty part"),
    ('packetloom.largest_held(scenario(), "run.flows=3 #", 1, 2)', "run.flows"),
    ('packetloom.largest_held(scenario(), "run.flows", 1, 2)', "deadline"),
    ('packetloom.Results("a\\0b")', "NUL"),
    ('packetloom.read_fct("")', "it is a folder"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text[:50] for text, _ in MISTAKES])
def test_a_mistake(text: str, message: str, worker: Worker, tmp_path: Path) -> None:
    worker.python(tmp_path, BEGIN + text).must_refuse(message)


RIGHT = [
    "go(collections.UserDict(scenario(run=collections.OrderedDict(run))))",
    'go(scenario(run={**run, "loads": np.float32(0.5)}))',
    'go(scenario(run={**run, "flows": np.uint8(3), "seeds": range(1, 3)}))',
    'go(scenario(workload=({"sizes": {"kind": "constant", "size": "2KB"}},)))',
    'go(scenario(run={**run, "flows": enum.IntEnum("E", {"a": 3}).a}))',
    'packetloom.report((go(scenario()),), pathlib.Path("x.html"))',
]


@pytest.mark.parametrize("text", RIGHT)
def test_strange_but_right(text: str, worker: Worker, tmp_path: Path) -> None:
    worker.python(tmp_path, BEGIN + text).must_accept()
