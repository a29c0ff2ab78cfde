"""What is known of cases before they run, in lines: what all of them have alike once, and what differs on short ones.

The simulator says it as clauses, separated by semicolons; a clause that every point of the grid has is said once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from packetloom import _core
from packetloom.common.quantities import axis_text, time_text
from packetloom.errors import ScenarioError
from packetloom.scenario.plan import Parameter
from packetloom.scenario.run_lengths import is_of_traffic

BETWEEN = "; "
WIDTH = 160
"""Where clauses of a point are longer together, they go on in another line."""
RoundTrips = tuple[list[tuple[int, float, float]], int]
"""`_core.Case.round_trips`."""


def facts(cases: Sequence[_core.Case]) -> list[str]:
    """What networks come to, and the cases' traffic, and what follows for their schemes.

    It is the same for every seed, so one of them is asked.
    """
    networks, traffic, schemes = _Points(), _Points(), defaultdict[str, _Points](_Points)
    round_trips: defaultdict[str, list[RoundTrips]] = defaultdict(list)
    for case in cases:
        scheme = str(case.parameters["scheme"])
        of_network = _some(case, lambda name: name.startswith("topology"))
        of_traffic = _some(case, is_of_traffic)
        of_scheme = _some(case, lambda name: name not in ("seed", "load", "scheme"))
        asked = ((networks, of_network), (traffic, of_traffic), (schemes[scheme], of_scheme))
        if all(points.has(parameters) for points, parameters in asked):
            continue
        for (points, parameters), lines in zip(asked, case.facts, strict=True):
            points.add(parameters, lines)
        if case.round_trips:
            round_trips[_key(of_network)].append(case.round_trips)
    for key, found in round_trips.items():
        networks.extend(key, round_trips_said(found))
    said = networks.said("network: ", "network ({}): ")
    said += traffic.said("traffic: ", "{}: ")
    for scheme, points in schemes.items():
        said += points.said(f"{scheme}: ", f"{scheme} ({{}}): ")
    return said


def round_trips_said(found: Sequence[RoundTrips]) -> str:
    """How long packets take to their answer on an empty network: of several formats from the least to the most."""

    def of_packets(place: int) -> str:
        packets = [of_sizes[place] for of_sizes, _ in found]
        least, most = min(least for _, least, _ in packets), max(most for *_, most in packets)
        return f"{time_text(least)} to {time_text(most)} for a packet of {_range([size for size, *_ in packets])}"

    answers = _range([answer for _, answer in found])
    return f"base RTT {of_packets(0)}, {of_packets(1)}, with an answer of {answers}"


def _range(sizes: Sequence[int]) -> str:
    return f"{min(sizes)} B" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} B"


def doubts(cases: Sequence[_core.Case]) -> list[str]:
    """What was probably not meant of cases, as only network and traffic show together; of one seed, as `facts`."""
    points = {_key(_some(case, lambda name: name != "seed")): case for case in reversed(cases)}
    labelled = [(f"{case.parameters['scheme']}: ", doubt) for case in points.values() for doubt in case.doubts]
    # What holds for all schemes is said once.
    of_all = {doubt for _, doubt in labelled if not doubt.startswith("scheme")}
    own = (f"{label}{doubt}" for label, doubt in labelled if doubt not in of_all)
    return [*dict.fromkeys(doubt for _, doubt in labelled if doubt in of_all), *dict.fromkeys(own)]


MOST_ALONE = 64
"""So many schemes on networks are looked at before a run."""


def slow_alone(cases: Sequence[_core.Case]) -> list[str]:
    """Of schemes whose flows are slow on a network of their own: which, and how slow; of one seed and load."""
    points = {_key(_some(case, _is_of_network)): case for case in reversed(cases)}
    some = list(reversed(points.values()))[:MOST_ALONE]
    found = ((case.parameters["scheme"], case.slow_alone) for case in some)
    return list(dict.fromkeys(f"{scheme}: {doubt}" for scheme, doubt in found if doubt))


def slow_alone_as_stored(lines: Sequence[dict[str, object]]) -> list[str]:
    """The same of a results folder's list of cases; nothing where that is damaged."""
    points: dict[str, str] = {}
    for line in lines:
        parameters, case = line.get("parameters"), line.get("case")
        if isinstance(parameters, dict) and isinstance(case, str):
            points.setdefault(_key({name: value for name, value in parameters.items() if _is_of_network(name)}), case)
    return list(dict.fromkeys(doubt for case in list(points.values())[:MOST_ALONE] for doubt in _slow_as_stored(case)))


