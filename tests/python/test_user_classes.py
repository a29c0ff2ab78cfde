"""Rate controls, queues and path choices in Python: the same bits as packetloom's own, and answers to mistakes."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import packetloom
from packetloom import ArgumentError, PacketloomError, ScenarioError, _core
from packetloom.campaign.executor import simulation_of
from packetloom.scenario import confounders
from packetloom.scenario.plan import read_plan
from packetloom.schemes import kept
from packetloom.schemes.loader import load
from packetloom.schemes.roles import EVENTS, ROLES, TOOLS

pytest.importorskip("numba")

CLASSES = Path(__file__).parent / "schemes"
HEAD = (
    "from packetloom.schemes import Answer, Arrival, Outgoing, Pace, PathChoice, Paths, Queue, QueueRule, RateControl\n"
)
SHARED = {"kind": "shared-buffer", "buffer": "8MiB", "ecn_min": "100KB", "ecn_max": "400KB"}


def mine(file: str | Path, class_name: str, kind: str = "python", **values: Any) -> dict[str, Any]:
    return {"kind": kind, "file": str(CLASSES / file), "class": class_name, **values}


def scenario(*schemes: Any, load: float = 0.7, flows: int = 150, rate: str = "10Gbps") -> dict[str, Any]:
    return {
        "topology": {"kind": "fat-tree", "k": 4, "link": {"rate": rate, "delay": "1us"}},
        "workload": [{"sizes": "web-search"}],
        "scheme": [{"name": str(number), **one} for number, one in enumerate(schemes)],
        "run": {"loads": [load], "flows": flows, "seeds": [3]},
    }


def fingerprints(results: packetloom.Results) -> list[str]:
    return results.to_polars("cases").sort("scheme")["fingerprint"].to_list()


HPCC = mine("rates.py", "Hpcc", "python-telemetry", header="90B", window="bdp", variable_window=True)
SAME = {
    "roce": ({"kind": "roce", "header": "56B"}, mine("rates.py", "LineRate", "python-rate")),
    "timely": ("timely", mine("rates.py", "Timely", "python-rate")),
    "hpcc": ("hpcc", HPCC),
    "dcqcn": (
        {"kind": "dcqcn", "header": "56B", "byte_counter": "100KB"},
        mine("rates.py", "Dcqcn", "python-rate", cnp="packet", counter="100KB"),
    ),
}


def on_a_pool(transport: Any) -> dict[str, Any]:
    """A transport whose flows go on with what others left on their queue pairs."""
    kind = {"kind": transport} if isinstance(transport, str) else transport
    return {**kind, "connections": {"kind": "pool", "warm": 1}}


SAME |= {f"{name} on a pool": (on_a_pool(own), on_a_pool(written)) for name, (own, written) in SAME.items()}


@pytest.mark.parametrize(("own", "written"), SAME.values(), ids=list(SAME))
def test_a_rate_control_gives_the_same_bits(own: Any, written: Any, tmp_path: Path) -> None:
    both = ({"transport": one, "queue": SHARED} for one in (own, written))
    results = packetloom.run(scenario(*both, rate="100Gbps"), output=tmp_path / "results")
    first, second = fingerprints(results)
    assert first == second


QUEUES = {
    "drop-tail": ("tcp", {"kind": "drop-tail", "capacity": "30KB"}, "DropTail"),
    "ecn": ("dctcp", {"kind": "ecn", "capacity": "60KB", "mark_above": "15KB"}, "Marking"),
    "one class of three": ("tcp", {"kind": "drop-tail", "capacity": "30KB"}, "Strict"),
    "unlimited": ("tcp", "drop-tail", "Nothing"),
    "codel": (
        "tcp",
        {"kind": "egress", "aqm": {"kind": "codel", "target": "5us", "interval": "50us", "ecn": False}},
        "Codel",
    ),
}


@pytest.mark.parametrize(("transport", "own", "written"), QUEUES.values(), ids=list(QUEUES))
def test_a_queues_rule_gives_the_same_bits(transport: str, own: Any, written: str, tmp_path: Path) -> None:
    both = ({"transport": transport, "queue": one} for one in (own, mine("queues.py", written)))
    results = packetloom.run(scenario(*both), output=tmp_path / "results")
    first, second = fingerprints(results)
    assert first == second


def test_lanes_take_turns_classes_are_strict_and_what_is_too_much_is_trimmed(tmp_path: Path) -> None:
    young = mine("classes.py", "Young")
    schemes = [
        {"transport": "tcp", "queue": mine("queues.py", "DropTail")},
        {"transport": "tcp", "queue": mine("queues.py", "Turns")},
        {"transport": young, "queue": mine("queues.py", "Strict", capacity="60KB")},
        {"transport": "tcp", "queue": mine("queues.py", "Strict", capacity="60KB")},
        {"transport": "ndp", "queue": mine("queues.py", "Cutting")},
    ]
    results = packetloom.run(scenario(*schemes), output=tmp_path / "results")
    plain, turns, strict, blind, _ = fingerprints(results)
    assert len({plain, turns, strict, blind}) == 4
    flows = results.to_polars("flows")

    def mean_of_small(scheme: str) -> float:
        small = flows.filter(pl.col("scheme") == scheme, pl.col("size_bytes") < 100_000)
        return float(small["slowdown"].drop_nans().mean())  # type: ignore[arg-type]

    assert mean_of_small("2") < mean_of_small("3"), "young packets overtake old ones"
    assert flows["trimmed"].sum() > 0


def test_a_rule_drops_what_waits_in_favour_of_what_comes(tmp_path: Path) -> None:
    schemes = ({"transport": "tcp", "queue": mine("queues.py", name)} for name in ("LatestFirst", "DropTail"))
    results = packetloom.run(scenario(*schemes), output=tmp_path / "results")
    assert results.to_polars("ports").filter(pl.col("scheme") == "0")["drops"].sum() > 0
    first, second = fingerprints(results)
    assert first != second


PATHS = {
    "oblivious": ("uec", "ndp", "oblivious", "Oblivious"),
    "plb": ("dctcp", "ecn", "plb", "Plb"),
}


@pytest.mark.parametrize(("transport", "queue", "own", "written"), PATHS.values(), ids=list(PATHS))
def test_a_choice_of_paths_gives_the_same_bits(
    transport: str, queue: str, own: str, written: str, tmp_path: Path
) -> None:
    both = (
        {"transport": transport, "queue": queue, "routing": one}
        for one in (own, mine("paths.py", written), mine("paths.py", "Fixed", number=20))
    )
    results = packetloom.run(scenario(*both), output=tmp_path / "results")
    first, second, fixed = fingerprints(results)
    assert first == second
    assert first != fixed


def test_all_of_one_scheme_can_be_ones_own_and_a_folder_repeats_it(tmp_path: Path) -> None:
    scheme = {
        "transport": mine("classes.py", "Dctcp"),
        "queue": "ecn",
        "routing": mine("paths.py", "Plb"),
    }
    inner = {"kind": "classes", "strict": 2, "queue": mine("queues.py", "Marking")}
    timely = mine("rates.py", "Timely", "python-rate", recovery="irn", data_class=1, ack_class=0)
    rated = {"transport": timely, "queue": inner, "nic": "drop-tail"}
    first = packetloom.run(scenario(scheme, rated, flows=50), output=tmp_path / "first")
    kept = {file.name for file in (tmp_path / "first" / "schemes").glob("*/*.py")}
    assert kept == {"classes.py", "queues.py", "paths.py", "rates.py"}
    second = packetloom.run(tmp_path / "first", output=tmp_path / "second")
    assert fingerprints(first) == fingerprints(second)


def imported(file: str, name: str) -> Any:
    """A class, as a notebook that imports it has it."""
    spec = importlib.util.spec_from_file_location(file, CLASSES / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def test_from_a_notebook(tmp_path: Path) -> None:
    timely, short, fixed = imported("rates", "Timely"), imported("queues", "DropTail"), imported("paths", "Fixed")
    schemes = [
        packetloom.scheme(timely, recovery="irn", queue=packetloom.component(short, capacity="20KB"), routing=fixed),
        packetloom.scheme(timely, name="paused", beta=0.5),
    ]
    assert schemes[0].transport["kind"] == "python-rate"  # type: ignore[index]
    results = packetloom.run(
        packetloom.Scenario(
            topology={"kind": "rack", "hosts": 3},
            workload=[{"sizes": {"kind": "constant", "size": "1MB"}, "arrivals": "at-once"}],
            schemes=schemes,
            run={"flows": 2},
        ),
        output=tmp_path / "results",
    )
    assert results.to_polars("flows")["fct_ns"].null_count() == 0
    with pytest.raises(ArgumentError, match="CongestionControl or RateControl or TelemetryControl"):
        packetloom.scheme(short)
    with pytest.raises(ArgumentError, match="QueueRule or PathChoice"):
        packetloom.component(timely)


NONSENSE = [
    ("pace.rate_bps = pace.rate_bps * 0.0 / 0.0", "set the rate to what is not a number"),
    ("pace.rate_bps = 0.0", "set the rate below 1 bit per second"),
    ("pace.rate_bps = -1e9", "set the rate below 1 bit per second"),
    ("pace.rate_bps = 2.0 * pace.line_rate_bps", "set the rate above the link's 10Gbps"),
    ("self.table[answer.packets + 4] = 1.0", "raised an exception; look for an index"),
    ("pace.window_bytes = 0", "set the window to zero bytes or fewer"),
]


@pytest.mark.parametrize(("statement", "message"), NONSENSE, ids=[one for one, _ in NONSENSE])
def test_a_rate_that_can_not_be_ends_the_run(statement: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mad.py"
    body = (
        "class Mad(RateControl):\n    table: list[float] = [0.0] * 4\n"
        f"    def answered(self, answer: Answer, pace: Pace) -> None:\n        {statement}\n"
    )
    file.write_text(HEAD + body)
    mad = {"transport": mine(file, "Mad", "python-rate"), "queue": "drop-tail"}
    with pytest.raises(PacketloomError, match=rf"Mad\.answered {message}.*\(flow \d+, host\d+ to host\d+, at "):
        packetloom.run(scenario(mad), output=tmp_path / "results")


RULE = "class Mad(QueueRule):\n    table: list[int] = [0] * 4\n"
CHOICE = "class Mad(PathChoice):\n    table: list[int] = [0] * 4\n"
RAISING = {
    "arrives": ("queue", f"{RULE}    def arrives(self, arrival, queue):\n        return self.table[queue.packets]\n"),
    "next": ("queue", f"{RULE}    def next(self, queue):\n        return self.table[queue.packets]\n"),
    "choose": (
        "routing",
        f"{CHOICE}    def choose(self, outgoing, paths):\n        return self.table[outgoing.number]\n",
    ),
    "judged": ("routing", f"{CHOICE}    def judged(self, fate, paths):\n        self.table[fate.path + 4] = 1\n"),
    "label": (
        "transport",
        "class Mad(CongestionControl):\n    table: list[int] = [0] * 4\n    def label(self, data, labels):\n"
        "        labels.priority = self.table[data.sent_bytes // 10_000]\n",
    ),
}


@pytest.mark.parametrize("method", list(RAISING))
def test_an_exception_ends_the_run(method: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    part, text = RAISING[method]
    file = tmp_path / "mad.py"
    file.write_text(f"{HEAD}{text}".replace("import Answer,", "import Answer, CongestionControl,"))
    mad: dict[str, Any] = {"transport": "uec" if part == "routing" else "tcp", "queue": "drop-tail"}
    source = scenario(mad | {part: mine(file, "Mad")})
    said = rf"Mad\.{method} raised an exception; .*\(flow \d+, host\d+ to host\d+, at "
    with pytest.raises(PacketloomError, match=said) as first:
        packetloom.run(source, output=tmp_path / "results")
    assert "ignored" not in capfd.readouterr().err
    (case,) = read_plan(source).cases
    for threads in (1, 2):
        with pytest.raises(PacketloomError) as again:
            simulation_of(case).run(threads=threads)
        assert str(again.value) == str(first.value)


def test_a_rule_that_drops_all_it_would_serve_does_not_hold_its_port(tmp_path: Path) -> None:
    """A port whose queue was emptied so has nothing to be woken for, and sends what comes later."""
    file = tmp_path / "late.py"
    rule = "if departure.waited_ps > 20_000_000:\n            queue.drop()\n"
    file.write_text(f"{HEAD}class Late(QueueRule):\n    def leaves(self, departure, queue):\n        {rule}")
    results = packetloom.run(scenario({"transport": "tcp", "queue": mine(file, "Late")}), output=tmp_path / "results")
    assert results.to_polars("ports")["drops"].sum() > 0
    assert results.to_polars("flows")["fct_ns"].null_count() == 0


OUTSIDE = {
    "arrives": (
        "queue",
        f"{RULE}    lanes = 2\n    def arrives(self, arrival, queue):\n        return 99\n",
        "returned 99, which is no lane; return one from 0 to 1",
    ),
    "next": (
        "queue",
        f"{RULE}    lanes = 2\n    def next(self, queue):\n        return 2\n",
        "returned 2, which is no lane; return one from 0 to 1",
    ),
    "leaves": (
        "queue",
        f"{RULE}    lanes = 2\n    def leaves(self, departure, queue):\n        queue.drop_first(3)\n",
        "dropped from 3, which is no lane; name one from 0 to 1",
    ),
    "choose": (
        "routing",
        f"{CHOICE}    def choose(self, outgoing, paths):\n        return -7\n",
        "returned -7, which is no path; return one from 0 to 3",
    ),
}


@pytest.mark.parametrize("method", list(OUTSIDE))
def test_a_choice_of_what_there_is_not_ends_the_run(method: str, tmp_path: Path) -> None:
    part, text, said = OUTSIDE[method]
    file = tmp_path / "mad.py"
    file.write_text(HEAD + text)
    more: dict[str, Any] = {"entropies": 4} if part == "routing" else {}
    parts: dict[str, Any] = {"transport": "uec" if part == "routing" else "tcp", "queue": "drop-tail"}
    parts[part] = mine(file, "Mad", **more)
    said = rf"scheme\.{part}: Mad\.{method} {said}.*\(flow \d+, host\d+ to host\d+, at "
    with pytest.raises(PacketloomError, match=said):
        packetloom.run(scenario(parts), output=tmp_path / "results")


@pytest.mark.parametrize("statement", ["queue.drop()", "queue.drop_first(0)", "pass"])
def test_a_rule_that_drops_nothing_has_no_bound_and_that_is_said(statement: str, tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    body = f"        if queue.bytes > 30_000:\n            {statement}\n        return 0\n"
    file.write_text(f"{HEAD}class Rule(QueueRule):\n    def arrives(self, arrival, queue):\n{body}")
    bounded = {"name": "bounded", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": "30KB"}}
    given = scenario({"transport": "tcp", "queue": mine(file, "Rule")})
    given["scheme"].append(bounded)
    plan = read_plan(given)
    assert any("Rule drops nothing, so any amount may wait at a port" in one for one in plan.warnings) is (
        statement == "pass"
    )
    (held,) = [one for one in confounders.unequal(plan.cases) if one.what == "buffer of a switch's port"]
    told = dict(held.values)
    assert told[given["scheme"][0]["name"]] == ("unlimited" if statement == "pass" else "what its class lets wait")


@pytest.mark.parametrize(
    ("part", "base", "name"),
    [
        ("transport", "CongestionControl", "min_rto"),
        ("transport", "CongestionControl", "file_hash"),
        ("routing", "PathChoice", "entropies"),
        ("queue", "QueueRule", "kind"),
    ],
)
def test_a_parameter_can_not_be_called_as_one_of_the_cores(part: str, base: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "taken.py"
    file.write_text(
        f"from packetloom.schemes import {base}, number\nclass A({base}):\n    {name} = number(1.0, doc='Any.')\n"
    )
    parts: dict[str, Any] = {"transport": "tcp", "queue": "drop-tail", part: mine(file, "A")}
    with pytest.raises(ScenarioError, match=rf"A: its parameter {name} is one that every \"python\" has"):
        read_plan(scenario(parts))


LABELS = [
    # What the class declares, what the method sets, and what is said.
    ("classes = 2", "traffic_class = 2", "set the traffic class to 2; write 0 to 1, or declare more than classes = 2"),
    ("classes = 2", "traffic_class = -1", "set the traffic class to -1; write 0 to 1"),
    ("ecn = False", "traffic_class = 1", "set the traffic class to 1, and the class has none; write classes = 2"),
    ("ecn = False", "priority = -1", "set the priority to -1; write 0 to 4294967295"),
]


@pytest.mark.parametrize(("declared", "statement", "said"), LABELS, ids=[one[1] for one in LABELS])
def test_a_label_that_can_not_be_ends_the_run(declared: str, statement: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mad.py"
    text = f"class Mad(CongestionControl):\n    {declared}\n    def label(self, data, labels):\n"
    file.write_text(f"from packetloom.schemes import CongestionControl\n{text}        labels.{statement}\n")
    mad = {"transport": mine(file, "Mad"), "queue": {"kind": "classes", "strict": 2}}
    with pytest.raises(PacketloomError, match=rf"Mad\.label {said}.*\(flow \d+, host\d+ to host\d+, at "):
        packetloom.run(scenario(mad), output=tmp_path / "results")


MISTAKES = [
    # A scheme's part, what its class is, and what is said.
    (
        "queue",
        "class A(QueueRule):\n    def arrives(self, arrival, queue):\n        return 0.5\n",
        "it returns float64",
    ),
    (
        "queue",
        "class A(QueueRule):\n    def arrives(self, arrival, queue):\n        if queue.bytes:\n            return 0\n",
        "it does not return a number wherever it ends; write a last line such as return 0",
    ),
    ("queue", "class A(QueueRule):\n    def arrives(self, arrival, queue):\n        queue.cut()\n", "no method 'cut'"),
    (
        "queue",
        "class A(QueueRule):\n    def arrives(self, arrival, queue):\n        queue.trim()\n        return 0\n",
        "line 4: trim() needs trim_to_bytes = 64 in the class A",
    ),
    (
        "queue",
        "class A(QueueRule):\n    def arrives(self, arrival, queue):\n        queue.mark()\n        return 0\n",
        "line 4: mark() needs marks = True in the class A",
    ),
    ("queue", "class A(QueueRule):\n    lanes = 300\n", "lanes is 300; write a whole number from 1 to 255"),
    ("queue", "class A(QueueRule):\n    def next(self, arrival, queue):\n        return 0\n", "next takes self, queue"),
    ("queue", "class A(PathChoice): pass\n", "A is a PathChoice; write a class derived from QueueRule"),
    ("routing", "class A(PathChoice):\n    def choose(self, outgoing, paths):\n        paths.count = 2\n", "count"),
    ("routing", "class B(PathChoice): pass\nclass A(B): pass\n", "line 3: write A as a class of PathChoice alone"),
    ("routing", "class A(PathChoice):\n    x: list[int] = []\n", "needs its initial values"),
    ("routing", "class A(PathChoice):\n    x: list[int] = [0] * 65_537\n", "x makes the fields 65,537 numbers"),
    (
        "routing",
        "class A(PathChoice):\n    x: list[int] = [0, 1]\n    def choose(self, outgoing, paths):\n        self.x = 1\n",
        "x is a list of fixed length",
    ),
    ("transport", "class A(QueueRule): pass\n", "A is a QueueRule; write a class derived from CongestionControl"),
]


@pytest.mark.parametrize(("part", "text", "message"), MISTAKES, ids=[one[2][:40] for one in MISTAKES])
def test_a_mistake_is_reported_with_its_line(part: str, text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(HEAD + text)
    parts: dict[str, Any] = {"transport": "tcp", "queue": "drop-tail", part: mine(file, "A")}
    with pytest.raises(ScenarioError) as raised:
        read_plan(scenario(parts))
    assert message in str(raised.value)
    assert f"scheme[0].{part}.file" in str(raised.value)


def test_a_choice_that_judges_packets_needs_a_transport_that_reports_them(tmp_path: Path) -> None:
    file = tmp_path / "judging.py"
    file.write_text(
        HEAD + "class Judging(PathChoice):\n    def choose(self, outgoing, paths):\n        return 0\n"
        "    def judged(self, fate, paths):\n        pass\n"
    )
    part = {"transport": "tcp", "queue": "drop-tail", "routing": mine(file, "Judging")}
    with pytest.raises(ScenarioError, match=r"scheme\.routing|routing"):
        packetloom.run(scenario(part), output=tmp_path / "results")


def test_another_machine_gets_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    shutil.copy(CLASSES / "queues.py", file)
    (case,) = read_plan(scenario({"transport": "tcp", "queue": mine(file, "DropTail")})).cases
    sent = kept.sources(case)
    file.unlink()
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "another machine"))
    ((_, file_hash, _),) = sent
    with pytest.raises(PacketloomError):
        load(str(file), file_hash, "DropTail")
    kept.provide(sent)
    assert load(str(file), file_hash, "DropTail")["base"] == "QueueRule"


def test_records_have_the_fields_that_they_have_in_the_simulator_in_its_order() -> None:
    def fields(record: Mapping[str, type]) -> list[tuple[str, bool]]:
        return [(name, kind is float) for name, kind in record.items()]

    found = {
        (base, name): (fields(EVENTS[hook.event]) if hook.event else [], fields(TOOLS[hook.tools].record))
        for base, role in ROLES.items()
        for name, hook in role.hooks.items()
        if base != "TelemetryControl"
    }
    assert found == _core.scheme_layouts()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    schemes = [
        {
            "transport": mine("classes.py", "Dctcp"),
            "queue": mine("queues.py", "Turns"),
            "routing": mine("paths.py", "Plb"),
        },
        {"transport": mine("rates.py", "Hpcc", "python-telemetry"), "queue": "shared-buffer"},
        {"transport": "uec", "queue": "ndp", "routing": mine("paths.py", "Oblivious")},
    ]
    for case in read_plan(scenario(*schemes, flows=60)).cases:
        one, two, four = (_core.Simulation(case).run(threads=threads).fingerprint for threads in (1, 2, 4))
        assert one == two == four


def test_the_end_of_a_recovery_is_reported(tmp_path: Path) -> None:
    both = (
        {"transport": mine("classes.py", name), "queue": mine("queues.py", "DropTail")} for name in ("Stops", "NewReno")
    )
    flows = packetloom.run(scenario(*both), output=tmp_path / "results").to_polars("flows")
    mean = flows.group_by("scheme").agg(pl.col("slowdown").mean()).sort("scheme")["slowdown"]
    assert mean[0] > 1.2 * mean[1]
