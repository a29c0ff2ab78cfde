"""What a campaign asks: the statistic that its scenario is about, its values seed by seed, and where they are compared.

Compared are schemes (with the values of their own keys that the grid varies). Where the grid varies the work (the load,
the workload, the topology), each of its points is a condition: schemes are compared within it, never across.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from packetloom.campaign.search import Sought, held_by_seed, sought
from packetloom.common.columns import numbers_of
from packetloom.common.confidence import half_interval
from packetloom.common.quantities import FAN_IN, axis_text, in_percent
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import ALIKE, Parameter
from packetloom.stats.collectives import Kind, between_ends_ns, bus_gbps, exposed_ns, operations_of
from packetloom.stats.curves import SomeResults, all_seed_values, as_list, renaming
from packetloom.stats.interference import factor
from packetloom.stats.serving import network_share, percentile_of
from packetloom.stats.steadiness.diagnosis import MOST_CUT, Steadiness, diagnosed
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin, polars_frame
from packetloom.store.case_rows import CaseRow, TableName, varied
from packetloom.store.results import Results, Snapshot

SCHEME = "the scheme"
"""The axis of a condition that holds a scheme, where values of the grid are compared instead."""
WORK = ("workload", "topology", "run", "fault", "measure")
OF_THE_SCHEME = ("arrivals.algorithm",)
"""Keys of the workload that say how something is done, not what: their values compete."""
REFERENCES = ("ideal", "max-min")
"""Transports without packets: what they reach is a reference, and they are best at nothing."""

ENOUGH_FOR_P99 = 100
"""Flows: with fewer, the p99 is the largest, or nearly so."""

BySeed = dict[int, float]
Places = dict[tuple[str, float | None], tuple[str, "Condition"]]


@dataclass(frozen=True, slots=True)
class Condition:
    """Under what schemes are compared: a load, a number of senders, another point of the grid."""

    load: float | None = None
    axes: tuple[tuple[str, Parameter], ...] = ()

    @property
    def text(self) -> str:
        """In a few words; empty where there is one only."""
        return ", ".join(part for part in (self._load, *map(_axis, self.axes)) if part)

    @property
    def where(self) -> str:
        """The same after "MinTCP is best"."""
        at = f"at {self._load}" if self._load else ""
        axes = ", ".join(map(_axis, self.axes))
        return " ".join(part for part in (at, f"with {axes}" if axes else "") if part)

    def without(self, axis: str) -> Condition:
        """The same but for an axis of the grid: its load, or another."""
        load = None if axis == "load" else self.load
        return Condition(load, tuple(one for one in self.axes if one[0] != axis))

    @property
    def _load(self) -> str:
        return "" if self.load is None else f"load {self.load:g}"

    @property
    def rank(self) -> tuple[Any, ...]:
        """Numbers rise; the last is taken to be the hardest."""
        return self.load or 0.0, tuple(_sortable(value) for _, value in self.axes)


def _axis(axis: tuple[str, Parameter]) -> str:
    name, value = axis
    if name == SCHEME:
        return str(value)
    if name.endswith(FAN_IN) and isinstance(value, int | float):
        return f"{value:g} senders"
    return axis_text(name, value).removeprefix("topology.")


def _sortable(value: Parameter) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (0, float(value), "") if is_number else (1, 0.0, str(value))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Measure:
    """A statistic: one value for each scheme, condition and seed."""

    name: str
    title: str
    """What it is, after "the"."""
    heading: str
    unit: str
    """ratio, ns, share, gbps or count."""
    values: Mapping[tuple[str, Condition], BySeed]
    lower_is_better: bool = True
    by_ratio: bool = True
    bin: str = ALL_SIZES
    """Of which flows it is a statistic."""

    def mean(self, entity: str, condition: Condition) -> float | None:
        """The mean over seeds."""
        values = self.values.get((entity, condition))
        return float(np.mean(list(values.values()))) if values else None

    def half(self, entity: str, condition: Condition) -> float | None:
        """Half of the mean's 95 % interval; None with one seed."""
        values = list(self.values.get((entity, condition), {}).values())
        return half_interval(values) if len(values) > 1 else None


OF_THE_FINISHED = ("slowdown", "incast")
"""What is asked where the flows that never finished are not counted."""
STALLED, UNMEASURED, UNFINISHED = "stalled", "measured no flow", "did not finish"


