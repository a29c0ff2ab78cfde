"""The report's table of it: every case, with the tests' numbers."""

from __future__ import annotations

import math

from packetloom.common.quantities import in_percent, said, significant
from packetloom.pages.drift_words import percent, points
from packetloom.pages.html import Page
from packetloom.pages.measures import Question
from packetloom.pages.sentences import Row, steadiness_row
from packetloom.stats.steadiness.diagnosis import Steadiness
from packetloom.stats.summary import ALL_SIZES

STATES = {
    "starting": "no: the start shows",
    "drifting": "no: it drifts",
    "growing": "no: it rises to the end",
    "draining": "no: it drains",
    "cut off": "no: it is cut off",
    "too short": "too short to tell",
    "steady": "yes",
}
HEADER = [
    "steady",
    "first\nthird",
    "last\nthird",
    "drift",
    "95 % interval",
    "first tenth\nand the rest",
    "p (Holm)",
    "MSER-5\ncuts off",
    "warm-up",
    "arrivals\nlast",
    "after the\nlast arrival",
    "never\nfinished",
    "slowest\nof 100",
]


def write_steadiness(page: Page, question: Question) -> None:
    """A line for each scheme, condition and size of flows that is diagnosed."""
    bins = list(dict.fromkeys(bin for by_bin in question.steadiness.values() for bin in by_bin))
    if not bins:
        return
    page.heading("Is it steady?")
    has_condition = any(condition.text for _, condition in question.steadiness)
    _table(page, question, ALL_SIZES, has_condition)
    page.text(
        "Slowdowns by when flows start, over all seeds. Drift: the last third's mean less the first's, as a part of "
        "the mean. It and the first tenth's difference from the rest are held against how batches of flows vary at low "
        "frequencies (t tests, 2 % for both, after Holm's correction over all lines). MSER-5: what to cut off the "
        "start. After the last arrival: the share of flows' time in which traffic drains. Slowest of 100: the 99th "
        "percentile of completion times; arrivals have to last for four times as long.",
        note=True,
    )
    others = [bin for bin in bins if bin != ALL_SIZES]
    if others:
        with page.fold("The same by flow size"):
            page.text("Holm's correction is over all lines of these tables together.", note=True)
            for bin in others:
                page.text(f"Flow sizes: {bin}")
                _table(page, question, bin, has_condition)


def _table(page: Page, question: Question, bin: str, has_condition: bool) -> None:
    rows, holds = [], []
    for entity, condition, one in points(question, bin):
        rows.append([*([condition.text] if has_condition else []), entity, *_cells(one)])
        holds.append(steadiness_row(entity, condition) if bin == ALL_SIZES else None)
    first = ["at", "scheme"] if has_condition else ["scheme"]
    kept: list[Row | None] = list(holds)
    page.table([*first, *HEADER], rows, text_columns=len(first) + 1, holds=kept if bin == ALL_SIZES else ())


def _cells(one: Steadiness) -> list[str]:
    drift = one.drift
    return [
        STATES[one.state],
        *("–" if math.isnan(third) else significant(third, 3) for third in (one.first, one.last)),
        *(
            (percent(drift.value), f"{percent(drift.value - drift.half)} to {percent(drift.value + drift.half)}")
            if math.isfinite(drift.half)
            else ("–", "–")
        ),
        percent(one.start.value),
        "< 0.001" if one.p < 0.001 else f"{one.p:.3f}",
        said(one.transient_ns, "ns") if one.transient_ns else "0",
        said(one.warm_up_ns, "ns"),
        said(one.arrivals_ns, "ns"),
        in_percent(one.drained),
        in_percent(one.unfinished),
        said(one.slowest_ns, "ns") if math.isfinite(one.slowest_ns) else "–",
    ]
