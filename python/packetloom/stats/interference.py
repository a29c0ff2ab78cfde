"""How much longer jobs take beside other sources than by themselves, as the IETF's drafts on AI fabrics count it."""

from __future__ import annotations

import math

import polars as pl

from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame


def job_span_ns(iterations: pl.DataFrame, start: str = "start_ns", took: str = "jct_ns") -> float:
    """From the first repetition's start to the last one's end, the drafts' JCT; NaN if one was not done."""
    ends = iterations[start] + iterations[took]
    if ends.is_nan().any():
        return math.nan
    return float(ends.max() - iterations[start].min())  # type: ignore[operator,arg-type]


def job_alone_ns(iterations: pl.DataFrame) -> float:
    """The same of the job by itself."""
    return job_span_ns(iterations, "alone_start_ns", "alone_jct_ns")


def factor(iterations: pl.DataFrame) -> float:
    """A job's time beside other sources over its time by itself; NaN if it was not measured, or not done."""
    if "alone_jct_ns" not in iterations.columns:
        return math.nan
    alone = job_alone_ns(iterations)
    return job_span_ns(iterations) / alone if alone else math.nan


def interference(results: SomeResults) -> pl.DataFrame:
    """Each job's time beside other sources and by itself, and the one over the other, means over cases: label, source,
    cases, jct_ns, alone_jct_ns, interference. Nothing if it was not measured, or a job was not done."""
    several = as_list(results)
    rows = []
    for one in several:
        renamed = renaming(one, several)
        for row, part in one.partitions("iterations"):
            for (source,), job in polars_frame(part).group_by("source", maintain_order=True):
                if not math.isnan(found := factor(job)):
                    label = renamed.get(row.label, row.label)
                    rows.append((label, source, job_span_ns(job), job_alone_ns(job), found))
    columns = {
        "label": pl.String,
        "source": pl.Int64,
        "jct_ns": pl.Float64,
        "alone_jct_ns": pl.Float64,
        "interference": pl.Float64,
    }
    means = pl.col("jct_ns", "alone_jct_ns", "interference").mean()
    known = pl.DataFrame(rows, columns, orient="row")
    return known.group_by("label", "source", maintain_order=True).agg(pl.len().alias("cases"), means)
