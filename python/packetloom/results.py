"""Results folders, as they are read."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from packetloom import _core, arguments
from packetloom.build import other_builds_text
from packetloom.columns import column_of, repeated
from packetloom.contents import Content
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.quantities import axis_text
from packetloom.scenario import Parameter, Plan, Precision, plan_from_text
from packetloom.storage import (
    CASE_ROW_KEY,
    DamageError,
    as_type,
    common_type,
    must_be_a_file,
    read_metadata,
    read_parquet,
    table_of,
    unreadable,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MARKER = "packetloom.json"
FORMAT = 2
MOST_TOLD = 5
"""Damaged files that are named one by one."""
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
        self.problems: dict[str, None] = {}
        """What was found damaged so far, and passed over; `packetloom check DIR` looks at every file."""

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
        rows, damage = read_rows(self.path)
        self._pass_over(*damage)
        return sorted(rows, key=lambda row: (order.get(row.case_id, len(order)), row.case_id))

    def plan_lines(self) -> list[dict[str, Any]]:
        """Every case of the scenario, finished or not."""
        lines, damage = _plan_lines(self.path / PLAN)
        self._pass_over(*damage)
        return lines

    @property
    def scenario_text(self) -> str:
        """The scenario as it was run."""
        try:
            return _text_of(self.path / str(self.marker["scenario"]))
        except DamageError as damage:
            self._pass_over(damage)
            return str(damage)

    def _pass_over(self, *damage: DamageError) -> None:
        """Goes on without what is damaged, and tells the user."""
        for one in damage:
            if str(one) not in self.problems:
                self.problems[str(one)] = None
                if len(self.problems) <= MOST_TOLD:
                    print(f"warning: {one}; passed over", file=sys.stderr)
                if len(self.problems) == 1:
                    names_all = f"`packetloom check {self.path}` names all that is damaged"
                    print(f"warning: {names_all}, `packetloom run {self.path}` mends it", file=sys.stderr)

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
            table = self.part(name, row, columns)
            if table is not None:
                yield row, table

    def part(self, name: TableName, row: CaseRow, columns: Sequence[str] | None = None) -> pa.Table | None:
        """A case's part of a table; nothing if it has none, or if that is damaged, which is told."""
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
    return column_of([as_type(row.parameters.get(name), kind) for row in rows], kind)


def _with_axes(table: pa.Table, row: CaseRow, axes: Sequence[str], types: Mapping[str, type | None]) -> pa.Table:
    for axis in axes:
        value = as_type(row.parameters.get(axis), types[axis])
        table = table.append_column(axis, repeated(value, types[axis], table.num_rows))
    return table


def read_marker(folder: Path) -> dict[str, Any]:
    """What a results folder says of itself; an error if it is not one."""
    path = folder / MARKER
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "there is no such folder"
        raise PacketloomError(f"{folder}: {what}; a results folder is made by `packetloom run`")
    if path.exists():
        must_be_a_file(path)
    try:
        marker = json.loads(path.read_text(encoding="utf-8"))
        known_format = marker["format"]
    except FileNotFoundError:
        raise PacketloomError(
            f"{folder}: not a results folder (it has no {MARKER}); one is made by `packetloom run SCENARIO -o DIR`"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamageError(path, "is damaged, and not the JSON that `packetloom run` wrote", MEND_MARKER) from None
    except OSError as error:
        raise unreadable(path, error) from None
    version = str(marker.get("version", "of another version"))
    if type(known_format) is not int or known_format not in FORMATS_READ:
        raise PacketloomError(
            f"{folder}: written in format {known_format}, and this packetloom reads formats up to {FORMAT}: "
            f"use packetloom {version}, or run the scenario anew"
        )
    if _numbers(version) > _numbers(_core.version()):
        raise PacketloomError(
            f"{folder}: written by packetloom {version}, which is newer than this one ({_core.version()}): "
            "use that one, or run the scenario anew with -o DIR"
        )
    wrong = [key for key, is_right in MARKER_KEYS.items() if not is_right(marker.get(key, ...))]
    if wrong:
        raise DamageError(path, f"is damaged: {', '.join(wrong)} is missing or of the wrong type", MEND_MARKER)
    return dict(marker)


def _is_precision(value: Any) -> bool:
    types = {"statistic": str, "within": int | float, "first_seeds": int}
    return value is None or (
        isinstance(value, dict)
        and value.keys() == types.keys()
        and all(isinstance(value[name], type) for name, type in types.items())
    )


MEND_MARKER = (
    "delete it and run the scenario that the results were made from with -o and this folder; what is finished is kept"
)
MARKER_KEYS: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: isinstance(value, str),
    "scenario": lambda value: value in ("scenario.toml", "scenario.json"),
    "origin": lambda value: isinstance(value, str),
    "set": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "precision": _is_precision,
}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", version.partition("-")[0]))


