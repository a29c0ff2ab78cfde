"""A network folded into fewer nodes for the eye: above 200 hosts a rack is one node, above 200 racks a pod is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_HOSTS = 200
MOST_RACKS = 200


@dataclass(frozen=True, slots=True)
class Links:
    """Which ports each link of the folded network stands for."""

    order: NDArray[np.int64]
    """The ports that are on any link, those of one link side by side."""
    starts: NDArray[np.int64]
    """Where each link's ports begin in that order."""
    link_of: Mapping[int, int]
    """Of a port's place, its link."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many ports each link has."""
        return np.diff([*self.starts, len(self.order)])

    def mean(self, values: Sequence[float]) -> list[int]:
        """Over each link's ports."""
        sums = np.add.reduceat(np.asarray(values, dtype=float)[self.order], self.starts)
        rounded: list[int] = np.rint(sums / self.counts).astype(int).tolist()
        return rounded

    def largest(self, values: Sequence[float]) -> list[int]:
        """Of each link's ports."""
        found: list[int] = np.maximum.reduceat(np.asarray(values)[self.order], self.starts).astype(int).tolist()
        return found

    def sum(self, values: Sequence[float]) -> list[int]:
        """Over each link's ports."""
        found: list[int] = np.add.reduceat(np.asarray(values)[self.order], self.starts).astype(int).tolist()
        return found


def fold(whole: Mapping[str, Any]) -> tuple[dict[str, Any], Links]:
    """The network as it is shown, with the node that each node is in (`within`, `hosts`), and its links' ports."""
    nodes, links = whole["nodes"], whole["links"]
    groups = _groups(nodes, links)
    names = list(dict.fromkeys(groups))
    members_of: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
    for node, name in zip(nodes, groups, strict=True):
        members_of[name].append(node)
    shown = [_folded(place, name, own) for place, (name, own) in enumerate(members_of.items())]
    number = {name: place for place, name in enumerate(names)}
    within = [number[name] for name in groups]
    is_folded = len(names) < len(nodes)
    ends: dict[tuple[int, int, int], list[int]] = {}
    for place, (node, peer) in enumerate(links):
        if within[node] != within[peer]:
            parallel = 0 if is_folded else place  # where nothing is folded each stays a link of its own
            ends.setdefault((within[node], within[peer], parallel), []).append(place)
    members = list(ends.values())
    order = np.array([place for own in members for place in own], dtype=np.int64)
    starts = np.cumsum([0, *map(len, members[:-1])])
    link_of = {place: link for link, own in enumerate(members) for place in own}
    hosts = {node["name"].removeprefix("host"): within[node["number"]] for node in nodes if node["kind"] == "host"}
    network = {"nodes": shown, "links": [key[:2] for key in ends], "within": within, "hosts": hosts}
    return network, Links(order, starts, link_of)


def _folded(place: int, name: str, members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if len(members) == 1:
        return {**members[0], "number": place}
    kind = name.partition(" ")[0]
    return {"number": place, "name": name, "kind": kind, "layer": min(one["layer"] for one in members)}


def _groups(nodes: Sequence[Mapping[str, Any]], links: Sequence[tuple[int, int]]) -> list[str]:
    """Of each node, the name of the node that it is shown in."""
    alone = [str(node["name"]) for node in nodes]
    hosts = [node["number"] for node in nodes if node["kind"] == "host"]
    if len(hosts) <= MOST_HOSTS:
        return alone
    peers: dict[int, set[int]] = {host: set() for host in hosts}
    for node, peer in links:
        if node in peers:
            peers[node].add(peer)
    racks: dict[frozenset[int], list[int]] = {}
    for host in hosts:
        racks.setdefault(frozenset(peers[host]), []).append(host)
    if len(racks) > MOST_RACKS and (pods := _pods(nodes, links)):
        return [f"pod {pods[place]}" if place in pods else name for place, name in enumerate(alone)]
    named = list(alone)
    for switches, members in racks.items():
        below = ", ".join(sorted(alone[switch] for switch in switches))
        for host in members:
            named[host] = f"rack of {len(members)} hosts at {below}"
    return named


def _pods(nodes: Sequence[Mapping[str, Any]], links: Sequence[tuple[int, int]]) -> dict[int, int]:
    """What hangs together without the highest layer: each node's pod; nothing if all does."""
    top = max(node["layer"] for node in nodes)
    inside = {node["number"] for node in nodes if node["layer"] < top}
    neighbours: dict[int, list[int]] = {place: [] for place in inside}
    for node, peer in links:
        if node in inside and peer in inside:
            neighbours[node].append(peer)
            neighbours[peer].append(node)
    pods: dict[int, int] = {}
    for first in sorted(inside):
        if first in pods:
            continue
        number = max(pods.values(), default=-1) + 1
        found = [first]
        pods[first] = number
        for place in found:
            for other in neighbours[place]:
                if other not in pods:
                    pods[other] = number
                    found.append(other)
    return pods if len(set(pods.values())) > 1 else {}
