"""What the figures show, as tables: the same numbers for matplotlib, the report and whoever wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.errors import PacketloomError
from packetloom.results import CaseRow, Results
from packetloom.statistics import DEFAULT_BINS, SizeBin, polars_frame, summary

SomeResults = Results | Sequence[Results]

# Okabe and Ito's colours, told apart with every kind of colour vision; readable on white and on black.
COLOURS = ("#d55e00", "#e69f00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#8c8c8c")


@dataclass(frozen=True, slots=True)
class Style:
    """How a series looks in every figure: colour, and a marker and a line for those who see no colour."""

    colour: str
    order: int


def as_list(results: SomeResults) -> list[Results]:
    """One or several results."""
    return [results] if isinstance(results, Results) else list(results)


def style_at(place: int) -> Style:
    """The look of the place-th series."""
    return Style(COLOURS[place % len(COLOURS)], place)


def styles(results: SomeResults) -> dict[str, Style]:
    """The look of each series, by its label, in the order of the scenarios."""
    labels = dict.fromkeys(label for label, _, _ in _labelled_rows(as_list(results)))
    return {label: style_at(place) for place, label in enumerate(labels)}


def loads(results: SomeResults) -> list[float | None]:
    """The loads there are; None for a workload that has no target load."""
    found = {row.load for _, _, row in _labelled_rows(as_list(results))}
    return sorted(found, key=lambda load: (load is None, load or 0.0))


def all_summaries(results: SomeResults, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """`summary` of one or several results, with labels that tell them apart."""
    several = as_list(results)
    frames = []
    for one in several:
        renamed = renaming(one, several)
        frames.append(summary(one, bins).with_columns(pl.col("label").replace(renamed)))
    return pl.concat(frames, how="diagonal_relaxed")


def slowdown_by_size(results: SomeResults, points: int = 20) -> pl.DataFrame:
    """Mean and p99 slowdown in bins of equally many flows: label, load, size_bytes (mid), mean, p99, flows."""
    samples = _flow_samples(results, ("size_bytes", "slowdown", "measured"))
    rows: list[tuple[str, float | None, float, float, float, int]] = []
    for load in loads(results):
        here = [(label, frame) for label, at, frame in samples if at == load]
        edges = _equal_count_edges(np.concatenate([frame["size_bytes"].to_numpy() for _, frame in here]), points)
        for label in dict.fromkeys(label for label, _ in here):
            frame = pl.concat([frame for name, frame in here if name == label])
            rows += [(label, load, *point) for point in _by_size(frame, edges)]
    columns = {"label": pl.String, "load": pl.Float64, "size_bytes": pl.Float64, "mean": pl.Float64, "p99": pl.Float64}
    return pl.DataFrame(rows, schema={**columns, "flows": pl.Int64}, orient="row")


def fct_cdf(results: SomeResults, points: int = 200) -> pl.DataFrame:
    """The distribution of completion times, seeds pooled: label, load, fct_ns, fraction."""
    samples = _flow_samples(results, ("fct_ns", "measured"))
    fractions = np.concatenate([np.linspace(0, 0.99, points - points // 4), 1 - np.geomspace(0.01, 1e-4, points // 4)])
    frames = []
    for load in loads(results):
        for label in dict.fromkeys(label for label, at, _ in samples if at == load):
            times = np.concatenate(
                [frame["fct_ns"].to_numpy() for name, at, frame in samples if (name, at) == (label, load)]
            )
            if times.size:
                columns = {"label": label, "load": load, "fct_ns": np.quantile(times, fractions), "fraction": fractions}
                frames.append(pl.DataFrame(columns, schema_overrides={"load": pl.Float64}))
    if not frames:
        raise PacketloomError("no measured flow has finished, so there is no distribution to show")
    return pl.concat(frames)


def queue_by_tier(results: SomeResults) -> pl.DataFrame:
    """Queue lengths by tier of the network: label, load, tier, mean_bytes, p99_bytes, max_bytes.

    The mean is over the tier's ports, the p99 and the maximum are those of its worst port; seeds are averaged.
    """
    frames = []
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, ports in one.partitions("ports", ("tier", "queue_mean_bytes", "queue_p99_bytes", "queue_max_bytes")):
            by_tier = (
                polars_frame(ports)
                .filter(pl.col("queue_mean_bytes").is_not_nan())
                .group_by("tier", maintain_order=True)
                .agg(
                    pl.col("queue_mean_bytes").mean().cast(pl.Float64).alias("mean_bytes"),
                    pl.col("queue_p99_bytes").max().cast(pl.Float64).alias("p99_bytes"),
                    pl.col("queue_max_bytes").max().cast(pl.Float64).alias("max_bytes"),
                )
            )
            label = renamed.get(row.label, row.label)
            frames.append(
                by_tier.select(pl.lit(label).alias("label"), pl.lit(row.load, pl.Float64).alias("load"), pl.all())
            )
    watched = pl.concat(frames) if frames else pl.DataFrame()
    if watched.is_empty():
        raise PacketloomError("no queues were watched: set queues = true in [measure] (flow-level schemes have none)")
    return watched.group_by("label", "load", "tier", maintain_order=True).mean()


def _labelled_rows(several: Sequence[Results]) -> Iterator[tuple[str, Results, CaseRow]]:
    for one in several:
        renamed = renaming(one, several)
        for row in one.rows():
            yield renamed.get(row.label, row.label), one, row


def renaming(one: Results, several: Sequence[Results]) -> dict[str, str]:
    """Labels that more than one of the results have get the folder's name beside them."""
    if len(several) < 2:
        return {}
    holders = Counter(label for results in several for label in {row.label for row in results.rows()})
    own = {row.label for row in one.rows()}
    folder = one.name if sum(other.name == one.name for other in several) == 1 else str(one.path)
    return {label: f"{label} [{folder}]" for label in own if holders[label] > 1}


def _flow_samples(results: SomeResults, columns: Sequence[str]) -> list[tuple[str, float | None, pl.DataFrame]]:
    """The measured flows that finished, case by case."""
    several = as_list(results)
    samples = []
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("flows", columns):
            frame = polars_frame(table).filter("measured")
            numbers = [name for name in columns if frame[name].dtype.is_float()]
            finished = frame.filter(pl.all_horizontal(pl.col(numbers).is_not_nan() & pl.col(numbers).is_not_null()))
            samples.append((renamed.get(row.label, row.label), row.load, finished))
    return samples


def _equal_count_edges(sizes: NDArray[np.generic], points: int) -> NDArray[np.float64]:
    if not sizes.size:
        raise PacketloomError("no measured flow has finished, so there is no slowdown to show")
    return np.unique(np.quantile(sizes.astype(float), np.linspace(0, 1, points + 1)))


def _by_size(frame: pl.DataFrame, edges: NDArray[np.float64]) -> Iterator[tuple[float, float, float, int]]:
    """Mean size, mean and p99 slowdown, and flows, of each bin that has any."""
    size, slowdown = frame["size_bytes"].to_numpy().astype(float), frame["slowdown"].to_numpy()
    place = np.maximum(np.searchsorted(edges, size, side="left"), 1)
    for index in np.unique(place):
        chosen = place == index
        here = slowdown[chosen]
        yield float(size[chosen].mean()), float(here.mean()), float(np.quantile(here, 0.99)), int(chosen.sum())