def read_rows(folder: Path) -> tuple[list[CaseRow], list[DamageError]]:
    """The rows of all finished cases, and what is damaged.

    Each flows file, once it has its name, holds the row of its case.
    """
    rows, damage = [], []
    known: dict[str, CaseRow] = {}
    try:
        known = _indexed_rows(folder / INDEX)
    except DamageError as problem:
        damage.append(problem)
    flows = folder / FLOWS
    try:
        files = sorted(file for file in flows.iterdir() if file.suffix == ".parquet")
    except NotADirectoryError:
        return [], [*damage, DamageError(flows, "is a file where a folder should be", "move it away")]
    except OSError as error:
        return [], [*damage, unreadable(flows, error)]
    for file in files:
        try:
            rows.append(known.get(file.stem) or row_in(file))
        except DamageError as problem:
            damage.append(problem)
    return rows, damage


def _indexed_rows(path: Path) -> dict[str, CaseRow]:
    """What the index has: it may be missing or lag behind the flows files, and can be made anew from them."""
    if not path.exists():
        return {}
    try:
        rows = [CaseRow.from_json(text) for text in json.loads(read_metadata(path)[CASE_ROW_KEY])]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise DamageError(path, "does not hold the rows of cases: something else was written there") from None
    return {row.case_id: row for row in rows}


def row_in(file: Path, metadata: Mapping[bytes, bytes] | None = None) -> CaseRow:
    """The row that a file of a case's holds; `DamageError` if it is not there, or another case's."""
    found = read_metadata(file) if metadata is None else metadata
    try:
        row = CaseRow.from_json(found[CASE_ROW_KEY])
    except (KeyError, ValueError, RecursionError):
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
        "build": column_of([row.build or None for row in rows], str),
        "warnings": ["\n".join(row.warnings) for row in rows],
    }
    roles = dict.fromkeys(parameters, "parameter") | dict.fromkeys(counters, "counter")
    table = table_of(columns, roles)
    return table.replace_schema_metadata({CASE_ROW_KEY: json.dumps([row.to_json() for row in rows])})


def stored_plan(folder: Path, overrides: Sequence[str] = ()) -> Plan:
    """The plan that a results folder was made from: it needs no other file unless keys are overridden.

    A list of cases that is damaged is made again from the scenario.
    """
    marker = read_marker(folder)
    text = stored_scenario(folder, marker)
    format: Literal["toml", "json"] = "json" if marker["scenario"].endswith(".json") else "toml"
    if overrides:
        return plan_from_text(text, format, marker["origin"], overrides)
    try:
        cases = stored_cases(folder, marker)
    except DamageError as damage:
        print(f"warning: {damage}; made again from {marker['scenario']}", file=sys.stderr)
        return replace(plan_from_text(text, format, marker["origin"], ()), overrides=tuple(marker["set"]))
    stored = marker["precision"]
    precision = Precision(**stored) if stored else None
    return Plan(text, format, marker["origin"], tuple(marker["set"]), cases, (), precision)


def stored_scenario(folder: Path, marker: Mapping[str, Any]) -> str:
    """The scenario as it was run; `DamageError` if the file is anything else."""
    file = folder / marker["scenario"]
    made_from = marker["origin"] or "the scenario that the results were made from"
    advice = f"`packetloom run {made_from} -o {folder}` writes it again, and keeps what is finished"
    try:
        text = _text_of(file)
    except DamageError as damage:
        raise DamageError(file, str(damage).removeprefix(f"{file}: "), advice) from None
    try:
        json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamageError(file, f"is damaged ({error})", advice) from None
    if digest_of(text) != marker.get("sha256", {}).get(file.name, digest_of(text)):
        raise DamageError(file, "was changed since it was run", advice)
    return text


def stored_cases(folder: Path, marker: Mapping[str, Any]) -> tuple[_core.Case, ...]:
    """Every case of the scenario; `DamageError` if the file that lists them is damaged."""
    file = folder / PLAN
    lines, damage = _plan_lines(file)
    if damage:
        raise damage[0]
    text = _text_of(file)
    if digest_of(text) != marker.get("sha256", {}).get(PLAN, digest_of(text)):
        raise DamageError(file, "is not as it was written: cut short or changed")
    try:
        return tuple(_core.Case.from_json(line["case"]) for line in lines)
    except (ScenarioError, TypeError) as error:
        raise DamageError(file, f"holds a case that cannot be run ({error})") from None


def _plan_lines(file: Path) -> tuple[list[dict[str, Any]], list[DamageError]]:
    """The cases that are listed, and what is damaged of the list."""
    try:
        texts = _text_of(file).splitlines()
    except DamageError as damage:
        return [], [damage]
    lines, damaged = [], []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            if not (isinstance(line["id"], str) and "scheme" in line["parameters"] and isinstance(line["case"], str)):
                raise ValueError
            lines.append(line)
        except (KeyError, TypeError, ValueError, RecursionError):
            damaged.append(DamageError(file, f"line {number} is damaged, no case of the scenario"))
    return lines, damaged


def _text_of(file: Path) -> str:
    must_be_a_file(file)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def digest_of(text: str) -> str:
    """A hash over a text, by which the marker knows the files that are not a case's."""
    return hashlib.sha256(text.encode()).hexdigest()
