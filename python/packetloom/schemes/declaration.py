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
    rtt_sample_ps: int
    """The round-trip time that it measures; 0 if it measures none."""
    min_rtt_ps: int
    """The least round-trip time of the flow so far; 0 before any is known."""
    outstanding: int
    """Packets in flight that it does not acknowledge."""
    delivered_bytes: int
    """Payload delivered so far."""
    lost_bytes: int
    """Payload held lost so far."""
    prior_delivered_bytes: int
    """What was delivered when the packet was sent that it acknowledges: a round trip is over once this has reached
    `delivered_bytes` of its beginning."""
    delivery_rate_bps: float
    """How fast payload is delivered, measured over that packet's round trip; 0 where it can't be known."""
    app_limited: int
    """1 if the sender had nothing else to send when it sent that packet, so that the rate says little of the path."""
    limited_by: int
    """What kept the sender from sending more: 0 it had nothing to send, 1 the window, 2 the pacing rate."""


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
    pacing_rate_bps: float
    """How fast packets may leave, in bits of payload per second; 0, as at first: as the window lets them."""

    def grow(self) -> None:
        """As RFC 5681 has it for an acknowledgement: by one packet in slow start, else by 1 / cwnd."""

    def shrink(self, fraction: float) -> None:
        """Gives up this fraction, but stays at two packets or more; slow start ends."""

    def halve_ssthresh(self, in_flight: int, least: int) -> None:
        """Sets ssthresh to half of what is in flight, and no less than `least` packets (RFC 5681 §3.1)."""

    def restart(self) -> None:
        """Sets the window to one packet (a timeout)."""


class Route:
    """The way of a flow that starts."""

    rate_bps: float
    """The rate of the host's link."""
    base_rtt_ps: int
    """The network's longest round trip without queues, or the scenario's base_rtt."""
    bdp_bytes: int
    """What the link carries in that time."""
    mss_bytes: int
    """Payload of a full packet."""
    links: int
    """How many links lead to the receiver."""


class Answer:
    """An ACK, a NACK or a CNP."""

    packets: int
    """Packets newly known to have arrived; 0 in a CNP."""
    marked: int
    """1 if a mark came back."""
    acked_bytes: int
    """How far the receiver has all, in bytes of the flow; on a queue pair that flows before it used (`connections =
    "pool"`, `"in-order"`), in bytes of all of them."""
    sent_bytes: int
    """How far the sender has sent, in the same."""
    now_ps: int
    """When it came."""
    rtt_ps: int
    """How long ago the packet that it answers started; 0 in a CNP."""


class Drop:
    """A packet was lost."""

    timeout: int
    """1 if no answer came for too long, 0 if a NACK said so."""
    now_ps: int
    """When the sender learns of it."""


class Clock:
    """A moment."""

    now_ps: int
    """When it is."""


class Sent:
    """A packet that starts."""

    size_bytes: int
    """Its size on the wire, without framing."""
    now_ps: int
    """When it starts."""


class Pace:
    """The rate at which a queue pair's packets start, and how many bytes may be in flight."""

    rate_bps: float
    """The rate; above 0, and line_rate_bps at most. Fractions of a bit per second are cut off."""
    window_bytes: int
    """The bytes that may be in flight; without a bound until it is set, but for the scenario's own window."""
    line_rate_bps: float
    """The rate of the host's link."""
    base_rtt_ps: int
    """The network's longest round trip without queues, or the scenario's base_rtt."""
    hop_count: int
    """How many switches wrote into the packet that was answered; 0 but for a TelemetryControl."""

    def hop_link(self, hop: int) -> int:
        """The link after a switch, by its number in the network; hops are counted from 0. -1 if there is none."""
        raise NotImplementedError

    def hop_queue_bytes(self, hop: int) -> int:
        """What waited for that link as the packet left."""
        raise NotImplementedError

    def hop_sent_bytes(self, hop: int) -> int:
        """What the link had carried before."""
        raise NotImplementedError

    def hop_time_ps(self, hop: int) -> int:
        """When the packet left."""
        raise NotImplementedError

    def hop_rate_bps(self, hop: int) -> int:
        """The link's rate."""
        raise NotImplementedError