@dataclass(frozen=True, slots=True)
class Stopped:
    """In how many of its seeds a scheme has nothing to show under a condition, and why."""

    seeds: int
    of: int
    what: str
    """What was so in these seeds: it stalled; its time was over, and nothing had ended that is asked for; or all flows
    had ended, and none was measured."""

    @property
    def text(self) -> str:
        """In words, of a scheme."""
        seeds = "all" if self.seeds == self.of else self.seeds
        return self.what if self.of == 1 else f"{self.what} in {seeds} of {self.of} seeds"


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared, under which conditions, and by which statistics, the one that matters most first."""

    kind: str
    """slowdown, incast, deadlines, jobs, serving or search."""
    entities: tuple[str, ...]
    references: frozenset[str]
    conditions: tuple[Condition, ...]
    measures: tuple[Measure, ...]
    seeds: int
    flows: int = 0
    """The fewest measured flows of a case."""
    unfinished_at: Mapping[tuple[str, Condition], float] = field(default_factory=dict)
    """The share of its flows that a scheme left unfinished under a condition, where it left any."""
    alike: float = ALIKE
    """Schemes that differ by less than this fraction are called alike."""
    stopped: Mapping[tuple[str, Condition], Stopped] = field(default_factory=dict)
    """What did not finish, and where: it is best at nothing there."""
    estimated: frozenset[str] = frozenset()
    """Schemes some of whose times are estimates, where others' are of packets."""
    twins: tuple[tuple[str, ...], ...] = ()
    """Schemes whose flows are the same to the last bit, wherever they were run."""
    sought: Sought | None = None
    capped: frozenset[str] = frozenset()
    """Of a search: what held even at the end of the range, in some seed."""
    steadiness: Mapping[tuple[str, Condition], Mapping[str, Steadiness]] = field(default_factory=dict)
    """By size bin, where flows start by the clock."""

    @property
    def lead(self) -> Measure:
        """The statistic that the scenario is about."""
        return self.measures[0]

    @property
    def hardest(self) -> Condition:
        """The condition that is told first: the highest load, the most senders."""
        return self.conditions[-1]

    @property
    def unfinished(self) -> dict[str, float]:
        """The largest share of its flows that a scheme left unfinished under any condition, where it left any."""
        worst: dict[str, float] = {}
        for (entity, _), share in self.unfinished_at.items():
            worst[entity] = max(worst.get(entity, 0.0), share)
        return worst

    @property
    def rivals(self) -> tuple[str, ...]:
        """What can be best: all but references, unless there is nothing else."""
        return tuple(one for one in self.entities if one not in self.references) or self.entities


def question_of(results: SomeResults, bins: Sequence[SizeBin] = DEFAULT_BINS) -> Question | None:
    """What these results are to answer; None if nothing is finished that could be compared."""
    several = [one if isinstance(one, Snapshot) else Snapshot(one) for one in as_list(results)]
    several = [one for one in several if one.rows()]
    if not several:
        return None
    searched = [(one, what) for one in several if (what := sought(one)) is not None]
    if searched and len(searched) == len(several):
        return _search(several, searched[0][1])
    try:
        found = _Statistics(all_seed_values(several, bins), _places(several))
    except PacketloomError:
        return None
    kind, measures = _measures(several, found, bins)
    measures = tuple(one for one in measures if one.values)
    if not measures:
        return None
    stopped = _stopped(several, measures[0])
    pairs = [*measures[0].values, *stopped]
    known = {name for name, _ in pairs}
    entities = tuple(dict.fromkeys(one for one, _ in found.places.values() if one in known))
    unfinished = found.measure("unfinished", "", "", ("unfinished", "mean"))
    left = {place: float(np.mean(list(shares.values()))) for place, shares in unfinished.values.items()}
    if kind in OF_THE_FINISHED:
        seeds = {place: len(shares) for place, shares in unfinished.values.items()}
        stopped = _left_more(left, seeds) | stopped
    return Question(
        kind,
        entities,
        _references(several) & frozenset(entities),
        tuple(sorted({condition for _, condition in pairs}, key=lambda one: one.rank)),
        measures,
        max(len(values) for values in measures[0].values.values()),
        found.flows,
        {place: share for place, share in left.items() if share > 0},
        alike=max(one.alike for one in several),
        stopped=stopped,
        estimated=_estimated(several),
        twins=_twins(several),
        steadiness=_steadiness(several, found.places, bins),
    )


