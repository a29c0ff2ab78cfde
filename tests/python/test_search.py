"""The search for the largest value that still meets the deadlines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from packetloom.errors import PacketloomError
from packetloom.search import largest_held


def incast(deadline: str) -> dict[str, Any]:
    """Workers that each answer with ten full packets, 121 us on the aggregator's link of 1 Gb/s."""
    return {
        "topology": {"kind": "rack", "hosts": 60, "link": {"rate": "1Gbps", "delay": "1us"}},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "14600B"},
                "arrivals": "at-once",
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": 1},
                "deadlines": {"kind": "fixed", "after": deadline},
            }
        ],
        "scheme": [
            {"name": "Ideal", "transport": "ideal"},
            {"name": "DAQ", "transport": "daq", "queue": "daq"},
        ],
        "run": {"seeds": 2},
    }


def test_bisection_finds_the_last_value_that_holds(tmp_path: Path) -> None:
    found = largest_held(incast("3ms"), "workload.pattern.fan_in", 1, 59, share=1.0, output=tmp_path)
    values = dict(zip(found["scheme"], found["value"], strict=True))
    # 120 us each for packets of 1500 B: 24 in 2.9 ms. DAQ's handshake and ACKs cost it a little.
    assert values["Ideal"] == 24
    assert 22 <= values["DAQ"] <= 24
    assert found["seeds"].to_list() == [2, 2]
    assert found["low"].to_list() == found["value"].to_list()  # both seeds agree
    # Far fewer runs than values.
    assert len(list(tmp_path.iterdir())) <= 8


def test_the_ends_of_the_range_are_told(tmp_path: Path) -> None:
    easy = largest_held(incast("1s"), "workload.pattern.fan_in", 1, 5, output=tmp_path / "easy")
    assert (easy["value"].to_list(), easy["capped"].to_list()) == ([5.0, 5.0], [2, 2])
    hopeless = largest_held(incast("20us"), "workload.pattern.fan_in", 1, 5, output=tmp_path / "hopeless")
    assert hopeless["value"].to_list() == [0.0, 0.0]


def test_what_can_not_be_searched_is_told(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="swap them"):
        largest_held(incast("1ms"), "workload.pattern.fan_in", 5, 1)
    aimless = incast("1ms")
    del aimless["workload"][0]["deadlines"]
    with pytest.raises(PacketloomError, match="no flow has a deadline"):
        largest_held(aimless, "workload.pattern.fan_in", 1, 5, output=tmp_path)
