"""A scenario's jobs made smaller, so that packets can carry them, and what bounds them stays: as many hosts for each
uplink, rings across as many groups of servers, and the same part of a step that is computed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packetloom.common.quantities import BINARY_BYTES, BYTES, significant

Document = dict[str, Any]
Network = Document | None
"""The topology; for all jobs but the first none, since it is halved once."""

MOST_RANKS = 256
"""Beyond them hosts are left out before anything is counted: their operations alone take minutes to be laid out."""
LEAST_RANKS_OF_A_RING = 4
"""A ring of fewer has no neighbour that is not the first's, too."""
LEAST_BYTES = 500_000
"""Below it a message takes the network's delay rather than its rate."""
SMALLER_SWITCHES = {
    "rail-optimised": ("servers", "servers_per_rail_switch", "spines"),
    "leaf-spine": ("hosts_per_leaf", "spines"),
    "clos": ("hosts_per_leaf",),
    "rack": ("hosts",),
}
"""Of each topology that can be made smaller the keys that are halved together: each switch has half the hosts, and half
the uplinks. (Oversubscription is a key of its own, or follows from these.)"""


@dataclass(frozen=True, slots=True)
class Smaller:
    """A scenario whose jobs were made smaller."""

    document: Document
    told: tuple[str, ...]
    """What was changed, for people."""
    axes: Mapping[str, Mapping[int, int]]
    """Of each axis of the network that was halved which value stands for which."""


class _NotSmallerError(Exception):
    """Something can't be halved."""


def jobs_of(document: Mapping[str, Any], kinds: frozenset[str]) -> list[Document]:
    """The arrivals of a scenario's sources that are jobs."""
    return [arrivals for arrivals in _arrivals(document) if arrivals.get("kind") in kinds]


def _arrivals(document: Mapping[str, Any]) -> Iterator[Document]:
    workloads = document["workload"]
    for source in workloads if isinstance(workloads, list) else [workloads]:
        if isinstance(source, dict) and isinstance(source.get("arrivals"), dict):
            yield source["arrivals"]


def smaller(document: Document, kinds: frozenset[str], fits: Callable[[Document], bool]) -> Smaller:
    """The scenario with jobs so small that `fits` says so, or as small as they get."""
    document = copy.deepcopy(document)
    if isinstance(document["topology"], str):
        document["topology"] = {"kind": document["topology"]}
    before = copy.deepcopy(document)
    steps = (_once, _fewer_microbatches, _fewer_layers, _smaller_switches, _fewer_stages, _fewer_bytes)
    while _ranks(document, kinds) > MOST_RANKS and _first(document, kinds, (_smaller_switches, _fewer_stages)):
        pass
    while not fits(document) and _first(document, kinds, steps):
        pass
    return Smaller(
        document, tuple(_told(before, document)), dict(_halved_axes(before["topology"], document["topology"]))
    )


def _halved_axes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, dict[int, int]]]:
    for key, values in after.items():
        was = before.get(key)
        if isinstance(values, list) and isinstance(was, list) and values != was:
            times = next(times for times in range(1, 64) if all(one << times in was for one in values))
            yield f"topology.{key}", {one: one << times for one in values}


def _first(document: Document, kinds: frozenset[str], steps: tuple[Callable[..., None], ...]) -> bool:
    """Takes the first step that can be taken; whether one could."""
    for step in steps:
        changed = copy.deepcopy(document)
        try:
            for nth, job in enumerate(jobs_of(changed, kinds)):
                step(changed["topology"] if nth == 0 else None, job)
        except _NotSmallerError:
            continue
        document.clear()
        document.update(changed)
        return True
    return False


def _ranks(document: Document, kinds: frozenset[str]) -> int:
    def of(job: Document) -> int:
        degrees = [job.get(key, 1) for key in ("tensor", "data", "pipeline")]
        product = 1
        for degree in degrees:
            product *= degree if isinstance(degree, int) else 1
        ranks = job.get("ranks", 0)
        return max(product, ranks if isinstance(ranks, int) else 0)

    return max((of(job) for job in jobs_of(document, kinds)), default=0)


def _halved(value: Any, least: int = 1) -> Any:
    """Half of a count, or of those of an axis that have a half."""
    if isinstance(value, list):
        halves = []
        for one in value:
            try:
                halves.append(_halved(one, least))
            except _NotSmallerError:
                continue
        if halves:
            return halves
    elif isinstance(value, int) and not isinstance(value, bool) and value % 2 == 0 and value // 2 >= least:
        return value // 2
    raise _NotSmallerError


