"""`packetloom.Network`: open a scenario without traffic, send, and ask for what happens next."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packetloom import _core
from packetloom.common import arguments
from packetloom.common.text_files import MOST_SCENARIO_BYTES, read_text
from packetloom.errors import ArgumentError, InvariantError, PacketloomError
from packetloom.network.columns import LATEST_PS, PS_PER_NS, picoseconds, whole
from packetloom.scenario.plain_values import plain
from packetloom.scenario.plan import Plan
from packetloom.store.outcome import Outcome
from packetloom.store.writer import ResultsFolder

FOREVER_PS = 2**64 - 1
SECTIONS = ("transport", "queue", "routing")
"""The parts of a scheme that have parameters which can be set while it runs."""
BATCH = 1 << 20
"""So many events at most come at once."""


class EventKind(IntEnum):
    """What happened."""

    SENT = 1
    """The sender is done with a message: it knows that all of it has arrived; or, of a transport without
    acknowledgements, the last packet has left."""
    RECEIVED = 2
    """All of a message has arrived."""
    TIMER = 3
    """A timer went off."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: of a message all that was given with it; of a timer its time, number and `user`."""

    kind: EventKind
    time_ns: float
    id: int
    user: int
    src: int
    dst: int
    size_bytes: int
    tag: int
    channel: int


@dataclass(frozen=True, slots=True)
class Events:
    """Many events in order, as arrays of one length; and why there are no more."""

    kind: NDArray[np.uint8]
    time_ns: NDArray[np.float64]
    id: NDArray[np.uint64]
    user: NDArray[np.uint64]
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    size_bytes: NDArray[np.uint64]
    tag: NDArray[np.uint64]
    channel: NDArray[np.uint32]
    stopped: Literal["events", "reached", "end", "stalled"]
    """`"events"`: there may be more, ask again; `"reached"`: nothing more happens until the time that was given;
    `"end"`: all messages are over and no timer is set, or the scenario's `max_time` is reached; `"stalled"`: messages
    never end."""
    reason: str
    """Of a stalled run: which messages wait, and for what."""

    def __len__(self) -> int:
        return len(self.kind)

    @staticmethod
    def of(columns: Mapping[str, NDArray[Any]], stopped: Any, reason: str) -> Events:
        """What the engine gives."""
        others = {name: columns[name] for name in ("kind", "id", "user", "src", "dst", "tag", "channel")}
        time_ns = columns["at_ps"] / PS_PER_NS
        return Events(time_ns=time_ns, size_bytes=columns["bytes"], stopped=stopped, reason=reason, **others)

    def __iter__(self) -> Iterator[Event]:
        rows = zip(
            *(self.kind.tolist(), self.time_ns.tolist(), self.id.tolist(), self.user.tolist(), self.src.tolist()),
            *(self.dst.tolist(), self.size_bytes.tolist(), self.tag.tolist(), self.channel.tolist()),
            strict=True,
        )
        return (Event(EventKind(kind), *rest) for kind, *rest in rows)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a message is at its sender. What a scheme does not have is not a number."""

    arrived_bytes: int
    in_flight_bytes: int
    window_bytes: float
    rate_bps: float
    rtt_ns: float
    retransmissions: int


@dataclass(frozen=True, slots=True)
class SwitchPorts:
    """Every port of every switch, as arrays of one length, at a moment that has passed."""

    at_ns: float
    """The end of the engine's last window: before the present by at most the least time from a node to the next."""
    switch: NDArray[np.uint32]
    """The switch's number, as `Network.switches` has it."""
    link: NDArray[np.uint32]
    """Its link's number, which `Network.link_name` names."""
    queued_bytes: NDArray[np.uint64]
    """What waits, without the packet in service; 0 at an unlimited drop-tail queue, which nobody counts."""
    sent_bytes: NDArray[np.uint64]
    """What has started on the link so far, without framing."""
    marks: NDArray[np.uint64]
    """Packets marked so far."""
    drops: NDArray[np.uint64]
    """Packets dropped so far."""


class StalledError(PacketloomError):
    """Messages never come to their ends; the text says which, and what they wait for."""


