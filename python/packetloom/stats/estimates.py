"""What is shown beside estimates (run.fidelity): the error that `packetloom fidelity` measured, and what packets would
be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.quantities import significant
from packetloom.errors import PacketloomError
from packetloom.stats.curves import renaming
from packetloom.stats.job_figures import UNIT_NAMES, UNITS, job_figures
from packetloom.stats.summary import ALL_SIZES, over_seeds
from packetloom.store.results import Results

AXIS = "run.fidelity"
PACKETS = "packets"
STATISTICS = ("mean", "p99")
FILE = "fidelity.json"
"""Where a results folder has what was measured, for `packetloom report`."""

Errors = Sequence[Mapping[str, Any]]
"""Rows of `packetloom fidelity`."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """By which rung a label's flows were estimated, and under which names its errors may have been measured."""

    rung: str
    names: frozenset[str]


def estimated_by(several: Sequence[Results]) -> dict[str, Estimated]:
    """The labels (scheme and axes) of results whose flows were estimated."""
    found = {}
    for one in several:
        rungs, renamed = rungs_of(one), renaming(one, several)
        for row in one.rows():
            if row.counters.get("estimated") == 1:
                rung = rungs.get(row.case_id, "an estimate")
                # A label has the rung among its axes, if the scenario varies it.
                names = {row.label, row.scheme, row.label.replace(f", {AXIS} {rung}", "")}
                found[renamed.get(row.label, row.label)] = Estimated(rung, frozenset(names))
    return found


