"""Lone messages, and a few at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws, Span
from packetloom.validate.peers.agreement import Deviation, agreement, drawn
from packetloom.validate.peers.sird.runs import (
    BEFORE_HOSTS,
    FRAME_BYTES,
    PLACES,
    draws_of,
    our_peaks,
    scenario_of,
    source_of,
    their_peak,
)

LONE = {"lone_rack": "lone messages in a rack", "lone_x": "lone messages across racks"}
EACH = {
    "in_small": "messages of 50 and 300 KB beside one of 5 MB to a host",
    "two_out": "two messages of 10 MB from a host, 0.2 ms apart",
    "four_in": "four messages of 8 MB to a host, 0.2 ms apart",
}
"""Runs in which theirs says which message gets what."""
IN_ORDER = {"inc8_x": "incast of 8 messages of 0.5 MB"}
"""Messages of one size, of which the order there is that in which its sort leaves them."""
MANY = {"inc50": "incast of 50 messages of 0.1 MB", "perm32": "permutation of 32 messages of 2 MB"}
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean FCT in us": fmean,
    "FCT of the first message to end in us": min,
    "FCT of the last message to end in us": max,
}
LONE_WITHIN, FEW_WITHIN = 0.01, 0.02
WHY_ORDER = (
    "Theirs sorts messages anew for each credit, by std::sort, which gives more than 16 of one size another order each "
    "time: the first credits go to many senders, near and far, whose data meets. Here the oldest is first"
)
# In inc50: the first to end takes as long as if it were alone (`lone_rack.csv`); of two paths one packet each may meet.
ALONE_US, TWO_PACKETS_BYTES = 16.13, 2 * FRAME_BYTES


def few_comparisons() -> list[Check]:
    """All of them."""
    runs = LONE | EACH | IN_ORDER | MANY
    return [_check(run, f"SIRD's ns-2, SIRD, {text}") for run, text in runs.items()]


def _check(run: str, title: str) -> Check:
    def rows(results: Mapping[str, Results]) -> list[Row]:
        draws = draws_of(run, results["it"])
        if run in LONE:
            return list(_lone(run, title, draws))
        return [*_few(run, title, draws), *_queues(run, title, results["it"])]

    # What differs is told by all of `validate peers`; a test holds that what is quick agrees.
    return Check(f"sird-{run}", lambda folder: {"it": scenario_of(run, folder)}, rows, quick=run not in MANY)


def _lone(run: str, title: str, draws: Sequence[pl.DataFrame]) -> Iterator[Row]:
    for place, (size, theirs) in enumerate(draws[0].select("size_bytes", "theirs").iter_rows()):
        ours = tuple(float(draw["fct_ns"][place]) for draw in draws)
        what = f"{title}: FCT in ns of {size} B"
        yield _row(run, what, float(theirs), ours, LONE_WITHIN)


def _few(run: str, title: str, draws: Sequence[pl.DataFrame]) -> Iterator[Row]:
    theirs = [fct / 1e3 for fct in draws[0]["theirs"]]
    ours = [[fct / 1e3 for fct in draw["fct_ns"]] for draw in draws]
    if run in MANY:
        for name, statistic in STATISTICS.items():
            expected, found = statistic(theirs), [statistic(one) for one in ours]
            known = _by_order(run, expected, (ALONE_US, ALONE_US)) if statistic is min else None
            yield _row(run, f"{title}: {name}", expected, found, FEW_WITHIN, known)
        return
    if run in IN_ORDER:
        theirs, ours = sorted(theirs), [sorted(one) for one in ours]
    for place, expected in enumerate(theirs):
        which = f"to end as number {place + 1}" if run in IN_ORDER else f"number {place + 1}"
        what = f"{title}: FCT of the message {which} in us"
        yield _row(run, what, expected, [one[place] for one in ours], FEW_WITHIN)


def _queues(run: str, title: str, results: Results) -> Iterator[Row]:
    for place in PLACES:
        theirs, ours = their_peak(run, place), our_peaks(results, place)
        known = _by_order(run, theirs, (0.0, TWO_PACKETS_BYTES)) if place == BEFORE_HOSTS else None
        yield _row(run, f"{title}: {place}", theirs, ours, FEW_WITHIN, known)


def _by_order(run: str, theirs: float, span: Span) -> Deviation | None:
    """What lies in a span since messages of one size have an order here."""
    if run != "inc50":
        return None
    low, high = span
    return Deviation(WHY_ORDER, (low / theirs, high / theirs), measured=low != high)


def _row(
    run: str, what: str, theirs: float, ours: Sequence[float], within: float, known: Deviation | None = None
) -> Row:
    """Where no draw differs from another, chance decides nothing."""
    if len(set(ours)) == 1:
        return agreement(what, what, source_of(run), theirs, ours[0], within, known)
    return drawn(what, what, source_of(run), Draws((theirs,), tuple(ours)), within, known)
