"""The networks of first scenarios: sixteen hosts each, so that a first run takes seconds; or that of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.new import choices

Value = Any
SCALE_UP = 9
"""What accelerators have to their server's others, in rates of a NIC: H100's NVLink, 3.6 Tb/s one way, to 400 Gb/s."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A topology's keys; the most ports of a switch; a link that others stand in for; what oversubscribes it."""

    sizes: Mapping[str, int]
    ports: int
    uplink: tuple[str, str] | None = None
    oversubscribed: Callable[[float], tuple[str, Value]] | None = None
    links: Callable[[float], Mapping[str, Value]] = field(default=lambda _: {})


def _of_four(ratio: float) -> tuple[str, Value]:
    if 4 / ratio != int(4 / ratio):
        raise PacketloomError(f"--oversubscription {ratio:g}: four hosts a leaf have 4, 2 or 1 spines; write 1, 2 or 4")
    return "oversubscription", ratio


def _rate(gbps: float) -> str:
    return f"{gbps:g}Gbps"


FABRICS: dict[str, Fabric] = {
    "leaf-spine": Fabric({"spines": 4, "leaves": 4, "hosts_per_leaf": 4}, 8, ("leaf0", "spine0"), _of_four),
    "fat-tree": Fabric({"k": 4}, 4, ("edge0", "aggregation0")),
    "rack": Fabric({"hosts": 16}, 16),
    # The bottleneck is four links of hosts: half of what the hosts of one side can send.
    "dumbbell": Fabric(
        {"left": 8, "right": 8},
        9,
        links=lambda gbps: {"bottleneck": {"rate": _rate(gbps * 4), "delay": "1us"}},
    ),
    "clos": Fabric(
        {"pods": 2, "leaves": 2, "hosts_per_leaf": 4},
        8,
        ("leaf0", "aggregation0"),
        lambda ratio: ("oversubscription", ratio),
    ),
    "rail-optimised": Fabric(
        {"servers": 8, "accelerators": 2, "servers_per_rail_switch": 4},
        8,
        ("rail0", "spine0"),
        lambda ratio: ("oversubscription", ratio),
        lambda gbps: {"scale_up": {"rate": _rate(gbps * SCALE_UP), "delay": "0.2us"}},
    ),
    "dragonfly": Fabric(
        {"hosts_per_router": 2, "routers": 4, "global_links": 1, "groups": 2}, 6, ("router0", "router1")
    ),
}
OF_FILES = {".topo": "htsim"}
"""By a file's suffix; any other is HPCC's."""
PORTS_OF_FILES = 32


def fabric(name: str) -> Fabric:
    """The fabric of that name, or that of a file."""
    return Fabric({}, PORTS_OF_FILES) if is_file(name) else FABRICS[name]


def is_file(name: str) -> bool:
    """Names have no dots and no folders."""
    return any(letter in name for letter in "./\\")


def checked(name: str) -> str:
    """The name, if there is such a fabric or file."""
    if not is_file(name):
        return choices.chosen("--fabric", name, FABRICS, "; or a file of HPCC's or htsim's simulator")
    if not Path(name).is_file():
        raise PacketloomError(f"--fabric {name}: there is no such file")
    return name


def kind(name: str) -> str:
    """The topology's kind."""
    return OF_FILES.get(Path(name).suffix, "hpcc") if is_file(name) else name


def oversubscribed(name: str, ratios: Sequence[float]) -> dict[str, Value]:
    """The key that oversubscribes the fabric so much, and its values."""
    how = fabric(name).oversubscribed
    if how is None:
        known = ", ".join(one for one, fabric in FABRICS.items() if fabric.oversubscribed)
        raise PacketloomError(f"--oversubscription: {name} has none to set; these have: {known}")
    pairs = [how(ratio) for ratio in ratios]
    values = [int(value) if value == int(value) else value for _, value in pairs]
    return {pairs[0][0]: values if len(values) > 1 else values[0]}


def failing_link(name: str) -> tuple[str, str]:
    """A link that others can stand in for."""
    link = fabric(name).uplink
    if link is None:
        known = ", ".join(one for one, fabric in FABRICS.items() if fabric.uplink)
        raise PacketloomError(f"--failed-link: {name} has no link that others stand in for; these have: {known}")
    return link
