"""How long cases run: those of a precision are made longer until they are steady, and then the shorter ones go.

All schemes under the same traffic run for as long, since they are compared flow by flow on equal traffic. What a length
is, the list of cases says (`times`, `plan.jsonl`); which length counts follows from the finished cases alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from packetloom import _core
from packetloom.common.quantities import axis_text
from packetloom.scenario.plan import Parameter, Plan

T = TypeVar("T")


def point_key(parameters: Mapping[str, Parameter]) -> str:
    """What the cases of a point of the grid have in common."""
    return json.dumps({name: value for name, value in parameters.items() if name != "seed"})


def traffic_key(parameters: Mapping[str, Parameter]) -> str:
    """What the cases of all schemes under the same traffic have in common."""
    return json.dumps({name: value for name, value in parameters.items() if is_of_traffic(name)})


def is_of_traffic(name: str) -> bool:
    """Whether a parameter is of the traffic, and not of schemes or the seed alone."""
    return name not in ("scheme", "seed") and not name.startswith("scheme.")


def lengths_of(cases: Sequence[_core.Case], max_extensions: int) -> list[list[_core.Case]]:
    """Cases of the same traffic as they are written, for twice as long, and so on, where there are such."""
    lengths = [list(cases)]
    for extension in range(1, max_extensions + 1):
        longer = [case.longer(2**extension) for case in cases]
        if not all(longer):
            break
        lengths.append([case for case in longer if case])
    return lengths


def by_traffic(plan: Plan) -> list[list[list[_core.Case]]]:
    """The cases of each traffic, in each of its lengths. What is never extended is a group for each point."""
    groups: dict[str, list[_core.Case]] = defaultdict(list)
    extensions = plan.precision.max_extensions if plan.precision else 0
    for case in plan.cases:
        is_longer = extensions > 0 and case.longer(2) is not None
        groups[traffic_key(case.parameters) if is_longer else point_key(case.parameters)].append(case)
    return [lengths_of(cases, extensions) for cases in groups.values()]


def planned(plan: Plan) -> list[tuple[_core.Case, int]]:
    """Every case that may run, and for how many times as long as written: the order of the list of cases."""
    if plan.precision is None or not plan.precision.max_extensions:
        return [(case, 1) for case in plan.cases]
    place = {id(case): nth for nth, case in enumerate(plan.cases)}
    found = []
    for lengths in by_traffic(plan):
        for extension, cases in enumerate(lengths):
            found += [(place[id(base)], case, 2**extension) for base, case in zip(lengths[0], cases, strict=True)]
    return [(case, times) for _, case, times in sorted(found, key=lambda one: (one[2], one[0]))]


def first_round(plan: Plan) -> list[_core.Case]:
    """The cases that a campaign begins with: all, or with a precision those of the first seeds, as long as written."""
    if plan.precision is None:
        return list(plan.cases)
    first: list[_core.Case] = []
    asked: defaultdict[str, int] = defaultdict(int)
    for case in plan.cases:
        asked[key := point_key(case.parameters)] += 1
        if asked[key] <= plan.precision.first_seeds:
            first.append(case)
    return first


def said_of_more(plan: Plan) -> list[str]:
    """What a precision may ask for beside the first cases, in a line; nothing without one."""
    if plan.precision is None:
        return []
    seeds = len({case.parameters["seed"] for case in plan.cases})
    most = max((len(lengths) for lengths in by_traffic(plan)), default=1) - 1
    longer = f"runs of up to {2**most} times that length until they are steady, then " if most else ""
    return [f"run.precision may ask for more: {longer}up to {seeds} seeds for each scheme and point of the grid"]


def extended_said(lines: Iterable[Mapping[str, Any]]) -> str:
    """Which of these listed cases are longer than written; empty if none is."""
    found: dict[str, int] = {}
    for line in lines:
        if line.get("times", 1) > 1:
            found[traffic_text(line["parameters"])] = line["times"]
    longer = "; ".join(f"{where}, {times} times as long" for where, times in found.items())
    return longer and f"Runs are longer than written, as run.precision asks until they are steady: {longer}."


def traffic_text(parameters: Mapping[str, Parameter]) -> str:
    """The traffic of a case, by what the scenario varies of it."""
    shared = {name: value for name, value in parameters.items() if is_of_traffic(name) and value is not None}
    return " ".join(axis_text(name, value) for name, value in shared.items()) or "all cases"


def longest_complete(first_rounds: Sequence[Iterable[str]], finished: Container[str]) -> int | None:
    """The longest of several lengths whose first round is finished: where a campaign was when it stopped, since a
    shorter length goes only after that. Each is given by the cases of its first round."""
    complete = [nth for nth, cases in enumerate(first_rounds) if all(case in finished for case in cases)]
    return complete[-1] if complete else None


@dataclass(slots=True)
class _Listed:
    """The lines of one traffic, by their length; and of each length the cases of its first round."""

    lines: dict[int, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    seeds: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    first: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, line: Mapping[str, Any], first_seeds: int) -> None:
        times = line.get("times", 1)
        self.lines[times].append(line)
        key = (times, point_key(line["parameters"]))
        self.seeds[key] += 1
        if self.seeds[key] <= first_seeds:
            self.first[times].append(line["id"])


def current_lines(lines: list[dict[str, Any]], first_seeds: int, finished: Container[str]) -> list[dict[str, Any]]:
    """Those of the listed cases that are of the length that counts, given which cases are finished."""
    if all(line.get("times", 1) == 1 for line in lines):
        return lines
    groups: dict[str, _Listed] = defaultdict(_Listed)
    for line in lines:
        groups[traffic_key(line["parameters"])].add(line, first_seeds)
    current: set[str] = set()
    for group in groups.values():
        lengths = sorted(group.lines)
        complete = longest_complete([group.first[one] for one in lengths], finished)
        begun = (one for one in lengths if any(line["id"] in finished for line in group.lines[one]))
        times = next(begun, lengths[0]) if complete is None else lengths[complete]
        current.update(line["id"] for line in group.lines[times])
    return [line for line in lines if line["id"] in current]
