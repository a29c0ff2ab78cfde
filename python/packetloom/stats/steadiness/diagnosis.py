"""The diagnosis of each scheme under each condition: what its flows' slowdowns do over the times at which they start.

Judged are the flows that count, of sources whose flows start by the clock. Closed loops, flows that start together and
jobs have no arrivals that could be steady.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packetloom import _core
from packetloom.common.columns import numbers_of
from packetloom.common.percentiles import p99
from packetloom.stats.paired import holm
from packetloom.stats.steadiness.transient import mean_over_seeds, truncation
from packetloom.stats.steadiness.trend import BATCHES, Contrast, batch_means, contrasts
from packetloom.stats.summary import ALL_SIZES, DEFAULT_BINS, SizeBin
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results, Snapshot

FloatArray = NDArray[np.float64]
State = Literal["steady", "starting", "drifting", "growing", "draining", "cut off", "too short"]

BY_THE_CLOCK = ("poisson", "periodic", "list", "hpcc")
FEWEST_FLOWS = 10 * BATCHES
"""Measured flows of each seed: with fewer nothing is said."""
FEWEST_OF_A_SIZE = 2 * BATCHES
"""The same of one size of flows. The tests' level holds for any number; what they can't see is said by an interval."""
LEVEL = 0.02
"""Of both tests of all cases together, and again of all sizes of flows: one page in fifty says of something steady that
it is not, and one in fifty of a size of flows."""
TESTS = 2
"""Of each case: the last third against the first, and the first tenth against the rest."""
RESOLUTION = 0.25
"""A drift of this part of the mean has to be seen: where its interval is wider to either side, the run is too short."""
MOST_CUT = 0.05
"""Of the flows' lifetimes after the last arrival, and of the flows that never finished."""
STILL_GROWING = 0.5
"""What rises as much, or half as much, from the middle third to the last as before settles at nothing yet."""
UNKNOWN = Contrast(0.0, math.inf, 1.0)
"""Where in every seed none of a whole batch of flows finished."""
COLUMNS = ("start_ns", "fct_ns", "best_fct_ns", "size_bytes", "slowdown", "measured", "source")


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What is known of the flows of one size of a scheme, at a load and point of the grid, over all its seeds."""

    label: str
    load: float | None
    bin: str
    kind: str
    """The flows of this size, as a person would say it; empty if they are all."""
    seeds: int
    flows: int
    """The fewest measured flows of a seed."""
    first: float
    """The mean slowdown of the first third, in order of start."""
    last: float
    drift: Contrast
    """The last third's mean less the first's, as a fraction of the mean."""
    start: Contrast
    """The first tenth's mean less that of the rest, as a fraction of the mean."""
    is_growing: bool
    """Whether it rose from the middle third to the last nearly as much as from the first to the middle."""
    transient_ns: float
    """Where the transient at the start ends, by MSER-5, since the case began."""
    warm_up_ns: float
    """When the first measured flow started."""
    arrivals_ns: float
    """For how long flows started."""
    unfinished: float
    """The share of measured flows that never finished."""
    hopeless: float
    """The share that could not have finished even alone, so late did they start."""
    drained: float
    """The share of the flows' lifetimes that lies after the last arrival, where less and less traffic is left."""
    slowest_ns: float
    """How long the slowest measured flows took that finished: the 99th percentile."""
    p: float
    """Of both tests together, after Holm's correction over all cases; of sizes of flows, over all cases and sizes."""

    @property
    def state(self) -> State:
        """What to call it."""
        if self.unfinished > MOST_CUT or self.drift is UNKNOWN:
            return "cut off"
        if self.p <= LEVEL:
            if self.drift.p > self.start.p and self.start.value:
                return "starting"
            return "growing" if self.is_growing else "drifting"
        if self.drained > MOST_CUT:
            return "draining"
        return "too short" if self.is_blind or self.is_short else "steady"

    @property
    def is_blind(self) -> bool:
        """Whether a drift that matters would not be seen."""
        return self.drift.half > RESOLUTION

    @property
    def is_short(self) -> bool:
        """Whether the slowest flows take so long that a run of this length holds few of them after each other."""
        return self.missing > 1

    @property
    def missing(self) -> float:
        """For how many times as long flows have to arrive, if the slowest take no longer then."""
        return _core.SLOWEST_FIT * self.slowest_ns / self.arrivals_ns

    @property
    def steady(self) -> bool | None:
        """Whether it is; None if the run is too short to tell."""
        state = self.state
        return None if state == "too short" else state == "steady"

    @property
    def size(self) -> float:
        """How far the drift goes, as a fraction of the mean: no smaller difference is named."""
        if self.steady is not False:
            return 0.0
        # What the first tenth is off by, the mean is off by a tenth of.
        return max(abs(self.drift.value), abs(self.start.value) / 10, self.drained, self.unfinished)


