"""Homa on ns-3 (HomaL4Protocol-ns-3): lone messages, a few at once, and W4 message by message.

Any list of its, with the completion times that it measured, is made into a scenario by `homa_scenario`: 144 hosts under
nine leaves and four spines, packets spread at random, eight strict priorities before a device's ring of one packet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.files import explain_os_error, write_text
from packetloom.common.percentiles import p99
from packetloom.errors import PacketloomError
from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Known, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, agreement, as_id, drawn
from packetloom.validate.peers.figures import per_seed, read_table
from packetloom.validate.peers.schemes import schemes_of

FOLDER = PEERS_FOLDER / "homa_ns3"
# Paths are drawn: theirs is one draw, ours so many.
DRAWS = 5
QUEUE_WITHIN = 0.15
P99_NEEDS_MESSAGES = 100
# By messages of so many bytes: a packet, a window, ten, a hundred.
CLASSES = ((0, 1_460), (1_460, 10_220), (10_220, 102_200), (102_200, 1_022_000), (1_022_000, 10**12))
# What ns-3 counts of a packet in a queue is without PPP's header.
PPP_BYTES = 2
WHY_ORDER = (
    "Of two messages of one size, which is ahead hangs on which packet of one nanosecond goes first; the two change "
    "places, and end at the same two times"
)


@dataclass(frozen=True, slots=True)
class Micro:
    """Messages of `micro.csv` that start together, from `first` on, and what is compared of them."""

    name: str
    first: int
    count: int
    each: bool


MICROS = (
    Micro("20 KB and 100 KB, one rack", 0, 2, each=True),
    Micro("100 KB and 1 MB, one rack", 2, 2, each=True),
    Micro("100 KB and 100 KB", 4, 2, each=True),
    Micro("1 MB and 1 MB", 6, 2, each=True),
    Micro("1 MB, then 100 KB", 8, 2, each=True),
    Micro("1 MB, then 5 KB", 10, 2, each=True),
    Micro("100 KB and 1 MB, other racks", 12, 2, each=True),
    Micro("1 MB, then 100 KB, other racks", 14, 2, each=True),
    Micro("1 MB, then 5 KB, other racks", 16, 2, each=True),
    Micro("100 KB and 1 MB to two receivers", 18, 2, each=True),
    Micro("1 MB, then 100 KB to another receiver", 20, 2, each=True),
    Micro("100 KB and 1 MB to one receiver", 22, 2, each=True),
    Micro("8 x 100 KB, one rack", 24, 8, each=False),
    Micro("8 x 100 KB, 8 racks", 32, 8, each=False),
    Micro("8 x 5000 B, one rack", 40, 8, each=False),
    Micro("8 x 10 220 B, 8 racks", 48, 8, each=False),
    Micro("100, 200 .. 800 KB, 8 racks", 56, 8, each=False),
)
# The most that waited before any host, in bytes without PPP: in eight messages of 100 KB from one rack, and under W4.
PEAKS = {"micro": 79_500, "micro_oc1": 73_500, "W4_50": 36_000, "W4_80": 36_040}


def homa_comparisons() -> list[Check]:
    """All of them."""
    return [
        _lone(),
        _micro("micro", 6),
        _micro("micro_oc1", 1),
        *(list_comparison(FOLDER / f"{name}.csv.gz", PEAKS[name]) for name in ("W4_50", "W4_80")),
    ]


def read_messages(path: Path) -> pl.DataFrame:
    """Messages by their start, which is how ours are numbered, with `fct_ns`; a list's with `ideal_ns`, too."""
    table = read_table(path)
    if "finish_ns" in table.columns:
        table = table.with_columns((pl.col("finish_ns") - pl.col("begin_ns")).alias("fct_ns"))
    return table.sort("start_ns", maintain_order=True)


def homa_scenario(
    messages: pl.DataFrame, name: str, folder: Path, *, seeds: int = 1, overcommitment: int = 6
) -> dict[str, Any]:
    """The scenario that replays messages, from a list that is put into `folder`."""
    path = folder / "flows" / f"{name}.csv"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, messages.select("src", "dst", "start_ns", size_bytes="size").write_csv())
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    transport = {
        "kind": "homa",
        "variant": "homa-ns3",
        "mss": "1460B",
        "header": "42B",  # IP's, Homa's and PPP's
        "ack": "42B",
        "overcommitment": overcommitment,
    }
    queue = {
        "kind": "classes",
        "strict": 8,
        "queue": "drop-tail",
        "port": {"kind": "drop-tail", "capacity": "500packets"},
        "ring": 1,
        "ties": "ns-3",
    }
    return {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 9,
            "hosts_per_leaf": 16,
            "spines": 4,
            "host_link": {"rate": "10Gbps", "delay": "250ns"},
            "link": {"rate": "40Gbps", "delay": "250ns"},
            "whole_ns": True,
        },
        "workload": [{"arrivals": {"kind": "list", "file": str(path.absolute())}}],
        "scheme": [
            {
                "name": "Homa",
                "transport": transport,
                "queue": queue,
                "nic": "drop-tail",
                "routing": "spray-random",
            }
        ],
        "run": {"seeds": seeds},
        "measure": {"queues": True},
    }


def _comparison(
    name: str,
    theirs: Callable[[], pl.DataFrame],
    rows: Callable[[pl.DataFrame, Results], Sequence[Row]],
    **options: int,
) -> Check:
    return Check(
        f"homa-{name}",
        lambda folder: {"replayed": homa_scenario(theirs(), name, folder, **options)},
        lambda results: rows(theirs(), results["replayed"]),
        quick=True,
    )