class Data:
    """A data packet that is about to be sent."""

    sent_bytes: int
    """What the flow has sent with it, retransmissions not counted."""
    size_bytes: int
    """Its size on the wire."""


class Labels:
    """The fields of a packet that switches use."""

    traffic_class: int
    """The traffic class, from 0 to 255."""
    priority: int
    """The priority: the smallest number goes first at a queue that schedules by it, such as pfabric."""


class Arrival:
    """A packet that arrives at a queue."""

    size_bytes: int
    """Its size on the wire, without framing."""
    flow: int
    src: int
    dst: int
    is_data: int
    """1 if it carries payload; 0 if it is an acknowledgement, a header that was trimmed, or the like."""
    traffic_class: int
    priority: int
    """As its sender wrote them."""
    markable: int
    """1 if its sender reacts to marks."""
    marked: int
    """1 if another switch has marked it."""
    now_ps: int
    """When it arrives."""


class Departure:
    """A packet that is to leave a queue."""

    size_bytes: int
    """Its size on the wire, without framing."""
    flow: int
    src: int
    dst: int
    is_data: int
    """1 if it carries payload."""
    traffic_class: int
    priority: int
    """As its sender wrote them."""
    markable: int
    """1 if its sender reacts to marks."""
    marked: int
    """1 if it has been marked."""
    lane: int
    """The lane that it comes from."""
    waited_ps: int
    """How long it has waited."""
    now_ps: int
    """When it leaves."""


class Queue:
    """A port's queue, in lanes that are first in, first out."""

    bytes: int
    """What waits in all lanes; the packet in service is not in the queue."""
    packets: int
    """How many packets wait."""
    rate_bps: int
    """The link's rate."""
    lanes: int
    """How many there are; they are counted from 0."""
    now_ps: int
    """The time."""

    def mark(self) -> None:
        """Marks the packet that arrives or leaves, if its sender reacts to marks."""

    def drop(self) -> None:
        """Drops it."""

    def drop_first(self, lane: int) -> None:
        """Drops the packet that would leave a lane first, in favour of others. Each call drops one more. They go
        once the method has returned, before the packet that arrives joins."""

    def trim(self) -> None:
        """Cuts off its payload, if it has one; the class says to how many bytes: `trim_to_bytes = 64`."""

    def lane_bytes(self, lane: int) -> int:
        """What waits in a lane; 0 if there is no such lane."""
        raise NotImplementedError

    def lane_packets(self, lane: int) -> int:
        """How many packets wait in a lane."""
        raise NotImplementedError

    def random(self, count: int) -> int:
        """A number from 0 to below `count`, drawn from the port's own stream: the same in every run of a seed."""
        raise NotImplementedError


class Outgoing:
    """A data packet that is sent now."""

    number: int
    """How many packets its flow has sent before it."""
    now_ps: int
    """When it is sent."""


class Fate:
    """What became of a packet."""

    path: int
    """The number that was chosen for it."""
    lost: int
    """1 if it was lost."""
    marked: int
    """1 if it arrived with a mark."""
    trimmed: int
    """1 if a switch cut off its payload."""
    sent_ps: int
    """When it was sent."""
    now_ps: int
    """When the sender learns of it."""


class Paths:
    """What a flow can choose from: numbers (entropies), each of which switches hash to a path."""

    count: int
    """How many there are; they are counted from 0."""

    def random(self, count: int) -> int:
        """A number from 0 to below `count`, drawn from the host's own stream: the same in every run of a seed."""
        raise NotImplementedError

    def bits(self) -> int:
        """64 bits from the same stream, as a whole number of either sign."""
        raise NotImplementedError


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

    classes: ClassVar[int] = 0
    """Into how many traffic classes `label` sorts packets; 0 if it leaves that to the workload."""

    def start(self, flow: Flow, window: Window) -> None:
        """A flow starts on a connection that has carried none before."""

    def resumed(self, flow: Flow, window: Window) -> None:
        """A flow starts on a connection that another has left (`connections = { kind = "pool" }`): fields and window
        are as they were then, but packets are numbered from 0 again. By default nothing changes."""

    def acknowledged(self, ack: Ack, window: Window) -> None:
        """An acknowledgement came, outside of loss recovery. By default the window grows as in RFC 5681."""

    def acknowledged_in_recovery(self, ack: Ack, window: Window) -> None:
        """An acknowledgement came in loss recovery: the one with which the loss was found, after `lost`, and those
        until all that was sent before is acknowledged. By default nothing changes."""

    def lost(self, loss: Loss, window: Window) -> None:
        """A loss was found; loss recovery begins. By default the window is halved."""

    def recovered(self, window: Window) -> None:
        """Loss recovery ends: all that was sent before it is acknowledged. `acknowledged` follows for the same
        acknowledgement. By default nothing changes."""

    def timed_out(self, loss: Loss, window: Window) -> None:
        """The retransmission timer expired. By default the window restarts from one packet."""

    def label(self, data: Data, labels: Labels) -> None:
        """A data packet is about to be sent. By default it has the workload's traffic class, and priority 0."""