def _stopped(several: Sequence[Results], lead: Measure) -> dict[tuple[str, Condition], Stopped]:
    """What did not finish: cases that stalled, and those without a value of what is asked for."""
    undone = set(_undone(several))
    counts: dict[tuple[str, Condition], list[str]] = {}
    of: dict[tuple[str, Condition], int] = {}
    for row, entity in _competing(several):
        key = entity, condition_of(row)
        of[key] = of.get(key, 0) + 1
        is_stalled = bool(row.counters.get("stalled"))
        if is_stalled or (*key, row.seed) in undone or (row.seed or 0) not in lead.values.get(key, {}):
            is_over = row.counters.get("flows_finished") == row.counters.get("flows_started")
            unmeasured = is_over and (*key, row.seed) not in undone
            what = STALLED if is_stalled else UNMEASURED if unmeasured else UNFINISHED
            counts.setdefault(key, []).append(what)
    return {
        key: Stopped(len(whats), of[key], STALLED if STALLED in whats else whats[0]) for key, whats in counts.items()
    }


def _left_more(
    left: Mapping[tuple[str, Condition], float], seeds: Mapping[tuple[str, Condition], int]
) -> dict[tuple[str, Condition], Stopped]:
    """What left a larger part of its flows unfinished than others: their times are known, those of its slowest not."""
    least: dict[Condition, float] = {}
    for (_, condition), share in left.items():
        least[condition] = min(share, least.get(condition, 1.0))
    return {
        place: Stopped(seeds[place], seeds[place], f"left {in_percent(share)} of its flows unfinished")
        for place, share in left.items()
        if share > least[place[1]] + MOST_CUT
    }


def _undone(several: Sequence[Results]) -> Iterator[tuple[str, Condition, int | None]]:
    """Cases in which some repetition of a job, or some request, was not done: the others say nothing of all."""
    tables: tuple[tuple[TableName, str], ...] = (("iterations", "jct_ns"), ("requests", "latency_ns"))
    for one in several:
        renamed = renaming(one, several)
        for table, column in tables:
            for row, part in one.partitions(table, [column]):
                if np.isnan(numbers_of(part[column].combine_chunks()).astype(float)).any():
                    yield entity_of(row, renamed.get(row.label, row.label)), condition_of(row), row.seed


def _estimated(several: Sequence[Results]) -> frozenset[str]:
    """What was estimated; nothing where all was, as then none is beside packets."""
    found: dict[str, bool] = {}
    for row, entity in _competing(several):
        found[entity] = found.get(entity, False) or bool(row.counters.get("estimated"))
    estimates = frozenset(entity for entity, is_one in found.items() if is_one)
    return frozenset() if len(estimates) == len(found) else estimates


def _twins(several: Sequence[Results]) -> tuple[tuple[str, ...], ...]:
    """Schemes that have the same fingerprints, at least in one case each, and in all that any of them has."""
    prints: dict[str, dict[tuple[Condition, int | None], str]] = {}
    for row, entity in _competing(several):
        if row.fingerprint:
            prints.setdefault(entity, {})[condition_of(row), row.seed] = row.fingerprint
    alike: dict[frozenset[tuple[tuple[Condition, int | None], str]], list[str]] = {}
    for entity, own in prints.items():
        alike.setdefault(frozenset(own.items()), []).append(entity)
    return tuple(tuple(names) for names in alike.values() if len(names) > 1)


def _competing(several: Sequence[Results]) -> Iterator[tuple[CaseRow, str]]:
    """Every finished case, and what competes in it."""
    for row, label in renamed_rows(several):
        yield row, entity_of(row, label)


def renamed_rows(several: Sequence[Results]) -> Iterator[tuple[CaseRow, str]]:
    """Every finished case, and its label as it is shown."""
    for one in several:
        renamed = renaming(one, several)
        for row in one.rows():
            yield row, renamed.get(row.label, row.label)


def _steadiness(
    several: Sequence[Results], places: Places, bins: Sequence[SizeBin]
) -> dict[tuple[str, Condition], dict[str, Steadiness]]:
    known: dict[tuple[str, Condition], dict[str, Steadiness]] = {}
    for one in several:
        renamed = renaming(one, several)
        for found in diagnosed(one, bins):
            known.setdefault(places[renamed.get(found.label, found.label), found.load], {})[found.bin] = found
    return known


