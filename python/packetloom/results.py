"""Results folders, as they are read."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from packetloom import _core, arguments
from packetloom.build import other_builds_text
from packetloom.contents import Content
from packetloom.errors import PacketloomError
from packetloom.quantities import axis_text
from packetloom.scenario import Parameter, Plan, Precision, plan_from_text
from packetloom.storage import CASE_ROW_KEY, DamageError, as_type, common_type, read_metadata, read_parquet, table_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MARKER = "packetloom.json"
FORMAT = 2
FORMATS_READ = (1, FORMAT)
"""Rows of format 1 tell neither the build nor what the tables hold."""
PLAN = "plan.jsonl"
INDEX = "cases.parquet"
FLOWS = "flows.parquet"
PORTS = "ports.parquet"
SERIES = "series.parquet"
PULLS = "pulls.parquet"
CLASSES = "classes.parquet"
JOBS = "jobs.parquet"
CAPTURES = "captures.parquet"

TableName = Literal["cases", "flows", "ports", "series", "classes", "pulls", "jobs", "captures"]
PARTITIONED: dict[str, str] = {
    "flows": FLOWS,
    "ports": PORTS,
    "series": SERIES,
    "classes": CLASSES,
    "pulls": PULLS,
    "jobs": JOBS,
    "captures": CAPTURES,
}
EVERY_CASE_HAS = ("scheme", "load", "seed")
ARROW_TYPES: dict[type | None, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    None: pa.null(),
}


@dataclass(frozen=True, slots=True)
class CaseRow:
    """What is kept of a case beside its flows."""

    case_id: str
    parameters: dict[str, Parameter]
    counters: dict[str, int | float]
    fingerprint: str
    version: str
    warnings: tuple[str, ...]
    build: str = ""
    """The compiled simulator that computed it; empty if that was not recorded."""
    tables: dict[str, Content] = field(default_factory=dict)
    """What each of its tables holds; empty if that was not recorded."""

    @property
    def label(self) -> str:
        """What the case is a sample of: its scheme, and the values of the axes that the scenario varies."""
        return label_of(self.parameters)

    @property
    def scheme(self) -> str:
        """The scheme's name."""
        return str(self.parameters["scheme"])

    @property
    def load(self) -> float | None:
        """The target load, where the workload has one."""
        load = self.parameters.get("load")
        return None if load is None else float(load)

    @property
    def seed(self) -> int | None:
        """The seed."""
        seed = self.parameters.get("seed")
        return None if seed is None else int(seed)

    def to_json(self) -> str:
        """The row as text, for a file's metadata."""
        names = ("case_id", "parameters", "counters", "fingerprint", "version", "warnings", "build")
        tables = {name: asdict(content) for name, content in self.tables.items()}
        return json.dumps({name: getattr(self, name) for name in names} | {"tables": tables})

    @staticmethod
    def from_json(text: str | bytes) -> CaseRow:
        """The row from its text; `ValueError` if it is none."""
        row = json.loads(text)
        try:
            tables = {name: Content(**content) for name, content in row.pop("tables", {}).items()}
            read = CaseRow(**{**row, "warnings": tuple(row["warnings"])}, tables=tables)
            whole = "scheme" in read.parameters and isinstance(read.counters, dict) and isinstance(read.build, str)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"no row of a case: {error}") from None
        if not whole:
            raise ValueError("no row of a case")
        return read

    def is_of(self, other: CaseRow) -> bool:
        """Whether it is of the same run of the same case."""
        return (self.case_id, self.fingerprint, self.build) == (other.case_id, other.fingerprint, other.build)


def label_of(parameters: Mapping[str, Parameter]) -> str:
    """A scheme, and the values of the axes that the scenario varies."""
    axes = [(name, value) for name, value in parameters.items() if name not in EVERY_CASE_HAS]
    texts = [axis_text(name, value) for name, value in axes if value is not None]
    return ", ".join([str(parameters["scheme"]), *texts])


def row_label(parameters: Mapping[str, Parameter]) -> str:
    """The case of these parameters in a few words."""
    parts = [axis_text(name, value) for name, value in parameters.items() if name != "scheme" and value is not None]
    return " ".join([str(parameters["scheme"]), *parts])


