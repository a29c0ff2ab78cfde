"""The drafts' measures, each of a polars frame or of plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from packetloom.common.confidence import half_interval
from packetloom.common.fairness import jain
from packetloom.common.percentiles import PERCENTILES, quantile
from packetloom.fabric_bench.cases import Case

UPLINKS = ("leaf to spine", "leaf to aggregation", "rail to spine")

TIMES = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "all-to-all": 1.0}
"""How many times (N - 1)/N of the vector each rank's link carries."""


def algo_factor(operation: str, ranks: int) -> float:
    """The drafts' algo_factor, as nccl-tests has it."""
    return TIMES[operation] * (ranks - 1) / ranks if operation in TIMES else 1.0


def mmr(loads: Sequence[float]) -> float:
    """The largest load over the mean load of parallel links."""
    mean = sum(loads) / len(loads) if loads else 0.0
    return max(loads) / mean if mean else math.nan


def uplink_balance(ports: pl.DataFrame, flow_bytes: float | None = None) -> dict[str, float]:
    """MMR and JFI over each leaf's uplinks, the mean over leaves that sent, and the worst leaf's MMR.

    With `flow_bytes`, what one of flows of equal size, each on one path, takes on a link, MMR is of flow counts, too.
    """
    uplinks = ports.filter(pl.col("tier").is_in(UPLINKS))
    leaves = [group["tx_bytes"].to_list() for _, group in uplinks.group_by("node", maintain_order=True)]
    leaves = [loads for loads in leaves if sum(loads)]
    found: dict[str, float] = {}
    if flow_bytes:
        counts = [[round(load / flow_bytes) for load in loads] for loads in leaves]
        found["MMR of flows"] = _mean([mmr(loads) for loads in counts if sum(loads)])
    ratios = [mmr(loads) for loads in leaves]
    found["MMR of bytes"] = _mean(ratios)
    found["MMR, worst leaf"] = max(ratios, default=math.nan)
    found["JFI"] = _mean([jain(np.array(loads, dtype=float)) for loads in leaves])
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def span_s(flows: pl.DataFrame) -> float:
    """From the first flow's start to the last one's end."""
    if flows.is_empty():
        return math.nan
    return float((flows["start_ns"] + flows["fct_ns"]).max() - flows["start_ns"].min()) / 1e9  # type: ignore[operator,arg-type]


def throughput_gbps(flows: pl.DataFrame) -> float:
    """Application bits of flows over the time from the first one's start to the last one's end."""
    took = span_s(flows)
    return float(flows["size_bytes"].sum()) * 8 / took / 1e9 if took else math.nan


def mark_share(case: Case) -> float:
    """Marks over data packets sent; a packet that two switches mark counts twice."""
    sent = case.counter("packets_sent")
    return case.counter("marks") / sent if sent else math.nan


def lost_ppm(case: Case) -> float:
    """Of a million data packets sent, how many were dropped, damaged, or lost on a dead link; trimming is no loss."""
    sent = case.counter("packets_sent")
    lost = sum(case.counter(name) for name in ("drops", "corrupted", "lost"))
    return lost / sent * 1e6 if sent else math.nan


def pauses_per_s(case: Case) -> float:
    """PAUSE frames a second, all ports together."""
    return case.counter("pauses") / case.simulated_s if case.simulated_s else math.nan


def brought_together(rows: pl.DataFrame, keys: Sequence[str], lead: str, spread: Sequence[str] = ()) -> pl.DataFrame:
    """One row for each value of the keys, in the order in which they come: means, spread, runs, variation.

    `rows` has a column `seed`. A run's value is the mean of its samples; the variation is over runs.
    """
    values = [name for name in rows.columns if name not in (*keys, "seed")]
    numbers = [name for name in values if rows[name].dtype.is_numeric()]
    texts = [name for name in values if name not in numbers]
    rows = rows.with_columns(pl.col(numbers).cast(pl.Float64).fill_nan(None)) if numbers else rows
    found = rows.group_by(keys, maintain_order=True).agg(
        *(pl.col(name).mean() for name in numbers if name != lead or not spread),
        *(_spread(lead, one).alias(f"{lead}, {one}") for one in spread),
        *(pl.col(name).first() for name in texts),
        pl.col("seed").n_unique().alias("runs"),
        pl.len().alias("samples"),
    )
    variation = _variation(rows, keys, lead)
    found = found.join(variation, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
    one_each = (found["samples"] == found["runs"]).all()
    return found.drop("samples") if one_each else found


def _spread(lead: str, one: str) -> pl.Expr:
    column = pl.col(lead)
    if one in PERCENTILES:
        return quantile(column, PERCENTILES[one])
    found: pl.Expr = getattr(column, one)()
    return found


def _variation(rows: pl.DataFrame, keys: Sequence[str], lead: str) -> pl.DataFrame:
    """Over runs: the coefficient of variation, and half of the 95 % interval of the mean over the mean, in percent."""
    runs = rows.group_by(*keys, "seed", maintain_order=True).agg(pl.col(lead).mean())
    lines = []
    for values, group in runs.group_by(keys, maintain_order=True):
        found = group[lead].drop_nulls().to_list()
        mean = _mean(found)
        known = len(found) > 1 and mean
        cv = 100 * float(group[lead].std()) / mean if known else None  # type: ignore[arg-type]
        half = 100 * half_interval(found) / mean if known else None
        lines.append([*values, cv, half])
    kept = {key: rows.schema[key] for key in keys}
    return pl.DataFrame(lines, {**kept, "CV (%)": pl.Float64, "interval (±%)": pl.Float64}, orient="row")