def _measures(
    several: Sequence[Results], found: _Statistics, bins: Sequence[SizeBin]
) -> tuple[str, tuple[Measure, ...]]:
    one = found.flows == 1
    title, heading = ("slowdown of the flow", "slowdown") if one else ("mean slowdown of all flows", "mean slowdown")
    slowdown = found.measure("mean-slowdown", title, heading, ("slowdown", "mean"))
    if jobs := tuple(_jobs(several)):
        return "jobs", jobs
    if requests := tuple(_requests(several)):
        return "serving", requests
    fct = [
        found.measure(f"{name}-fct", f"{name} completion time", f"{name} completion time", ("fct_ns", name), "ns")
        for name in ("mean", "p99")
    ]
    met = found.measure("deadlines", "share of deadlines met", "deadlines met", ("met_deadline", "mean"), "share")
    if met.values:
        return "deadlines", (met, *(fct if found.has_fan_in else [slowdown]))
    if found.has_fan_in:
        return "incast", tuple(fct)
    return "slowdown", (slowdown, *_by_size(found, bins))


def _by_size(found: _Statistics, bins: Sequence[SizeBin]) -> Iterator[Measure]:
    """The tail of the smallest flows that there are, and the mean of the largest; of all, where all are alike."""
    there = [size for size in bins if found.measure("", "", "", ("slowdown", "mean"), bin=size.label).values]
    if len(there) < 2:
        if found.flows >= ENOUGH_FOR_P99:
            yield found.measure("p99-slowdown", "p99 slowdown of all flows", "p99 slowdown", ("slowdown", "p99"))
        return
    for which, size, statistic in (("small", there[0], "p99"), ("large", there[-1], "mean")):
        name, title = f"{statistic}-slowdown-{which}", f"{statistic} slowdown of {size.said}"
        yield found.measure(name, title, title, ("slowdown", statistic), bin=size.label)


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Statistics of flows, seed by seed, and what each case is a sample of."""

    frame: pl.DataFrame
    places: Places

    @property
    def has_fan_in(self) -> bool:
        """Whether the grid varies how many hosts send to one."""
        return any(name.endswith(FAN_IN) for name in self.frame.columns)

    @property
    def flows(self) -> int:
        """The fewest measured flows of a case."""
        counts = self.frame.filter(pl.col("metric") == "unfinished", pl.col("bin") == ALL_SIZES)["flows"]
        fewest = counts.min()
        return fewest if isinstance(fewest, int) else 0

    def measure(
        self,
        name: str,
        title: str,
        heading: str,
        of: tuple[str, str],
        unit: str = "ratio",
        bin: str = ALL_SIZES,
    ) -> Measure:
        """A statistic of a metric in a size bin."""
        metric, statistic = of
        is_it = (pl.col("metric") == metric) & (pl.col("statistic") == statistic) & (pl.col("bin") == bin)
        chosen = self.frame.filter(is_it, pl.col("value").is_not_null())
        values: dict[tuple[str, Condition], BySeed] = {}
        for label, load, seed, value in chosen.select("label", "load", "seed", "value").iter_rows():
            values.setdefault(self.places[label, load], {})[seed or 0] = value
        is_share = unit == "share"
        return Measure(name, title, heading, unit, values, lower_is_better=not is_share, by_ratio=not is_share, bin=bin)


def _jobs(several: Sequence[Results]) -> Iterator[Measure]:
    """Of jobs of several operations the time of a repetition; then each kind of operation by itself, as its network
    and its size are its own; then interference."""
    if _are_programs(several):
        times = _job_means(several, "iterations", lambda own: _mean_of(own["jct_ns"]))
        yield Measure("iteration-time", "time of a repetition", "repetition", "ns", times)
        if paces := _job_means(several, "iterations", _pace_ns):
            title = "time from one repetition's end to the next"
            yield Measure("time-between-ends", title, "one ends every", "ns", paces)
        ratios = _job_means(several, "iterations", lambda own: _mean_of(own["jct_ratio"]))
        yield Measure("jct-ratio", "time over the roofline", "over the roofline", "ratio", ratios)
        exposed = _job_means(several, "iterations", lambda own: _mean_of(exposed_ns(own)))
        title = "exposed communication"
        yield Measure("exposed-communication", title, title, "ns", exposed)
    kinds = list(dict.fromkeys(kind for one in several for kind in _kinds_in(one)))
    has_networks = len({kind.network for kind in kinds}) > 1
    for kind in kinds:
        text = kind.text(has_networks=has_networks)
        name, of = (
            ("", "") if len(kinds) == 1 else (f"-{re.sub('[^a-z0-9]+', '-', text).strip('-')}", f" of the {text}")
        )
        times = _job_means(several, "jobs", partial(_of_kind, kind, lambda own: _mean_of(own["jct_ns"])))
        yield Measure(f"operation-time{name}", f"time of the {text}", "operation time", "ns", times)
        rates = _job_means(several, "jobs", partial(_of_kind, kind, bus_gbps))
        title = f"bus bandwidth{of}"
        yield Measure(f"bus-bandwidth{name}", title, "bus bandwidth", "gbps", rates, lower_is_better=False)
    if factors := _interference(several):
        yield Measure("interference", "interference factor", "interference", "ratio", factors)


def _requests(several: Sequence[Results]) -> Iterator[Measure]:
    """Of requests the time to the first token, that between tokens, and what of both the network has."""
    if not _rows(several, "requests"):
        return
    values = _job_means(several, "requests", lambda own: _mean_of(own.filter("measured")["ttft_ns"]))
    yield Measure("mean-ttft", "mean time to first token", "mean time to first token", "ns", values)
    for percent in (99, 50):
        for name, column, title in (
            ("ttft", "ttft_ns", "time to first token"),
            ("tbt", "tbt_mean_ns", "mean time between tokens"),
        ):
            values = _job_means(several, "requests", partial(percentile_of, column=column, percent=percent))
            text = f"p{percent} {title}"
            yield Measure(f"p{percent}-{name}", text, text, "ns", values)
    values = _job_means(several, "requests", partial(percentile_of, column="tbt_max_ns", percent=99))
    title = "p99 longest time between tokens"
    yield Measure("p99-longest-tbt", title, title, "ns", values)
    for name, column in (("ttft", "ttft"), ("latency", "latency")):
        what = "time to first token" if name == "ttft" else "time to last token"
        values = _job_means(several, "requests", partial(_share_of_network, name=column))
        title = f"network's share of the {what}"
        yield Measure(f"network-share-{name}", title, title, "share", values, by_ratio=False)


def _share_of_network(table: pl.DataFrame, name: str) -> float:
    return network_share(table.filter("measured"), name)


def _kinds_in(one: Results) -> Iterator[Kind]:
    for _, part in one.partitions("jobs"):
        yield from (kind for kind, _ in operations_of(polars_frame(part)))


def _of_kind(kind: Kind, value: Callable[[pl.DataFrame], float], table: pl.DataFrame) -> float:
    return next((value(own) for there, own in operations_of(table) if there == kind), math.nan)


def _mean_of(values: pl.Series) -> float:
    """The mean of what there is, as of the repetitions that were done."""
    known = values.drop_nans()
    return float(known.to_numpy().mean()) if len(known) else math.nan


def _pace_ns(iterations: pl.DataFrame) -> float:
    """What lies between the ends of two repetitions: the mean over jobs that have several."""
    own = pl.Series([between_ends_ns(job) for _, job in iterations.group_by("source", maintain_order=True)])
    return _mean_of(own)


def _are_programs(several: Sequence[Results]) -> bool:
    """Whether a repetition of a job is more than one collective operation, or another."""
    repetitions, operations = _rows(several, "iterations"), _rows(several, "jobs")
    return repetitions > 0 and repetitions != operations


def _rows(several: Sequence[Results], table: TableName) -> int:
    return sum(int(part.num_rows) for one in several for _, part in one.partitions(table, ["source"]))


def _job_means(
    several: Sequence[Results], table: TableName, value: Callable[[pl.DataFrame], float]
) -> dict[tuple[str, Condition], BySeed]:
    """A number of each case's table, where it has one."""
    values: dict[tuple[str, Condition], BySeed] = {}
    for one in several:
        renamed = renaming(one, several)
        for row, part in one.partitions(table):
            key = entity_of(row, renamed.get(row.label, row.label)), condition_of(row)
            found = value(polars_frame(part))
            if not math.isnan(found):
                values.setdefault(key, {})[row.seed or 0] = found
    return values