class RateControl:
    """The base of a rate control of RDMA queue pairs: how marks, delays and losses set a flow's rate.

    Parameters and fields are declared as for a `CongestionControl`. What a class does not define changes nothing, so
    a class without methods sends at its link's rate. The queue pair's core does the rest as for packetloom's own:
    pacing, the NIC's turns, go-back-N or IRN, windows.
    """

    ecn: ClassVar[bool] = False
    """Whether it reacts to marks: its data packets may be marked, and receivers report that."""
    moves_pending: ClassVar[bool] = False
    """Whether a new rate moves a packet that waits for its time; otherwise it holds from the packet after that one."""

    def start(self, route: Route, pace: Pace) -> None:
        """A flow starts, at the scenario's initial rate, on a queue pair that has carried none before. On one that
        another has left (`connections = { kind = "pool" }`) it goes on with fields and pace as they were."""

    def answered(self, answer: Answer, pace: Pace) -> None:
        """An ACK, a NACK or a CNP came."""

    def lost(self, drop: Drop, pace: Pace) -> None:
        """A packet was lost."""

    def passed(self, clock: Clock, pace: Pace) -> None:
        """Time has passed: called before anything else happens to the flow, so that timers can be made up for."""

    def sent(self, sent: Sent, pace: Pace) -> None:
        """A packet of the flow starts."""


class TelemetryControl(RateControl):
    """A rate control whose packets collect telemetry (INT) from switches, which `Pace` shows in `answered`."""


class QueueRule:
    """The base of a queue's rule: which packets it takes, marks and trims, and which lane sends next.

    Parameters and fields are declared as for a `CongestionControl`; every port has fields of its own. Every packet is
    put to the rule, one that finds the link free, too.
    """

    lanes: ClassVar[int] = 1
    """How many lanes a port has, 255 at most."""
    marks: ClassVar[bool] = False
    """Whether it marks packets."""
    trim_to_bytes: ClassVar[int] = 0
    """What is left of a packet that it trims; 0 if it trims none."""

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        """A packet arrives. Returns its lane; numbers beyond the last lane mean the last. By default it is 0."""
        return 0

    def next(self, queue: Queue) -> int:
        """The link is free, and packets wait. Returns the lane to send from; one that is empty stands for the first
        after it that is not, round the end. By default it is 0, so that lanes are served strictly in order."""
        return 0

    def leaves(self, departure: Departure, queue: Queue) -> None:
        """A packet was taken from its lane, and is sent next unless it is dropped; then `next` is asked again."""


class PathChoice:
    """The base of a choice of paths: which number (entropy) each packet of a flow takes to its destination.

    Parameters and fields are declared as for a `CongestionControl`. Switches hash the number with the flow, so each
    stands for one path, and two may stand for the same.
    """

    keeps: ClassVar[bool] = False
    """Whether a flow keeps to its path until it fares badly. Then `judged` works under transports that report how flows
    fare, such as tcp and dctcp; otherwise it needs one that reports on each packet, such as nscc and eqds."""

    def choose(self, outgoing: Outgoing, paths: Paths) -> int:
        """The number for a packet that is sent now. Numbers of `paths.count` and above wrap around."""
        raise NotImplementedError

    def judged(self, fate: Fate, paths: Paths) -> None:
        """The sender learns what became of a packet of the flow."""
