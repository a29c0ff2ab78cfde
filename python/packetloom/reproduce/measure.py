"""What papers' claims and figures are made of: numbers of each case, and their intervals over seeds."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from packetloom.common.percentiles import p99
from packetloom.reproduce.claims import Measured, NotComparable
from packetloom.stats.paired import ratios_by_seed
from packetloom.stats.summary import over_seeds, polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

NO_LIMIT = float("inf")
Runs = Mapping[str, Results]
PerSeed = list[tuple[int | None, float]]
Statistic = Callable[[pl.DataFrame], float]


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and its 95 % interval over seeds where there is more than one."""

    value: float
    low: float | None
    high: float | None

    def measured(self, what: str, band: tuple[float, float]) -> Measured:
        """The number as a claim's."""
        return Measured(what, self.value, self.low, self.high, band)

    def beside(self, what: str) -> Measured:
        """The number as one that stands beside a claim's verdict and decides nothing."""
        return Measured(what, self.value, self.low, self.high, decides=False)


def interval(per_seed: pl.DataFrame, what: str) -> Interval:
    """The mean over seeds of the column `value`, and its interval."""
    per_seed = per_seed.filter(pl.col("value").is_not_null())
    if per_seed.is_empty():
        raise NotComparable(f"no flows to measure: {what}")
    row = over_seeds(per_seed).row(0, named=True)
    return Interval(row["value"], row["low"], row["high"])


def interval_of(values: Iterable[tuple[int | None, float]], what: str) -> Interval:
    """The same of one value per seed."""
    columns = {"seed": pl.Int64, "value": pl.Float64, "flows": pl.Int64}
    return interval(
        pl.DataFrame([(seed, value, 1) for seed, value in values], schema=columns, orient="row"),
        what,
    )


def ratio(over: Iterable[tuple[int | None, float]], under: Iterable[tuple[int | None, float]], what: str) -> Interval:
    """The mean over seeds of how many times one value is another, and its interval.

    Of the ratios themselves, as papers average them; `packetloom compare` takes the mean of their logarithms.
    """
    return interval_of(ratios_by_seed(over, dict(under)), what)


def per_case(results: Results, columns: Sequence[str]) -> list[tuple[CaseRow, pl.DataFrame]]:
    """Every case with these columns of its measured flows."""
    return [
        (row, polars_frame(flows).filter("measured"))
        for row, flows in results.partitions("flows", (*columns, "measured"))
    ]


def of_flows(results: Results, columns: Sequence[str], statistic: Statistic) -> list[tuple[CaseRow, float]]:
    """A statistic of each case's measured flows."""
    return [(row, statistic(flows)) for row, flows in per_case(results, columns)]


def by_label(values: Iterable[tuple[CaseRow, float]]) -> dict[str, PerSeed]:
    """Values by series, one per seed."""
    found: dict[str, PerSeed] = defaultdict(list)
    for row, value in values:
        found[row.label].append((row.seed, value))
    return found


def mean(column: str) -> Statistic:
    """The mean over the flows that finished."""
    return lambda flows: float(np.nanmean(flows[column].to_numpy()))


def tail(column: str) -> Statistic:
    """The 99th percentile over the flows that finished."""
    return lambda flows: p99(flows[column].to_numpy())


def chosen(which: pl.Expr, statistic: Statistic) -> Statistic:
    """The statistic of these flows only."""
    return lambda flows: statistic(flows.filter(which))


def axis_value(row: CaseRow, axis: str) -> float:
    """What a case has for the axis whose name ends so."""
    value = next(value for name, value in row.parameters.items() if name.endswith(axis))
    assert value is not None
    return float(value)


def axis_number(row: CaseRow, axis: str) -> float:
    """The first number in what a case has for the axis whose name ends so."""
    value = next(value for name, value in row.parameters.items() if name.endswith(axis))
    number = re.search(r"[0-9.]*[0-9]", str(value).rpartition("/")[2])
    assert number
    return float(number[0])


def within(value: float, share: float) -> tuple[float, float]:
    """The band of a printed number."""
    return value * (1 - share), value * (1 + share)


def above(value: float) -> tuple[float, float]:
    """The band of all that is more."""
    return math.nextafter(value, NO_LIMIT), NO_LIMIT


def below(value: float) -> tuple[float, float]:
    """The band of all that is less, down to 0."""
    return 0.0, math.nextafter(value, 0.0)


def listed(numbers: Callable[[Runs], Iterable[Measured]]) -> Callable[[Runs], Sequence[Measured]]:
    """What yields its numbers one by one, as a claim wants them."""
    return lambda runs: list(numbers(runs))


def between_leaves(hosts_per_leaf: int) -> pl.Expr:
    """Flows that leave their leaf; others have one way."""
    return pl.col("src") // hosts_per_leaf != pl.col("dst") // hosts_per_leaf


def links_between(k: int) -> pl.Expr:
    """Links between two hosts of a k-ary fat-tree, from the columns `src` and `dst`."""
    per_edge, per_pod = k // 2, k * k // 4
    edge = pl.col("src") // per_edge == pl.col("dst") // per_edge
    pod = pl.col("src") // per_pod == pl.col("dst") // per_pod
    return pl.when(edge).then(2).when(pod).then(4).otherwise(6)