class Results:
    """A results folder: its cases and flows as Arrow tables. It can be read while it is being written."""

    def __init__(self, path: str | Path) -> None:
        self.path = arguments.path("path", path)
        self.marker = read_marker(self.path)

    def __repr__(self) -> str:
        note = self.build_note()
        finished = f"{len(self.rows())} of {len(self.plan_lines())} cases finished"
        return f"Results({str(self.path)!r}, {finished}{note and f'; {note}'})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from packetloom.notebook import results_html

        return results_html(self)

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    def rows(self) -> list[CaseRow]:
        """The finished cases, in the scenario's order."""
        order = {line["id"]: position for position, line in enumerate(self.plan_lines())}
        rows = read_rows(self.path)
        return sorted(rows, key=lambda row: (order.get(row.case_id, len(order)), row.case_id))

    def plan_lines(self) -> list[dict[str, Any]]:
        """Every case of the scenario, finished or not."""
        return [json.loads(line) for line in (self.path / PLAN).read_text(encoding="utf-8").splitlines()]

    @property
    def scenario_text(self) -> str:
        """The scenario as it was run."""
        return (self.path / str(self.marker["scenario"])).read_text(encoding="utf-8")

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
        """The samples over time that the scenario asked for."""
        return self.table("series")

    @property
    def classes(self) -> pa.Table:
        """The samples of each traffic class that the scenario asked for."""
        return self.table("classes")

    @property
    def pulls(self) -> pa.Table:
        """The samples of NDP's queues of pulls."""
        return self.table("pulls")

    @property
    def jobs(self) -> pa.Table:
        """A row per operation among hosts, for each time that it was done."""
        return self.table("jobs")

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
        """One of the tables; of the large ones, only these columns, when given."""
        if name == "cases":
            table = self.cases
            return table if columns is None else table.select(list(columns))
        axes, types = self.axes, self.parameter_types()
        tables = [_with_axes(table, row, axes, types) for row, table in self.partitions(name, columns)]
        if not tables:
            return pa.table({})
        return pa.concat_tables(tables, promote_options="permissive")

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        """The finished cases one by one, each with its part of a table: for results larger than memory."""
        for row in self.rows():
            path = self.table_path(name, row)
            if path.exists():
                yield row, read_parquet(path, columns)

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
        self._rows = results.rows()

    def rows(self) -> list[CaseRow]:
        """The cases that were finished."""
        return self._rows


def builds_of(rows: Iterable[CaseRow]) -> list[tuple[str, str]]:
    """The build of each case: its version and its digest."""
    return [(row.version, row.build) for row in rows]


def stalled_rows(rows: Sequence[CaseRow]) -> list[CaseRow]:
    """The cases that ended because none of their flows could go on."""
    return [row for row in rows if row.counters.get("stalled")]


def axes_of(rows: Sequence[CaseRow]) -> list[str]:
    """The parameters that vary beside scheme, load and seed."""
    names = dict.fromkeys(name for row in rows for name in row.parameters)
    return [name for name in names if name not in EVERY_CASE_HAS]


def parameter_types(several: Iterable[Mapping[str, Parameter]]) -> dict[str, type | None]:
    """The type of each parameter over these cases."""
    values: dict[str, list[Parameter]] = defaultdict(list)
    for parameters in several:
        for name, value in parameters.items():
            values[name].append(value)
    return {name: common_type(of_name) for name, of_name in values.items()}


def parameter_column(rows: Sequence[CaseRow], name: str, types: Mapping[str, type | None]) -> pa.Array:
    """A parameter's values, a case each, in the type that it has in every table."""
    kind = types[name]
    return pa.array([as_type(row.parameters.get(name), kind) for row in rows], ARROW_TYPES[kind])


def _with_axes(table: pa.Table, row: CaseRow, axes: Sequence[str], types: Mapping[str, type | None]) -> pa.Table:
    for axis in axes:
        (value,) = parameter_column([row], axis, types)
        table = table.append_column(axis, pa.repeat(value, table.num_rows))
    return table


