"""A finished case as the tables' functions read it: its settings as they were run, and its tables for polars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a part's results; `spec` is the case as it was run, with every default written out."""

    part: str
    results: Results
    row: CaseRow
    spec: dict[str, Any]

    @property
    def scheme(self) -> str:
        """The scheme's name."""
        return self.row.scheme

    @property
    def topology(self) -> dict[str, Any]:
        """The network."""
        found: dict[str, Any] = self.spec["topology"]
        return found

    @property
    def transport(self) -> dict[str, Any]:
        """The scheme's transport."""
        found: dict[str, Any] = self.spec["scheme"]["transport"]
        return found

    @property
    def routing(self) -> dict[str, Any]:
        """The scheme's path selection."""
        found: dict[str, Any] = self.spec["scheme"]["routing"]
        return found

    def workload(self, place: int = 0) -> dict[str, Any]:
        """A source of traffic."""
        found: dict[str, Any] = self.spec["workloads"][place]
        return found

    def arrivals(self, place: int = 0) -> dict[str, Any]:
        """When a source's flows start: a job's parameters are here, too."""
        found: dict[str, Any] = self.workload(place)["arrivals"]
        return found

    def counter(self, name: str) -> float:
        """A column of cases.parquet."""
        return float(self.row.counters.get(name, 0.0))

    def frame(self, name: TableName, *columns: str) -> pl.DataFrame:
        """The case's part of a table, which is empty if there is none; one that is damaged ends the report."""
        table = self.results.part(name, self.row, columns or None)
        if table is not None:
            return polars_frame(table)
        if name in self.row.tables or name == "flows":
            where = self.results.path
            raise PacketloomError(f"{where}: table {name} is damaged; `packetloom fabric-bench run` computes it again")
        return pl.DataFrame()

    @property
    def host_rate(self) -> float:
        """The rate of an accelerator's NIC, all its ports, in bit/s: the drafts' B_acc."""
        link = self.topology.get("host_link") or self.topology.get("link")
        rate = float(link["rate"]["bps"]) if link else float("nan")
        return rate * int(self.topology.get("planes", 1))

    @property
    def simulated_s(self) -> float:
        """Simulated time."""
        return self.counter("simulated_ns") / 1e9


def cases_of(part: str, results: Results) -> Iterator[Case]:
    """Every finished case."""
    specs = {line["id"]: line["case"] for line in results.plan_lines()}
    for row in results.rows():
        yield Case(part, results, row, json.loads(specs[row.case_id]))


def size_of(value: Any) -> int:
    """The bytes of a size."""
    return int(value["bytes"])


def seconds_of(value: Any) -> float:
    """The seconds of a time."""
    return float(value["ps"]) / 1e12


def message_size(case: Case, place: int = 0) -> int:
    """The bytes of a flow, of a collective operation's vector, or of a cache."""
    sizes = case.workload(place).get("sizes")
    return size_of(sizes["size"] if sizes else case.arrivals(place)["size"])


def source_flows(case: Case, source: int = 0, *columns: str) -> pl.DataFrame:
    """The flows of one workload."""
    wanted = dict.fromkeys(("source", *columns))
    return case.frame("flows", *wanted).filter(pl.col("source") == source)
