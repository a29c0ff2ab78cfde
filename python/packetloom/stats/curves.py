"""What the figures show, as tables: the same numbers for matplotlib, the report and other uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common import arguments
from packetloom.common.percentiles import p99, percentiles, quantiles
from packetloom.common.quantities import axis_text
from packetloom.errors import PacketloomError
from packetloom.stats.collectives import bus_gbps, operations_of
from packetloom.stats.steadiness.column import with_steadiness
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin, by_seed, over_seeds, polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results, Snapshot

SomeResults = Results | Sequence[Results]
FRACTIONS = np.concatenate([np.linspace(0, 0.99, 150), 1 - np.geomspace(0.01, 1e-4, 50)])
"""Where distributions are drawn."""
FAN_IN = "pattern.fan_in"
SIZE_STATISTICS = ("mean", "p50", "p95", "p99")

# Okabe and Ito's colours, distinct for every kind of colour vision; readable on white and on black.
COLOURS = ("#d55e00", "#e69f00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#8c8c8c")


@dataclass(frozen=True, slots=True)
class Style:
    """How a series looks in every figure: colour, and a marker and dashes for those who see no colour."""

    colour: str
    marker: int
    dash: int


def as_list(results: SomeResults) -> list[Results]:
    """One or several results."""
    several = [results] if isinstance(results, Results) else results
    if not isinstance(several, Sequence) or not all(isinstance(one, Results) for one in several) or not several:
        raise arguments.wrong("results", results, "a packetloom.Results, or a list of them")
    return list(several)


def style_at(place: int) -> Style:
    """The look of the place-th series."""
    round, within = divmod(place, len(COLOURS))
    return Style(COLOURS[within], within + round, round)


def styles(results: SomeResults) -> dict[str, Style]:
    """The look of each series, by its label, in the order of the scenarios.

    A scheme has one colour; its variants (on other axes of the grid, in other folders) differ in markers and dashes.
    Variants of a single scheme differ in colour.
    """
    rows = _labelled_rows(as_list(results))
    scheme_of = {label: row.scheme for label, _, row in rows}
    schemes = list(dict.fromkeys(scheme_of.values()))
    if len(schemes) == 1:
        return {label: style_at(place) for place, label in enumerate(scheme_of)}
    variants: Counter[str] = Counter()
    looks = {}
    for label, scheme in scheme_of.items():
        look, variant = style_at(schemes.index(scheme)), variants[scheme]
        looks[label] = Style(look.colour, look.marker + variant, look.dash + variant)
        variants[scheme] += 1
    return looks


def loads(results: SomeResults) -> list[float | None]:
    """The loads there are; None for a workload that has no target load."""
    found = {row.load for _, _, row in _labelled_rows(as_list(results))}
    return sorted(found, key=lambda load: (load is None, load or 0.0))


def all_summaries(results: SomeResults, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """`summary` of one or several results, with distinct labels."""
    several = as_list(results)
    summary = over_seeds(all_seed_values(several, bins))
    for one in several:
        summary = with_steadiness(summary, one, bins, renaming(one, several))
    return summary


def all_seed_values(results: SomeResults, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """The same before seeds are averaged."""
    several = as_list(results)
    frames = []
    for one in several:
        renamed = renaming(one, several)
        frames.append(_by_seed(one, bins).with_columns(pl.col("label").replace(renamed)))
    return pl.concat(frames, how="diagonal_relaxed")


def _by_seed(one: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> pl.DataFrame:
    """`by_seed`; what does not change is worked out once, however many figures need it."""
    return _kept_by_seed(one, tuple(bins)) if isinstance(one, Snapshot) else by_seed(one, bins)


@lru_cache(maxsize=8)
def _kept_by_seed(one: Snapshot, bins: tuple[SizeBin, ...]) -> pl.DataFrame:
    return by_seed(one, bins)


def slowdown_by_size(results: SomeResults, points: int = 20) -> pl.DataFrame:
    """Slowdown in bins of equally many flows: label, load, size_bytes (the bin's mean), statistic (mean, p50, p95,
    p99), value, low, high, flows. A statistic is computed within each seed; its interval is that over seeds."""
    samples = _flow_samples(results, ("size_bytes", "slowdown", "measured"))
    frames = []
    for load in loads(results):
        here = [(label, frame) for label, at, frame in samples if at == load]
        sizes = [frame["size_bytes"].to_numpy() for _, frame in here]
        if not sum(map(len, sizes)):
            continue
        edges = np.unique(quantiles(np.concatenate(sizes).astype(float), np.linspace(0, 1, points + 1)))
        for label in dict.fromkeys(label for label, _ in here):
            of_seeds = [frame for name, frame in here if name == label and frame.height]
            rows = [row for seed, frame in enumerate(of_seeds) for row in _by_size(seed, frame, edges)]
            if rows:
                frames.append(_over_seeds_by_size(rows, label, load))
    if not frames:
        raise PacketloomError("no measured flow has finished, so there is no slowdown to show")
    return pl.concat(frames)


def _over_seeds_by_size(
    rows: Sequence[tuple[int, int, float, str, float, int]], label: str, load: float | None
) -> pl.DataFrame:
    per_seed = pl.DataFrame(rows, schema=["seed", "place", "bytes", "statistic", "value", "flows"], orient="row")
    flows = pl.col("flows").sum()
    sizes = (
        per_seed.group_by("place")
        .agg((pl.col("bytes") * pl.col("flows")).sum() / flows)
        .rename({"bytes": "size_bytes"})
    )
    found = over_seeds(per_seed.drop("bytes")).join(sizes, on="place").sort("place", maintain_order=True)
    return found.select(
        pl.lit(label).alias("label"),
        pl.lit(load, pl.Float64).alias("load"),
        "size_bytes",
        "statistic",
        "value",
        "low",
        "high",
        "flows",
    )


def distribution(results: SomeResults, column: str) -> pl.DataFrame:
    """The distribution of a column over the flows that finished, seeds pooled: label, load, the column, fraction."""
    samples = _flow_samples(results, (column, "measured"))
    frames = []
    for load in loads(results):
        for label in dict.fromkeys(label for label, at, _ in samples if at == load):
            values = np.concatenate(
                [frame[column].to_numpy() for name, at, frame in samples if (name, at) == (label, load)]
            )
            if values.size:
                frames.append(cdf(label, load, column, values))
    if not frames:
        raise PacketloomError("no measured flow has finished, so there is no distribution to show")
    return pl.concat(frames)


def cdf(label: str, load: float | None, column: str, values: NDArray[np.float64]) -> pl.DataFrame:
    """Quantiles of some values: label, load, the column, fraction; closer to each other in the tail."""
    columns = {"label": label, "load": load, column: quantiles(values, FRACTIONS), "fraction": FRACTIONS}
    return pl.DataFrame(columns, schema_overrides={"load": pl.Float64})


def queue_by_tier(results: SomeResults) -> pl.DataFrame:
    """Queue lengths by tier of the network: label, load, tier, mean_bytes, p99_bytes, max_bytes.

    The mean is over the tier's ports, the p99 and the maximum are those of its worst port; seeds are averaged.
    """
    columns = ("tier", "queue_mean_bytes", "queue_p99_bytes", "queue_max_bytes")
    frames = [
        ports.filter(pl.col("queue_mean_bytes").is_not_nan())
        .group_by("label", "load", "tier", maintain_order=True)
        .agg(
            pl.col("queue_mean_bytes").mean().cast(pl.Float64).alias("mean_bytes"),
            pl.col("queue_p99_bytes").max().cast(pl.Float64).alias("p99_bytes"),
            pl.col("queue_max_bytes").max().cast(pl.Float64).alias("max_bytes"),
        )
        for ports in _ports(results, columns)
    ]
    if not any(frame.height for frame in frames):
        raise PacketloomError("no queues were recorded: set queues = true in [measure] (flow-level schemes have none)")
    return pl.concat(frames).group_by("label", "load", "tier", maintain_order=True).mean()


def link_imbalance(results: SomeResults) -> pl.DataFrame:
    """How unevenly parallel links were used: label, load, tier, imbalance.

    Of the links from a switch to switches of one tier: the utilisation of the most used less that of the least, over
    their mean (CONGA, SIGCOMM 2014, §5.2.2). Averaged over the switches that have several, and over seeds; 0 is even.
    """
    spread = (pl.col("utilisation").max() - pl.col("utilisation").min()) / pl.col("utilisation").mean()
    frames = [
        ports.filter(~pl.col("peer").str.starts_with("host"))
        .group_by("label", "load", "tier", "node", maintain_order=True)
        .agg(spread.alias("imbalance"), pl.len().alias("links"))
        .filter((pl.col("links") > 1) & pl.col("imbalance").is_not_nan())
        .group_by("label", "load", "tier", maintain_order=True)
        .agg(pl.col("imbalance").mean())
        for ports in _ports(results, ("tier", "node", "peer", "utilisation"))
    ]
    if not any(frame.height for frame in frames):
        raise PacketloomError("no switch has several links to switches of one tier, so nothing can be uneven")
    return pl.concat(frames).group_by("label", "load", "tier", maintain_order=True).mean()


def reordering(results: SomeResults) -> pl.DataFrame:
    """In which order flows' packets arrived: label, load, late, changes, held_bytes.

    Late are packets that came after one that was sent later, changes those that came by another path than the one
    before, both over all that were sent; held_bytes is the p99 over flows of what a receiver has to hold to put a flow
    in order (RFC 4737). Seeds are averaged.
    """
    columns = ("packets_sent", "reordered", "path_changes", "reordering_bytes")
    several = as_list(results)
    frames = []
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("flows"):
            if not set(columns) <= set(table.column_names):
                continue
            sent = pl.col("packets_sent").sum()
            sums = polars_frame(table.select(columns)).select(
                (pl.col("reordered").sum() / sent).alias("late"),
                (pl.col("path_changes").sum() / sent).alias("changes"),
                p99(pl.col("reordering_bytes").cast(pl.Float64)).alias("held_bytes"),
            )
            label = renamed.get(row.label, row.label)
            frames.append(
                sums.select(pl.lit(label).alias("label"), pl.lit(row.load, pl.Float64).alias("load"), pl.all())
            )
    if not frames:
        raise PacketloomError("the order of packets was not measured: set reordering = true in [measure]")
    return pl.concat(frames).group_by("label", "load", maintain_order=True).mean()


def by_fan_in(results: SomeResults) -> pl.DataFrame:
    """Completion times by the number of senders, where the grid varies it: label, load, fan_in, statistic, value,
    low, high. Labels are without the number."""
    several = as_list(results)
    short = without_fan_in(several)
    frames = []
    for one in several:
        axis = next((name for name in one.axes if name.endswith(FAN_IN)), None)
        if axis is None:
            continue
        frame = over_seeds(_by_seed(one)).with_columns(pl.col("label").replace(renaming(one, several)).replace(short))
        chosen = frame.filter(pl.col("metric") == "fct_ns", pl.col("bin") == ALL_SIZES, pl.col(axis).is_not_null())
        fan_in = pl.col(axis).cast(pl.Float64).alias("fan_in")
        frames.append(chosen.select("label", "load", fan_in, "statistic", "value", "low", "high"))
    if not any(frame.height for frame in frames):
        raise PacketloomError("no incast whose fan_in the scenario varies: write a list, such as fan_in = [5, 10, 20]")
    return pl.concat(frames)


def operations(results: SomeResults) -> pl.DataFrame:
    """Operations among hosts, a row per case and kind of operation, means over the repetitions that were done: label,
    seed, operation (with its network, where there are several), jct_ns, bus_gbps, flows (how many repetitions)."""
    several = as_list(results)
    found = []
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("jobs"):
            label = renamed.get(row.label, row.label)
            found += [(label, row.seed, kind, own) for kind, own in operations_of(polars_frame(table))]
    if not found:
        raise PacketloomError('no operation among hosts: arrivals = { kind = "collective", ... } has them')
    has_networks = len({kind.network for _, _, kind, _ in found}) > 1
    rows = [
        (label, seed, kind.text(has_networks=has_networks), own["jct_ns"].mean(), bus_gbps(own), own.height)
        for label, seed, kind, own in found
    ]
    numbers = dict.fromkeys(("jct_ns", "bus_gbps"), pl.Float64)
    schema = {"label": pl.String, "seed": pl.Int64, "operation": pl.String, **numbers, "flows": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def without_fan_in(results: SomeResults) -> dict[str, str]:
    """Every label, and the one of `by_fan_in` that it belongs to."""
    several = as_list(results)
    return {label: _label_without(row, _fan_in_axis(row), label) for label, _, row in _labelled_rows(several)}


def fan_in_styles(results: SomeResults) -> dict[str, Style]:
    """The looks of the labels of `by_fan_in`: those of the first series that each stands for."""
    short = without_fan_in(results)
    looks: dict[str, Style] = {}
    for label, look in styles(results).items():
        looks.setdefault(short[label], look)
    return looks


def _fan_in_axis(row: CaseRow) -> str | None:
    return next((name for name in row.parameters if name.endswith(FAN_IN)), None)


def _label_without(row: CaseRow, axis: str | None, label: str) -> str:
    """A label, folder and all, without the value of an axis."""
    return label if axis is None else label.replace(f", {axis_text(axis, row.parameters[axis])}", "", 1)


def _ports(results: SomeResults, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Each case's ports, with its label and load; flow-level schemes have none."""
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, ports in one.partitions("ports", columns):
            if not ports.num_rows:
                continue
            label = renamed.get(row.label, row.label)
            yield polars_frame(ports).select(
                pl.lit(label).alias("label"), pl.lit(row.load, pl.Float64).alias("load"), pl.all()
            )


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


def _by_size(
    seed: int, frame: pl.DataFrame, edges: NDArray[np.float64]
) -> Iterator[tuple[int, int, float, str, float, int]]:
    """Of one seed and each bin that has any flows: seed, bin, their mean size, a statistic, its value, and flows."""
    size, slowdown = frame["size_bytes"].to_numpy().astype(float), frame["slowdown"].to_numpy()
    place = np.maximum(np.searchsorted(edges, size, side="left"), 1)
    for index in np.unique(place):
        chosen = place == index
        here = slowdown[chosen]
        values = {"mean": float(here.mean()), **percentiles(here)}
        for statistic in SIZE_STATISTICS:
            yield seed, int(index), float(size[chosen].mean()), statistic, values[statistic], int(chosen.sum())
