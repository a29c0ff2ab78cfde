"""The points of a tuning as cases: what a scenario becomes with other values of the keys that may vary.

Each point is read as a scenario of its own, with each key a list of one value: so the keys are axes of the results,
and the cases have the identity that `packetloom run` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from packetloom import _core
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.plan import Parameter, Plan, ScenarioSource, read_plan
from packetloom.store.case_rows import label_of
from packetloom.tuning.ranges import Dimension, Range

Settings = tuple[str, ...]
"""A point as a user would write it: `KEY=VALUE` for each key, in the order of the ranges. Empty: the scenario's own."""
Sample = tuple[str, Parameter, int]
"""What is compared with the same of another point: scheme with other axes, load, and seed."""
MOST_SEED = 2**53


@dataclass(frozen=True, slots=True)
class Space:
    """A scenario, and what of it may vary."""

    source: ScenarioSource
    overrides: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    plan: Plan
    """With the scenario's own values."""
    axes: frozenset[str]
    """What the keys are called among cases' parameters."""
    tuned: frozenset[Sample]
    """The samples that the keys change; cases of other schemes are not run."""
    warnings: tuple[str, ...]

    @property
    def seeds(self) -> list[int]:
        """Those that the scenario names."""
        return sorted({seed for _, _, seed in self.tuned})

    def cases(self, settings: Settings, seeds: Sequence[int] | None = None) -> dict[Sample, _core.Case]:
        """The cases of a point that count, with other seeds if given; `ScenarioError` for what may not be."""
        more = [] if seeds is None else [f"run.seeds=[{', '.join(map(str, seeds))}]"]
        plan = read_plan(self.source, [*self.overrides, *(_as_list(one) for one in settings), *more])
        found = {self.sample(case.parameters): case for case in plan.cases}
        schemes = {sample[:2] for sample in self.tuned}
        return {sample: case for sample, case in found.items() if sample[:2] in schemes}

    def sample(self, parameters: Mapping[str, Parameter]) -> Sample:
        """What case of a point this is: its parameters without the keys."""
        return _sample(parameters, self.axes)

    def plan_of(self, points: Sequence[Mapping[Sample, _core.Case]]) -> Plan:
        """All cases of these points, each once: two points may be alike after rounding."""
        cases = {case.id: case for point in points for case in point.values()}
        return replace(self.plan, cases=tuple(cases.values()))

    def held_out(self, count: int) -> list[int]:
        """Seeds that the scenario does not use: those after its largest."""
        first = max(self.seeds) + 1
        if first + count > MOST_SEED:
            raise PacketloomError(
                f"run.seeds: has no room for {count} more seeds after {first - 1}; write smaller ones"
            )
        return list(range(first, first + count))


def read_space(source: ScenarioSource, overrides: tuple[str, ...], dimensions: tuple[Dimension, ...]) -> Space:
    """Reads the scenario with both ends of each range: what is wrong with a key is reported before anything runs."""
    plan = read_plan(source, overrides)
    if plan.precision:
        raise PacketloomError(
            "run.precision: a tuning runs each point with the seeds of run.seeds; leave precision out"
        )
    axes: set[str] = set()
    tuned: set[Sample] = set()
    doubts = []
    for one in dimensions:
        axis, cases, refusals = _axis(source, overrides, one, plan)
        axes.add(axis)
        tuned.update(_sample(case.parameters, {axis}) for case in cases)
        doubts += refusals
    return Space(source, overrides, dimensions, plan, frozenset(axes), frozenset(tuned), (*plan.warnings, *doubts))


def _axis(
    source: ScenarioSource, overrides: tuple[str, ...], one: Dimension, plan: Plan
) -> tuple[str, list[_core.Case], list[str]]:
    """What a key is called among cases' parameters, the cases that have it, and which of its ends are refused."""
    read: list[Plan] = []
    refused: list[tuple[str, ScenarioError]] = []
    for end in one.ends:
        try:
            read.append(read_plan(source, [*overrides, f"{one.key}=[{end}]"]))
        except ScenarioError as error:
            refused.append((end, error))
    if not read:
        raise refused[0][1]
    known = {name for case in plan.cases for name in case.parameters}
    added = {name for case in read[0].cases for name in case.parameters} - known
    if len(added) != 1:
        raise PacketloomError(
            f"--vary {one.text}: {one.key} has several values in the scenario, or makes no difference between cases; "
            "name a key of a part, whose value is one number, quantity or name"
        )
    (axis,) = added
    with_axis = [[case for case in each.cases if case.parameters.get(axis) is not None] for each in read]
    ids = [{case.id for case in cases} for cases in with_axis]
    if len(ids) > 1 and all(each == ids[0] for each in ids):
        raise PacketloomError(f"--vary {one.text}: all these values give the same runs, so there is nothing to tune")
    kind = "points near it" if isinstance(one, Range) else "points with it"
    said = [f"{one.key}: {end} alone is refused, and so may be {kind}: {error}" for end, error in refused]
    return axis, with_axis[0], said


def _as_list(setting: str) -> str:
    key, _, value = setting.partition("=")
    return f"{key}=[{value}]"


def _sample(parameters: Mapping[str, Parameter], axes: frozenset[str] | set[str]) -> Sample:
    others = {name: value for name, value in parameters.items() if name not in axes}
    seed = parameters.get("seed")
    return label_of(others), parameters.get("load"), 0 if seed is None else int(seed)
