"""Files of other simulators: topologies and flows of HPCC and htsim, and fct.txt."""

from pathlib import Path

import pytest

from hostile.harness import Worker

SCENARIO = """\
[topology]
kind = "{simulator}"
file = "{topology}"

[[workload]]
arrivals = {{ kind = "{simulator}", file = "{flows}" }}

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"
"""
FILES = {
    "hpcc.topology": "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n",
    "hpcc.flows": "2\n0 1 3 100 14600 2.0\n1 2 3 100 1460 2.5\n",
    "htsim.topology": "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n"
    "Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n",
    "htsim.flows": "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 2000000 send_done_trigger 1\n"
    "2->1 id 2 trigger 1 size 90000\ntrigger id 1 oneshot\n",
}
BIG = "9" * 300

# The file, what is replaced in it ("" for all of it) and by what; its line, and what else is named.
MISTAKES = [
    ("hpcc.topology", "", "", ":1", ""),
    ("hpcc.topology", "", "\n\n\n", "", ""),
    ("hpcc.topology", "", "<html>", ":1", ""),
    ("hpcc.topology", "", "4 1 3\n3\n", "", "links"),
    ("hpcc.topology", "4 1 3", "4 1", ":1", "fields"),
    ("hpcc.topology", "4 1 3", "4 1 3 5", ":1", "fields"),
    ("hpcc.topology", "4 1 3", f"{BIG} 1 3", ":1", ""),
    ("hpcc.topology", "4 1 3", "2000000000 1 3", "", ""),
    ("hpcc.topology", "4 1 3", "4 2000000000 3", "", ""),
    ("hpcc.topology", "4 1 3", "4 1 2000000000", "", ""),
    ("hpcc.topology", "4 1 3", "0 0 0", "", ""),
    ("hpcc.topology", "4 1 3", "4 5 3", "", ""),
    ("hpcc.topology", "\n3\n", "\n9\n", ":2", "9"),
    ("hpcc.topology", "\n3\n", "\nx\n", ":2", "x"),
    ("hpcc.topology", "0 3 10Gbps", "0 0 10Gbps", ":3", ""),
    ("hpcc.topology", "0 3 10Gbps", "0 3 0Gbps", ":3", ""),
    ("hpcc.topology", "0 3 10Gbps", "0 3 10", ":3", ""),
    ("hpcc.topology", "0 3 10Gbps", f"0 3 {BIG}Gbps", ":3", ""),
    ("hpcc.topology", "10Gbps 1us 0\n1", "10Gbps -1us 0\n1", ":3", ""),
    ("hpcc.topology", "10Gbps 1us 0\n1", f"10Gbps {BIG}s 0\n1", ":3", ""),
    ("hpcc.topology", "10Gbps 1us 0\n1", "10Gbps 1us 2\n1", ":3", ""),
    ("hpcc.topology", "10Gbps 1us 0\n1", "10Gbps 1us -1\n1", ":3", ""),
    ("hpcc.topology", "1 3 10Gbps", "0 3 10Gbps", "", ""),
    ("hpcc.topology", "1 3 10Gbps", "0 1 10Gbps", "", ""),
    ("hpcc.flows", "", "", ":1", ""),
    ("hpcc.flows", "", "flows", ":1", "flows"),
    ("hpcc.flows", "2\n0", f"{BIG}\n0", ":1", ""),
    ("hpcc.flows", "2\n0", "1\n0", "", "1"),
    ("hpcc.flows", "2\n0", "-2\n0", ":1", ""),
    ("hpcc.flows", "0 1 3", "0 0 3", ":2", ""),
    ("hpcc.flows", "0 1 3", "0.5 1 3", ":2", "0.5"),
    ("hpcc.flows", "100 14600", "100 0", ":2", ""),
    ("hpcc.flows", "100 14600", "70000 14600", ":2", ""),
    ("hpcc.flows", "2.0\n", "-2.0\n", ":2", ""),
    ("hpcc.flows", "2.0\n", "inf\n", ":2", "inf"),
    ("hpcc.flows", "2.0\n", "1e300\n", ":2", ""),
    ("hpcc.flows", "2.0\n", "2,0\n", ":2", "2,0"),
    ("htsim.topology", "", "", ":1", ""),
    ("htsim.topology", "Nodes 4\n", "", ":11", "nodes"),
    ("htsim.topology", "Nodes 4\n", "Nodes 4\nNodes 4\n", ":2", "Nodes"),
    ("htsim.topology", "Nodes 4", f"Nodes {BIG}", ":1", ""),
    ("htsim.topology", "Nodes 4", "Nodes 4000000000", "", ""),
    ("htsim.topology", "Nodes 4", "Nodes 0", "", ""),
    ("htsim.topology", "Tiers 2", "Tiers 5", ":2", "5"),
    ("htsim.topology", "Tiers 2", "Tiers 0", ":2", "0"),
    ("htsim.topology", "Podsize 4", "Podsize 0", ":3", ""),
    ("htsim.topology", "Podsize 4", "Podsize 3", "", ""),
    ("htsim.topology", "Radix_Up 2", "Radix_Up 0", ":7", ""),
    ("htsim.topology", "Radix_Down 2\nRadix_Up", "Radix_Down 4000000000\nRadix_Up", "", ""),
    ("htsim.topology", "Downlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up", "Radix_Down 2\nRadix_Up", "", "speed"),
    ("htsim.topology", "Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0", ":5", ""),
    ("htsim.topology", "Downlink_speed_Gbps 100", f"Downlink_speed_Gbps {BIG}", ":5", ""),
    ("htsim.topology", "Downlink_Latency_ns 1000", f"Downlink_Latency_ns {BIG}", ":8", ""),
    ("htsim.topology", "Tier 0", "Teir 0", ":4", "Teir"),
    ("htsim.flows", "", "", "", "Nodes"),
    ("htsim.flows", "Nodes 4", f"Nodes {BIG}", ":1", ""),
    ("htsim.flows", "Connections 2", f"Connections {BIG}", ":2", ""),
    ("htsim.flows", "Triggers 1", "Triggers 7", "", "7"),
    ("htsim.flows", "0->1", "0->0", ":4", ""),
    ("htsim.flows", "0->1", "0-1", ":4", "0-1"),
    ("htsim.flows", "0->1", "->", ":4", ""),
    ("htsim.flows", "start 0", "start -1", ":4", ""),
    ("htsim.flows", "start 0", f"start {BIG}", ":4", ""),
    ("htsim.flows", "size 2000000", "", ":4", "size"),
    ("htsim.flows", "size 2000000", "size", ":4", "size"),
    ("htsim.flows", "size 2000000", "size 0", ":4", ""),
    ("htsim.flows", "send_done_trigger 1", "send_done_trigger 9", ":4", "9"),
    ("htsim.flows", "start 0 size", "trigger 1 size", "", "trigger 1"),
    ("htsim.flows", "oneshot", "twoshot", ":6", "twoshot"),
    ("htsim.flows", "oneshot", "barrier", ":6", "barrier"),
    ("htsim.flows", "oneshot", f"barrier count {BIG}", ":6", ""),
    ("htsim.flows", "trigger id 1 oneshot", "trigger id 1 oneshot\ntrigger id 1 oneshot", ":7", "1"),
]


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "message"), MISTAKES, ids=[f"{one[0]}-{one[2][:30]!a}" for one in MISTAKES]
)
def test_a_mistake(file: str, old: str, new: str, line: str, message: str, worker: Worker, tmp_path: Path) -> None:
    simulator = file.partition(".")[0]
    for name, sound in FILES.items():
        text = sound if name != file else new if not old else sound.replace(old, new, 1)
        assert name != file or text != sound, old
        (tmp_path / name).write_text(text)
    names = {"topology": f"{simulator}.topology", "flows": f"{simulator}.flows"}
    (tmp_path / "hostile.toml").write_text(SCENARIO.format(simulator=simulator, **names))
    worker.command(tmp_path, "check", "hostile.toml").must_refuse(f"{file}{line}", message)


