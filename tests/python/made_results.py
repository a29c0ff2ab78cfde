"""Results that were never run: cases of a few flows or ports, so that it is known what must come out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from packetloom.reproduce.claims import Measured
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

Case = tuple[dict[str, Any], dict[str, list[Any]]]


class Runs(Results):
    """Cases, each with its parameters and the columns of a table; load 0.8 and seed 1 unless given."""

    def __init__(self, *cases: Case, table: TableName = "flows") -> None:
        self.made = cases
        self.made_table = table
        self.marker = {}

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        assert name == self.made_table
        assert columns is not None
        for parameters, given in self.made:
            table = pl.DataFrame(given)
            if name == "flows":
                table = _with_usual_columns(table)
            yield _row(parameters), table.select(columns).to_arrow()

    def rows(self) -> list[CaseRow]:
        return [_row(parameters) for parameters, _ in self.made]

    def plan_lines(self) -> list[dict[str, Any]]:
        return [{"id": "", "parameters": parameters} for parameters, _ in self.made]


class Sampled(Runs):
    """Cases of ports, by (node, peer), with what each sent and had waiting in each microsecond, in a class if any."""

    def __init__(self, *cases: tuple[dict[str, Any], dict[tuple[str, str, int], pl.DataFrame]]) -> None:
        super().__init__(*((parameters, {}) for parameters, _ in cases))
        self.of_ports = [ports for _, ports in cases]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        assert columns is not None
        for row in self.rows():
            yield row, self.of(name, row).select(columns).to_arrow()

    def part(self, name: TableName, row: CaseRow, columns: Sequence[str] | None = None) -> pa.Table | None:
        assert columns is not None
        return self.of(name, row).select(columns).to_arrow()

    def of(self, name: TableName, row: CaseRow) -> pl.DataFrame:
        ports = self.of_ports[[one.parameters for one in self.rows()].index(row.parameters)]
        names = list(dict.fromkeys((node, peer) for node, peer, _ in ports))
        if name == "ports":
            return pl.DataFrame(
                {"port": range(len(names)), "node": [n for n, _ in names], "peer": [p for _, p in names]}
            )
        return pl.concat(
            samples.with_columns(pl.lit(names.index((node, peer))).alias("port"), pl.lit(klass).alias("class"))
            for (node, peer, klass), samples in ports.items()
        )


def samples(sent: Sequence[float], waiting: Sequence[float] | None = None) -> pl.DataFrame:
    waiting = [0.0] * len(sent) if waiting is None else waiting
    times = [1000.0 * place for place in range(len(sent))]
    return pl.DataFrame({"time_ns": times, "tx_bytes": sent, "data_bytes": sent, "queue_bytes": waiting})


def _row(parameters: Mapping[str, Any]) -> CaseRow:
    return CaseRow("", {"load": 0.8, "seed": 1, **parameters}, {}, "", "", ())


def _with_usual_columns(flows: pl.DataFrame) -> pl.DataFrame:
    usual = {"measured": True, "absent": 0, "source": 0, "src": 0, "dst": 53, "best_fct_ns": 10_000.0}
    flows = flows.with_columns(pl.lit(value).alias(name) for name, value in usual.items() if name not in flows.columns)
    if "slowdown" in flows.columns and "sender_fct_ns" not in flows.columns:
        sender = pl.col("slowdown") * (pl.col("best_fct_ns") + 6 * 432)
        flows = flows.with_columns(sender.alias("sender_fct_ns"))
    return flows


def runs(**named: Runs) -> Mapping[str, Results]:
    """Experiments by name; an underscore stands for a hyphen."""
    return {name.replace("_", "-"): one for name, one in named.items()}


def values(found: Any) -> dict[str, float]:
    """Measured numbers by what they are."""
    return {one.what: round(one.value, 9) for one in found}


def failing(found: Sequence[Measured]) -> list[str]:
    """Those outside their band."""
    return [one.what for one in found if not one.holds]