@dataclass(frozen=True, slots=True)
class _Seed:
    """The flows of one case that start by the clock, in order of start."""

    start_ns: FloatArray
    fct_ns: FloatArray
    best_fct_ns: FloatArray
    size_bytes: FloatArray
    slowdown: FloatArray
    measured: NDArray[Any]

    def of(self, bin: SizeBin | None) -> _Seed:
        """Those of a size."""
        if bin is None:
            return self
        chosen = (self.size_bytes > bin.above_bytes) & (self.size_bytes <= bin.up_to_bytes)
        return _Seed(*(getattr(self, name)[chosen] for name in self.__slots__))


_Points = dict[tuple[str, float | None], list[_Seed]]


def diagnosed(results: Results, bins: Sequence[SizeBin] = DEFAULT_BINS) -> tuple[Steadiness, ...]:
    """Each case of enough flows that start by the clock: of all flows first, then of each size that has enough."""
    if isinstance(results, Snapshot):
        return _kept(results, tuple(bins))
    return tuple(_diagnosed(results, bins))


@lru_cache(maxsize=8)
def _kept(results: Snapshot, bins: tuple[SizeBin, ...]) -> tuple[Steadiness, ...]:
    return tuple(_diagnosed(results, bins))


def _diagnosed(results: Results, bins: Sequence[SizeBin]) -> Iterator[Steadiness]:
    points: _Points = {}
    for row, seed in _seeds(results):
        points.setdefault((row.label, row.load), []).append(seed)
    yield from _of_points(points, (None,))
    yield from _of_points(points, bins)


def diagnosed_flows(cases: Iterable[tuple[str, _core.Case, pa.Table]]) -> tuple[Steadiness, ...]:
    """The same of the flows of all sizes of cases at one load, given as labels, cases and tables of flows."""
    points: _Points = {}
    for label, case, table in cases:
        seed = _seed(table, _open_sources(case.json))
        points.setdefault((label, None), []).append(seed)
    return tuple(_of_points(points, (None,)))


def _of_points(points: _Points, bins: Sequence[SizeBin | None]) -> Iterator[Steadiness]:
    """All of these sizes together: one correction is over all of them."""
    found = [
        one
        for bin in bins
        for point, seeds in points.items()
        if (one := _diagnosis(point, bin, [seed.of(bin) for seed in seeds], seeds)) is not None
    ]
    corrected = holm([one.p for one in found])
    yield from (replace(one, p=p) for one, p in zip(found, corrected, strict=True) if p is not None)


def _seeds(results: Results) -> Iterator[tuple[CaseRow, _Seed]]:
    cases = {line["id"]: line for line in results.plan_lines() if "case" in line}
    if not any(_open_sources(line["case"]) for line in cases.values()):
        return
    for row, table in results.partitions("flows", COLUMNS):
        line = cases.get(row.case_id)
        yield row, _seed(table, _open_sources(line["case"]) if line else ())


