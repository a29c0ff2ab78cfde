"""What a congestion control in Python is made of: parameters, fields, methods, and what methods are given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a scenario can set. `default` is written as a scenario would have it."""

    kind: str
    default: str | None
    least: float
    most: float
    doc: str
    source: str


def number(
    default: float | None, *, doc: str, least: float = -math.inf, most: float = math.inf, source: str = "the class"
) -> Any:
    """A parameter: a number from `least` to `most`; in methods a float. Without a default it must be given."""
    return Parameter("number", None if default is None else repr(float(default)), least, most, doc, source)


def count(default: int | None, *, doc: str, least: int = 0, source: str = "the class") -> Any:
    """A parameter: a whole number of at least `least`; in methods an int."""
    return Parameter("count", None if default is None else repr(int(default)), least, math.inf, doc, source)


def flag(default: bool, *, doc: str, source: str = "the class") -> Any:
    """A parameter: true or false; in methods 1 or 0."""
    return Parameter("flag", "true" if default else "false", 0, 1, doc, source)


def time(default: str | None, *, doc: str, source: str = "the class") -> Any:
    """A parameter: a time such as "40us"; in methods an int, in picoseconds."""
    return Parameter("time", default, 0, math.inf, doc, source)


def size(default: str | None, *, doc: str, source: str = "the class") -> Any:
    """A parameter: a size such as "30KB"; in methods an int, in bytes."""
    return Parameter("size", default, 0, math.inf, doc, source)


def rate(default: str | None, *, doc: str, source: str = "the class") -> Any:
    """A parameter: a rate such as "10Gbps"; in methods an int, in bits per second."""
    return Parameter("rate", default, 0, math.inf, doc, source)


class Flow:
    """The flow that starts."""

    id: int
    src: int
    dst: int
    size_bytes: int
    start_ps: int
    deadline_ps: int
    """As a point in time; -1 without one."""


class Ack:
    """An acknowledgement that came outside of loss recovery."""

    packets: int
    """Packets that it newly acknowledges, cumulatively or selectively."""
    advanced: int
    """1 if the cumulative acknowledgement moved."""
    marked: int
    """1 if it echoes a mark."""
    una: int
    """The first packet that is not acknowledged."""
    next: int
    """The next packet that was never sent."""
    now_ps: int
    """When it came."""
    rtt_ps: int
    """The smoothed round-trip time; 0 before any is known."""


class Loss:
    """A loss that later packets' acknowledgements proved, or a timeout."""

    in_flight: int
    """Packets that were in flight."""
    again: int
    """1 if the retransmission timer expired before, and nothing has arrived since."""


class Window:
    """The congestion window, in packets."""

    cwnd: float
    """The window. Fractions count; of a packet that is begun nothing is sent."""
    ssthresh: float
    """The slow-start threshold."""
    in_slow_start: bool
    """Whether cwnd is below ssthresh."""

    def grow(self) -> None:
        """As RFC 5681 has it for an acknowledgement: by one packet in slow start, else by 1 / cwnd."""

    def shrink(self, fraction: float) -> None:
        """Gives up this fraction, but stays at two packets or more; slow start ends."""

    def halve_ssthresh(self, in_flight: int, least: int) -> None:
        """Sets ssthresh to half of what is in flight, and no less than `least` packets (RFC 5681 §3.1)."""

    def restart(self) -> None:
        """Sets the window to one packet (a timeout)."""


def cbrt(value: float) -> float:
    """The cube root, with the same bits on every machine. In a scheme's methods only."""
    raise NotImplementedError("cbrt is compiled with the scheme that calls it")


class CongestionControl:
    """The base of a congestion control: how a window reacts to acknowledgements and losses.

    A class declares parameters (`number`, `count`, ...), which are the same for all flows, and annotated fields with
    their initial values (`alpha: float = 1.0`; int, float or bool), which every flow has of its own. What a class does
    not define happens as in TCP NewReno (RFC 5681). The window's core does the rest as for packetloom's own: sending,
    selective acknowledgements, loss recovery, timeouts.
    """

    ecn: ClassVar[bool] = False
    """Whether its data packets may be marked instead of dropped."""

    def start(self, flow: Flow, window: Window) -> None:
        """A flow starts."""

    def acknowledged(self, ack: Ack, window: Window) -> None:
        """An acknowledgement came, outside of loss recovery. By default the window grows as in RFC 5681."""

    def lost(self, loss: Loss, window: Window) -> None:
        """A loss was found; loss recovery begins. By default the window is halved."""

    def timed_out(self, loss: Loss, window: Window) -> None:
        """The retransmission timer expired. By default the window restarts from one packet."""
