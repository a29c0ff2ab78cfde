"""Settings that can't be meant, or that no memory has room for, end with a message; those that may be meant warn."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from packetloom.campaign.api import run
from packetloom.cli.exit_codes import MISTAKE
from packetloom.cli.main import main
from packetloom.errors import ScenarioError
from packetloom.scenario import confounders
from packetloom.scenario.facts import doubts
from packetloom.scenario.plan import read_plan

ECN = 'queue = { kind = "ecn", capacity = "225KB" }'


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """What `packetloom check` says of a scenario that it refuses, in one line."""

    def check(scenario: Path) -> str:
        monkeypatch.setattr(sys, "argv", ["packetloom", "check", str(scenario)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == MISTAKE
        return " ".join(capsys.readouterr().err.split())

    return check


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (ECN, 'queue = { kind = "ecn", capacity = "1KB" }', "scheme[1].queue.capacity: has no room for a full packet"),
        (ECN, 'queue = { kind = "ecn", capacity = "20KB" }', "scheme[1].queue.mark_above: nothing is ever marked"),
        (
            'queue = "drop-tail"',
            'queue = { kind = "classes", strict = 3, queue = "drop-tail" }',
            "workload[0].class: the scheme",
        ),
        ('name = "TCP"', 'name = "T\\u001b[31mCP"', "scheme[0].name"),
        ("queues = true", 'series_interval = "1ps"', "measure.series_interval: 1ps makes"),
    ],
)
def test_refused(old: str, new: str, message: str, scenario: Path, refusal: Callable[[Path], str]) -> None:
    text = scenario.read_text().replace(old, new, 1).replace("[[workload]]", "[[workload]]\nclass = 3")
    scenario.write_text(text)
    said = refusal(scenario)
    assert message in said
    assert "\x1b[31mCP" not in said


def test_a_key_that_is_there_twice_in_json(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    twice = tmp_path / "twice.json"
    twice.write_text('{"topology": {"kind": "rack",\n "hosts": 4,\n "hosts": 5}}\n')
    said = refusal(twice)
    assert "twice.json:3" in said
    assert 'the key "hosts" is there twice' in said


def _of_settings(scenario: Path) -> list[str]:
    """The warnings but for those of what schemes differ in."""
    plan = read_plan(scenario, ())
    return [one for one in plan.warnings if one not in confounders.warnings(plan.cases)]


def test_what_no_queue_does_is_told(scenario: Path) -> None:
    assert not _of_settings(scenario)
    scenario.write_text(scenario.read_text().replace(ECN, 'queue = "drop-tail"'))
    (warning,) = _of_settings(scenario)
    assert "dctcp goes by marks" in warning


def test_flows_that_a_run_cuts_short_say_what_they_did(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(
        '[topology]\nkind = "rack"\nhosts = 3\n[[workload]]\nsizes = { kind = "constant", size = "10MB" }\n'
        'arrivals = "at-once"\npattern = { kind = "pair", src = 0, dst = 1 }\n[[scheme]]\nname = "TCP"\n'
        'transport = "tcp"\nqueue = "drop-tail"\n[run]\nmax_time = "1ms"\n'
    )
    results = run(scenario, tmp_path / "out", progress=False)
    (sent,) = results.to_polars("flows")["packets_sent"]
    (counted,) = results.to_polars("cases")["packets_sent"]
    (carried,) = results.to_polars("ports").filter(pl.col("node") == "host0")["tx_packets"]
    assert sent == counted > 0
    # What waits at the host has not left: the window, at most.
    assert 0 <= sent - carried < sent


def scheme(transport: Any, queue: Any = "shared-buffer", **more: Any) -> dict[str, Any]:
    """A scheme of this transport."""
    return {"name": "any", "transport": transport, "queue": queue, **more}


LEAF_SPINE: dict[str, Any] = {
    "topology": {"kind": "leaf-spine"},
    "workload": [{"sizes": "web-search"}],
    "scheme": [{"name": "tcp", "transport": "tcp", "queue": "drop-tail"}],
    "run": {"loads": [0.3], "flows": 2000},
}


def doubted(changes: dict[str, Any]) -> list[str]:
    plan = read_plan(LEAF_SPINE | changes)
    return [*plan.warnings, *doubts(plan.cases)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "run.loads: the flows offer the links from leaf to spine 10"),
        ({"run": {"loads": [0.27], "flows": 2000}}, ""),
        ({"topology": {"kind": "fat-tree"}, "run": {"loads": [0.95], "flows": 2000}}, ""),
        (
            {"topology": {"kind": "rack"}, "run": {"loads": [0.3], "flows": 50, "warm_up": "1s"}},
            "run.warm_up: the last flow starts after about",
        ),
        (
            {"topology": {"kind": "rack"}, "fault": [{"kind": "link-down", "between": ["host3", "switch0"]}]},
            "fault[0]: cuts off host3 for good",
        ),
        (
            {
                "topology": {"kind": "rack"},
                "fault": [{"kind": "link-down", "between": ["host3", "switch0"], "at": "never"}],
            },
            "fault[0].at: changes nothing: there is never such a fault",
        ),
        (
            {
                "topology": {"kind": "fat-tree", "k": 4},
                "fault": [{"kind": "switch-down", "node": "edge0", "at": "1ms"}],
            },
            "fault[0]: cuts off host0, host1 for good",
        ),
        ({"topology": {"kind": "fat-tree", "k": 4}, "fault": [{"kind": "switch-down", "node": "core0"}]}, ""),
        (
            {"topology": {"kind": "rack"}, "scheme": [scheme({"kind": "hpcc", "min_rate": "40Gbps"})]},
            "scheme.transport.min_rate: hosts have 10Gbps at most",
        ),
        (
            {"topology": {"kind": "fat-tree", "k": 4}, "scheme": [scheme("roce", routing="spray-random")]},
            "scheme.transport.rto: packets of a flow overtake each other here",
        ),
        (
            {
                "topology": {"kind": "rack"},
                "scheme": [scheme("hpcc", queue={"kind": "shared-buffer", "lossless": [5]})],
            },
            "scheme[0].queue.lossless: changes nothing: no data is of these classes",
        ),
        (
            {
                "topology": {"kind": "rack", "link": {"rate": "100Gbps", "delay": "1us"}},
                "scheme": [scheme("uec", queue="ndp")],
            },
            'scheme[0].queue: uec goes by marks, and "ndp" sets none; write its ecn_min and ecn_max',
        ),
        (
            {"topology": {"kind": "rack"}, "scheme": [scheme("cubic", queue="ecn")]},
            'scheme[0].queue: cubic sends packets that can\'t be marked, so "ecn" marks none',
        ),
        (
            {"topology": {"kind": "rack"}, "scheme": [scheme("cubic", queue={"kind": "egress", "aqm": "red"})]},
            'scheme[0].queue: cubic sends packets that can\'t be marked, so "egress" marks none',
        ),
        ({"topology": {"kind": "rack"}, "scheme": [scheme("cubic", queue={"kind": "egress", "aqm": "pie"})]}, ""),
        (
            {
                "topology": {"kind": "rack"},
                "scheme": [scheme({"kind": "tcp", "priority": "remaining"}, queue="drop-tail")],
            },
            "scheme[0].transport.priority: changes nothing: no queue of the scheme goes by priorities",
        ),
        (
            {
                "topology": {"kind": "rack"},
                "scheme": [scheme({"kind": "tcp", "ack_delay": ["1us", "2us"]}, queue="drop-tail")],
            },
            "scheme[0].transport.ack_delay: changes nothing: it needs delayed_ack = true; write that, too",
        ),
        (
            {
                "topology": {"kind": "rack"},
                "scheme": [
                    scheme({"kind": "tcp", "ack_delay": "1us", "delayed_ack": [False, True]}, queue="drop-tail"),
                ],
            },
            "",
        ),
        (
            {
                "topology": {"kind": "rack"},
                "scheme": [scheme({"kind": "tcp", "ack_delay": "500us"}, queue="drop-tail")],
            },
            "",
        ),
    ],
)
def test_what_was_probably_not_meant_is_told(changes: dict[str, Any], expected: str) -> None:
    said = doubted(changes)
    assert len(said) == bool(expected), said
    assert all(expected in one for one in said), said


def test_a_warning_has_the_line_of_its_key(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        '[topology]\nkind = "rack"\n\n[[workload]]\nsizes = "web-search"\n\n[[scheme]]\nname = "TCP"\n'
        'queue = "drop-tail"\n\n[scheme.transport]\nkind = "tcp"\nack_delay = "1us"\n\n'
        "[run]\nloads = [0.2]\nflows = 5\n"
    )
    (warning,) = read_plan(file).warnings
    assert f"{file}:13: scheme[0].transport.ack_delay: changes nothing" in warning


def test_a_run_says_what_it_did_not_do(tmp_path: Path) -> None:
    changes = {
        "topology": {"kind": "fat-tree", "k": 4},
        "scheme": [scheme("tcp", queue="drop-tail", routing="hedera")],
        "run": {"loads": [0.3], "flows": 20, "cool_down": "1s"},
    }
    results = run(LEAF_SPINE | changes, tmp_path / "out", progress=False)
    (said,) = results.to_polars("cases")["warnings"]
    assert "scheme.routing.interval: the run took" in said
    assert "run.cool_down: no flow is measured" in said


def test_a_fault_that_never_happens_is_none(tmp_path: Path) -> None:
    fault = {"kind": "link-down", "between": ["edge0", "aggregation0"], "learn_after": "10us"}
    base = LEAF_SPINE | {"topology": {"kind": "fat-tree", "k": 4}, "run": {"loads": [0.5], "flows": 50}}
    both = run(base | {"fault": [fault | {"at": ["0us", "never"], "until": "5ms"}]}, tmp_path / "both", progress=False)
    cases = both.to_polars("cases")
    assert cases["fault.at"].to_list() == ["0us", "never"]
    whole = run(base, tmp_path / "whole", progress=False).to_polars("cases")
    assert cases["fingerprint"][1] == whole["fingerprint"][0] != cases["fingerprint"][0]


def test_a_mistake_can_be_mended_by_a_setting(scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace("flows = 50", 'flows = "many"'))
    with pytest.raises(ScenarioError, match=r"small\.toml:\d+: run\.flows"):
        read_plan(scenario)
    assert read_plan(scenario, ["run.flows=50"]).cases
    with pytest.raises(ScenarioError, match=r"with --set run\.seeds=1: .*run\.flows"):
        read_plan(scenario, ["run.seeds=1"])
    scenario.write_text(scenario.read_text() + "\n= 3\n")
    with pytest.raises(ScenarioError, match=r"small\.toml:\d+: this is not TOML"):
        read_plan(scenario, ["run.flows=50"])


@pytest.mark.parametrize(
    ("topology", "key"),
    [
        ({"global_links": 10**9}, "topology.global_links"),
        ({"routers": 10**9}, "topology.routers"),
        ({"global_links": 100_000}, "topology.global_links"),
        ({"hosts_per_router": 10**9}, "topology.hosts_per_router"),
    ],
)
def test_what_is_too_large_is_named(topology: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError, match=key.replace(".", r"\.") + ": "):
        read_plan(LEAF_SPINE | {"topology": {"kind": "dragonfly", **topology}})


DIGITS = 1_234_567_891


@pytest.mark.parametrize(
    "changes",
    [
        {"run": {"loads": [f"x{number}" for number in range(100_000)]}},
        {"run": {"loads": [0.3], "flows": DIGITS}},
        {"topology": {"kind": "k" * 3_000_000}},
        {"topology": {"kind": "rack", "h" * 3_000_000: 1}},
        {"topology": {"kind": "rack", "link": {"rate": "1" * 3_000_000}}},
        {"fault": [{"kind": "link-down", "between": ["h" * 3_000_000, "leaf0"]}]},
    ],
)
def test_a_message_is_short_whatever_was_written(changes: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps(LEAF_SPINE | changes).replace(str(DIGITS), str(DIGITS) * 10_000))
    with pytest.raises(ScenarioError) as refused:
        read_plan(file).cases[0].facts  # noqa: B018 some mistakes show on the network
    assert len(str(refused.value)) < 12_000


def test_names_that_look_like_others_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r'"D\\u202EPCT" has a control character, U\+202E'):
        read_plan(LEAF_SPINE | {"scheme": [scheme("tcp", queue="drop-tail") | {"name": "D\u202ePCT"}]})


def test_advice_on_pauses_is_one_that_holds() -> None:
    lossless: dict[str, Any] = {"kind": "shared-buffer", "buffer": "12MB"}
    fault = [{"kind": "corruption", "probability": 0.001}]
    for rate in ("10Gbps", "400Gbps"):
        topology = {"kind": "rack", "link": {"rate": rate, "delay": "1us"}}

        def said(pause: str | None, topology: dict[str, Any] = topology) -> str:
            queue = lossless | ({"pause_time": pause} if pause else {})
            changes = {"topology": topology, "fault": fault, "scheme": [scheme("hpcc", queue=queue)]}
            try:
                return " ".join(read_plan(LEAF_SPINE | changes).cases[0].facts[0])
            except ScenarioError as error:
                return str(error)

        advised = re.search(r'pause_time: is missing: .* such as "(\S+)"', said(None))
        assert advised is not None
        assert "pause_time" not in said(advised[1])
        for wrong in ("1ns", "1s"):
            assert "leave the faults out" in said(wrong)
            assert "leave it out" not in said(wrong)
