"""What a tuning found: what mattered, and whether the best point holds on seeds that it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from packetloom.common.confidence import CONFIDENCE
from packetloom.stats.paired import Comparison, compare, corrected_together, holm
from packetloom.tuning.goal import Goal, Measured
from packetloom.tuning.loop import Point
from packetloom.tuning.sampler import Importance
from packetloom.tuning.space import Sample, Settings

Judgement = Literal["better", "worse", "alike"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The best point beside the scenario's own values, seed by seed on held-out seeds, at one load (and other axes)."""

    label: str
    load: float | None
    own: float
    tuned: float
    comparison: Comparison
    """How much more the best point has: a ratio, or a difference where a value is not above 0."""
    verdict: Judgement
    """`alike`: not beyond chance, corrected for the number of loads, or by no more than `run.alike` (1 %)."""


@dataclass(frozen=True, slots=True)
class KeyImportance:
    """How much a key mattered: `share` of all keys together, with a 95 % interval over resampled points."""

    key: str
    share: float
    low: float
    high: float
    p: float
    """How probable a key that does not matter seems to matter as much, corrected by Holm's method for all keys."""

    @property
    def is_told(self) -> bool:
        """Whether it is beyond chance."""
        return self.p <= 1 - CONFIDENCE


@dataclass(frozen=True, slots=True)
class Tuning:
    """What came of `packetloom.tune`."""

    folder: Path
    goal: str
    points: tuple[Point, ...]
    """In the order in which they were proposed."""
    importances: tuple[KeyImportance, ...]
    """The largest first; empty with fewer than 20 points that ran, one key, or no difference between points."""
    best: Settings | None
    """The best allowed point, as `KEY=VALUE` for `--set`; None if no point was allowed."""
    held_out_seeds: tuple[int, ...]
    judged: tuple[Judged, ...]
    """Of the best point; empty if there is none, or if a held-out run has no value."""
    violated: int
    """In how many held-out runs of the best point something required did not hold."""
    held_out: Path | None
    """The results folder of the held-out runs."""

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        found = asdict(self)
        return {**found, "folder": str(self.folder), "held_out": None if self.held_out is None else str(self.held_out)}


def best_of(points: Sequence[Point]) -> Point | None:
    """The allowed point that is best on the tuning's own seeds, the first of equals."""
    allowed = [one for one in points if one.is_allowed]
    return min(allowed, key=lambda one: one.loss or 0.0, default=None)


def judge(
    goal: Goal, own: Mapping[Sample, Measured], tuned: Mapping[Sample, Measured], alike: float
) -> tuple[Judged, ...]:
    """The two held against each other at each load (and other axes); nothing where a case has no value."""
    if any(one.value is None for one in (*own.values(), *tuned.values())):
        return ()
    places = list(dict.fromkeys(sample[:2] for sample in own))
    of_own, of_tuned = ([_by_seed(one, place) for place in places] for one in (own, tuned))
    found = []
    for mine, theirs in zip(of_tuned, of_own, strict=True):
        comparison = compare(mine, theirs) or compare(mine, theirs, ratio=False)
        assert comparison is not None
        found.append(comparison)
    return tuple(
        Judged(str(label), None if load is None else float(load), _mean(base), _mean(values), comparison, verdict)
        for (label, load), base, values, comparison in zip(
            places, of_own, of_tuned, corrected_together(found), strict=True
        )
        for verdict in [_verdict(goal, comparison, _mean(base), alike)]
    )


def corrected(found: Sequence[Importance]) -> tuple[KeyImportance, ...]:
    """Importances with their probabilities corrected for the number of keys."""
    return tuple(
        KeyImportance(one.key, one.share, one.low, one.high, 1.0 if p is None else p)
        for one, p in zip(found, holm([one.p for one in found]), strict=True)
    )


def _verdict(goal: Goal, found: Comparison, own: float, alike: float) -> Judgement:
    change = found.value - 1 if found.is_ratio else found.value
    negligible = alike if found.is_ratio else alike * abs(own)
    if not found.is_told or abs(change) <= negligible:
        return "alike"
    return "better" if (change < 0) == goal.is_least else "worse"


def _by_seed(measured: Mapping[Sample, Measured], place: tuple[Any, Any]) -> dict[int, float]:
    return {sample[2]: one.value for sample, one in measured.items() if sample[:2] == place and one.value is not None}


def _mean(values: Mapping[int, float]) -> float:
    return sum(values.values()) / len(values)
