"""A statistic of the result tables by its name: `flows.slowdown.p99`, `ports.queue_max_bytes.max`, `cases.drops`.

A name is TABLE.COLUMN.STATISTIC; of the table `cases` a row is a case, so it is `cases.COLUMN`. Of flows and requests
only those count that were measured, and of flows those of a range of sizes where one follows:
`flows.slowdown.p99@..100KB`. What has no value (a flow that did not finish has no slowdown) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packetloom.common.columns import numbers_of
from packetloom.common.percentiles import quantile
from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.columns import TABLES
from packetloom.store.results import Results
from packetloom.tuning.names import is_number

EXAMPLE = "flows.slowdown.p99"
NAMED: dict[str, Callable[[NDArray[np.float64]], np.float64]] = {
    "mean": np.mean,
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
}
PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")
SIZES = re.compile(r"([0-9.]*)([KMG]?B)?\.\.([0-9.]*)([KMG]?B)?")
UNITS = {"": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number that each case has."""

    name: str
    table: str
    column: str
    statistic: str
    above_bytes: float = 0.0
    up_to_bytes: float = float("inf")

    def of(self, results: Results, row: CaseRow) -> float | None:
        """Its value in a case; None where the case has none."""
        if self.table == "cases":
            value = row.counters.get(self.column)
            return None if value is None else float(value)
        values = self._values(results, row)
        if values is None or not values.size:
            return None
        percentile = PERCENTILE.fullmatch(self.statistic)
        if percentile:
            return quantile(values, float(percentile[1]) / 100)
        return float(NAMED[self.statistic](values))

    def _values(self, results: Results, row: CaseRow) -> NDArray[np.float64] | None:
        of_flows = self.table == "flows"
        may_be_left_out = of_flows or self.table == "requests"
        columns = [self.column, *(["size_bytes"] if of_flows else []), *(["measured"] if may_be_left_out else [])]
        part = results.part(cast(TableName, self.table), row)
        if part is None or self.column not in part.column_names:
            return None
        found = {name: _numbers(part, name) for name in dict.fromkeys(columns)}
        values = found[self.column]
        if may_be_left_out:
            counts = found["measured"] == 1
            if of_flows:
                size = found["size_bytes"]
                counts &= (size > self.above_bytes) & (size <= self.up_to_bytes)
            values = values[counts]
        return values[~np.isnan(values)]


def parse(name: str) -> Statistic:
    """The statistic of this name; an error says which there are."""
    whole, at, sizes = name.strip().partition("@")
    table, _, rest = whole.partition(".")
    if table not in TABLES:
        hint = meant(table, TABLES, "its first part is one of")
        raise PacketloomError(f"{name}: there is no table {table!r} of results; {hint}; write it as {EXAMPLE}")
    column, _, statistic = (rest, "", "") if table == "cases" else rest.partition(".")
    known = [one for one in TABLES[table] if is_number(one)]
    if column not in known:
        raise PacketloomError(f"{name}: {table} has no column of numbers {column!r}; {meant(column, known)}")
    if table != "cases" and statistic not in NAMED and not PERCENTILE.fullmatch(statistic):
        raise PacketloomError(
            f"{name}: {statistic!r} is no statistic; end it with one of {', '.join(NAMED)}, or a percentile such as p99"
        )
    if not at:
        return Statistic(whole, table, column, statistic)
    return Statistic(f"{whole}@{sizes.strip()}", table, column, statistic, *_sizes(name, table, sizes))


def _sizes(name: str, table: str, text: str) -> tuple[float, float]:
    """The sizes behind an @: above the one, up to and with the other."""
    if table != "flows":
        raise PacketloomError(f"{name}: only flows have sizes; leave @{text}")
    found = SIZES.fullmatch(text.replace(" ", ""))
    try:
        low, low_unit, high, high_unit = found.groups() if found else ("", "", "", "")
        above = float(low) * UNITS[low_unit or ""] if low else 0.0
        up_to = float(high) * UNITS[high_unit or ""] if high else float("inf")
        if not found or not (low or high) or above >= up_to:
            raise ValueError
    except ValueError:
        raise PacketloomError(
            f"{name}: write the sizes as @..100KB, @100KB..10MB or @10MB.., the smaller one first"
        ) from None
    return above, up_to


def _numbers(part: pa.Table, name: str) -> NDArray[np.float64]:
    column = part[name].combine_chunks()
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise PacketloomError(f"{name}: this column holds no numbers; name one that does")
    return numbers_of(column).astype(float)
