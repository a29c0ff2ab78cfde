"""What the simulator measured, and the scenario that repeats a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.files import explain_os_error, write_text
from packetloom.errors import PacketloomError
from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.figures import read_table

FOLDER = "sird_ns2"
# Paths are drawn: theirs is one draw, ours so many.
SEEDS = 20
UNMARKED = "-unmarked"
HOSTS_PER_LEAF = 8
# Of a full packet, as its queues count it: payload, SIRD's, UDP's, IP's and Ethernet's headers.
FRAME_BYTES = 1_518
# What its ports between switches mark above; in no run does so much wait there.
MARK_BYTES = 123_000
BEFORE_HOSTS = "largest queue before a host in bytes"
BETWEEN_SWITCHES = "largest queue between switches in bytes"
# By the layer that a port sends to.
PLACES: Mapping[str, pl.Expr] = {
    BEFORE_HOSTS: pl.col("peer").str.starts_with("host"),
    BETWEEN_SWITCHES: pl.col("peer").str.starts_with("host").not_() & pl.col("node").str.starts_with("host").not_(),
}


@cache
def read_run(run: str) -> pl.DataFrame:
    """A flow in each row by its start, which is how ours are numbered: its ends, size, start, and `fct_ns`."""
    name, column = (run.removesuffix(UNMARKED), "unmarked_fct_ns") if run.endswith(UNMARKED) else (run, "fct_ns")
    flows = read_file(f"{name}.csv.gz" if name.startswith("w") else f"{name}.csv")
    ends = flows.select("src", "dst", "size_bytes", "start_ns", fct_ns=column)
    return ends.sort("start_ns", maintain_order=True)


@cache
def read_file(name: str) -> pl.DataFrame:
    """One of its files."""
    return read_table(PEERS_FOLDER / FOLDER / name)


def source_of(run: str) -> str:
    """The file that has a run's flows."""
    name = run.removesuffix(UNMARKED)
    return f"{FOLDER}/{name}.csv.gz" if name.startswith("w") else f"{FOLDER}/{name}.csv"


def scenario_of(run: str, folder: Path, *, seeds: int = SEEDS, **measure: Any) -> dict[str, Any]:
    """The scenario of a run; its flows are put into `folder`.

    Sizes are those that the simulator's queues count, which leave out the gap between frames and the preamble.
    """
    path = folder / "flows" / f"sird-{run}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, read_run(run).drop("fct_ns").write_csv())
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    transport: dict[str, Any] = {"kind": "sird", "variant": "nwsim", "header": "60B", "ack": "64B"}
    if run.endswith(UNMARKED):
        transport["sender_mark"] = 1_000
    return {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "hosts_per_leaf": HOSTS_PER_LEAF,
            "spines": 2,
            "host_link": {"rate": "100Gbps", "delay": "1250ns"},
            "link": {"rate": "400Gbps", "delay": "500ns"},
            "framing": "20B",
        },
        "workload": [{"arrivals": {"kind": "list", "file": str(path.absolute())}}],
        "scheme": [
            {
                "name": "SIRD",
                "transport": transport,
                "queue": {
                    "kind": "classes",
                    "strict": 2,
                    "queue": "drop-tail",
                    "port": {"kind": "ecn", "mark_above": f"{MARK_BYTES}B"},
                    "port_marks": "between-switches",
                },
                "routing": "spray-random",
            }
        ],
        "run": {"seeds": seeds},
        "measure": {"queues": True, **measure},
    }


def draws_of(run: str, results: Results) -> list[pl.DataFrame]:
    """The flows of each draw of ours, with `theirs`, the time that they took there."""
    theirs = read_run(run)
    parts = []
    for part in results.to_polars("flows").sort("seed", "flow_id").partition_by("seed"):
        same = part.select(pl.col("src", "dst", "size_bytes").cast(pl.Int64))
        if not theirs.select("src", "dst", "size_bytes").equals(same):
            raise PacketloomError("the flows are not those of the list: delete the results and run again")
        parts.append(theirs.rename({"fct_ns": "theirs"}).with_columns(part["fct_ns"]))
    return parts


def their_peak(run: str, place: str) -> float:
    """The most that waited at any port of a place."""
    peaks = read_file("peaks.csv").row(by_predicate=pl.col("run") == run, named=True)
    columns = ["to_host_bytes"] if place == BEFORE_HOSTS else ["to_spine_bytes", "to_leaf_bytes"]
    return float(max(peaks[column] for column in columns))


def our_peaks(results: Results, place: str) -> tuple[float, ...]:
    """The same of each draw of ours.

    Theirs counts a packet that passes an idle port as one that waited, so a frame is the least.
    """
    largest = []
    for _, table in results.partitions("ports", ("node", "peer", "queue_max_bytes")):
        most = polars_frame(table).filter(PLACES[place])["queue_max_bytes"].max()
        assert isinstance(most, int | float)
        largest.append(max(float(most), float(FRAME_BYTES)))
    return tuple(largest)
