"""A test bench for a congestion control in Python: it is driven event by event, and its window is looked at.

    from packetloom.testing import drive

    def test_a_mark_shrinks_the_window():
        bench = drive(MyDctcp, g=0.5)
        bench.acknowledge(10)
        bench.acknowledge(marked=True)
        assert bench.window.cwnd == pytest.approx(17.0, abs=1e-4)

What runs is the compiled class, with the very window that a simulation has; what the class does not define is TCP
NewReno's. There is no network. The bench is the sender of one flow that always has more to send:

- A flow starts with the window that `initial_window` says. After each event it sends what the window allows.
- The first acknowledgement comes one round-trip time after the start; then a window's worth of them takes one.
- A loss is found one round-trip time after the event before it, and is repaired at once: all that was in flight is
  acknowledged (`ack.una` becomes `ack.next`), and the next acknowledgement is one outside of loss recovery.
- A timeout comes `min_rto` after the event before it. What was in flight is sent again, so `ack.una` goes on from
  where it was. Where the event before was a timeout, too, `loss.again` is 1.
- `flow` is number 0, from host 0 to host 1, of 1 TB, from 0 s on, without a deadline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.common import arguments
from packetloom.errors import ArgumentError, ScenarioError
from packetloom.scenario.plan import Scenario, Scheme, read_plan
from packetloom.schemes.declaration import CongestionControl
from packetloom.schemes.loader import Value, layout_of, values_of
from packetloom.schemes.named import named_class, without_place
from packetloom.schemes.notebook import scheme
from packetloom.schemes.translate import Field

Marks = bool | Sequence[bool]
"""Whether marks come back: with all of some acknowledgements, or with each."""

RTT = "40us"
"""The round-trip time unless `Bench.rtt` is set."""
MOST_PACKETS = 1_000_000
_MARKS = "True, False, or a list of them"


@dataclass(frozen=True, slots=True)
class Window:
    """A congestion window as it was after an event, in packets."""

    cwnd: float
    ssthresh: float
    pacing_rate_bps: float = 0.0

    @property
    def in_slow_start(self) -> bool:
        """Whether cwnd is below ssthresh."""
        return self.cwnd < self.ssthresh


@dataclass(frozen=True, slots=True)
class Event:
    """What happens to a sender; `ack`, `loss` and `timeout` make them."""

    kind: str
    marks: tuple[bool, ...] = ()
    packets: int = 1
    in_flight: int | None = None


def ack(count: int | None = None, *, marked: Marks = False, packets: int = 1) -> Event:
    """Acknowledgements, each of so many packets in order; of none, it is a duplicate.

    `marked` says whether a mark came back with them, or with each: as many values as there are acknowledgements.
    """
    return Event("ack", _marks(count, marked), arguments.whole("packets", packets, 0, MOST_PACKETS))


def loss(*, in_flight: int | None = None) -> Event:
    """A loss is found. `in_flight` is in packets; left out, it is what the bench has sent, the window at most."""
    return Event("loss", in_flight=_in_flight(in_flight))


def timeout(*, in_flight: int | None = None) -> Event:
    """The retransmission timer expires. `in_flight` is in packets; left out, it is as for `loss`."""
    return Event("timeout", in_flight=_in_flight(in_flight))


def drive(control: type[CongestionControl] | str | Path, /, **parameters: Any) -> Bench:
    """A bench with a congestion control: a class, or a file and its class, "my_cc.py:MyCC".

    `parameters` are the class's own and those of TCP's core, such as `initial_window`, as a scenario has them.

    Raises:
        ArgumentError: if the source of the class is nowhere to be found.
        ScenarioError: what is wrong with the file, the class or a parameter.
        PacketloomError: what `start` did to the window.
    """
    case = bench_case(control, parameters)
    transport = json.loads(case.json)["scheme"]["transport"]
    core = _core.SchemeBench(case, RTT)
    core.check()
    return Bench(core, layout_of(transport["file"], transport["file_hash"], transport["class"]))


def bench_case(control: type[CongestionControl] | str | Path, parameters: Mapping[str, Any]) -> _core.Case:
    """A case with a congestion control, whose parameters were read. Raises as `drive` does."""
    for name, value in parameters.items():
        if isinstance(value, list | tuple):
            raise ArgumentError(f"{name}: a bench takes one value of a parameter; drive one bench for each")
    own = _own_scheme(control, parameters)
    scenario = Scenario(
        topology={"kind": "rack", "hosts": 2},
        workload=[{"sizes": {"kind": "constant", "size": "1MB"}, "arrivals": "at-once"}],
        schemes=[own],
        run={"flows": 1},
    )
    try:
        cases = read_plan(scenario).cases
    except ScenarioError as error:
        raise ScenarioError(without_place(str(error), own.name)) from None
    return cases[0]


class Bench:
    """A congestion control with its window; `drive` makes it. The module says what its clock and its packets do.

    A method that leaves a window that can't be one (not a number, zero or fewer packets, above `max_window`) raises
    `PacketloomError` with the class, the method and the event's number, counted from 1 over all acknowledgements,
    losses and timeouts. The flow ends there, so whatever follows raises it again.
    """

    def __init__(self, core: _core.SchemeBench, layout: Mapping[str, Field]) -> None:
        self._core = core
        self._layout = layout
        self._rtt = RTT

    def acknowledge(self, count: int | None = None, *, marked: Marks = False, packets: int = 1) -> None:
        """Acknowledgements arrive, one if nothing is said; see `ack`."""
        self.play([ack(count, marked=marked, packets=packets)])

    def lose(self, *, in_flight: int | None = None) -> None:
        """A loss is found; see `loss`."""
        self.play([loss(in_flight=in_flight)])

    def time_out(self, *, in_flight: int | None = None) -> None:
        """The retransmission timer expires; see `timeout`."""
        self.play([timeout(in_flight=in_flight)])

    def play(self, events: Iterable[Event]) -> list[float]:
        """Has one event happen after the other, and gives cwnd in packets after each of them."""
        return [
            self._play(arguments.instance("events", event, Event, "a list of ack(), loss(), timeout()"))
            for event in events
        ]

    def _play(self, event: Event) -> float:
        if event.kind == "loss":
            self._core.lost(event.in_flight)
        elif event.kind == "timeout":
            self._core.timed_out(event.in_flight)
        for mark in event.marks:
            self._core.acknowledged(event.packets, mark)
        return self._core.cwnd

    @property
    def window(self) -> Window:
        """The window now."""
        return Window(self._core.cwnd, self._core.ssthresh, self._core.pacing_rate_bps)

    @property
    def fields(self) -> Mapping[str, Value | list[Value]]:
        """What the class's parameters and the flow's fields hold now; times in ps, sizes in bytes, rates in bit/s."""
        return values_of(self._layout, self._core.state)

    def field(self, name: str) -> Any:
        """One of `fields`."""
        fields = self.fields
        if name not in fields:
            raise ArgumentError(f"the class declares no {name!r}; there are: {', '.join(fields) or 'none'}")
        return fields[name]

    @property
    def rtt(self) -> str:
        """The round-trip time, such as "40us"; it can be set between events, and holds from there on."""
        return self._rtt

    @rtt.setter
    def rtt(self, rtt: str) -> None:
        self._core.set_rtt(arguments.instance("rtt", rtt, str, 'a time such as "40us"'))
        self._rtt = rtt

    @property
    def una(self) -> int:
        """The first packet that is not acknowledged."""
        return self._core.una

    @property
    def next(self) -> int:
        """The next packet that was never sent."""
        return self._core.next

    @property
    def now_ps(self) -> int:
        """The time, in ps since the flow's start."""
        return self._core.now_ps


def _own_scheme(control: type[CongestionControl] | str | Path, parameters: Mapping[str, Any]) -> Scheme:
    if not isinstance(control, str | Path):
        return scheme(control, **parameters)
    file, class_name = named_class(str(control))
    transport = {"kind": "python", "file": str(file.absolute()), "class": class_name, **parameters}
    return Scheme(name=class_name, transport=transport, queue="ecn")


def _marks(count: int | None, marked: Marks) -> tuple[bool, ...]:
    several = None if count is None else arguments.whole("count", count, 0, MOST_PACKETS)
    if isinstance(marked, bool):
        return (marked,) * (1 if several is None else several)
    if isinstance(marked, str) or not isinstance(marked, Sequence):
        raise arguments.wrong("marked", marked, _MARKS)
    marks = tuple(arguments.instance("marked", mark, bool, _MARKS) for mark in marked)
    if several not in (None, len(marks)):
        raise ArgumentError(f"marked has {len(marks)} values for {several} acknowledgements; leave the count out")
    return marks


def _in_flight(packets: int | None) -> int | None:
    return None if packets is None else arguments.whole("in_flight", packets, 0, MOST_PACKETS)
