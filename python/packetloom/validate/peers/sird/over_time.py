"""What each of a few messages gets over time, and the credit that receivers have outstanding.

Goodput is payload as it comes to its host. The windows of SIRD are in no table, but what they leave is seen: the credit
that a receiver has sent, less what came for it. Theirs has its mean over the packets that come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import as_id
from packetloom.validate.peers.schemes import schemes_of
from packetloom.validate.peers.sird.few import EACH
from packetloom.validate.peers.sird.runs import FOLDER, HOSTS_PER_LEAF, SEEDS, read_file, read_run, scenario_of

GOODPUT_BIN_NS, CREDIT_BIN_NS = 20_000, 50_000
WITHIN_PERCENT = 2.0
# Beside a packet's payload: headers as queues count them; and the gap between frames and the preamble.
HEADER_BYTES, FRAMING_BYTES = 60, 20
FULL_WIRE_BYTES = 1_538
HOST_GBPS, HOST_DELAY_NS = 100, 1_250
# A block of a pcapng file that has a packet of UDP's, whose payload is left out.
BLOCK = np.dtype(
    [
        ("kind", "<u4"),
        ("block_bytes", "<u4"),
        ("link", "<u4"),
        ("ns_high", "<u4"),
        ("ns_low", "<u4"),
        ("captured_bytes", "<u4"),
        ("frame_bytes", "<u4"),
        ("ethernet_and_ip", "V26"),
        ("src", ">u4"),
        ("dst", ">u4"),
        ("udp_and_padding", "V10"),
        ("again_bytes", "<u4"),
    ]
)
PACKET_KIND = 6
# What a frame has there beside the sizes that ports count.
ETHERNET_BYTES = 14
FIRST_ADDRESS = (10 << 24) + 1


def over_time_comparisons() -> list[Check]:
    """One for each run in which theirs says which message gets what."""
    return [_check(run, f"SIRD's ns-2, SIRD, {text}") for run, text in EACH.items()]


def _check(run: str, title: str) -> Check:
    def rows(results: Mapping[str, Results]) -> list[Row]:
        draws = packets_of(results["it"])
        found = [
            _apart(f"{title}: goodputs over time", _goodputs_file(run), _their_goodputs(run), draws, goodputs(run))
        ]
        if run == "two_out":
            found.append(_apart(f"{title}: credit over time", "two_out_credit.csv", _their_credit(), draws, credit))
        return found

    def scenarios(folder: Path) -> dict[str, Any]:
        hosts = sorted({*read_run(run)["dst"]})
        ports = [f"leaf{host // HOSTS_PER_LEAF} to host{host}" for host in hosts]
        return {"it": scenario_of(run, folder, capture=[*ports, *(f"host{host}" for host in hosts)])}

    return Check(f"sird-{run}-over-time", scenarios, rows, quick=True)


def packets_of(results: Results) -> list[pl.DataFrame]:
    """The captured packets of each draw: between which hosts, their bytes, and when they were sent."""
    return [read_packets(table["pcapng"][0].as_py()) for _, table in results.partitions("captures", ["pcapng"])]


def read_packets(pcapng: bytes) -> pl.DataFrame:
    """Those of a capture, all of which are UDP's."""
    start, kind = 0, 0
    while start < len(pcapng):
        kind, length = np.frombuffer(pcapng, "<u4", 2, start).tolist()
        if kind == PACKET_KIND:
            break
        start += length
    blocks = np.frombuffer(pcapng, BLOCK, offset=start)
    assert np.all(blocks["kind"] == PACKET_KIND)
    return pl.DataFrame(
        {
            "time_ns": (blocks["ns_high"].astype(np.int64) << 32) + blocks["ns_low"],
            "src": blocks["src"].astype(np.int64) - FIRST_ADDRESS,
            "dst": blocks["dst"].astype(np.int64) - FIRST_ADDRESS,
            "bytes": blocks["frame_bytes"].astype(np.int64) - ETHERNET_BYTES,
        }
    )


