"""Other simulators' files with mistakes of every kind, through the command line: exit 2, the name and the line."""

import sys
from pathlib import Path

import pytest

from packetloom.cli.main import main

HPCC_TOPOLOGY = "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n"
HPCC_FLOWS = "2\n0 1 3 100 14600 2.000000000\n1 2 3 100 1460 2.500\n"
HTSIM_TOPOLOGY = """\
Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""
HTSIM_CONNECTIONS = """\
Nodes 4
Connections 2
Triggers 1
0->1 id 1 start 0 size 2000000 send_done_trigger 1
2->1 id 2 trigger 1 size 90000
trigger id 1 oneshot
"""

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
    "topology.txt": HPCC_TOPOLOGY,
    "flow.txt": HPCC_FLOWS,
    "leaves.topo": HTSIM_TOPOLOGY,
    "connections.cm": HTSIM_CONNECTIONS,
}


def check(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `packetloom check` on a scenario with the files of the simulator that `name` is of."""
    if name in ("topology.txt", "flow.txt"):
        scenario = SCENARIO.format(simulator="hpcc", topology="topology.txt", flows="flow.txt")
    else:
        scenario = SCENARIO.format(simulator="htsim", topology="leaves.topo", flows='connections.cm", start_unit = "us')
    (folder / "scenario.toml").write_text(scenario)
    monkeypatch.setattr(sys, "argv", ["packetloom", "check", str(folder / "scenario.toml")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


HUGE = str(2**63)


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "part"),
    [
        ("topology.txt", "4 1 3", "4 1 4", 1, "3 links where the first line says 4"),
        ("topology.txt", "4 1 3", "4 2 3", 3, "is"),
        ("topology.txt", "4 1 3", f"{HUGE} 1 3", 1, "too large"),
        ("topology.txt", "4 1 3", "4294967295 1 3", 1, "host 4 has no link"),
        ("topology.txt", "2 3 10Gbps", "7 3 10Gbps", 5, "no node is numbered 7"),
        ("topology.txt", "0 3 10Gbps", "-1 3 10Gbps", 3, "cannot be negative"),
        ("topology.txt", "0 3 10Gbps 1us 0", "0 3 10Gbps 1us NaN", 3, 'the error rate is "NaN"'),
        ("topology.txt", "0 3 10Gbps", f"0 3 {HUGE}Gbps", 3, "the rate is"),
        ("topology.txt", "2 3 10Gbps 1us 0", "2 3 10Gbps 1us 0\nthe end", 6, "2 fields where there should be 5"),
        ("flow.txt", "2\n0", "3\n0", 3, "2 flows where the first line says 3"),
        ("flow.txt", "0 1 3 100", "0 3 3 100", 2, "no host is numbered 3"),
        ("flow.txt", "0 1 3 100", "0 9 3 100", 2, "no host is numbered 9"),
        ("flow.txt", "100 14600", "100 -14600", 2, "cannot be negative"),
        ("flow.txt", "2.500", "NaN", 3, 'start_s is "NaN"'),
        ("flow.txt", "100 14600", f"100 {HUGE}", 2, f"`size_bytes` is {HUGE}; write at most"),
        ("flow.txt", "100 1460 2.500", "100 1460 2.500 and more", 3, "8 fields where there should be 6"),
        ("leaves.topo", "Nodes 4", "Nodes 5", 1, "5 nodes are not whole pods of 4"),
        ("leaves.topo", "Radix_Up 2", "Radix_Up -2", 7, "cannot be negative"),
        ("leaves.topo", "Radix_Up 2", "Radix_Up NaN", 7, 'Radix_Up is "NaN"'),
        ("leaves.topo", "Radix_Up 2", f"Radix_Up {HUGE}", 7, "write a number from"),
        ("leaves.topo", "Tier 1\n", "Tier 7\n", 9, "tier 7 of 2"),
        ("leaves.topo", "Radix_Up 2", "Radix_Up 2 or so", 7, "4 fields where there should be 2"),
        ("connections.cm", "Connections 2", "Connections 3", 2, "3 Connections where 2 lines follow"),
        ("connections.cm", "2->1", "2->9", 5, "no node is numbered 9"),
        ("connections.cm", "size 90000", "size -90000", 5, "cannot be negative"),
        ("connections.cm", "size 90000", "size NaN", 5, 'size is "NaN"'),
        ("connections.cm", "size 90000", f"size {HUGE}", 5, f"`size_bytes` is {HUGE}; write at most"),
        ("connections.cm", "trigger 1 size", "trigger 2 size", 5, "trigger 2 is nowhere specified"),
        ("connections.cm", "1 oneshot", "1 oneshot\nthe end", 7, '"the" begins no line'),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_mistake_is_told_with_file_and_line(
    name: str,
    old: str,
    new: str,
    line: int,
    part: str,
    line_end: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for file, sound in FILES.items():
        text = sound.replace(old, new, 1) if file == name else sound
        assert file != name or text != sound, old
        (tmp_path / file).write_bytes(text.replace("\n", line_end).encode())
    assert check(tmp_path, name, monkeypatch) == 2
    printed = capsys.readouterr().err
    assert f"{tmp_path / name}:{line}: " in printed, printed
    assert part in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("name", ["topology.txt", "leaves.topo"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_sound_files_are_read(name: str, line_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, sound in FILES.items():
        (tmp_path / file).write_bytes(sound.replace("\n", line_end).encode())
    assert check(tmp_path, name, monkeypatch) == 0