def _interference(several: Sequence[Results]) -> dict[tuple[str, Condition], BySeed]:
    """The mean over jobs of their time beside others over their time alone, seed by seed, where that was measured."""
    values: dict[tuple[str, Condition], BySeed] = {}
    for one in several:
        renamed = renaming(one, several)
        for row, part in one.partitions("iterations"):
            jobs = polars_frame(part).group_by("source", maintain_order=True)
            factors = [found for _, job in jobs if not math.isnan(found := factor(job))]
            if factors:
                key = entity_of(row, renamed.get(row.label, row.label)), condition_of(row)
                values.setdefault(key, {})[row.seed or 0] = sum(factors) / len(factors)
    return values


def _search(several: Sequence[Results], what: Sought) -> Question | None:
    values: dict[tuple[str, Condition], BySeed] = {}
    capped, here = set(), Condition()
    for one in several:
        own = sought(one) or what
        for label, found in held_by_seed(one, own.range, own.share).items():
            entity = label if len(several) == 1 else f"{label} [{one.name}]"
            values[entity, here] = {seed or 0: value for seed, value in found}
            if any(value == own.range.highest for _, value in found):
                capped.add(entity)
    if not values:
        return None
    title = f"largest {what.range.key} that meets {100 * what.share:g} % of the deadlines"
    limit = Measure("limit", title, "largest", "count", values, lower_is_better=False, by_ratio=False)
    entities = tuple(entity for entity, _ in values)
    seeds = max(map(len, values.values()))
    return Question("search", entities, frozenset(), (here,), (limit,), seeds, sought=what, capped=frozenset(capped))