@cache
def _slow_as_stored(case: str) -> tuple[str, ...]:
    """A page that follows a run is made again and again."""
    try:
        return tuple(slow_alone([_core.Case.from_json(case)]))
    except ScenarioError:
        return ()


def _is_of_network(name: str) -> bool:
    return name not in ("seed", "load") and not name.startswith(("workload", "run", "fault"))


Parameters = dict[str, Parameter]


def _some(case: _core.Case, is_meant: Callable[[str], bool]) -> Parameters:
    return {name: value for name, value in case.parameters.items() if is_meant(name)}


def _key(parameters: Mapping[str, Parameter]) -> str:
    return json.dumps(parameters)


class _Points:
    """Points of the grid, each with lines of clauses."""

    def __init__(self) -> None:
        self._parameters: dict[str, Parameters] = {}
        self._lines: dict[str, list[list[str]]] = {}

    def has(self, parameters: Parameters) -> bool:
        return _key(parameters) in self._lines

    def add(self, parameters: Parameters, lines: Sequence[str]) -> None:
        """The lines of a point; those that it had stay."""
        self._parameters.setdefault(_key(parameters), parameters)
        self._lines.setdefault(_key(parameters), [line.split(BETWEEN) for line in lines])

    def extend(self, key: str, line: str) -> None:
        self._lines[key].append([line])

    def said(self, of_all: str, of_some: str) -> list[str]:
        """What all points have; then what each has beside that, by what of the grid it goes by."""
        by_point = {key: [clause for line in lines for clause in line] for key, lines in self._lines.items()}
        shared = set.intersection(*map(set, by_point.values())) if by_point else set()
        first = next(iter(self._lines.values()), [])
        alike = [[clause for clause in line if clause in shared] for line in first]
        rests = {key: [clause for clause in clauses if clause not in shared] for key, clauses in by_point.items()}
        names = self._names(rests)
        own: dict[str, list[str]] = {}
        for key, rest in rests.items():
            parameters = self._parameters[key]
            label = ", ".join(axis_text(name, parameters.get(name)) for name in names)
            own.setdefault(label, _without_target(rest, parameters.get("load")))
        return [
            *(of_all + BETWEEN.join(line) for line in alike if line),
            *(of_some.format(label) + line for label, rest in own.items() for line in _packed(rest)),
        ]

    def _names(self, rests: Mapping[str, Sequence[str]]) -> list[str]:
        """Those of the parameters that tell points apart whose rests differ: as few as do."""
        every = {name: None for parameters in self._parameters.values() for name in parameters}
        names = [name for name in every if len({_key({name: one.get(name)}) for one in self._parameters.values()}) > 1]
        for name in reversed(names.copy()):
            others = [other for other in names if other != name]
            rest_of: dict[str, Sequence[str]] = {}
            for key, rest in rests.items():
                point = _key({other: self._parameters[key].get(other) for other in others})
                if rest_of.setdefault(point, rest) != rest:
                    break
            else:
                names = others
        return names


def _without_target(clauses: Sequence[str], load: Parameter) -> list[str]:
    """The clauses but for a lone one that repeats the load that was asked for."""
    of_load = [clause for clause in clauses if clause.startswith("load ")]
    is_repeated = isinstance(load, float | int) and of_load == [f"load {load:.3f}"]
    return [clause for clause in clauses if not (is_repeated and clause in of_load)]


def _packed(clauses: Sequence[str]) -> list[str]:
    """Clauses on lines that are no wider than they should be."""
    lines: list[str] = []
    for clause in clauses:
        joined = BETWEEN.join([*lines[-1:], clause])
        if lines and len(joined) <= WIDTH:
            lines[-1] = joined
        else:
            lines.append(clause)
    return lines
