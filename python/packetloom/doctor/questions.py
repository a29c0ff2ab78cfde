"""What is asked of a scheme in each situation, and from where on the answer is a good one.

The thresholds are absolute: they were not chosen for any scheme, and TCP fails one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from packetloom.common.quantities import significant
from packetloom.doctor import readings, situations
from packetloom.doctor.readings import Outcomes
from packetloom.doctor.situations import BDP_BYTES, Setting


@dataclass(frozen=True, slots=True)
class Question:
    """A number that is read from a situation. With a threshold, it is good or not; without, it is a number to know."""

    asks: str
    number: str
    """What the number is."""
    reads: Callable[[Outcomes], float]
    shows: Callable[[float], str]
    least: float | None = None
    most: float | None = None

    @property
    def threshold(self) -> str:
        """From where on the answer is good, in words; empty without a threshold."""
        if self.least is not None:
            return f"{_round(self.shows(self.least))} or more"
        return "" if self.most is None else f"{_round(self.shows(self.most))} or less"

    def is_good(self, value: float) -> bool | None:
        """Whether the answer is; nothing without a threshold."""
        if self.least is not None:
            return value >= self.least
        return None if self.most is None else value <= self.most


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation: one setting or several, and what is asked of them together."""

    name: str
    about: str
    settings: Mapping[str, Setting]
    questions: tuple[Question, ...]


def _round(text: str) -> str:
    """A threshold without the zeros behind its point: 2 times, not 2.00 times."""
    number, space, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{space}{unit}"


def percent(share: float) -> str:
    """98 %."""
    return f"{100 * share:.0f} %"


def size(size_bytes: float) -> str:
    """12.3 KB."""
    return f"{significant(size_bytes / 1e3, 3) if size_bytes else 0} KB"


def milliseconds(time_ms: float) -> str:
    """2.2 ms, or never."""
    return "never" if time_ms == float("inf") else f"{significant(time_ms, 2)} ms"


def times(ratio: float) -> str:
    """1.3 times."""
    return f"{significant(ratio, 3)} times"


def index(value: float) -> str:
    """0.998."""
    return f"{value:.3f}"


def count(value: float) -> str:
    """1,234."""
    return f"{value:,.0f}"


_PATH = (
    f"The path has 40 Gb/s at its ends and {situations.LINK_GBPS} Gb/s in between, with {situations.BUFFER} before "
    "that link, and a round trip takes 23 us."
)

SITUATIONS = (
    Situation(
        "A lone flow",
        f"One flow sends for {situations.LONE_MS} ms. {_PATH} So the link carries about "
        f"{size(BDP_BYTES)} in a round trip, and a queue of as much doubles it.",
        {"": situations.LONE},
        (
            Question(
                "fills the link",
                "share of the time that it is busy, packets sent again included",
                readings.utilisation,
                percent,
                least=0.9,
            ),
            Question("keeps the queue short", "mean queue", readings.mean_queue_bytes, size, most=BDP_BYTES),
            Question("queue, 99 %", "what it does not exceed for 99 % of the time", readings.p99_queue_bytes, size),
        ),
    ),
    Situation(
        "Two flows",
        f"A second flow joins after {situations.SECOND_STARTS_MS} ms, from another host to another, and both send "
        f"until {situations.TWO_END_MS} ms. {_PATH} Jain's index is that of what the two got while both sent: 1 if "
        f"it was the same, 0.5 if one got nothing. The second has its fair share where its mean over "
        f"{readings.FAIR_FOR_MS} ms is within {percent(readings.WITHIN)} of half the link.",
        {"": situations.TWO},
        (
            Question("is fair", "Jain's index", readings.jain, index, least=0.95),
            Question("fair share after", "from the second flow's start", readings.ms_until_fair, milliseconds),
        ),
    ),
    Situation(
        "Incast",
        f"{situations.INCAST_SENDERS} hosts of a rack send {size(situations.INCAST_BYTES)} each to one, at once, "
        f"{situations.INCAST_EVENTS} times, {situations.INCAST_EVERY_MS} ms apart. The ideal is that the receiver's "
        f"link, of {situations.LINK_GBPS} Gb/s with {situations.BUFFER} before it, is busy until the last byte.",
        {"": situations.INCAST},
        (
            Question("bears incast", "time it takes, over the ideal", readings.incast_over_ideal, times, most=2.0),
            Question("drops in incast", "packets dropped in all", partial(readings.counter, "drops"), count),
            Question("timeouts in incast", "of all flows", partial(readings.counter, "timeouts"), count),
        ),
    ),
    Situation(
        "Random loss",
        f"A lone flow of {situations.LOSSY_BYTES // 10**6} MB, and of the packets on the link in between one in "
        f"{1 / situations.LOST_SHARE:.0f} is damaged, in either direction. {_PATH} It has "
        f"{situations.LOSSY_LIMIT_MS} ms, ten times what it needs.",
        {"": situations.LOSS},
        (Question("bears random loss", "goodput over the link's rate", readings.goodput_share, percent, least=0.8),),
    ),
    Situation(
        "Reordering",
        f"The 16 hosts of a fat-tree send {situations.SPRAYED_BYTES // 10**6} MB each to another, once by per-flow "
        "ECMP and once with each packet on a path drawn at random, so that packets overtake each other. They have "
        f"{situations.SPRAYED_LIMIT_MS} ms.",
        {"ECMP": situations.BY_ECMP, "sprayed": situations.BY_SPRAYING},
        (Question("bears reordering", "goodput over that by ECMP", readings.sprayed_over_ecmp, percent, least=0.9),),
    ),
    Situation(
        "A dead link",
        f"Two flows of {situations.DEAD_FLOW_BYTES // 10**6} MB share a link that is dead from "
        f"{situations.DEAD_FROM_MS} ms to {situations.DEAD_UNTIL_MS} ms. {_PATH} The time lost is how much later the "
        "last flow ends than if the link were busy whenever it is up: timeouts double, so a sender can sleep as long "
        f"again as the link was dead. They have {situations.DEAD_LIMIT_MS} ms.",
        {"": situations.DEAD_LINK},
        (
            Question(
                "bears a dead link",
                "time lost beside the outage",
                readings.ms_lost_beside_outage,
                milliseconds,
                most=situations.DEAD_UNTIL_MS - situations.DEAD_FROM_MS,
            ),
        ),
    ),
)