def _lone() -> Check:
    def rows(theirs: pl.DataFrame, results: Results) -> list[Row]:
        table = _paired(theirs, results)
        apart = table.select((pl.col("ours") - pl.col("fct_ns")).abs().max()).item()
        title = f"Homa on ns-3, {table.height} lone messages of 1 B to 5 MB: FCTs apart at most, ns"
        return [_exact("homa lone", title, "lone.csv", apart)]

    return _comparison("lone", lambda: read_messages(FOLDER / "lone.csv"), rows)


def _micro(name: str, overcommitment: int) -> Check:
    source = f"{name}.csv"

    def rows(theirs: pl.DataFrame, results: Results) -> list[Row]:
        table = _paired(theirs, results)
        found = []
        for micro in MICROS:
            part = table.slice(micro.first, micro.count)
            case = f"Homa on ns-3, overcommitment {overcommitment}, {micro.name}"
            id = f"homa {name} {micro.name}"
            if micro.each:
                apart = part.select((pl.col("ours") - pl.col("fct_ns")).abs().max()).item()
                found.append(_exact(id, f"{case}: FCTs apart at most, ns", source, apart, _known(name, micro)))
                continue
            theirs_last, ours_last = part.select(pl.max("fct_ns", "ours")).row(0)
            title = f"{case}: FCT of the last message in ns"
            found.append(agreement(f"{id} last", title, _file(source), theirs_last, ours_last, 0.001))
        title = f"Homa on ns-3, overcommitment {overcommitment}: largest queue before a host in bytes"
        (peak,) = _largest_queues(results)
        return [*found, agreement(f"homa {name} queue", title, _file(source), PEAKS[name], peak, 0.001)]

    return _comparison(name, lambda: read_messages(FOLDER / source), rows, overcommitment=overcommitment)


def _known(name: str, micro: Micro) -> Known | None:
    if (name, micro.name) == ("micro_oc1", "1 MB and 1 MB"):
        return Known(WHY_ORDER, (2_322, 2_322), "the two the other way round")
    return None


def list_comparison(path: Path, peak: int | None = None) -> Check:
    """Of a list with what ns-3 measured, as `validation/homa_ns3/W4_80.csv.gz` is: mean and p99 by class of sizes."""
    name = path.name.removesuffix(".csv.gz")

    def rows(theirs: pl.DataFrame, results: Results) -> list[Row]:
        table = _paired(theirs, results)
        found = []
        for above, up_to in CLASSES:
            part = table.filter(pl.col("size") > above, pl.col("size") <= up_to)
            if not part.height:
                continue
            case = f"Homa on ns-3, {name}, {above} B < size <= {up_to} B"
            id = f"homa {name} {above} to {up_to}"
            texts = (f"{id} mean", f"{case}: mean slowdown", _file(path.name))
            found.append(drawn(*texts, _draws(part, lambda slowdown: slowdown.mean()), MEAN_WITHIN))
            if part.height >= P99_NEEDS_MESSAGES:
                texts = (f"{id} p99", f"{case}: p99 slowdown", _file(path.name))
                found.append(drawn(*texts, _draws(part, p99), P99_WITHIN))
        if peak is not None:
            title = f"Homa on ns-3, {name}: largest queue before a host in bytes"
            draws = Draws((float(peak),), _largest_queues(results))
            found.append(drawn(f"homa {name} queue", title, _file(path.name), draws, QUEUE_WITHIN))
        return found

    return _comparison(name, lambda: read_messages(path), rows, seeds=DRAWS)


def _draws(part: pl.DataFrame, statistic: Callable[[pl.Expr], pl.Expr]) -> Draws:
    """A statistic of the slowdowns: of their one draw, and of each of ours."""
    ideal = pl.col("ideal_ns")
    theirs = part.filter(seed=part["seed"].min()).select(statistic(pl.col("fct_ns") / ideal)).item()
    return Draws((float(theirs),), per_seed(part, statistic(pl.col("ours") / ideal)))


def _paired(theirs: pl.DataFrame, results: Results) -> pl.DataFrame:
    """A row for each message and seed, with `ours`."""
    ours = results.to_polars().sort("seed", "flow_id")
    parts = []
    for (seed,), part in ours.group_by("seed", maintain_order=True):
        same = part.select(pl.col("src", "dst", "size_bytes").cast(pl.Int64))
        if not theirs.select("src", "dst", size_bytes="size").equals(same):
            raise PacketloomError("the messages are not those of the list: delete the results and run again")
        parts.append(theirs.with_columns(part["fct_ns"].cast(pl.Float64).alias("ours"), pl.lit(seed).alias("seed")))
    return pl.concat(parts)


def _largest_queues(results: Results) -> tuple[float, ...]:
    """Of each draw the most that waited before any host, without the ring, and without PPP's headers."""
    largest = []
    for _, table in results.partitions("ports", ("peer", "queue_max_bytes")):
        ports = polars_frame(table).filter(pl.col("peer").str.starts_with("host"))
        frame_bytes = 1_500 + PPP_BYTES
        most = float(ports.select(pl.col("queue_max_bytes").max()).item()) - frame_bytes
        largest.append(most * 1_500 / frame_bytes)
    return tuple(largest)


def _file(name: str) -> str:
    return f"validation/homa_ns3/{name}"


def _exact(id: str, what: str, source: str, ours: float, known: Known | None = None) -> Row:
    """How many nanoseconds apart: none."""
    return Row(
        id=as_id(id),
        what=what,
        source=_file(source),
        expected=(0, 0),
        measured=ours,
        band=(0, 0),
        rule="the same nanoseconds",
        known=known,
        schemes=schemes_of(_file(source), what),
    )