def _places(several: Sequence[Results]) -> Places:
    """What competes and under which condition, by a case's label as it is shown and its load."""
    places: Places = {}
    for one in several:
        renamed = renaming(one, several)
        for row in one.rows():
            label = renamed.get(row.label, row.label)
            places[label, row.load] = entity_of(row, label), condition_of(row)
    return places


def condition_of(row: CaseRow) -> Condition:
    """Under what a case is compared with others."""
    return Condition(row.load, _condition_axes(row))


def entity_of(row: CaseRow, label: str) -> str:
    """What competes: the scheme with its own axes; `label` is the case's as it is shown, with its folder if need be."""
    conditions = {name for name, _ in _condition_axes(row)}
    own = [(name, value) for name, value in varied(row.parameters) if name not in conditions]
    texts = [value if isinstance(value, str) else axis_text(name, value) for name, value in own]
    return ", ".join([row.scheme, *texts]) + label.removeprefix(row.label)


def _condition_axes(row: CaseRow) -> tuple[tuple[str, Parameter], ...]:
    return tuple((name, value) for name, value in varied(row.parameters) if _is_of_the_work(name))


def _is_of_the_work(axis: str) -> bool:
    return axis.startswith(WORK) and not axis.endswith(OF_THE_SCHEME)


def _references(several: Sequence[Results]) -> frozenset[str]:
    found = set()
    for one in several:
        renamed = renaming(one, several)
        kinds = transports(one)
        rows = [row for row in one.rows() if kinds.get(row.scheme) in REFERENCES]
        found |= {entity_of(row, renamed.get(row.label, row.label)) for row in rows}
    return frozenset(found)


def transports(one: Results) -> dict[str, str]:
    """The kind of transport of each scheme."""
    kinds: dict[str, str] = {}
    for line in one.plan_lines():
        scheme = str(line["parameters"].get("scheme"))
        if scheme not in kinds and "case" in line:
            kinds[scheme] = str(json.loads(line["case"])["scheme"]["transport"]["kind"])
    return kinds


def names_in(one: Results, several: Sequence[Results]) -> dict[str, str]:
    """What competes in one of several folders: its name there, and the one that it has beside the other folders."""
    renamed = renaming(one, several)
    return {entity_of(row, row.label): entity_of(row, renamed.get(row.label, row.label)) for row in one.rows()}


def competitors(several: Sequence[Results]) -> dict[str, dict[str, str]]:
    """Of each label, as it is shown: the scheme that competes, and the condition without the load."""
    return {
        label: {"entity": entity, "condition": Condition(None, condition.axes).text}
        for (label, _), (entity, condition) in _places(several).items()
    }
