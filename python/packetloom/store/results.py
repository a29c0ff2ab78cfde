"""Results folders, as they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from packetloom.common import arguments
from packetloom.common.build import other_builds_text
from packetloom.common.columns import repeated
from packetloom.common.files import ADDED_SINCE, DamageError, as_type, read_parquet, read_schema
from packetloom.common.suggest import meant
from packetloom.errors import ArgumentError
from packetloom.scenario.plan import ALIKE
from packetloom.scenario.run_lengths import current_lines
from packetloom.store.case_rows import (
    FLOWS,
    PARTITIONED,
    PLAN,
    CaseRow,
    TableName,
    axes_of,
    builds_of,
    index_table,
    parameter_types,
    read_rows,
    row_in,
)
from packetloom.store.stored_plan import plan_lines, read_marker, text_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_TOLD = 5
"""Damaged files that are named one by one."""


class Results:
    """A results folder: its cases and flows as Arrow tables. It can be read while it is being written."""

    def __init__(self, path: str | Path) -> None:
        self.path = arguments.path("path", path)
        self.marker = read_marker(self.path)
        self.problems: dict[str, None] = {}
        """What was found damaged so far, and passed over; `packetloom check DIR` looks at every file."""

    def __repr__(self) -> str:
        note = self.build_note()
        finished = f"{len(self.rows())} of {len(self.plan_lines())} cases finished"
        return f"Results({str(self.path)!r}, {finished}{note and f'; {note}'})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from packetloom.pages.notebook import results_html

        return results_html(self)

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    @property
    def alike(self) -> float:
        """Schemes that differ by less than this fraction are called alike."""
        return float(self.marker.get("alike", ALIKE))

    def rows(self) -> list[CaseRow]:
        """The finished cases, in the scenario's order."""
        lines, several = self._lines()
        order = {line["id"]: position for position, line in enumerate(lines)}
        rows, damage = read_rows(self.path)
        self._pass_over(*damage)
        rows = [row for row in rows if row.case_id in order or not several]
        return sorted(rows, key=lambda row: (order.get(row.case_id, len(order)), row.case_id))

    def plan_lines(self) -> list[dict[str, Any]]:
        """Every case of the scenario, finished or not; those that a precision made longer, as long as they are now."""
        return self._lines()[0]

    def _lines(self) -> tuple[list[dict[str, Any]], bool]:
        """The same, and whether cases have several lengths, of which one counts."""
        lines, damage = plan_lines(self.path / PLAN)
        self._pass_over(*damage)
        if all(line.get("times", 1) == 1 for line in lines):
            return lines, False
        first_seeds = int((self.marker["precision"] or {}).get("first_seeds", 0))
        finished = {file.stem for file in (self.path / FLOWS).glob("*.parquet")}
        return current_lines(lines, first_seeds, finished), True

    @property
    def scenario_text(self) -> str:
        """The scenario as it was run."""
        try:
            return text_of(self.path / str(self.marker["scenario"]))
        except DamageError as damage:
            self._pass_over(damage)
            return str(damage)

    def _pass_over(self, *damage: DamageError) -> None:
        """Goes on without what is damaged, with a message."""
        for one in damage:
            if str(one) not in self.problems:
                self.problems[str(one)] = None
                if len(self.problems) <= MOST_TOLD:
                    print(f"warning: {one}; passed over", file=sys.stderr)
                if len(self.problems) == 1:
                    names_all = f"`packetloom check {self.path}` names all that is damaged"
                    print(f"warning: {names_all}, `packetloom run {self.path}` repairs it", file=sys.stderr)

    @property
    def cases(self) -> pa.Table:
        """A row per finished case: parameters, counters, fingerprint."""
        return index_table(self.rows(), self.parameter_types())

    @property
    def flows(self) -> pa.Table:
        """A row per flow of every finished case, with the case's parameters."""
        return self.table("flows")

    @property
    def ports(self) -> pa.Table:
        """A row per port of every finished case, with the case's parameters."""
        return self.table("ports")

    @property
    def series(self) -> pa.Table:
        """The samples over time, if the scenario records them."""
        return self.table("series")

    @property
    def classes(self) -> pa.Table:
        """The samples of each traffic class, if the scenario records them."""
        return self.table("classes")

    @property
    def flow_series(self) -> pa.Table:
        """The samples of flows at their senders, if the scenario names some."""
        return self.table("flow_series")

    @property
    def pulls(self) -> pa.Table:
        """The samples of NDP's queues of pulls."""
        return self.table("pulls")

    @property
    def pauses(self) -> pa.Table:
        """A row per pause of a class at a port, if the scenario records them."""
        return self.table("pauses")

    @property
    def jobs(self) -> pa.Table:
        """A row per collective operation, for each time that it was done."""
        return self.table("jobs")

    @property
    def iterations(self) -> pa.Table:
        """A row per repetition of a job."""
        return self.table("iterations")

    @property
    def requests(self) -> pa.Table:
        """A row per request to a model that is served."""
        return self.table("requests")

    @property
    def ranks(self) -> pa.Table:
        """A row per rank and repetition of a job."""
        return self.table("ranks")

    @property
    def critical_path(self) -> pa.Table:
        """A row per part of the critical path of each repetition of a job, if the scenario records operations."""
        return self.table("critical_path")

    @property
    def operations(self) -> pa.Table:
        """A row per operation of a rank of a job, if the scenario records them."""
        return self.table("operations")

    def build_note(self) -> str:
        """Which cases another build computed, for the line below a table; empty if none."""
        return other_builds_text(builds_of(self.rows()))

    @property
    def axes(self) -> list[str]:
        """The parameters that the scenario varies beside scheme, load and seed."""
        return axes_of(self.rows())

    def parameter_types(self) -> dict[str, type | None]:
        """The type of each parameter's column: one for all tables, and for all cases, finished or not."""
        planned = [line["parameters"] for line in self.plan_lines()]
        return parameter_types([*planned, *(row.parameters for row in self.rows())])

    def table(self, name: TableName, columns: Sequence[str] | None = None) -> pa.Table:
        """One of the tables; of the large ones, only these columns, when given; `ArgumentError` for an
        unknown name."""
        if name == "cases":
            table = self.cases
            _must_have(name, table.column_names, columns)
            return table if columns is None else table.select(list(columns))
        axes, types = self.axes, self.parameter_types()
        tables = [_with_axes(table, row, axes, types) for row, table in self.partitions(name, columns)]
        if not tables:
            return pa.table({})
        return pa.concat_tables(tables, promote_options="permissive")

    def _column_names(self, name: TableName) -> list[str]:
        """The columns of the first case's part of a table that is whole; none if there is no such part."""
        for row in self.rows():
            file = self.table_path(name, row)
            if file.exists():
                with suppress(DamageError):
                    schema = read_schema(file)
                    if row_in(file, schema.metadata or {}).is_of(row):
                        return list(schema.names)
        return []

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        """The finished cases one by one, each with its part of a table: for results larger than memory.

        `ArgumentError` for an unknown table or column.
        """
        _must_be_table(name)
        if columns is not None:
            _must_have(name, self._column_names(name), columns)
        for row in self.rows():
            table = self.part(name, row, columns)
            if table is not None:
                yield row, table

    def part(self, name: TableName, row: CaseRow, columns: Sequence[str] | None = None) -> pa.Table | None:
        """A case's part of a table; nothing if it has none, or if that is damaged, which is reported."""
        _must_be_table(name)
        file = self.table_path(name, row)
        if name not in row.tables and (row.tables or not file.exists()):
            return None
        try:
            table = read_parquet(file, columns)
            written = row_in(file, table.schema.metadata or {})
            # A case that has been computed again since its row was read is whole, too.
            if not written.is_of(row) and not written.is_of(row_in(self.table_path("flows", row))):
                raise DamageError(file, "is of another run of its case than its flows")
        except DamageError as damage:
            self._pass_over(damage)
            return None
        return table

    def table_path(self, name: TableName, row: CaseRow) -> Path:
        """Where a case's part of a table is, if it has one."""
        return self.path / PARTITIONED[name] / f"{row.case_id}.parquet"

    def to_polars(self, name: TableName = "flows") -> pl.DataFrame:
        """One of the tables for polars."""
        import polars as pl

        frame = pl.from_arrow(self.table(name))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self, name: TableName = "flows") -> pd.DataFrame:
        """One of the tables for pandas (which is not installed with packetloom)."""
        frame: pd.DataFrame = self.table(name).to_pandas()
        return frame


class Snapshot(Results):
    """A results folder as it is now: cases that finish from here on are not in it."""

    def __init__(self, results: Results) -> None:
        super().__init__(results.path)
        self.problems = results.problems
        self._rows = results.rows()

    def rows(self) -> list[CaseRow]:
        """The cases that were finished."""
        return self._rows


def _must_be_table(name: str) -> None:
    """`ArgumentError` for what is no table of cases' parts."""
    if name not in PARTITIONED:
        raise ArgumentError(f"there is no table {name!r}; {meant(str(name), ('cases', *PARTITIONED))}")


def _must_have(name: str, known: Sequence[str], asked: Sequence[str] | None) -> None:
    """`ArgumentError` for a column that the table does not have, where its columns are known."""
    for column in asked or ():
        if known and column not in known and column not in ADDED_SINCE:
            raise ArgumentError(f"the table {name!r} has no column {column!r}; {meant(str(column), known)}")


def _with_axes(table: pa.Table, row: CaseRow, axes: Sequence[str], types: Mapping[str, type | None]) -> pa.Table:
    for axis in axes:
        value = as_type(row.parameters.get(axis), types[axis])
        table = table.append_column(axis, repeated(value, types[axis], table.num_rows))
    return table
