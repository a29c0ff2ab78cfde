"""Other tools' files of flows: writing results as they do, and reading theirs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.exchange.fct import fct_text
from packetloom.exchange.flow_monitor import flow_monitor_text
from packetloom.results import CaseRow, Results
from packetloom.storage import explain_os_error, write_text

Writer = Callable[[pl.DataFrame], str]


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and whether its hosts have the numbers of the network's own file."""

    suffix: str
    write: Writer
    has_ids: bool


FORMATS = {
    "fct-hpcc": Format("txt", lambda flows: fct_text(flows, "hpcc"), has_ids=True),
    "fct-conweave": Format("txt", lambda flows: fct_text(flows, "conweave"), has_ids=True),
    "flow-monitor": Format("csv", flow_monitor_text, has_ids=False),
}


def export(results: Results, name: str, output: Path) -> list[Path]:
    """Writes the flows of every finished case in another tool's format, a file each; returns the files."""
    if name not in FORMATS:
        raise PacketloomError(f"unknown format {name!r}; write one of {', '.join(FORMATS)}")
    format = FORMATS[name]
    files = []
    try:
        output.mkdir(parents=True, exist_ok=True)
        for row, table in results.partitions("flows"):
            flows = pl.from_arrow(table)
            assert isinstance(flows, pl.DataFrame)
            path = output / f"{_file_name(row)}.{format.suffix}"
            write_text(path, format.write(_with_ids(flows, results, row) if format.has_ids else flows))
            files.append(path)
    except OSError as error:
        raise explain_os_error(error, f"{output}: cannot write there") from None
    if not files:
        raise PacketloomError(f"{results.path}: no case is finished, so there are no flows to write")
    return files


def _file_name(row: CaseRow) -> str:
    """What the case is, and enough of its identity that no two files have the same name."""
    label = re.sub(r"[^A-Za-z0-9.+-]+", "-", row.label).strip("-")
    load = "" if row.load is None else f"-load-{row.load:g}"
    return f"{label}{load}-seed-{row.seed}-{row.case_id[:6]}"


def _with_ids(flows: pl.DataFrame, results: Results, row: CaseRow) -> pl.DataFrame:
    """The flows with hosts' numbers as the network's own file has them: its ports come first, host by host."""
    for other, ports in results.partitions("ports", ["port", "node"]):
        if other.case_id == row.case_id:
            nodes = pl.from_arrow(ports)
            assert isinstance(nodes, pl.DataFrame)
            hosts = nodes.filter(pl.col("node").str.starts_with("host")).unique("node").sort("port")
            ids = hosts["node"].str.strip_prefix("host").cast(pl.Int64).to_list()
            return flows.with_columns(pl.col("src", "dst").replace_strict(dict(enumerate(ids))))
    return flows