def _once(_: Network, job: Document) -> None:
    """One repetition: those that follow are like it."""
    if not isinstance(repeat := job.get("repeat", 1), int) or repeat <= 1:
        raise _NotSmallerError
    job["repeat"] = 1


def _fewer_microbatches(_: Network, job: Document) -> None:
    """As many as the pipeline has stages still fill it."""
    stages = job.get("pipeline", 1)
    job["microbatches"] = _halved(job.get("microbatches"), max(2, stages if isinstance(stages, int) else 1))


def _fewer_layers(_: Network, job: Document) -> None:
    """Two in each stage: one's gradients are reduced while the other is computed."""
    stages = job.get("pipeline", 1)
    if not isinstance(layers := job.get("layers"), int) or not isinstance(stages, int):
        raise _NotSmallerError
    fewer = layers // 2 // stages * stages
    if fewer < 2 * stages:
        raise _NotSmallerError
    job["layers"] = fewer


def _smaller_switches(topology: Network, job: Document) -> None:
    """Half the hosts and half the uplinks at each switch, and half the data parallel ranks: a ring goes by as many
    switches as before. All jobs of a scenario are halved with the network."""
    if "order" in job or "placement" in job:
        raise _NotSmallerError
    if topology is not None:
        keys = SMALLER_SWITCHES.get(topology["kind"], ())
        if not keys:
            raise _NotSmallerError
        for key in keys:
            if key in topology:
                topology[key] = _halved(topology[key], 1 if key == "spines" else 2)
            elif key != "spines" and not (key == "servers_per_rail_switch" and "servers" in topology):
                raise _NotSmallerError
    if job.get("kind") == "training":
        job["data"] = _halved(job.get("data"), LEAST_RANKS_OF_A_RING)
    elif "ranks" in job:
        job["ranks"] = _halved(job["ranks"], LEAST_RANKS_OF_A_RING)
    elif job.get("kind") != "collective":
        raise _NotSmallerError


def _fewer_stages(topology: Network, job: Document) -> None:
    """Half the stages, layers and servers: fewer groups of servers, each as large as before."""
    if job.get("kind") != "training":
        raise _NotSmallerError
    if topology is not None:
        if topology["kind"] not in ("rail-optimised", "leaf-spine"):
            raise _NotSmallerError
        key = "servers" if topology["kind"] == "rail-optimised" else "leaves"
        together = topology.get("servers_per_rail_switch", 1) if key == "servers" else 1
        topology[key] = _halved(topology.get(key), 2 * together if isinstance(together, int) else 2)
    job["pipeline"] = _halved(job.get("pipeline"), 2)
    job["layers"] = _halved(job.get("layers"), 2)


def _fewer_bytes(_: Network, job: Document) -> None:
    """Half of what is sent and of what is computed."""
    sizes = [key for key in ("activations", "gradients", "size") if key in job]
    if not sizes:
        raise _NotSmallerError
    for key in sizes:
        amount, unit = _quantity(job[key])
        if _bytes(amount / 2, unit) < LEAST_BYTES:
            raise _NotSmallerError
        job[key] = f"{amount / 2:.12g}{unit}"
    for time in ("forward", "backward", "update", "compute"):
        if time in job:
            amount, unit = _quantity(job[time])
            job[time] = f"{amount / 2:.12g}{unit}"


def _quantity(value: Any) -> tuple[float, str]:
    """A number and its unit."""
    text = str(value).replace(" ", "").replace("_", "")
    digits = len(text) - len(text.lstrip("0123456789."))
    try:
        return float(text[:digits]), text[digits:]
    except ValueError:
        raise _NotSmallerError from None


_UNITS = BYTES | BINARY_BYTES


def _bytes(amount: float, unit: str) -> float:
    if unit not in _UNITS:
        raise _NotSmallerError
    return amount * _UNITS[unit]


def _told(before: Document, after: Document) -> Iterator[str]:
    """Each key that was changed, with what it was."""
    places = [("topology", before["topology"], after["topology"])]
    places += [("arrivals", *pair) for pair in zip(_arrivals(before), _arrivals(after), strict=True)]
    for name, old, new in places:
        if not isinstance(old, dict) or not isinstance(new, dict):
            continue
        for key, value in new.items():
            if value != old.get(key):
                yield f"{name}.{key} = {_text(value)} instead of {_text(old.get(key, 1))}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_text(one) for one in value)}]"
    return significant(value, 6) if isinstance(value, float) else str(value)
