"""What perftest prints: the rate of a test of bandwidth, and the percentiles of a test of latency."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from packetloom.common.percentiles import percentiles
from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results

SHOWN = ("p50", "p99", "p99.9")
SCHEMA = {
    "label": pl.String,
    "load": pl.Float64,
    "seed": pl.Int64,
    "source": pl.Int64,
    "test": pl.String,
    "size_bytes": pl.Int64,
    "messages": pl.Int64,
    "rate_gbps": pl.Float64,
    "messages_per_second": pl.Float64,
    **{f"latency_{name}_ns": pl.Float64 for name in ("mean", *SHOWN)},
}


def perftest(results: SomeResults) -> pl.DataFrame:
    """Every finished test, a row for each case and source.

    `rate_gbps` is the messages' bytes over the time from the first post to the last completion, of both directions and
    all pairs together, as perftest has it. `latency_*_ns` is half of the time from one post to the next in a test of
    latency, which the last message has none of; in a test of bandwidth it is the time from a message's post until all
    of it has arrived.
    """
    several = as_list(results)
    rows = [row for one in several for row in _of_folder(one, renaming(one, several))]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _of_folder(one: Results, renamed: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    tests = _tests(one)
    if not any(tests.values()):
        return
    took = {
        (row.case_id, source): float(own["jct_ns"].sum())
        for row, table in one.partitions("iterations", ["source", "jct_ns"])
        for (source,), own in polars_frame(table).group_by("source", maintain_order=True)
    }
    for row, table in one.partitions("flows", ["source", "src", "dst", "size_bytes", "start_ns", "fct_ns"]):
        flows = polars_frame(table)
        for source, test in tests.get(row.case_id, {}).items():
            own = flows.filter(pl.col("source") == source)
            time_ns = took.get((row.case_id, source), np.nan)
            if own.is_empty() or np.isnan(time_ns) or own["fct_ns"].is_nan().any():
                continue
            latencies = _half_round_trips(own) if test == "latency" else own["fct_ns"].to_numpy()
            at = percentiles(latencies)
            yield (
                renamed.get(row.label, row.label),
                row.load,
                row.seed,
                source,
                test,
                own["size_bytes"][0],
                own.height,
                8 * float(own["size_bytes"].sum()) / time_ns,
                own.height / time_ns * 1e9,
                float(latencies.mean()),
                *(at[name] for name in SHOWN),
            )


def _tests(one: Results) -> dict[str, dict[int, str]]:
    """Of each case the sources that are tests, and which."""
    found: dict[str, dict[int, str]] = {}
    for line in one.plan_lines():
        workloads: Sequence[Mapping[str, Any]] = json.loads(line["case"])["workloads"] if "case" in line else ()
        arrivals = [workload.get("arrivals") or {} for workload in workloads]
        found[line["id"]] = {
            source: str(one.get("test", "bandwidth"))
            for source, one in enumerate(arrivals)
            if one.get("kind") == "perftest"
        }
    return found


def _half_round_trips(flows: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Half of the time from a message to the next of the rank that began, of all pairs."""
    halves = []
    ordered = flows.sort("start_ns").with_columns(
        pair=pl.concat_list(pl.min_horizontal("src", "dst"), pl.max_horizontal("src", "dst"))
    )
    for _, pair in ordered.group_by("pair", maintain_order=True):
        pings = pair.filter(pl.col("src") == pair["src"][0])
        halves.append(np.diff(pings["start_ns"].to_numpy()) / 2)
    return np.concatenate(halves)
