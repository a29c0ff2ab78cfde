"""Destination ports of flows, as the files that list them have them: the tables of results have none."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from packetloom import _core
from packetloom.common.text_files import MOST_LIST_BYTES, read_text
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

Lists = dict[int, str]
"""The files of HPCC's that sources of traffic read, by the source's number."""


class ListedPorts:
    """Those of a campaign's flows."""

    def __init__(self, results: Results) -> None:
        has_lists = '"hpcc"' in results.scenario_text
        cases = read_plan(results.path).cases if has_lists else []
        self._of_cases = {case.id: _lists(case) for case in cases}
        self._usual: Lists = next(iter(self._of_cases.values()), {})
        self._read: dict[str, list[tuple[int, int]]] = {}

    def added(self, flows: pl.DataFrame, row: CaseRow) -> pl.DataFrame:
        """A case's flows with a column `dport`, null where no file says it.

        Raises:
            PacketloomError: a file is not what it was when the case was run, or is not there.
        """
        # Seeds that a campaign added read what its first ones read.
        lists = self._of_cases.get(row.case_id, self._usual)
        flows = flows.sort("flow_id")
        found: list[int | None] = [None] * flows.height
        for source, file in lists.items():
            places = flows.with_row_index("place").filter(source=source)
            listed = self._of(file)
            sizes = [size for size, _ in listed[: places.height]]
            if not listed:
                continue
            if sizes != places["size_bytes"].to_list():
                raise PacketloomError(
                    f"{file}: these are not the flows that were run, whose destination ports it had: restore the file"
                )
            for place, (_, port) in zip(places["place"], listed, strict=False):
                found[place] = port
        return flows.with_columns(pl.Series("dport", found, pl.Int64))

    def _of(self, file: str) -> list[tuple[int, int]]:
        if file not in self._read:
            self._read[file] = _core.listed_ports(read_text(Path(file), MOST_LIST_BYTES))
        return self._read[file]


def _lists(case: _core.Case) -> Lists:
    arrivals = [workload.get("arrivals", {}) for workload in json.loads(case.json)["workloads"]]
    return {
        number: one["file"]
        for number, one in enumerate(arrivals)
        if isinstance(one, dict) and one.get("kind") == "hpcc"
    }
