"""Traces of jobs with mistakes of every kind, through the command line: exit 2, the name and the place."""

import sys
from pathlib import Path

import pytest

from packetloom.cli.main import main

GOAL = """\
num_ranks 2
rank 0 {
s: send 8b to 1 tag 0
}
rank 1 {
r: recv 8b from 0 tag 0
c: calc 10
c requires r
}
"""
SIMAI = """\
DATA all_gpus: 8
2
one -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 720000 0
two -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1440000 0
"""
SOUND = {"goal": GOAL, "simai": SIMAI}
KEYS = {"goal": "file", "simai": "file", "chakra": "files"}

SCENARIO = """\
[topology]
kind = "rack"
hosts = 8

[[workload]]
arrivals = {{ kind = "{kind}", {key} = "{file}" }}

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"
"""

HUGE = str(2**63)


def check(folder: Path, kind: str, file: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `packetloom check` on a scenario with a trace."""
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(kind=kind, key=KEYS[kind], file=file))
    monkeypatch.setattr(sys, "argv", ["packetloom", "check", str(scenario)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.mark.parametrize(
    ("kind", "old", "new", "line", "part"),
    [
        ("goal", "to 1", "to 9", 3, "the peer is rank 9, but there are 2 ranks"),
        ("goal", "requires r", "requires q", 8, '"q" is no label of rank 1 above this line'),
        ("goal", "calc 10", "calc -10", 7, "cannot be negative"),
        ("goal", "send 8b", f"send {HUGE}b", 3, f"a message of {HUGE} B; write at most"),
        ("goal", "num_ranks 2", "num_ranks 4294967295", 10, "rank 2 of 4294967295 has no block"),
        ("goal", "recv 8b from 0 tag 0", "rec", 6, '"rec" where there should be `send`, `recv` or `calc`'),
        ("simai", "\n2\n", "\n3\n", 2, "2 layers where the second line says 3"),
        ("simai", "two -1 0 NONE", "two -1 0 WHAT", 4, 'forward_comm is "WHAT"'),
        ("simai", "1440000", "-5", 4, "cannot be negative"),
        ("simai", "all_gpus: 8", "all_gpus: many", 1, "write a whole number"),
        ("simai", "DATA", "FANCY", 1, 'the policy is "FANCY"'),
        ("simai", "1440000 0", "1440000 0 9", 4, "13 fields where there should be 12"),
        ("simai", "DATA", "HYBRID_DATA_MODEL", 1, "write ranks_per_package beside it"),
        ("simai", "DATA", "HYBRID_CUSTOMIZED", 3, "12 fields where there should be 13"),
        ("simai", "DATA", "DISTRIBUTED_INFERENCE", 3, "DISTRIBUTED_INFERENCE does not execute; write NONE"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_mistake_is_told_with_file_and_line(
    kind: str,
    old: str,
    new: str,
    line: int,
    part: str,
    line_end: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = SOUND[kind].replace(old, new, 1)
    assert text != SOUND[kind]
    trace = tmp_path / "job.trace"
    trace.write_bytes(text.replace("\n", line_end).encode())
    assert check(tmp_path, kind, trace.name, monkeypatch) == 2
    printed = capsys.readouterr().err
    assert f"{trace}:{line}: " in printed, printed
    assert part in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("kind", sorted(SOUND))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_sound_traces_are_read(kind: str, line_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.trace").write_bytes(SOUND[kind].replace("\n", line_end).encode())
    assert check(tmp_path, kind, "job.trace", monkeypatch) == 0


@pytest.mark.parametrize(
    ("file", "content", "part"),
    [
        ("job.0.et", b"\x05hello", "job.0.et: at byte 3: a field of wire type 4"),
        ("job.0.et", b"\x7f", "job.0.et: at byte 0: "),
        ("job.0.json", b'{"a": [}', "job.0.json:1: it is not JSON"),
        ("other.0.et", b"", "there is no "),
    ],
)
def test_a_mistake_in_a_chakra_trace_is_told_with_its_place(
    file: str,
    content: bytes,
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / file).write_bytes(content)
    assert check(tmp_path, "chakra", "job", monkeypatch) == 2
    printed = capsys.readouterr().err
    assert part in printed, printed
    assert "Traceback" not in printed
