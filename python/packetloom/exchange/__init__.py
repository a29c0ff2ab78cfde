"""Other tools' files of flows and jobs: writing results as they do, and reading theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import polars as pl

from packetloom.common import arguments
from packetloom.common.files import explain_os_error, write_whole
from packetloom.errors import PacketloomError
from packetloom.exchange.fct import fct_text
from packetloom.exchange.flow_monitor import flow_monitor_text
from packetloom.exchange.ports import ListedPorts
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

PCAPNG = "pcapng"
CHROME_TRACE = "chrome-trace"
CHAKRA = "chakra"
MOST_LETTERS = 100
"""Of a label in a file name: file systems allow 255 in all."""
Writer = Callable[[pl.DataFrame], str]


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and whether it has the hosts' numbers and the flows' ports of the files that list them."""

    suffix: str
    write: Writer
    has_ids: bool


FORMATS = {
    "fct-hpcc": Format("txt", lambda flows: fct_text(flows, "hpcc"), has_ids=True),
    "fct-conweave": Format("txt", lambda flows: fct_text(flows, "conweave"), has_ids=True),
    "flow-monitor": Format("csv", flow_monitor_text, has_ids=False),
}


def export(results: Results, name: str, output: str | Path) -> list[Path]:
    """Writes what every finished case has in another tool's format, a file each; returns the files.

    `name` is a format of `packetloom export`, such as `"fct-hpcc"` (docs/other-tools.md). `PacketloomError` where the
    results have nothing for it.

    Examples:
        >>> [file.suffix for file in packetloom.export(results, "fct-hpcc", folder)]
        ['.txt', '.txt', '.txt', '.txt', '.txt', '.txt', '.txt', '.txt']
    """
    arguments.instance("results", results, Results, "a packetloom.Results")
    output = arguments.path("output", output)
    if name not in (*FORMATS, *KEPT):
        raise PacketloomError(f"unknown format {name!r}; write one of {', '.join((*FORMATS, *KEPT))}")
    files = []
    try:
        output.mkdir(parents=True, exist_ok=True)
        for row, suffix, content in KEPT[name](results) if name in KEPT else _texts(results, FORMATS[name]):
            path = output / f"{_file_name(row)}.{suffix}"
            write_whole(path, partial(_put, content))
            files.append(path)
    except OSError as error:
        raise explain_os_error(error, f"{output}: cannot write there") from None
    if not files:
        what = NOTHING.get(name, "no case is finished")
        raise PacketloomError(f"{results.path}: {what}, so there is nothing to write")
    return files


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _texts(results: Results, format: Format) -> Iterator[tuple[CaseRow, str, bytes]]:
    ports = ListedPorts(results) if format.has_ids else None
    for row, table in results.partitions("flows"):
        flows = pl.from_arrow(table)
        assert isinstance(flows, pl.DataFrame)
        numbered = flows if ports is None else _with_ids(ports.added(flows, row), results, row)
        if numbered is not None:
            yield row, format.suffix, format.write(numbered).encode()


def _captures(results: Results) -> Iterator[tuple[CaseRow, str, bytes]]:
    for row, table in results.partitions("captures", ["pcapng"]):
        yield row, PCAPNG, table["pcapng"][0].as_py()


def _timelines(results: Results) -> Iterator[tuple[CaseRow, str, bytes]]:
    for row, table in results.partitions("timelines", ["source", "iteration", "chrome_trace"]):
        for one in table.to_pylist():
            yield row, f"job{one['source']}-{one['iteration']}.json", one["chrome_trace"]


def _traces(results: Results) -> Iterator[tuple[CaseRow, str, bytes]]:
    for row, table in results.partitions("traces", ["source", "iteration", "rank", "chakra", "groups"]):
        for one in table.to_pylist():
            name = f"job{one['source']}-{one['iteration']}"
            yield row, f"{name}.{one['rank']}.et", one["chakra"]
            if one["groups"]:
                yield row, f"{name}.groups.json", one["groups"].encode()


KEPT: dict[str, Callable[[Results], Iterator[tuple[CaseRow, str, bytes]]]] = {
    PCAPNG: _captures,
    CHROME_TRACE: _timelines,
    CHAKRA: _traces,
}
NOTHING = {
    PCAPNG: "nothing was captured; set measure.capture",
    CHROME_TRACE: "no job's operations were kept; set measure.operations",
    CHAKRA: "no job's operations were kept that Chakra has words for; set measure.operations",
}


def _file_name(row: CaseRow) -> str:
    """What the case is, and enough of its identity that no two files have the same name."""
    label = re.sub(r"[^A-Za-z0-9.+-]+", "-", row.label)[:MOST_LETTERS].strip(".-") or "scheme"
    load = "" if row.load is None else f"-load-{row.load:g}"
    return f"{label}{load}-seed-{row.seed}-{row.case_id[:6]}"


def _with_ids(flows: pl.DataFrame, results: Results, row: CaseRow) -> pl.DataFrame | None:
    """The flows with hosts' numbers as the network's own file has them: its ports come first, host by host.

    Nothing, where the file of the ports is damaged.
    """
    ports = results.part("ports", row, ["port", "node"])
    if ports is None:
        return None if "ports" in row.tables else flows
    if not ports.num_rows:  # a flow-level model
        return flows
    nodes = pl.from_arrow(ports)
    assert isinstance(nodes, pl.DataFrame)
    hosts = nodes.filter(pl.col("node").str.starts_with("host")).unique("node").sort("port")
    ids = hosts["node"].str.strip_prefix("host").cast(pl.Int64).to_list()
    return flows.with_columns(pl.col("src", "dst").replace_strict(dict(enumerate(ids))))