class Network:
    """A scenario's network, over which the caller sends messages while it is simulated (docs/network.md).

    The scenario, a file, a text of TOML, or a dict, has no `[[workload]]` and spans one case. Events come in order of
    time. When one is returned, all has happened up to its time and nothing after, so any host may send at that time.

    Examples:
        >>> with packetloom.Network(network_scenario) as network:
        ...     first = network.send(0, 1, 30_000, tag=7)
        ...     for event in network:
        ...         if event.kind == event.kind.RECEIVED and event.id == first:
        ...             answer = network.send(event.dst, event.src, 1_000)
        ...     outcome = network.finish()
        >>> outcome.tables["flows"]["size_bytes"].tolist()
        [30000, 1000]
    """

    def __init__(
        self,
        scenario: str | Path | Mapping[str, Any],
        *,
        audit: bool = False,
        seed: int | None = None,
        threads: int = 1,
    ) -> None:
        """Opens it; with `audit` the invariants of the run are checked, which takes several times as long. `seed` takes
        the place of the scenario's. Results do not depend on how many `threads` simulate."""
        text, origin, format = _source(scenario)
        if seed is not None:
            from packetloom.scenario.overrides import override

            text = override(text, format, [f"run.seeds=[{arguments.whole('seed', seed, 0, 2**53)}]"])
        self._scenario = text, origin, format
        self._core = _core.Network(
            text, origin, format, arguments.flag("audit", audit), arguments.whole("threads", threads, 1, 255)
        )

    @property
    def hosts(self) -> int:
        """How many hosts there are; they are numbered from 0."""
        return self._core.hosts

    @property
    def now_ns(self) -> float:
        """The present time."""
        return self._core.now_ps / PS_PER_NS

    @property
    def open_messages(self) -> int:
        """How many messages are not over."""
        return self._core.open_messages

    def send(
        self,
        src: int,
        dst: int,
        size_bytes: int,
        *,
        tag: int = 0,
        channel: int = 0,
        user: int = 0,
        traffic_class: int = 0,
        delay_ns: float = 0.0,
    ) -> int:
        """Sends a message, so long after the present time; its number, which its row of the table of flows has, too."""
        given = (src, dst, size_bytes, tag, channel, user, traffic_class)
        if not all(isinstance(value, int | np.integer) for value in given):
            raise ArgumentError(f"a message has {given}; give whole numbers")
        return int(
            self.send_many(
                np.array([src]),
                dst,
                np.array(size_bytes),
                tag=np.array(tag),
                channel=channel,
                user=np.array(user),
                traffic_class=traffic_class,
                delay_ns=delay_ns,
            )[0]
        )

    def send_many(
        self,
        src: ArrayLike,
        dst: ArrayLike,
        size_bytes: ArrayLike,
        *,
        tag: ArrayLike = 0,
        channel: ArrayLike = 0,
        user: ArrayLike = 0,
        traffic_class: ArrayLike = 0,
        delay_ns: ArrayLike = 0.0,
    ) -> NDArray[np.uint64]:
        """Sends messages: all of them, or none; their numbers. Each argument is an array, or one number for all."""
        sizes = [np.asarray(given).size for given in (src, dst, size_bytes) if np.ndim(given) > 0]
        count = max(sizes) if sizes and min(sizes) > 0 else int(not sizes)
        first = self._core.send(
            whole("src", src, count, np.uint32),
            whole("dst", dst, count, np.uint32),
            whole("size_bytes", size_bytes, count, np.uint64),
            whole("tag", tag, count, np.uint64),
            whole("channel", channel, count, np.uint32),
            whole("traffic_class", traffic_class, count, np.uint8),
            picoseconds("delay_ns", delay_ns, count),
            whole("user", user, count, np.uint64),
        )
        return np.arange(first, first + count, dtype=np.uint64)

    def timer(self, at_ns: float, *, user: int = 0) -> int:
        """Has an event come at a time; the timer's number."""
        return int(self.timers(np.array([at_ns]), user=np.array(user))[0])

    def timers(self, at_ns: ArrayLike, *, user: ArrayLike = 0) -> NDArray[np.uint64]:
        """The same for many: all, or none."""
        count = np.asarray(at_ns).size
        first = self._core.timers(picoseconds("at_ns", at_ns, count), whole("user", user, count, np.uint64))
        return np.arange(first, first + count, dtype=np.uint64)

    def next(self, until_ns: float = math.inf) -> Event | None:
        """Goes on to what happens next, but not beyond a time; None where nothing does. The present is that time then;
        but once all messages are over and no timer is set, it stays what it was. `StalledError` where messages would
        never end."""
        columns, stopped, reason = self._core.next(_until(until_ns), 1)
        if stopped == "stalled":
            raise StalledError(reason)
        return next(iter(Events.of(columns, stopped, reason)), None)

    def __iter__(self) -> Iterator[Event]:
        """Every event, until there is none; what is sent and set meanwhile is among it."""
        while (event := self.next()) is not None:
            yield event

    def run(self, until_ns: float = math.inf, *, most: int = BATCH) -> Events:
        """Goes on to a time, and gives all that happened: for whoever does not answer each event at its own time."""
        return Events.of(*self._core.next(_until(until_ns), arguments.whole("most", most, 1, BATCH)))

    def progress(self, message: int) -> Progress | None:
        """How far a message is; None before it starts, when its sender is done, and of a scheme that does not say."""
        found = self._core.progress(arguments.whole("message", message, 0, 2**32 - 1))
        return None if found is None else Progress(*found)

    @property
    def switches(self) -> range:
        """The numbers of the switches: they follow those of the hosts, from the edge inwards."""
        return range(*self._core.switches)

    @property
    def settable(self) -> dict[str, list[str]]:
        """What `set` may set: names of parameters of the `transport`, the switches' `queue`, and the `routing`."""
        return dict(zip(SECTIONS, self._core.settable, strict=True))

    def set(
        self,
        parameters: Mapping[str, str | float],
        *,
        hosts: ArrayLike | None = None,
        switches: ArrayLike | None = None,
    ) -> None:
        """Sets parameters at the present time: all of them, or none (docs/network.md).

        `parameters` has names such as `"transport.gain"` or `"queue.ecn_min"`, with values as in a scenario: `0.01`,
        `"40KB"`. Those of the transport are set at `hosts`, those of the queue at `switches`, and those of the routing
        at whichever of the two go by them; at all, if not given. Hosts change at once; what they had planned stays
        planned. Switches go by the new values from the end of the engine's window on: within the least time from a node
        to the next. `ArgumentError` for what can't be.

        Examples:
            >>> with packetloom.Network(network_scenario.replace('"tcp"', '"dctcp"')) as network:
            ...     network.set({"transport.g": 0.5}, hosts=[0])
            ...     network.settable["transport"]
            ['g']
        """
        by_section: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for key, value in parameters.items():
            section, dot, name = str(key).partition(".")
            if not dot or section not in by_section or not isinstance(value, str | int | float | np.number):
                known = "transport.NAME, queue.NAME or routing.NAME"
                raise ArgumentError(f"{key}={value!r}: write {known}, with a text or a number")
            by_section[section].append((name, value if isinstance(value, str) else _number_text(value)))
        at_hosts = range(self.hosts) if hosts is None else whole("hosts", hosts, np.size(hosts), np.uint32).tolist()
        at_switches = (
            self.switches if switches is None else whole("switches", switches, np.size(switches), np.uint32).tolist()
        )
        transport, queue, routing = by_section.values()
        self._core.set([*at_hosts], transport, [*at_switches], queue, routing)

    def switch_ports(self) -> SwitchPorts:
        """What the ports of all switches were like at the end of the engine's last window."""
        at_ps, columns = self._core.switch_ports()
        return SwitchPorts(at_ns=at_ps / PS_PER_NS, **columns)

    def link_name(self, link: int) -> str:
        """From where to where a link leads, such as `switch0 to host3`."""
        return self._core.link_name(arguments.whole("link", link, 0, 2**32 - 1))

    def finish(self, output: str | Path | None = None) -> Outcome:
        """Ends the run, and gives its outcome. If all messages are over, what they left under way comes to rest; if
        not, they stay unfinished. The table of flows has the messages' `tag`, `channel` and `user`. `output` becomes a
        results folder, which `packetloom.Results`, `packetloom report` and `packetloom compare` read."""
        if output is None:
            return self._finish()
        case = _core.Case.from_json(self._core.case_json)
        text, origin, format = self._scenario
        plan = Plan(text, format, origin, (), (case,), (), is_driven=True)
        # What is wrong with the folder is said while the run can still be finished elsewhere.
        with ResultsFolder(arguments.path("output", output), plan, keep_older=True, verify=False) as folder:
            outcome = self._finish()
            folder.add(case, outcome)
            folder.settle()
            folder.write_index()
        return outcome

    def _finish(self) -> Outcome:
        core, labels = self._core.finish()
        if core.violation is not None:
            raise InvariantError(core.violation)
        outcome = Outcome.of(core)
        flows = dict(outcome.tables["flows"])
        ids = flows["flow_id"]
        flows |= {name: values[ids] for name, values in labels.items()}
        return replace(outcome, tables={**outcome.tables, "flows": flows})

    def close(self) -> None:
        """Closes the network without an outcome; so does the end of a `with`."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _source(scenario: str | Path | Mapping[str, Any]) -> tuple[str, str, Literal["toml", "json"]]:
    """The text, where it comes from, and how it is written."""
    if isinstance(scenario, Mapping):
        return json.dumps(plain(scenario), indent=2), "", "json"
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "", "toml"
    path = arguments.path("scenario", scenario)
    text = read_text(path, MOST_SCENARIO_BYTES, "there is no such file")
    return text, str(path), "json" if path.suffix == ".json" else "toml"


def _number_text(value: float | np.number) -> str:
    """A number or a flag as a scenario has it: whole if it is of a whole type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.integer):
        return repr(int(value))
    return repr(float(value) if isinstance(value, np.number) else value)


def _until(until_ns: float) -> int:
    if not isinstance(until_ns, int | float | np.number):
        raise arguments.wrong("until_ns", until_ns, "a number of nanoseconds")
    if until_ns == math.inf:
        return FOREVER_PS
    return int(picoseconds("until_ns", min(until_ns, (LATEST_PS - 2**12) / PS_PER_NS), 1)[0])