CYCLES = {
    "two-that-wait-for-each-other": (
        "Nodes 4\nConnections 2\nTriggers 2\n"
        "0->1 id 1 trigger 2 size 9000 send_done_trigger 1\n"
        "2->1 id 2 trigger 1 size 9000 send_done_trigger 2\n"
        "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
    ),
    "one-that-waits-for-itself": (
        "Nodes 4\nConnections 1\nTriggers 1\n0->1 id 1 trigger 1 size 9000 send_done_trigger 1\ntrigger id 1 oneshot\n"
    ),
}


@pytest.mark.parametrize("name", CYCLES)
def test_triggers_in_a_circle(name: str, worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "htsim.topology").write_text(FILES["htsim.topology"])
    (tmp_path / "htsim.flows").write_text(CYCLES[name])
    text = SCENARIO.format(simulator="htsim", topology="htsim.topology", flows="htsim.flows")
    (tmp_path / "hostile.toml").write_text(text)
    worker.command(tmp_path, "check", "hostile.toml").must_refuse("htsim.flows", "trigger")


FCT = [
    ("too-few", b"0 1 2 3 4 5 6\n", "fct.txt:1"),
    ("too-many", b"0 1 2 3 4 5 6 7 8\n", "fct.txt:1"),
    ("negative", b"0 1 2 3 -4 5 6 7\n", "fct.txt:1"),
    ("late", b"0 1 2 3 4 5 6 7\n" * 999 + b"x\n", "fct.txt:1000"),
    ("no-address", b"0b000000 0b000101 2 3 4 5 6 7\n", "fct.txt:1"),
    ("no-hexadecimals", b"0bxxxxxx 0b000101 2 3 4 5 6 7\n", "fct.txt:1"),
    ("digits", b"0 1 2 3 4 5 6 " + b"7" * 9000, "fct.txt:1"),
    ("other-digits", "0 1 2 3 4 5 6 ٧".encode(), "fct.txt:1"),
    ("floats", b"0 1 2 3 4.0 5 6 7\n", "fct.txt:1"),
    ("binary", bytes(range(256)), "fct.txt"),
]


@pytest.mark.parametrize(("content", "message"), [one[1:] for one in FCT], ids=[name for name, _, _ in FCT])
def test_fct(content: bytes, message: str, worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "fct.txt").write_bytes(content)
    worker.python(tmp_path, 'packetloom.read_fct("fct.txt")').must_refuse(message)
