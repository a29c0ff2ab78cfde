"""Exercises of "Scheduling"."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from packetloom.course.marks import NO_ANSWER, Mark, function, is_missing, number, right, wrong
from packetloom.validate.theory.formulas import processor_sharing_slowdown

Job = tuple[float, float]
"""When a job arrives, and how long it takes."""
MOST_JOBS = 20


def check_sharing(answer: Any) -> Mark:
    """The slowdown of M/G/1 with processor sharing at load 0.9."""
    return number(
        answer,
        processor_sharing_slowdown(0.9),
        within=0.01,
        hint="It is 1 / (1 − ρ), whatever the distribution of the sizes.",
        praise="For each size: that is what fair means here.",
    )


def fcfs(starts: ArrayLike, services: ArrayLike) -> NDArray[np.float64]:
    """The completion times of jobs in order of arrival, first come first served (Lindley's recursion)."""
    ends = np.empty(len(np.asarray(starts)))
    free = 0.0
    for job, (start, service) in enumerate(zip(np.asarray(starts), np.asarray(services), strict=True)):
        free = max(free, float(start)) + float(service)
        ends[job] = free
    return ends


def check_fcfs(answer: Callable[[Sequence[float], Sequence[float]], Any]) -> Mark:
    """When each job ends, first come first served."""
    cases = [([0.0, 1.0, 2.0], [5.0, 1.0, 1.0]), ([0.0, 10.0], [5.0, 1.0]), ([3.0, 3.0, 20.0], [2.0, 4.0, 1.0])]
    for starts, services in cases:
        try:
            given = answer(starts, services)
        except Exception as error:
            return wrong(f"fcfs({starts}, {services}) raised {type(error).__name__}: {error}")
        if is_missing(given):
            return Mark(False, NO_ANSWER)
        expected = fcfs(starts, services)
        if np.shape(given) != expected.shape or not np.allclose(np.asarray(given, float), expected):
            return wrong(
                f"fcfs({starts}, {services}) gives {list(np.atleast_1d(given))}. "
                "A job begins when it has arrived and the one before it has ended."
            )
    return right("This is Lindley's recursion (1952).")


def srpt_mean(jobs: Sequence[Job]) -> float:
    """The mean response time of jobs, in order of arrival, if the one with the least left always runs."""
    waiting: list[tuple[float, float]] = []
    now = total = 0.0
    for index in range(len(jobs) + 1):
        until = jobs[index][0] if index < len(jobs) else float("inf")
        while waiting and now < until:
            left, arrival = heapq.heappop(waiting)
            if now + left > until:
                heapq.heappush(waiting, (left - (until - now), arrival))
                break
            now += left
            total += now - arrival
        now = max(now, until)
        if index < len(jobs):
            heapq.heappush(waiting, (jobs[index][1], jobs[index][0]))
    return total / len(jobs)


def check_srpt(answer: Callable[[Sequence[Job]], Any]) -> Mark:
    """The mean response time under SRPT."""
    cases: list[Sequence[Job]] = [
        [(0, 10), (1, 2), (2, 1)],
        [(0, 4), (1, 5), (2, 1), (20, 3)],
        [(0, 3), (0, 1), (0, 2)],
        [(0, 10), (9, 5)],
    ]
    return function(
        answer,
        [((case,), srpt_mean(case)) for case in cases],
        within=0.001,
        hint="At each arrival and each end, the job with the least left goes on; an interrupted one loses nothing.",
        praise="No order has a smaller mean (Schrage, 1968).",
    )


def losers(shortest: pl.DataFrame, shared: pl.DataFrame) -> float:
    """The share of flows that take longer in the first table than in the second."""
    both = shortest.join(shared, on=["seed", "flow_id"], suffix="_shared")
    return float((both["fct_ns"] > both["fct_ns_shared"]).mean())  # type: ignore[arg-type]


def check_losers(answer: Callable[[pl.DataFrame, pl.DataFrame], Any]) -> Mark:
    """The share of the flows that SRPT serves worse than sharing does."""
    keys = {"seed": [1, 1, 2, 2], "flow_id": [0, 1, 0, 1]}
    shortest = pl.DataFrame(keys | {"fct_ns": [5.0, 30.0, 7.0, 3.0]})
    shared = pl.DataFrame(keys | {"fct_ns": [10.0, 20.0, 7.0, 9.0]}).reverse()
    return function(
        answer,
        [((shortest, shared), 0.25), ((shared, shortest), 0.5)],
        within=0.001,
        hint='Join the tables on "seed" and "flow_id": rows need not be in the same order.',
    )


def met(jobs: Sequence[Job], order: Callable[[Job], float]) -> int:
    """How many of the jobs (how long each takes, and by when it should end) are in time, if served in this order."""
    now, count = 0.0, 0
    for takes, deadline in sorted(jobs, key=order):
        now += takes
        count += now <= deadline
    return count


def check_overload(answer: Any) -> Mark:
    """Jobs that all come at once, of which shortest first gets more in time than earliest deadline first."""
    if is_missing(answer):
        return Mark(False, NO_ANSWER)
    try:
        jobs = [(float(takes), float(deadline)) for takes, deadline in answer]
    except (TypeError, ValueError):
        return wrong("Give a list of pairs: how long a job takes, and its deadline.")
    if not 0 < len(jobs) <= MOST_JOBS or min(takes for takes, _ in jobs) <= 0:
        return wrong(f"Give 1 to {MOST_JOBS} jobs, each of which takes some time.")
    earliest, shortest = met(jobs, lambda job: job[1]), met(jobs, lambda job: job[0])
    if shortest > earliest:
        return right(
            f"EDF meets {earliest} of {len(jobs)} deadlines and shortest first {shortest}: EDF spends its time on a "
            "job that is late anyway."
        )
    return wrong(
        f"EDF meets {earliest} of {len(jobs)} deadlines, shortest first {shortest}. Can all be met? Then EDF does."
    )