def read_marker(folder: Path) -> dict[str, Any]:
    """What a results folder says of itself; an error if it is not one."""
    path = folder / MARKER
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "there is no such folder"
        raise PacketloomError(f"{folder}: {what}; a results folder is made by `packetloom run`")
    try:
        marker = json.loads(path.read_text(encoding="utf-8"))
        known_format = marker["format"]
    except FileNotFoundError:
        raise PacketloomError(
            f"{folder}: not a results folder (it has no {MARKER}); one is made by `packetloom run SCENARIO -o DIR`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise PacketloomError(f"{path}: damaged; it should be the JSON that `packetloom run` wrote") from None
    except OSError as error:
        raise PacketloomError(f"{path}: {error.strerror}") from None
    version = str(marker.get("version", "of another version"))
    if known_format not in FORMATS_READ:
        raise PacketloomError(
            f"{folder}: written in format {known_format}, and this packetloom reads formats up to {FORMAT}: "
            f"use packetloom {version}, or run the scenario anew"
        )
    if _numbers(version) > _numbers(_core.version()):
        raise PacketloomError(
            f"{folder}: written by packetloom {version}, which is newer than this one ({_core.version()}): "
            "use that one, or run the scenario anew with -o DIR"
        )
    return dict(marker)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0]))


def read_rows(folder: Path) -> list[CaseRow]:
    """The rows of all finished cases: each flows file, once it has its name, holds the row of its case."""
    files = sorted((folder / FLOWS).glob("*.parquet"))
    known = _indexed_rows(folder / INDEX)
    return [known.get(file.stem) or row_in(file) for file in files]


def _indexed_rows(path: Path) -> dict[str, CaseRow]:
    """What the index has: it may lag behind the flows files, and can be made anew from them."""
    try:
        rows = [CaseRow.from_json(text) for text in json.loads(read_metadata(path)[CASE_ROW_KEY])]
    except (DamageError, KeyError, TypeError, ValueError):
        return {}
    return {row.case_id: row for row in rows}


def row_in(file: Path, metadata: Mapping[bytes, bytes] | None = None) -> CaseRow:
    """The row that a file of a case's holds; `DamageError` if it is not there, or another case's."""
    found = read_metadata(file) if metadata is None else metadata
    try:
        row = CaseRow.from_json(found[CASE_ROW_KEY])
    except (KeyError, ValueError):
        raise DamageError(file, "does not say which case it is of: something else was written there") from None
    if row.case_id != file.stem:
        raise DamageError(file, f"holds another case ({row.case_id}) than its name says")
    return row


def index_table(rows: Sequence[CaseRow], types: Mapping[str, type | None]) -> pa.Table:
    """`cases.parquet`: a row per case; `types` are those of the parameters' columns."""
    parameters = list(dict.fromkeys(name for row in rows for name in row.parameters))
    counters = list(dict.fromkeys(name for row in rows for name in row.counters))
    columns: dict[str, Any] = {"case_id": [row.case_id for row in rows]}
    columns |= {name: parameter_column(rows, name, types) for name in parameters}
    columns |= {name: [row.counters.get(name) for row in rows] for name in counters}
    columns |= {
        "fingerprint": [row.fingerprint for row in rows],
        "version": [row.version for row in rows],
        "build": pa.array([row.build or None for row in rows], pa.string()),
        "warnings": ["\n".join(row.warnings) for row in rows],
    }
    roles = dict.fromkeys(parameters, "parameter") | dict.fromkeys(counters, "counter")
    table = table_of(columns, roles)
    return table.replace_schema_metadata({CASE_ROW_KEY: json.dumps([row.to_json() for row in rows])})


def stored_plan(folder: Path, overrides: Sequence[str] = ()) -> Plan:
    """The plan that a results folder was made from: it needs no other file unless keys are overridden."""
    marker = read_marker(folder)
    text = (folder / marker["scenario"]).read_text(encoding="utf-8")
    format: Literal["toml", "json"] = "json" if marker["scenario"].endswith(".json") else "toml"
    if overrides:
        return plan_from_text(text, format, marker["origin"], overrides)
    lines = (folder / PLAN).read_text(encoding="utf-8").splitlines()
    cases = tuple(_core.Case.from_json(json.loads(line)["case"]) for line in lines)
    stored = marker.get("precision")
    precision = Precision(**stored) if stored else None
    return Plan(text, format, marker["origin"], tuple(marker["set"]), cases, (), precision)
