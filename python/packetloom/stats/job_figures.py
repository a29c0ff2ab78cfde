"""What jobs come to, case by case: what estimates are compared in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from packetloom.stats.collectives import bus_gbps, exposed_ns, operations_of
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

REPETITION = "repetition"
TIME, EXPOSED, BUS = "time", "exposed communication", "bus bandwidth"
FIGURES = (TIME, EXPOSED, BUS)
UNITS = {TIME: 1e6, EXPOSED: 1e6, BUS: 1.0}
UNIT_NAMES = {TIME: "ms", EXPOSED: "ms", BUS: "Gb/s"}
"""Times are in ns, bus bandwidths in Gb/s; how they are printed."""


@dataclass(frozen=True, slots=True)
class JobFigure:
    """A figure of a case's jobs."""

    of: str
    """Repetitions, or a collective operation and the network that it goes by."""
    name: str
    value: float
    count: int
    """Of how many repetitions or operations it is the mean."""


def job_figures(results: Results) -> Iterator[tuple[CaseRow, list[JobFigure]]]:
    """The figures of each case that has any."""
    iterations, jobs = _by_case(results, "iterations"), _by_case(results, "jobs")
    for row in results.rows():
        key = (row.case_id,)
        figures = [*_of_repetitions(iterations.get(key)), *_of_operations(jobs.get(key))]
        if figures:
            yield row, figures


def _by_case(results: Results, name: Literal["iterations", "jobs"]) -> dict[tuple[object, ...], pl.DataFrame]:
    table = results.to_polars(name)
    return {} if table.is_empty() else table.partition_by("case_id", as_dict=True)


def _of_repetitions(table: pl.DataFrame | None) -> Iterator[JobFigure]:
    if table is None:
        return
    exposed = exposed_ns(table)
    took = table.filter(pl.col("jct_ns").is_not_nan())["jct_ns"]
    if len(took):
        yield JobFigure(REPETITION, TIME, _mean(took), len(took))
        yield JobFigure(REPETITION, EXPOSED, _mean(exposed), len(took))


def _of_operations(table: pl.DataFrame | None) -> Iterator[JobFigure]:
    for kind, own in operations_of(table) if table is not None else ():
        name = kind.text(has_networks=True)
        yield JobFigure(name, TIME, _mean(own["jct_ns"]), len(own))
        yield JobFigure(name, BUS, bus_gbps(own), len(own))


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())
