"""Exercises of the lab: incast, buffers, ECN, balancing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from packetloom.course.marks import Mark, function, number

RATE_BPS = 1e9
RTT_S = 231e-6
"""Of the path of sections 2 and 3, a packet's own times included."""


def check_first_to_lose(answer: Any) -> Mark:
    """How many hosts it takes to overflow 150 KB with their first windows alone."""
    return number(
        answer,
        150_000 // (10 * 1500) + 1,
        within=0.0,
        hint="A first window is ten packets of 1500 B. How many of them fit, and how many are one too many?",
        praise="With fewer it overflows, too: the second windows are twice as large.",
    )


def check_delay(answer: Callable[[float, float], Any]) -> Mark:
    """What a full buffer adds to a round trip."""
    cases = [((60e3, 1e9), 60e3 * 8 / 1e9), ((1e6, 100e9), 8e6 / 100e9), ((150e3, 10e9), 1.2e6 / 10e9)]
    return function(
        answer,
        cases,
        within=0.01,
        hint="All that waits has to be sent at the link's rate. Bytes are eight bits; the answer is in seconds.",
        praise="60 KB at 1 Gb/s are half a millisecond, which is twice the round trip of this path.",
    )


def check_threshold(answer: Any) -> Mark:
    """The threshold in bytes above which a link with marks is never idle, by DCTCP's authors."""
    return number(
        answer,
        RATE_BPS * RTT_S / 8 / 7,
        within=0.05,
        hint="A seventh of the bandwidth-delay product: 1 Gb/s times 231 us, in bytes.",
        praise="Three packets or so: hold it against the slider.",
    )


def all_apart(flows: int, paths: int) -> float:
    """How likely it is that flows that draw paths at random all draw different ones."""
    return math.prod((paths - drawn) / paths for drawn in range(flows))


def check_all_apart(answer: Callable[[int, int], Any]) -> Mark:
    """The chance that a hash puts no two flows on one path."""
    return function(
        answer,
        [(case, all_apart(*case)) for case in ((4, 4), (2, 8), (8, 8), (1, 3))],
        within=0.001,
        hint="The first flow may have any path, the second all but one of them, the third all but two.",
        praise="For four flows on four paths it is 9 %: most hashes are bad luck for somebody.",
    )
