"""What `packetloom check` says of cases: what they have alike once, what differs on a short line each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from packetloom.scenario.facts import WIDTH, facts, round_trips_said
from packetloom.scenario.plan import read_plan

ROOT = Path(__file__).parents[2]
SCENARIO: dict[str, Any] = {
    "topology": {"kind": "rack", "hosts": 8, "link": {"rate": "10Gbps", "delay": "1us"}},
    "workload": [{"sizes": "web-search"}],
    "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
    "run": {"loads": [0.2, 0.5, 0.8], "flows": 20_000},
}


def said(**changes: object) -> list[str]:
    return facts(read_plan(SCENARIO | changes).cases)


def test_what_all_loads_have_alike_is_said_once() -> None:
    """Eight loads had two lines of 250 letters each, alike but for four numbers."""
    lines = facts(read_plan(ROOT / "papers/pfabric/scenarios/web-search.toml").cases)
    assert sum("mean 1666451.3 B" in line for line in lines) == 1
    assert sum("the largest flow, 29183940 B, takes 23.3 ms alone" in line for line in lines) == 1
    of_loads = [line for line in lines if line.startswith("load ")]
    assert list(dict.fromkeys(line.partition(":")[0] for line in of_loads)) == [f"load 0.{nth}" for nth in range(1, 9)]
    assert sum("flows/s" in line and "steady" in line for line in of_loads) == 8
    assert all(len(line) < WIDTH + 12 for line in of_loads)


def test_one_load_has_no_line_of_its_own() -> None:
    lines = said(run={"loads": [0.5], "flows": 20_000})
    assert any("flows/s; load 0.500" in line for line in lines)
    assert not any(line.startswith("load ") for line in lines)


def test_points_are_called_by_what_makes_them_differ() -> None:
    """The rate changes the network and how many flows come; the delay only the network."""
    links = {"rate": ["10Gbps", "40Gbps"], "delay": ["1us", "5us"]}
    lines = said(topology={"kind": "rack", "hosts": 8, "link": links})
    own = [line.partition(": ")[0] for line in lines if line.startswith(("load ", "link.rate", "link.delay"))]
    assert {line for line in own if "delay" in line} == set()
    assert set(own) == {f"load {load}, link.rate {rate}Gbps" for load in (0.2, 0.5, 0.8) for rate in (10, 40)}
    networks = [line.partition(": ")[0] for line in lines if line.startswith("network (")]
    assert len(set(networks)) == 4
    assert "network: 8 hosts; switches by tier: 1 switch" in lines


def test_sources_keep_their_rates_apart() -> None:
    two = [{"sizes": {"kind": "constant", "size": size}, "share": 0.5} for size in ("20KB", "2MB")]
    lines = said(workload=two)
    assert sum(line.startswith("traffic: ") and "mean" in line for line in lines) == 2
    assert not any(line.endswith(" flows") for line in lines), "the run's flows are those of both together"
    (first, *_) = [line for line in lines if line.startswith("load 0.2")]
    assert first.count("flows/s") == 2
    assert "load 0.100" in first


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            [([(40, 1728.0, 5184.0), (1500, 4064.0, 12192.0)], 40)],
            "base RTT 1.728us to 5.184us for a packet of 40 B, 4.064us to 12.192us for a packet of 1500 B, with an "
            "answer of 40 B",
        ),
        (
            [([(64, 4.0, 8.0), (4160, 5.0, 9.0)], 64), ([(40, 3.0, 7.5), (4136, 4.5, 9.5)], 46)],
            "base RTT 3ns to 8ns for a packet of 40 to 64 B, 4.5ns to 9.5ns for a packet of 4136 to 4160 B, with an "
            "answer of 46 to 64 B",
        ),
    ],
)
def test_formats_of_packets_have_one_line(found: list[Any], text: str) -> None:
    assert round_trips_said(found) == text


def test_fifteen_schemes_have_one_line_of_round_trips() -> None:
    lines = facts(read_plan(ROOT / "examples/receivers-and-senders.toml").cases)
    assert sum("base RTT" in line for line in lines) == 1


def test_schemes_of_one_value_are_named_together(tmp_path: Path) -> None:
    from packetloom.scenario.confounders import unequal

    queues: Mapping[str, str] = {"A": "100KB", "B": "200KB", "C": "100KB"}
    schemes = [
        {"name": name, "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": size}}
        for name, size in queues.items()
    ]
    (buffer,) = unequal(read_plan(SCENARIO | {"scheme": schemes}).cases)
    assert buffer.said == "buffer of a switch's port: A and C 100000B, B 200000B"
