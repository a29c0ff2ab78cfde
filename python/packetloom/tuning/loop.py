"""The loop of a tuning: points are proposed, run as a campaign runs its cases, and judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packetloom import _core
from packetloom.campaign.cache import open_cache
from packetloom.campaign.runner import run_plan
from packetloom.common.build import this_build
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.plan import Plan
from packetloom.store.case_rows import FLOWS, read_rows
from packetloom.store.results import Results
from packetloom.tuning import goal as goals
from packetloom.tuning.goal import Goal, Measured
from packetloom.tuning.record import Record
from packetloom.tuning.rounds import Rounds
from packetloom.tuning.sampler import Sampler
from packetloom.tuning.space import Sample, Settings, Space

OWN: Settings = ()
"""The point of the scenario's own values."""


@dataclass(frozen=True, slots=True)
class Running:
    """How cases are run."""

    workers: int | None
    ray: str | None
    keep_older: bool


@dataclass(frozen=True, slots=True)
class Point:
    """A point that was tried."""

    settings: Settings
    loss: float | None
    """How much worse than the scenario's own values, as a fraction or a difference; None where it can't be run."""
    violation: float
    refusal: str = ""
    """Why the scenario refuses it."""

    @property
    def is_allowed(self) -> bool:
        """Whether it can be chosen."""
        return self.loss is not None and not self.violation


@dataclass(slots=True)
class Tuner:
    """A tuning under way."""

    space: Space
    goal: Goal
    folder: Path
    running: Running
    rounds: Rounds
    cases: dict[Settings, dict[Sample, _core.Case]] = field(default_factory=dict)
    refusals: dict[Settings, str] = field(default_factory=dict)
    measured: dict[str, Measured] = field(default_factory=dict)

    def tune(self, sampler: Sampler, record: Record, *, trials: int, together: int) -> list[Point]:
        """Every point that was tried, in the order in which they were proposed."""
        self.read(record)
        self._run("the scenario's own values" if not record.points else "what was begun")
        own = self._own()
        is_ratio = goals.is_ratio(_values(own))
        points: list[Point] = []
        for first in range(0, trials, together):
            proposed = sampler.ask(together)[: trials - first]
            settings = [sampler.settings(one) for one in proposed]
            _must_agree(record, settings, first)
            self._try(record, settings, first, trials)
            for trial, one in zip(proposed, settings, strict=True):
                point = self.point(one, own)
                points.append(point)
                sampler.tell(trial, point.loss, point.violation)
            self.rounds.best(points, is_ratio=is_ratio)
        return points

    def read(self, record: Record) -> None:
        """Works out the cases of the scenario's own values, and of the points proposed so far."""
        for one in (OWN, *record.points):
            if one not in self.cases and one not in self.refusals:
                self._read(one)

    def cases_left(self, record: Record, *, trials: int, held_out: int) -> int:
        """How many cases are yet to be computed: of points that are not proposed yet, and of seeds held out, all."""
        there = _finished(self.folder, self.running)
        own = self.cases[OWN]
        of_points = {case.id for cases in self.cases.values() for case in cases.values()}
        new = max(0, trials - len(record.points)) * len(own)
        seeds = len({seed for *_, seed in own})
        of_held_out = 2 * held_out * len(own) // seeds
        judged = max((len(_finished(one, self.running)) for one in self.folder.glob("held-out-*")), default=0)
        if cache := open_cache():
            there |= cache.ids()
        return len(of_points - there) + new + max(0, of_held_out - judged)

    def point(self, settings: Settings, own: Mapping[Sample, Measured]) -> Point:
        """What came of a point."""
        if settings in self.refusals:
            return Point(settings, None, 0.0, self.refusals[settings])
        here = self.values(settings)
        found = goals.loss(self.goal, here, _values(own))
        return Point(settings, found, goals.violation(here, own, self.space.plan.alike))

    def values(self, settings: Settings) -> dict[Sample, Measured]:
        """What a point's cases came to."""
        return {sample: self.measured[case.id] for sample, case in self.cases[settings].items()}

    def held_out(self, best: Settings, seeds: Sequence[int]) -> tuple[dict[Sample, Measured], dict[Sample, Measured]]:
        """What the scenario's own values and a point come to on other seeds, in a results folder of their own."""
        own, tuned = self.space.cases(OWN, seeds), self.space.cases(best, seeds)
        self.rounds.begin("held-out seeds")
        results = self._run_plan(self.space.plan_of([own, tuned]), held_out_folder(self.folder, best, seeds))
        found = {row.case_id: goals.measure(self.goal, results, row) for row in results.rows()}
        of_own = {sample: found[case.id] for sample, case in own.items()}
        return of_own, {sample: found[case.id] for sample, case in tuned.items()}

    def _own(self) -> dict[Sample, Measured]:
        own = self.values(OWN)
        without = next((sample for sample, one in own.items() if one.value is None), None)
        if without:
            raise PacketloomError(
                f"{self.goal.statistic.name}: the run of {without[0]} with seed {without[2]} has no such value; "
                "name a statistic that the scenario's own runs have, or have [measure] record it"
            )
        return own

    def _try(self, record: Record, settings: list[Settings], first: int, trials: int) -> None:
        new = settings[max(0, len(record.points) - first) :]
        for one in new:
            self._read(one)
        if new:
            record.add(new)
            self._run(f"points {first + 1} to {first + len(settings)} of {trials}")

    def _read(self, settings: Settings) -> None:
        try:
            self.cases[settings] = self.space.cases(settings)
        except ScenarioError as error:
            self.refusals[settings] = str(error)

    def _run(self, what: str) -> None:
        self.rounds.begin(what)
        results = self._run_plan(self.space.plan_of([*self.cases.values()]), self.folder)
        for row in results.rows():
            if row.case_id not in self.measured:
                self.measured[row.case_id] = goals.measure(self.goal, results, row)

    def _run_plan(self, plan: Plan, folder: Path) -> Results:
        running = self.running
        is_first = not self.measured
        return run_plan(
            plan,
            folder,
            running.workers,
            self.rounds,
            ray=running.ray,
            keep_older=running.keep_older,
            verify=is_first,
        )


def _finished(folder: Path, running: Running) -> set[str]:
    """The cases of a folder that are not computed again."""
    if not (folder / FLOWS).is_dir():
        return set()
    here = this_build().digest
    return {row.case_id for row in read_rows(folder)[0] if running.keep_older or row.build == here}


def held_out_folder(folder: Path, best: Settings, seeds: Sequence[int]) -> Path:
    """Where these are judged; a tuning that goes on may judge another point, or more seeds, beside it."""
    named = "\n".join([*best, *map(str, seeds)])
    return folder / f"held-out-{hashlib.sha256(named.encode()).hexdigest()[:6]}"


def _values(measured: Mapping[Sample, Measured]) -> dict[Sample, float]:
    return {sample: one.value for sample, one in measured.items() if one.value is not None}


def _must_agree(record: Record, settings: list[Settings], first: int) -> None:
    """A tuning that goes on has to propose what it proposed before."""
    before = record.points[first : first + len(settings)]
    if before != settings[: len(before)]:
        raise PacketloomError(
            f"{record.path}: other points are proposed than those of this folder, since another build of packetloom "
            "gives other results: name another folder with -o DIR"
        )
