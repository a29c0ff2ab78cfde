"""`fct.txt` of the HPCC and ConWeave simulators on ns-3.

A line a finished flow: source, destination, their ports, bytes, start, completion time and ideal completion time in ns.
HPCC writes nodes as addresses of 8 hexadecimal digits, ConWeave as decimal numbers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import polars as pl

from packetloom.common import arguments
from packetloom.common.text_files import MOST_LIST_BYTES, read_text
from packetloom.errors import PacketloomError

Dialect = Literal["hpcc", "conweave"]

FIELDS = ("src", "dst", "sport", "dport", "size_bytes", "start_ns", "fct_ns", "ideal_fct_ns")
FIRST_ADDRESS = 0x0B000001
MOST_DIGITS = 19
FIRST_PORT = 10_000
"""HPCC counts a pair's flows from here in the source port."""
USUAL_PORT = 100
"""HPCC's destination port of flows that are no incast."""


def fct_text(flows: pl.DataFrame, dialect: Dialect) -> str:
    """The finished flows of a case, in the order in which they finished; `dport`: if their list has it."""
    finished = flows.filter(pl.col("fct_ns").is_not_nan())
    # Ports are counted in order of start, not of completion.
    pairs: Counter[tuple[int, int]] = Counter()
    lines: list[tuple[float, int, str]] = []
    for flow in finished.sort("start_ns", "flow_id").iter_rows(named=True):
        pair = (flow["src"], flow["dst"])
        sport = FIRST_PORT + pairs[pair]
        pairs[pair] += 1
        ends = [address(node) if dialect == "hpcc" else str(node) for node in pair]
        times = [round(flow[name]) for name in ("start_ns", "fct_ns", "best_fct_ns")]
        dport = flow.get("dport")
        fields = [*ends, sport, USUAL_PORT if dport is None else dport, flow["size_bytes"], *times]
        end_ns = flow["start_ns"] + flow["fct_ns"]
        lines.append((end_ns, flow["flow_id"], " ".join(map(str, fields))))
    return "".join(f"{line}\n" for _, _, line in sorted(lines))


def address(node: int) -> str:
    """A node's address as HPCC has it."""
    return f"{FIRST_ADDRESS + (node // 256 << 16) + (node % 256 << 8):08x}"


def read_fct(path: str | Path) -> pl.DataFrame:
    """The flows of an `fct.txt` in either dialect, with the columns that `FIELDS` names, times in ns.

    `PacketloomError` for a file that cannot be read, with the line where it is no such list.
    """
    text = read_text(arguments.path("path", path), MOST_LIST_BYTES)
    rows = [_row(line.split(), f"{path}:{number}") for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return pl.DataFrame(rows, schema=dict.fromkeys(FIELDS, pl.Int64), orient="row")


def _row(fields: list[str], place: str) -> list[int]:
    if len(fields) != len(FIELDS):
        raise PacketloomError(f"{place}: {len(fields)} fields where there should be {len(FIELDS)}: {' '.join(FIELDS)}")
    ends = [_node(field, place) for field in fields[:2]]
    return [*ends, *(_count(field, name, place) for field, name in zip(fields[2:], FIELDS[2:], strict=True))]


def _node(field: str, place: str) -> int:
    if len(field) != 8 or not field.lower().startswith("0b"):
        return _count(field, "a node", place)
    try:
        offset = int(field, 16) - FIRST_ADDRESS
    except ValueError:
        offset = -1
    if offset < 0 or offset & 0xFF:
        raise PacketloomError(f"{place}: {field} is not a node's address; they begin at {address(0)}, {address(1)}")
    return (offset >> 16) * 256 + (offset >> 8 & 0xFF)


def _count(field: str, name: str, place: str) -> int:
    if not field.isdecimal() or not field.isascii():
        raise PacketloomError(f"{place}: {name} is {field!r}; write a whole number that is not negative")
    if len(field) > MOST_DIGITS or int(field) >= 1 << 63:
        raise PacketloomError(f"{place}: {name} is {field}, which is too large")
    return int(field)
