"""Tables of a test: as numbers (Parquet, CSV, JSON), and as the drafts lay them out (text, page)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from packetloom.fabric_bench.cases import cases_of
from packetloom.fabric_bench.catalogue import TableOf, Test
from packetloom.fabric_bench.measures import brought_together
from packetloom.store.results import Results

Runs = Mapping[str, Results]
ROUNDING = 1e-9
"""What is less than this came of floating-point sums."""
VARIATIONS = ("CV (%)", "interval (±%)")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with all its numbers, and how the drafts lay it out."""

    of: TableOf
    frame: pl.DataFrame

    def laid_out(self) -> tuple[list[str], list[list[str]]]:
        """The header and the cells in text."""
        frame = self.frame
        if self.of.layout and not frame.is_empty():
            column, value = self.of.layout
            index = [key for key in self.of.keys if key != column]
            frame = frame.with_columns(pl.col(column).map_elements(_heading(column), pl.String))
            frame = frame.pivot(on=column, index=index, values=value, maintain_order=True)
        rows = [[cell(value) for value in row] for row in frame.iter_rows()]
        return frame.columns, rows

    def notes(self) -> list[str]:
        """What has to be said below the table."""
        value = f"In the columns: {self.of.layout[1]}, by {self.of.layout[0]}." if self.of.layout else ""
        reference = self.of.reference and f"Reference, no pass mark: {self.of.reference}."
        return [note for note in (value, *self.of.notes, self.repeated(), reference) if note]

    def repeated(self) -> str:
        """How often each number was measured, and how much it varied."""
        frame = self.frame
        if frame.is_empty() or "runs" not in frame.columns:
            return ""
        texts = [f"Runs (seeds): {_range(frame['runs'])}"]
        if "samples" in frame.columns:
            texts.append(f"samples: {_range(frame['samples'])}")
        for name, what in (("CV (%)", "coefficient of variation"), ("interval (±%)", "95 % interval of the mean")):
            most = frame[name].drop_nulls().drop_nans() if name in frame.columns else pl.Series([])
            if len(most):
                sign = "±" if "±" in name else ""
                texts.append(f"{what} at most {sign}{cell(most.max())} % ({self.of.lead})")
        return "; ".join(texts) + "."


def _heading(column: str) -> Any:
    return lambda value: f"{column} {cell(value)}"


def _range(values: pl.Series) -> str:
    least, most = values.min(), values.max()
    return cell(least) if least == most else f"{cell(least)} to {cell(most)}"


def cell(value: Any) -> str:
    """A number to four places, or a text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        value = 0.0 if abs(value) < ROUNDING else value
        if value == int(value) and abs(value) < 1e15:
            return f"{int(value):,}"
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def byte_text(size: float) -> str:
    """Bytes as scenarios write them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size:.0f} B"


SCHEMES = ("balancing", "scheme")
"""The keys that name what is compared."""


def headline(table: Table) -> tuple[str, dict[str, str]] | None:
    """What the table's headline is about, and its value for each scheme: of the last values of all other keys."""
    of, frame = table.of, table.frame
    key = next((name for name in SCHEMES if name in of.keys), None)
    if not of.headline or key is None or of.headline not in frame.columns:
        return None
    others = [name for name in of.keys if name != key and name in frame.columns]
    last = frame.tail(1).select(others)
    rows = frame.join(last, on=others, how="semi", nulls_equal=True, maintain_order="left") if others else frame
    at = [_heading(name)(value) for name, value in zip(others, last.row(0), strict=True)] if others else []
    values = {str(scheme): cell(value) for scheme, value in rows.select(key, of.headline).iter_rows()}
    return ": ".join([of.title, ", ".join([*at, of.headline])]), values


def made(test: Test, runs: Runs) -> list[Table]:
    """The test's tables from its parts' results."""
    return [_made(of, runs) for of in test.tables]


def _made(of: TableOf, runs: Runs) -> Table:
    rows: list[dict[str, Any]] = []
    for part, results in runs.items():
        if of.parts and part not in of.parts:
            continue
        for case in cases_of(part, results):
            rows += [{**row, "seed": case.row.seed or 0} for row in of.rows(case)]
    if not rows:
        return Table(of, pl.DataFrame())
    frame = pl.DataFrame(rows, infer_schema_length=None)
    present = [key for key in of.keys if key in frame.columns]
    frame = frame.select(*present, *(name for name in frame.columns if name not in present))
    frame = brought_together(_sorted(frame, present), present, of.lead, of.spread)
    if of.finish:
        frame = of.finish(frame)
    return Table(of, frame.select(name for name in frame.columns if _says_something(name, frame, of)))


def _says_something(name: str, frame: pl.DataFrame, of: TableOf) -> bool:
    """Whether a column is shown: a key that no row has, or a variation where there is one run, is not."""
    empty = frame[name].null_count() == frame.height
    return not (empty and name in (*of.keys, *VARIATIONS))


def _sorted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """By the keys that are numbers; names stay in the scenarios' order."""
    orders = []
    for key in keys:
        if frame[key].dtype.is_numeric():
            orders.append(pl.col(key))
        else:
            places = {value: place for place, value in enumerate(frame[key].unique(maintain_order=True))}
            orders.append(pl.col(key).replace_strict(places, return_dtype=pl.Int64))
    return frame.sort(orders, maintain_order=True)
