"""SIRD's own simulator: its runs are read, and series over time are made of what ports sent."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest

from packetloom.common.percentiles import p99
from packetloom.errors import PacketloomError
from packetloom.validate.peers.sird import over_time, runs, sird_comparisons
from packetloom.validate.peers.sird.loads import LOADS, slowdowns


@pytest.mark.parametrize(
    ("run", "mean", "tail"),
    [("w3_50", 1.083, 1.79), ("w4_70", 1.284, 3.502), ("w4_70-unmarked", 1.271, 3.24), ("ws_70", 1.745, 5.48)],
)
def test_loads_give_the_slowdowns_that_were_measured_with_them(run: str, mean: float, tail: float) -> None:
    flows = runs.read_run(run).rename({"fct_ns": "theirs"}).with_columns(fct_ns="theirs")
    slowdown = flows.select(slowdowns())["theirs"]
    assert [round(float(slowdown.sum()) / len(slowdown), 3), round(p99(slowdown), 3)] == [mean, tail]


def test_every_run_is_compared_and_has_its_peaks() -> None:
    names = {one.name for one in sird_comparisons()}
    peaks = runs.read_file("peaks.csv")["run"].to_list()
    assert {f"sird-{run}" for run in peaks} <= names
    assert {*LOADS} <= {*peaks}
    # In none of them does a switch mark anything.
    assert max(runs.their_peak(run, runs.BETWEEN_SWITCHES) for run in peaks) < runs.MARK_BYTES


def captured(packets: list[tuple[int, int, int, int]]) -> bytes:
    """A capture of packets of (ns, source, destination, bytes)."""
    file = struct.pack("<III", 0x0A0D0D0A, 16, 0) + struct.pack("<I", 16)
    for ns, src, dst, size in packets:
        ends = struct.pack(">II", runs_address(src), runs_address(dst))
        frame = bytes(26) + ends + bytes(8)
        head = struct.pack("<IIIIIII", 6, 76, 0, ns >> 32, ns & 0xFFFF_FFFF, 42, size + 14)
        file += head + frame + bytes(2) + struct.pack("<I", 76)
    return file


def runs_address(host: int) -> int:
    return (10 << 24) + 1 + host


def test_goodput_and_credit_are_what_came_and_what_was_given_for_it() -> None:
    full, credit = runs.FRAME_BYTES, 64
    # Two credits to host 0, then a packet, which is there 1373 ns later, then another; the time is beyond 32 bits.
    begin = 2**32 // 50_000 * 50_000 + 50_000
    packets = over_time.read_packets(
        captured(
            [
                (begin, 8, 0, credit),
                (begin + 10, 8, 0, credit),
                (begin + 5_000, 0, 8, full),
                (begin + 6_000, 8, 0, credit),
                (begin + 25_000, 0, 8, full),
            ]
        )
    )
    assert packets.row(2) == (begin + 5_000, 0, 8, full)
    goodputs = over_time.goodputs("two_out")(packets).filter(series="flow0").sort("bin_ns")
    assert goodputs["bin_ns"].to_list() == [begin, begin + 20_000]
    assert goodputs["value"].to_list() == [1_458 * 8 / 20_000] * 2
    # Three were out as the first came, two as the second did.
    assert over_time.credit(packets).row(0) == (begin, 2.5 * 1_538, "host8")


def test_how_far_series_are_apart() -> None:
    theirs = pl.DataFrame({"bin_ns": [0, 10, 20], "value": [1.0, 2.0, 1.0], "series": "a"})
    assert over_time.apart_percent(theirs, theirs) == 0
    assert over_time.apart_percent(theirs, theirs.head(2)) == 25


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PEERS_FOLDER", tmp_path)
    with pytest.raises(PacketloomError, match=r"w9_10.csv.gz: there is no such file.*source tree"):
        runs.read_run("w9_10")
