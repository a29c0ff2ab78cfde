"""What is kept of each case of a results folder beside its tables, and where it all lies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from packetloom.common.columns import column_of
from packetloom.common.files import (
    CASE_ROW_KEY,
    DamageError,
    as_type,
    common_type,
    read_metadata,
    table_of,
    unreadable,
)
from packetloom.common.quantities import axis_text
from packetloom.scenario.plan import Parameter
from packetloom.store.content_hash import Content

MARKER = "packetloom.json"
FORMAT = 2
FORMATS_READ = (1, FORMAT)
"""Rows of format 1 have neither the build nor the tables' hashes."""
PLAN = "plan.jsonl"
INDEX = "cases.parquet"
FLOWS = "flows.parquet"
PORTS = "ports.parquet"
SERIES = "series.parquet"
FLOW_SERIES = "flow_series.parquet"
PULLS = "pulls.parquet"
CLASSES = "classes.parquet"
PAUSES = "pauses.parquet"
JOBS = "jobs.parquet"
ITERATIONS = "iterations.parquet"
REQUESTS = "requests.parquet"
RANKS = "ranks.parquet"
OPERATIONS = "operations.parquet"
CRITICAL_PATH = "critical_path.parquet"
TIMELINES = "timelines.parquet"
TRACES = "traces.parquet"
CAPTURES = "captures.parquet"

TableName = Literal[
    "cases",
    "flows",
    "ports",
    "series",
    "classes",
    "flow_series",
    "pulls",
    "pauses",
    "jobs",
    "iterations",
    "requests",
    "ranks",
    "operations",
    "critical_path",
    "timelines",
    "traces",
    "captures",
]
PARTITIONED: dict[str, str] = {
    "flows": FLOWS,
    "ports": PORTS,
    "series": SERIES,
    "classes": CLASSES,
    "flow_series": FLOW_SERIES,
    "pulls": PULLS,
    "pauses": PAUSES,
    "jobs": JOBS,
    "iterations": ITERATIONS,
    "requests": REQUESTS,
    "ranks": RANKS,
    "operations": OPERATIONS,
    "critical_path": CRITICAL_PATH,
    "timelines": TIMELINES,
    "traces": TRACES,
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


def varied(parameters: Mapping[str, Parameter]) -> list[tuple[str, Parameter]]:
    """The values of the axes that the scenario varies, of those that the case's scheme has."""
    return [(name, value) for name, value in parameters.items() if name not in EVERY_CASE_HAS and value is not None]


def label_of(parameters: Mapping[str, Parameter]) -> str:
    """A scheme, and the values of the axes that the scenario varies."""
    texts = [axis_text(name, value) for name, value in varied(parameters)]
    return ", ".join([str(parameters["scheme"]), *texts])


def row_label(parameters: Mapping[str, Parameter]) -> str:
    """The case of these parameters in a few words."""
    parts = [axis_text(name, value) for name, value in parameters.items() if name != "scheme" and value is not None]
    return " ".join([str(parameters["scheme"]), *parts])


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
        files = sorted((file for file in flows.iterdir() if file.suffix == ".parquet"), key=lambda file: file.name)
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
    """What the index has: it may be missing or lag behind the flows files, and can be rebuilt from them."""
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
