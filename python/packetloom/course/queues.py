"""Exercises of "Queues and waiting"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from packetloom.campaign.api import run
from packetloom.common.percentiles import p99
from packetloom.course.marks import NO_ANSWER, Mark, function, is_missing, number, right, wrong
from packetloom.validate.theory.formulas import fifo_waiting

PACKET_US = 12.0
"""A packet of 1500 B on a link of 1 Gb/s."""
P99_LIMIT_US = 100.0
STEP = 0.05


def check_predicted_wait(answer: Any) -> Mark:
    """The mean wait in us of M/D/1 at load 0.95, with 12 us a packet."""
    expected = fifo_waiting(0.95, PACKET_US, PACKET_US**2)
    return number(
        answer,
        expected,
        within=0.02,
        hint="Put the load into ρ / (1 − ρ), and remember that packets of one size wait half as long as that says.",
        praise="From load 0.9 to 0.95 the wait doubles: the spare capacity, 1 − ρ, is halved.",
    )


def check_waiting(answer: Callable[[float, float, float], Any]) -> Mark:
    """Pollaczek and Khinchine's mean wait as a function of load, mean and second moment of the service time."""
    moments = [(0.5, 12.0, 144.0), (0.7, 10.0, 200.0), (0.9, 120.0, 90_000.0), (0.1, 1.0, 1.5)]
    return function(
        answer,
        [(case, fifo_waiting(*case)) for case in moments],
        within=0.001,
        hint="It is λ E[S²] / (2 (1 − ρ)), with λ = ρ / E[S].",
        praise="The second moment is what tells one workload from another here, not the mean.",
    )


def check_backlog(answer: Callable[[pl.DataFrame, float], Any]) -> Mark:
    """Little's law on a table of flows: the mean number of packets that wait."""
    flows = pl.DataFrame({"fct_ns": [14_000.0, 26_000.0, 20_000.0], "best_fct_ns": [14_000.0, 14_000.0, 14_000.0]})
    other = pl.DataFrame({"fct_ns": [15_000.0, 15_000.0], "best_fct_ns": [14_000.0, 14_500.0]})
    return function(
        answer,
        [((flows, 36_000.0), 0.5), ((other, 3_000.0), 0.5)],
        within=0.001,
        hint="Add up how long each waited (fct_ns − best_fct_ns), and divide by the time over which they came.",
        praise="L = λW: the sum of the waits over the time is the arrival rate times the mean wait.",
    )


def check_load_for_tail(answer: Any) -> Mark:
    """The greatest load, to within 0.05, at which 99 % of the packets wait at most 100 us: found by simulation."""
    if is_missing(answer):
        return Mark(False, NO_ANSWER)
    if not isinstance(answer, int | float) or not 0 < answer < 1:
        return wrong("A load is a number between 0 and 1.")
    at, above = (_p99_wait_us(min(load, 0.99)) for load in (float(answer), float(answer) + STEP))
    if at > P99_LIMIT_US:
        return wrong(f"At load {answer:g} the p99 of the wait is {at:.0f} us.")
    if above <= P99_LIMIT_US:
        return wrong(f"At load {answer + STEP:g} it is still only {above:.0f} us: the link can carry more.")
    return right(f"The p99 of the wait is {at:.0f} us at load {answer:g}, and {above:.0f} us at {answer + STEP:g}.")


def _p99_wait_us(load: float) -> float:
    scenario = {
        "topology": {"kind": "rack", "hosts": 2, "link": {"rate": "1Gbps", "delay": "1us"}},
        "workload": [{"sizes": {"kind": "constant", "size": "1460B"}, "pattern": {"kind": "pair", "src": 0, "dst": 1}}],
        "scheme": [{"name": "FIFO", "transport": "fixed-window", "queue": "drop-tail"}],
        "run": {"loads": [load], "flows": 20_000, "seeds": 3},
    }
    flows = run(scenario, progress=False).to_polars("flows")
    return p99(flows["fct_ns"] - flows["best_fct_ns"]) / 1e3