def goodputs(run: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What comes to the messages' hosts, in Gb/s, by message and time."""

    def of(packets: pl.DataFrame) -> pl.DataFrame:
        parts = [
            _arrivals(packets, src, dst)
            .group_by(bin_ns=pl.col("time_ns") // GOODPUT_BIN_NS * GOODPUT_BIN_NS)
            .agg(value=(pl.col("bytes") - HEADER_BYTES).sum() * 8 / GOODPUT_BIN_NS)
            .select("bin_ns", "value", series=pl.lit(f"flow{place}"))
            for place, (src, dst) in enumerate(read_run(run).select("src", "dst").iter_rows())
        ]
        return pl.concat(parts)

    return of


def credit(packets: pl.DataFrame) -> pl.DataFrame:
    """What is outstanding to a message's sender as its packets come, in bytes, by receiver and time."""
    parts = []
    for src, dst in read_run("two_out").select("src", "dst").iter_rows():
        came = _arrivals(packets, src, dst)
        given_ns = packets.filter(pl.col("src") == dst, pl.col("dst") == src)["time_ns"].to_numpy()
        given_bytes = np.searchsorted(given_ns, came["time_ns"].to_numpy(), "right") * FULL_WIRE_BYTES
        before_bytes = (came["bytes"] + FRAMING_BYTES).cum_sum().shift(1, fill_value=0)
        outstanding = came.with_columns(outstanding=pl.Series(given_bytes) - before_bytes)
        by_bin = outstanding.group_by(bin_ns=pl.col("time_ns") // CREDIT_BIN_NS * CREDIT_BIN_NS)
        parts.append(by_bin.agg(value=pl.col("outstanding").mean()).with_columns(series=pl.lit(f"host{dst}")))
    return pl.concat(parts).select("bin_ns", "value", "series")


def _arrivals(packets: pl.DataFrame, src: int, dst: int) -> pl.DataFrame:
    """Data from one host to another, by when it is there."""
    link_ns = (pl.col("bytes") + FRAMING_BYTES) * 8 / HOST_GBPS + HOST_DELAY_NS
    data = packets.filter(src=src, dst=dst).filter(pl.col("bytes") > HEADER_BYTES + 4)
    return data.select((pl.col("time_ns") + link_ns).floor().cast(pl.Int64).alias("time_ns"), "bytes").sort("time_ns")


def _goodputs_file(run: str) -> str:
    return f"{run}_goodputs.csv"


def _their_goodputs(run: str) -> pl.DataFrame:
    table = read_file(_goodputs_file(run)).unpivot(index="bin_start_us", variable_name="series", value_name="value")
    return table.select(
        bin_ns=pl.col("bin_start_us") * 1_000, value="value", series=pl.col("series").str.strip_prefix("gbps_")
    )


def _their_credit() -> pl.DataFrame:
    return read_file("two_out_credit.csv").select(
        bin_ns=pl.col("bin_start_us") * 1_000,
        value=pl.col("outstanding_credit_B").cast(pl.Float64),
        series=pl.format("host{}", "receiver"),
    )


def apart_percent(theirs: pl.DataFrame, ours: pl.DataFrame) -> float:
    """How far two series are apart over all times, in % of theirs; where one has nothing it has 0."""
    keys = ["bin_ns", "series"]
    both = theirs.join(ours.rename({"value": "ours"}), keys, how="full", coalesce=True).fill_null(0)
    return float(both.select(100 * (pl.col("ours") - pl.col("value")).abs().sum() / pl.col("value").sum()).item())


def _apart(
    what: str,
    file: str,
    theirs: pl.DataFrame,
    draws: list[pl.DataFrame],
    of: Callable[[pl.DataFrame], pl.DataFrame],
) -> Row:
    ours = pl.concat(map(of, draws)).group_by("bin_ns", "series").agg(value=pl.col("value").sum() / len(draws))
    what, source = f"{what}: apart, %", f"{FOLDER}/{file}"
    return Row(
        id=as_id(what),
        what=what,
        source=source,
        expected=(0, 0),
        measured=apart_percent(theirs, ours),
        band=(0, WITHIN_PERCENT),
        rule=f"up to {WITHIN_PERCENT:g} %, the mean of {SEEDS} draws",
        schemes=schemes_of(source, what),
    )
