"""A link that is slow in one direction: what goes the other way is as fast as ever."""

from typing import Any

import pytest

import packetloom
from packetloom.errors import PacketloomError

# Each of three hosts sends 1 MB to another and receives as much: 0.8 ms at 10 Gb/s, 8 ms at 1 Gb/s.
SLOW_NS = 5e6


def slow_flows(between: list[str], **own: Any) -> set[tuple[bool, bool]]:
    """Of the flows that took long: whether host 0 sends, and whether it receives."""
    scenario = {
        "topology": {"kind": "rack", "hosts": 3},
        "workload": [
            {"sizes": {"kind": "constant", "size": "1MB"}, "arrivals": "at-once", "pattern": "permutation"},
        ],
        "fault": [{"kind": "link-degraded", "between": between, "rate": "1Gbps", **own}],
        "scheme": [
            {"name": "it", "transport": {"kind": "tcp", "initial_window": 1000}, "queue": "drop-tail"},
        ],
        "run": {"flows": 3},
    }
    flows = packetloom.run(scenario, progress=False).to_polars("flows")
    assert flows.height == 3
    slow = flows.filter(flows["fct_ns"] > SLOW_NS)
    return {(src == 0, dst == 0) for src, dst in slow.select("src", "dst").iter_rows()}


def test_only_what_goes_from_the_first_to_the_second_is_slower() -> None:
    assert slow_flows(["host0", "switch"], one_way=True) == {(True, False)}
    assert slow_flows(["switch", "host0"], one_way=True) == {(False, True)}
    assert slow_flows(["host0", "switch"]) == {(True, False), (False, True)}
    assert slow_flows(["host0", "switch"], one_way=False) == {(True, False), (False, True)}


def test_of_tiers_all_links_of_one_direction_are() -> None:
    assert slow_flows(["host", "switch"], one_way=True) == {(True, False), (False, True), (False, False)}


def test_a_rate_that_is_no_slower_is_refused() -> None:
    with pytest.raises(PacketloomError, match="the link has 10Gbps anyway"):
        slow_flows(["host0", "switch"], one_way=True, rate="10Gbps")