def _seed(table: pa.Table, sources: Sequence[int]) -> _Seed:
    columns = {name: numbers_of(table[name].combine_chunks()).astype(float) for name in COLUMNS}
    chosen = np.flatnonzero(np.isin(columns.pop("source"), sources))
    order = chosen[np.argsort(columns["start_ns"][chosen], kind="stable")]
    inside = {name: columns[name][order] for name in _Seed.__slots__}
    return _Seed(**inside | {"measured": inside["measured"] == 1})


def _open_sources(case: str) -> list[int]:
    """The sources of a case, given as JSON, whose flows start by the clock, and count."""
    workloads = json.loads(case)["workloads"]
    return [
        place
        for place, one in enumerate(workloads)
        if one["arrivals"]["kind"] in BY_THE_CLOCK and not one.get("background")
    ]


def _diagnosis(
    point: tuple[str, float | None], bin: SizeBin | None, seeds: Sequence[_Seed], whole: Sequence[_Seed]
) -> Steadiness | None:
    flows, every = (min(int(one.measured.sum()) for one in several) for several in (seeds, whole))
    if every < FEWEST_FLOWS or flows < FEWEST_OF_A_SIZE:
        return None
    batches = np.array([batch_means(one.slowdown[one.measured]) for one in seeds])
    if np.isnan(batches).all():
        return None
    whole_seeds = batches[~np.isnan(batches).any(axis=1)]
    drift, start = contrasts(whole_seeds) if len(whole_seeds) else (UNKNOWN, UNKNOWN)
    thirds = mean_over_seeds(list(batches)).reshape(3, -1).mean(axis=1)
    ends = [float(one.start_ns[-1]) for one in whole]
    return Steadiness(
        *point,
        bin=ALL_SIZES if bin is None else bin.label,
        kind="" if bin is None else bin.said,
        seeds=len(seeds),
        flows=flows,
        first=float(thirds[0]),
        last=float(thirds[2]),
        drift=drift,
        start=start,
        is_growing=bool(drift.value > 0 and thirds[2] - thirds[1] >= STILL_GROWING * (thirds[1] - thirds[0])),
        transient_ns=_transient_ns(seeds),
        warm_up_ns=_mean(float(one.start_ns[one.measured][0]) for one in seeds),
        arrivals_ns=_mean(ends),
        unfinished=_mean(float(np.isnan(one.fct_ns[one.measured]).mean()) for one in seeds),
        hopeless=_mean(map(_hopeless, seeds)),
        drained=_mean(_drained(one, end) for one, end in zip(seeds, ends, strict=True)),
        slowest_ns=_mean(map(_slowest_ns, seeds)),
        p=min(1.0, TESTS * min(drift.p, start.p)),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _transient_ns(seeds: Sequence[_Seed]) -> float:
    """The start of the first flow that MSER-5 keeps, of all that started, measured or not."""
    means = mean_over_seeds([one.slowdown for one in seeds])
    places = np.flatnonzero(~np.isnan(means))
    cut = truncation(means[places])
    return _mean(float(one.start_ns[places[cut]]) for one in seeds) if cut else 0.0


def _hopeless(seed: _Seed) -> float:
    """The share of measured flows that did not finish and had less time than they take alone."""
    end = np.nanmax(seed.start_ns + seed.fct_ns) if not np.isnan(seed.fct_ns).all() else math.inf
    late = np.isnan(seed.fct_ns) & (seed.start_ns + seed.best_fct_ns > end)
    return float(late[seed.measured].mean())


def _slowest_ns(seed: _Seed) -> float:
    took = seed.fct_ns[seed.measured]
    finished = took[~np.isnan(took)]
    # All but one flow in a hundred take no longer: these have to fit into the time for which flows arrive as often as
    # `check` and `new` have it beforehand (`_core.SLOWEST_FIT`).
    return p99(finished) if finished.size else math.inf


def _drained(seed: _Seed, last_arrival_ns: float) -> float:
    fct = seed.fct_ns[seed.measured]
    after = np.clip(seed.start_ns[seed.measured] + fct - last_arrival_ns, 0.0, fct)
    share = (after / fct)[~np.isnan(fct)]
    return float(share.mean()) if share.size else 0.0
