"""A setting of HPCC's ns-3 simulator: its `config.txt`, and the topology and flows that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from packetloom.errors import PacketloomError

# Its CC_MODE, and what that is.
NO_CONTROL, DCQCN, HPCC, TIMELY, DCTCP = 0, 1, 3, 7, 8
MODES = {NO_CONTROL: "no control", DCQCN: "DCQCN", HPCC: "HPCC", TIMELY: "TIMELY", DCTCP: "DCTCP"}
REACTS_TO_MARKS = (DCQCN, DCTCP)


@dataclass(frozen=True, slots=True)
class Flow:
    """A line of the flow file; the start is the whole nanosecond that its clock makes of it."""

    src: int
    dst: int
    group: int
    port: int | None
    size_bytes: int
    start_ns: int


@dataclass(frozen=True, slots=True)
class Network:
    """The topology file: hosts, and each link's ends, rate and delay."""

    hosts: tuple[int, ...]
    links: tuple[tuple[int, int, int, int], ...]
    """(one end, the other, bits per second, ns)"""

    @property
    def host_rate(self) -> int:
        """What a host's link carries, in bits per second."""
        (rate,) = {rate for one, other, rate, _ in self.links if one in self.hosts or other in self.hosts}
        return rate


@dataclass(frozen=True)
class Settings:
    """A `config.txt`, whose files are found from the folder above its own."""

    path: Path
    keys: Mapping[str, str]

    @property
    def name(self) -> str:
        """What its results are called."""
        return self.path.stem

    @property
    def folder(self) -> Path:
        """What its files' names start from."""
        return self.path.parent.parent

    @property
    def mode(self) -> int:
        """How its senders control their rates."""
        mode = self.number("CC_MODE")
        if mode not in MODES:
            known = ", ".join(f"{mode} ({name})" for mode, name in MODES.items())
            raise PacketloomError(f"{self.path}: CC_MODE {mode:g} is not replayed; these are: {known}")
        return int(mode)

    @property
    def is_drawn(self) -> bool:
        """Whether senders react to marks that are drawn at random: then one run of it is one draw."""
        if self.mode not in REACTS_TO_MARKS or not self.flag("ENABLE_QCN"):
            return False
        thresholds = zip(self.by_rate("KMIN_MAP").items(), self.by_rate("KMAX_MAP").values(), strict=True)
        return any(low < high for (_, low), high in thresholds)

    def text(self, key: str) -> str:
        """The value of a key."""
        try:
            return self.keys[key]
        except KeyError:
            raise PacketloomError(f"{self.path}: has no {key}; write it as the simulator's config.txt has it") from None

    def number(self, key: str) -> float:
        """A key's number."""
        try:
            return float(self.text(key))
        except ValueError:
            raise PacketloomError(f"{self.path}: {key} is {self.text(key)!r}, not a number") from None

    def flag(self, key: str) -> bool:
        """Whether a key is other than 0."""
        return self.number(key) != 0

    def rate(self, key: str) -> str:
        """A key's rate as packetloom writes it."""
        value = self.text(key)
        if not value.endswith("b/s"):
            raise PacketloomError(f"{self.path}: {key} is {value!r}; write a rate such as 20Mb/s")
        return value.replace("b/s", "bps")

    def by_rate(self, key: str) -> dict[int, float]:
        """A map from links' rates: their number, then rate and value in turns."""
        _, *pairs = self.text(key).split()
        return {int(rate): float(value) for rate, value in zip(pairs[::2], pairs[1::2], strict=True)}

    @cached_property
    def network(self) -> Network:
        """The topology file."""
        first, second, *rest = self._lines("TOPOLOGY_FILE")
        switches = {int(word) for word in second.split()}
        hosts = tuple(node for node in range(int(first.split()[0])) if node not in switches)
        links = tuple(_link(line) for line in rest)
        return Network(hosts, links)

    @cached_property
    def flows(self) -> list[Flow]:
        """The flow file."""
        return [_flow(line) for line in self._lines("FLOW_FILE")[1:]]

    def file(self, key: str) -> Path:
        """A file that it names."""
        return self.folder / self.text(key)

    def _lines(self, key: str) -> list[str]:
        return [line for line in read_text(self.file(key)).splitlines() if line.strip()]


def read_settings(path: Path) -> Settings:
    """A `config.txt`: a key and its value a line."""
    lines = [line.split(maxsplit=1) for line in read_text(path).splitlines() if line.strip()]
    return Settings(path, {key: value[0].strip() if value else "" for key, *value in lines})


def read_text(path: Path) -> str:
    """A text file of the peer's."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PacketloomError(
            f"{path}: there is no such file; other simulators' settings come with packetloom's source tree: "
            "clone it and run `make validate` there"
        ) from None


def _link(line: str) -> tuple[int, int, int, int]:
    one, other, rate, delay, _ = line.split()
    units = {"Gbps": 10**9, "Mbps": 10**6}
    times = {"ns": 1, "us": 1000, "ms": 10**6}
    return int(one), int(other), _in_units(rate, units), _in_units(delay, times)


def _in_units(text: str, units: Mapping[str, int]) -> int:
    for unit, factor in units.items():
        if text.endswith(unit):
            return round(float(text.removesuffix(unit)) * factor)
    raise PacketloomError(f"{text!r}: write it with one of {', '.join(units)}")


def _flow(line: str) -> Flow:
    """ns-3 makes a time of seconds in floating point, and drops what is less than a nanosecond."""
    # ConWeave's flows come without a port: it counts them.
    src, dst, group, *port, size, start = line.split()
    return Flow(
        int(src), int(dst), int(group), int(port[0]) if port else None, int(size), int(Fraction(float(start)) * 10**9)
    )