def beside_packets(results: Results, values: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A row per scheme, load, rung, bin and statistic: the estimate's error against packets, over seeds.

    `values` has those and `seed`, `value`, `cpu_s` and `flows`, under each rung and under `PACKETS`.
    """
    frame = pl.DataFrame(values, infer_schema_length=None)
    keys = ["scheme", "load", "seed", "bin", "statistic"]
    truth = frame.filter(pl.col("rung") == PACKETS).drop("rung")
    truth = truth.rename({"value": "packets", "cpu_s": "packets_cpu_s", "flows": "packets_flows"})
    joined = (
        frame.filter(pl.col("rung") != PACKETS)
        .join(truth, on=keys, nulls_equal=True, maintain_order="left")
        .filter(pl.col("packets") > 0)
        .with_columns(
            value=pl.col("value") / pl.col("packets") - 1,
            estimate=pl.col("value"),
            speed_up=pl.col("packets_cpu_s") / pl.col("cpu_s"),
        )
    )
    if joined.is_empty():
        raise PacketloomError(f"{results.path}: packets and estimates of the same case are not there; run `fidelity`")
    group = ["scheme", "load", "rung", "bin", "statistic"]
    means = joined.group_by(group, maintain_order=True).agg(pl.col("packets", "estimate", "speed_up").mean())
    errors = over_seeds(joined.select(*group, "seed", "value", flows="packets_flows"))
    return means.join(errors, on=group, nulls_equal=True, maintain_order="left").rename({"value": "error"})


def rungs_of(results: Results) -> dict[str, str]:
    """The rung of each case, as its plan has it."""
    found = {}
    for line in results.plan_lines():
        rung = json.loads(line["case"])["run"].get("fidelity")
        if rung:
            found[str(line["id"])] = rung_name(rung)
    return found


def rung_name(rung: object) -> str:
    """What a scenario's `run.fidelity` is called in tables: its kind, and how it differs from the kind's usual."""
    if not isinstance(rung, Mapping):
        return str(rung or "packets")
    kind = str(rung["kind"])
    whole = ", whole" if rung.get("collectives") == "whole" else ""
    return kind + whole + (", calibrated" if rung.get("calibrate") is True else "")


def estimate_lines(statistics: pl.DataFrame, estimated: Mapping[str, Estimated], errors: Errors) -> list[list[str]]:
    """A line per load, label, size and statistic of estimates, with the error measured for that scheme and rung."""
    lines = []
    wanted = statistics.filter(
        (pl.col("metric") == "slowdown")
        & pl.col("statistic").is_in(STATISTICS)
        & pl.col("label").is_in(list(estimated))
        & pl.col("value").is_not_null()
    )
    for row in wanted.iter_rows(named=True):
        one = estimated[row["label"]]
        error = _nearest_error(one, row, errors)
        texts = ("–", "–") if error is None else _band_texts(row["value"], error)
        load = "–" if row["load"] is None else f"{row['load']:g}"
        bin = "all" if row["bin"] == ALL_SIZES else str(row["bin"])
        lines.append([load, row["label"], one.rung, bin, row["statistic"], significant(row["value"], 3), *texts])
    return lines


def job_estimate_lines(
    several: Sequence[Results], estimated: Mapping[str, Estimated], errors: Errors
) -> list[list[str]]:
    """A line per label and figure of jobs that were estimated, with the error measured for that scheme and rung."""
    values: dict[tuple[str, float | None, str, str], list[float]] = {}
    for one in several:
        renamed = renaming(one, several)
        for row, figures in job_figures(one):
            label = renamed.get(row.label, row.label)
            for figure in figures if label in estimated else ():
                values.setdefault((label, row.load, figure.of, figure.name), []).append(figure.value)
    lines = []
    for (label, load, of, name), seeds in values.items():
        value = sum(seeds) / len(seeds)
        error = _nearest_error(estimated[label], {"bin": of, "statistic": name, "load": load}, errors)
        texts = ("–", "–") if error is None else _band_texts(value / UNITS[name], error)
        unit = UNIT_NAMES[name]
        lines.append([label, estimated[label].rung, of, f"{name}, {unit}", significant(value / UNITS[name], 3), *texts])
    return lines


def with_bands(numbers: pl.DataFrame, estimated: Mapping[str, Estimated], errors: Errors) -> pl.DataFrame:
    """A figure's numbers (label, bin, statistic, load, y), and the band in which packets would be: from, to; null where
    no error was measured, `to` also where the band has no upper end."""
    bands: list[tuple[float | None, float | None]] = []
    for row in numbers.iter_rows(named=True):
        one = estimated.get(row["label"])
        error = _nearest_error(one, row, errors) if one and row["y"] is not None else None
        bands.append((None, None) if error is None else _band(row["y"], error))
    columns = {"from": [low for low, _ in bands], "to": [high for _, high in bands]}
    return numbers.with_columns(pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items())


def _nearest_error(one: Estimated, row: Mapping[str, Any], errors: Errors) -> Mapping[str, Any] | None:
    """What was measured for a scheme's statistic at the load nearest to the row's."""
    wanted = (one.rung, row["bin"], row["statistic"])
    fitting = [
        error
        for error in errors
        if error["scheme"] in one.names and (error["rung"], error["bin"], error["statistic"]) == wanted
    ]
    return min(fitting, key=lambda error: abs((error["load"] or 0.0) - (row["load"] or 0.0)), default=None)


def _band(value: float, error: Mapping[str, Any]) -> tuple[float, float | None]:
    """What packets would be: the estimate without its error, over the error's interval.

    An interval that reaches down to -100 % has no upper end.
    """
    low, high = (error["error"] if error[side] is None else error[side] for side in ("low", "high"))
    return value / (1 + high), value / (1 + low) if low > -1 else None


def _band_texts(value: float, error: Mapping[str, Any]) -> tuple[str, str]:
    """The error, and what packets would be."""
    low, high = _band(value, error)
    ends = [significant(low, 3), "∞" if high is None else significant(high, 3)]
    return percent_text(error["error"], error["low"]), " to ".join(dict.fromkeys(ends))


def percent_text(error: float, low: float | None) -> str:
    """An error in percent, and half its interval where there is one."""
    text = f"{100 * error:+.1f}"
    return text if low is None else f"{text}±{100 * (error - low):.1f}"


def measured_errors(several: Sequence[Results], file: Path | None = None) -> list[dict[str, Any]]:
    """What `packetloom fidelity` measured: what the file has, or each results folder where it has one."""
    files = [file] if file else [one.path / FILE for one in several if (one.path / FILE).exists()]
    return [row for one in files for row in _read_errors(one)]


def _read_errors(file: Path) -> list[dict[str, Any]]:
    """What `packetloom fidelity` wrote."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PacketloomError(f"{file}: cannot be read: {error}") from None
    needed = {"scheme", "load", "rung", "bin", "statistic", "error", "low", "high"}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and needed <= row.keys() for row in rows):
        raise PacketloomError(f"{file}: is not what `packetloom fidelity` wrote; write it again")
    return rows
