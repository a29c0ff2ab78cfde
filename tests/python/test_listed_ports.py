"""Destination ports of HPCC's flow files: kept, and what switches of `hash = "hpcc-ns3"` choose spines by."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import packetloom
from packetloom.errors import PacketloomError

# HPCC's EcmpHash by its own ecmp.py: host 0 to host 31, source port 10000, at switch 32, of the next hops [37, 36].
BY_THE_SECOND = {102, 105, 106, 107, 111}
LEAF_SPINE = {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 8, "spines": 2}
ROUTING = {"kind": "ecmp", "hash": "hpcc-ns3", "next_hops": "descending"}


def spines(folder: Path, *lines: str, routing: Mapping[str, Any] = ROUTING, transport: str = "roce") -> set[str]:
    """The spines to which the first leaf sends data, of flows in a file of HPCC's or ConWeave's."""
    file = folder / "flow.txt"
    file.write_text("\n".join([str(len(lines)), *lines]) + "\n")
    scenario = {
        "topology": LEAF_SPINE,
        "workload": [{"arrivals": {"kind": "hpcc", "file": str(file)}}],
        "scheme": [{"name": "it", "transport": transport, "queue": "drop-tail", "routing": routing}],
    }
    ports = packetloom.run(scenario, progress=False).to_polars("ports")
    return set(ports.filter((ports["node"] == "leaf0") & (ports["tx_bytes"] > 900))["peer"])


@pytest.mark.parametrize("transport", ["roce", "tcp"])
def test_the_port_of_a_flow_decides_its_spine(tmp_path: Path, transport: str) -> None:
    for port in range(100, 112):
        chosen = spines(tmp_path, f"0 31 3 {port} 1000 0.0", transport=transport)
        assert {"spine1"} <= chosen if port in BY_THE_SECOND else {"spine0"} <= chosen, (port, chosen)
        assert len(chosen & {"spine0", "spine1"}) == 1


def test_without_a_port_in_the_file_it_is_the_routings(tmp_path: Path) -> None:
    line = "0 31 3 1000 0.0"
    assert "spine0" in spines(tmp_path, line)
    assert "spine1" in spines(tmp_path, line, routing=ROUTING | {"destination_port": 102})
    # One that the file says is not moved by the routing's.
    assert "spine0" in spines(tmp_path, "0 31 3 100 1000 0.0", routing=ROUTING | {"destination_port": 102})
    assert "spine1" in spines(tmp_path, "0 31 3 102 1000 0.0", routing=ROUTING | {"ports": "host"})


def test_the_flows_of_a_pair_have_source_ports_of_their_own(tmp_path: Path) -> None:
    # By the same program, the second flow of the pair, whose source port is 10001.
    both = ["0 31 3 100 1000 0.0", "0 31 3 {port} 1000 0.001"]
    for port, spine in ((101, "spine1"), (100, "spine0")):
        chosen = spines(tmp_path, both[0], both[1].format(port=port))
        assert chosen & {"spine0", "spine1"} == {"spine0", spine}


def test_a_port_that_can_not_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match=r"flow\.txt:2: .*dport"):
        spines(tmp_path, "0 31 3 65536 1000 0.0")
