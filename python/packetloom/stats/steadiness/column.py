"""The same as rows of a summary: what the tables' column `steady` is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from packetloom.stats.steadiness.diagnosis import Steadiness, diagnosed
from packetloom.stats.summary import SizeBin
from packetloom.store.results import Results

METRIC = "steady"
SCHEMA = {
    "label": pl.String,
    "load": pl.Float64,
    "bin": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seeds": pl.Int64,
    "flows": pl.Int64,
}


def with_steadiness(
    summary: pl.DataFrame, results: Results, bins: Sequence[SizeBin], renamed: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """The summary with two rows more for each case that is diagnosed; `renamed`: labels as the summary has them."""
    rows = [row for one in diagnosed(results, bins) for row in _rows(one, renamed or {})]
    if not rows:
        return summary
    points = summary.drop([name for name in SCHEMA if name not in ("label", "load")]).unique(maintain_order=True)
    steady = pl.DataFrame(rows, schema=SCHEMA, orient="row").join(
        points, on=["label", "load"], nulls_equal=True, maintain_order="left"
    )
    return pl.concat([summary, steady.select(summary.columns)])


def _rows(one: Steadiness, renamed: Mapping[str, str]) -> Iterator[tuple[object, ...]]:
    point = (renamed.get(one.label, one.label), one.load, one.bin, METRIC)
    verdict = None if one.steady is None else float(one.steady)
    yield *point, "verdict", verdict, None, None, one.seeds, one.flows
    drift = one.drift
    yield *point, "drift", drift.value, drift.value - drift.half, drift.value + drift.half, one.seeds, one.flows
