"""What `packetloom new` can be asked for: what the simulator's own catalogue names."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from packetloom import _core
from packetloom.errors import PacketloomError
from packetloom.new.recipes import RECIPES

SMALL: dict[str, dict[str, int]] = {
    "leaf-spine": {"spines": 4, "leaves": 4, "hosts_per_leaf": 4},
    "fat-tree": {"k": 4},
    "rack": {"hosts": 16},
    "dumbbell": {"left": 8, "right": 8},
}
"""The fabrics to choose from, if the catalogue has them, with sixteen hosts each: a first run takes seconds."""
BOTTLENECK = 4
"""A dumbbell's, in links of hosts: half of what the hosts of one side can send."""
RATE = re.compile(r"(\d+(?:\.\d+)?) *([MGT])bps")
GBPS = {"M": 0.001, "G": 1.0, "T": 1000.0}


@dataclass(frozen=True, slots=True)
class Traffic:
    """A workload's table, what it says of itself, and whether it needs a load."""

    doc: str
    table: Mapping[str, Any]
    loads: bool = False
    run: Mapping[str, Any] = field(default_factory=dict)


@functools.cache
def _components(section: str) -> dict[str, dict[str, Any]]:
    return {entry["kind"]: entry for entry in json.loads(_core.registry()) if entry["section"] == section}


def doc(section: str, kind: str) -> str:
    """What the catalogue says of a component."""
    text: str = _components(section)[kind]["doc"]
    return text


def fabrics() -> list[str]:
    """The topologies to choose from."""
    return [kind for kind in _components("topology") if kind in SMALL]


def other_topologies(fabric: str) -> list[str]:
    """All that the catalogue has beside this one."""
    return [kind for kind in _components("topology") if kind != fabric]


def sizes_of(fabric: str) -> dict[str, tuple[int, str]]:
    """A fabric's numbers of switches and hosts, each with what it counts."""
    component = _components("topology")[fabric]
    written = {name: (size, _named(component, name)) for name, size in SMALL[fabric].items()}
    return {name: (size, one["doc"].rstrip(".") if one else "") for name, (size, one) in written.items()}


def _named(component: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((one for one in component["params"] if one["name"] == name), None)


def workloads() -> dict[str, Traffic]:
    """Flow-size distributions at a load; a permutation, an incast; collective operations."""
    found = {
        name: Traffic(
            "flow sizes of a distribution, between random pairs, at a load",
            {"sizes": name, "arrivals": "poisson", "pattern": "random-pairs"},
            loads=True,
        )
        for name in _core.distributions()
    }
    found["permutation"] = Traffic(
        "every host sends 1 MB to one other host, all at once",
        {"sizes": {"kind": "constant", "size": "1MB"}, "arrivals": "at-once", "pattern": "permutation"},
    )
    found["incast"] = Traffic(
        "4, 8 and 15 hosts send 30 KB each to one host, every 5 ms",
        {
            "sizes": {"kind": "constant", "size": "30KB"},
            "arrivals": {"kind": "periodic", "interval": "5ms"},
            "pattern": {"kind": "incast", "receiver": 0, "fan_in": [4, 8, 15]},
        },
        run={"duration": "50ms"},
    )
    for operation in _operations():
        table = {"kind": "collective", "operation": operation, "size": "8MB", "repeat": 2}
        found[operation] = Traffic("a collective operation of all hosts, 8 MB, twice", {"arrivals": table})
    return found


def _operations() -> list[str]:
    """Of the catalogue's operations those that every host has an equal part in, of a size."""
    parameter = _named(_components("arrivals")["collective"], "operation")
    known = parameter["kind"].removeprefix("one of ").split(", ") if parameter else []
    return [operation for operation in known if operation.startswith("all-") or operation == "reduce-scatter"]


def transports() -> dict[str, str]:
    """The transports that `new` has a recipe for, each with what the catalogue says of it."""
    return {kind: doc("transport", kind) for kind in RECIPES}


def chosen(flag: str, value: str, names: Iterable[str]) -> str:
    """The value, if it is one of the names."""
    known = list(names)
    if value in known:
        return value
    near = difflib.get_close_matches(value.lower(), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of: {', '.join(known)}"
    raise PacketloomError(f"{flag} {value}: there is no such choice; {hint}")


def gbps(flag: str, value: str) -> float:
    """A link's rate as a number."""
    match = RATE.fullmatch(value.strip())
    if not match or not float(match[1]):
        raise PacketloomError(f"{flag} {value}: write a rate with its unit, such as 10Gbps")
    return float(match[1]) * GBPS[match[2]]


def loads(flag: str, values: Iterable[str]) -> list[float]:
    """Loads as numbers: fractions of the hosts' link."""
    return [_load(flag, part) for value in values for part in value.split(",")]


def _load(flag: str, text: str) -> float:
    try:
        load = float(text)
    except ValueError:
        load = 0.0
    if not 0 < load <= 1:
        raise PacketloomError(f"{flag} {text}: a load is a fraction of the hosts' link, such as 0.6")
    return load


def schemes(flag: str, values: Iterable[str]) -> list[str]:
    """Transports, each named once."""
    named = [chosen(flag, part.strip(), RECIPES) for value in values for part in value.split(",")]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice:
        raise PacketloomError(f"{flag} {twice}: it is named twice; name each once")
    return named
