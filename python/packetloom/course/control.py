"""Exercises of "Congestion control"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from packetloom.common.fairness import jain
from packetloom.course.marks import NO_ANSWER, Mark, function, is_missing, number, right, wrong

RATE_BPS = 1e9
RTT_S = 231e-6
"""Of the course's path: four links of 50 us and four of 1 us there and back, and a packet's time on each."""
DCTCP_GAIN = 1 / 16
ROUNDS = 2_000


def check_buffer(answer: Any) -> Mark:
    """The buffer in bytes with which one TCP flow keeps the link busy: rate times round trip."""
    return number(
        answer,
        RATE_BPS * RTT_S / 8,
        within=0.05,
        hint="Half of BDP + buffer must still be a BDP: the window after a loss has to fill the link. In bytes.",
        praise="A buffer of one bandwidth-delay product: the rule of thumb for a single flow.",
    )


def utilisation(buffer: float) -> float:
    """What a single AIMD flow uses of a link, whose buffer is this part of the BDP.

    The window grows from (1 + b)/2 to 1 + b BDPs, by as much each round trip. Below one BDP the link is not full.
    """
    below = max(1 - buffer, 0) / 2
    start = max((1 + buffer) / 2, 1)
    full = ((1 + buffer) ** 2 - start**2) / 2
    sent_below = below * (1 + (1 + buffer) / 2) / 2
    return (sent_below + full) / (below + full)


def check_utilisation(answer: Callable[[float], Any]) -> Mark:
    """The share of the link that one AIMD flow uses, by its buffer as a part of the BDP."""
    return function(
        answer,
        [((buffer,), utilisation(buffer)) for buffer in (0.0, 0.25, 0.5, 0.9, 1.0)],
        within=0.005,
        hint="Below one BDP a round trip lasts one RTT and brings w; above, it lasts w RTTs and brings w.",
        praise="Without any buffer three quarters of the link are used.",
    )


def check_fairness(answer: Callable[[float, float], Any]) -> Mark:
    """A round of AIMD for two flows on a link of rate 1: from any start the rates become alike, and fill the link."""
    try:
        first = answer(0.9, 0.05)
    except Exception as error:
        return wrong(f"It raised {type(error).__name__}: {error}")
    if is_missing(first):
        return Mark(False, NO_ANSWER)
    for x, y in ((0.9, 0.05), (0.2, 0.7), (0.01, 0.3)):
        total = index = 0.0
        for round in range(ROUNDS):
            try:
                x, y = map(float, answer(x, y))
            except (TypeError, ValueError):
                return wrong("Give two numbers, the rates of the next round.")
            if min(x, y) < 0 or x + y > 1.5:
                return wrong(f"Rates of {x:.2f} and {y:.2f} on a link of rate 1?")
            if round >= ROUNDS // 2:
                total += x + y
                index += jain(np.array((x, y))) if x + y > 1e-9 else 0
        index, total = index / (ROUNDS // 2), total / (ROUNDS // 2)
        if index < 0.99:
            return wrong(f"In the end the rates are unequal (Jain's index {index:.2f}). What brings them together?")
        if total < 0.6:
            return wrong(f"In the end only {total:.0%} of the link is used.")
    return right(
        "Adding keeps the difference, and halving halves it: so the difference dies out (Chiu and Jain, 1989)."
    )


def check_threshold(answer: Callable[[float, float], Any]) -> Mark:
    """DCTCP's marking threshold in bytes, by rate and round trip."""
    cases = [(1e9, 1e-3), (10e9, 100e-6), (40e9, 50e-6)]
    return function(
        answer,
        [(case, case[0] * case[1] / 8 / 7) for case in cases],
        within=0.01,
        hint="K > C × RTT / 7, in bytes (DCTCP, SIGCOMM 2010, §3.4).",
        praise="A seventh of a BDP, where TCP needs a whole one.",
    )


def check_dctcp(answer: Callable[[float, float, float], Any]) -> Mark:
    """DCTCP's window after a round trip with marks: window, alpha before, share of marked packets."""

    def expected(window: float, alpha: float, marked: float) -> float:
        return window * (1 - (alpha + DCTCP_GAIN * (marked - alpha)) / 2)

    cases = [(40.0, 0.0, 1.0), (40.0, 1.0, 1.0), (100.0, 0.2, 0.05), (10.0, 0.5, 0.5)]
    return function(
        answer,
        [(case, expected(*case)) for case in cases],
        within=0.001,
        hint="First α ← (1 − g) α + g F with g = 1/16, then W ← W (1 − α / 2): RFC 8257, §3.3.",
        praise="A few marks cost little; round trips full of marks, one after another, cost half the window each.",
    )
