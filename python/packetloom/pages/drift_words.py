"""What is said of it: before a comparison that rests on cases which drift, and below one which does not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from packetloom.common.quantities import in_percent, said, significant
from packetloom.pages.measures import Condition, Measure, Question
from packetloom.stats.steadiness.diagnosis import LEVEL, Steadiness
from packetloom.stats.summary import ALL_SIZES

MUCH_LONGER = 1.1
"""Arrivals of other lengths than this ratio are said to be of several."""
MOST_NAMED = 2
Point = tuple[str, Condition, Steadiness]
Piece = tuple[Literal["text", "name", "number"], str, tuple[str, Condition] | None]
"""A part of a sentence; of a number also whose it is, under which condition."""


def points(question: Question, bin: str = ALL_SIZES) -> list[Point]:
    """What is known of each competitor under each condition, the hardest first."""
    places = {condition: place for place, condition in enumerate(question.conditions)}
    found = [
        (*key, by_bin[bin])
        for key, by_bin in question.steadiness.items()
        if bin in by_bin and key[0] in question.entities and key[1] in places
    ]
    return sorted(found, key=lambda point: -places[point[1]])


def by_size(question: Question, steady: bool | None) -> list[Point]:
    """The sizes of flows of which this is so, in cases of which as a whole it is not."""
    bins = dict.fromkeys(bin for by_bin in question.steadiness.values() for bin in by_bin if bin != ALL_SIZES)
    said = {point[:2] for point in points(question) if point[2].steady is steady}
    return [
        point for bin in bins for point in points(question, bin) if point[2].steady is steady and point[:2] not in said
    ]


def not_steady(question: Question) -> Iterator[Piece]:
    """Which cases drift, and by how much; nothing if none does."""
    found = [point for point in points(question) if point[2].steady is False] + by_size(question, False)
    if not found:
        return
    arrivals = [one.arrivals_ns for _, _, one in found]
    shortest, longest = min(arrivals), max(arrivals)
    yield "text", "Not steady: ", None
    for place, (entity, condition, one) in enumerate(found[:MOST_NAMED]):
        yield "text", "; " if place else "", None
        yield "text", "under ", None
        yield "name", entity, None
        comma = "," if condition.where and not one.kind and one.state in ("cut off", "draining") else ""
        yield "text", f"{condition.where and f' {condition.where}'}{one.kind and f', of {one.kind},'}{comma} ", None
        yield from _what(one, (entity, condition))
    if len(found) > MOST_NAMED:
        yield "text", f"; and {len(found) - MOST_NAMED} more case{'s' if len(found) > MOST_NAMED + 1 else ''}", None
    if longest > MUCH_LONGER * shortest:
        lasting, time = f"{said(shortest, 'ns')} to {said(longest, 'ns')}", "these times"
    else:
        lasting, time = said(longest, "ns"), "that time"
    yield "text", f". Arrivals last {lasting}: what follows holds for {time} alone.", None


def _what(one: Steadiness, place: tuple[str, Condition]) -> Iterator[Piece]:
    """What is wrong with a case."""
    match one.state:
        case "cut off":
            yield "number", in_percent(one.unfinished), place
            yield "text", " of them never finished" if one.kind else " of the flows never finished", None
            if one.hopeless:
                yield "text", f" ({in_percent(one.hopeless)} had less time than they take alone)", None
        case "draining":
            yield "number", in_percent(one.drained), place
            whose = "their" if one.kind else "the flows'"
            yield "text", f" of {whose} time lies after the last arrival, while traffic drains", None
        case "starting":
            yield "text", "the start shows: the first tenth of the flows differ from the rest by ", None
            yield "number", percent(one.start.value), place
            cut = f", and MSER-5 cuts off {said(one.transient_ns, 'ns')}" if one.transient_ns else ""
            yield "text", f" of the mean{cut}", None
        case state:
            does = "rise to the end" if state == "growing" else "drift"
            yield (
                "text",
                f"slowdowns {does}, from {significant(one.first, 3)} in the first third of the flows to ",
                None,
            )
            yield "number", significant(one.last, 3), place
            low, high = one.drift.value - one.drift.half, one.drift.value + one.drift.half
            yield "text", f" in the last ({percent(low)} to {percent(high)} of the mean, at 95 %)", None


def percent(share: float) -> str:
    """A share with its sign."""
    return in_percent(share, signed=True).replace("-", "−")


def warning(question: Question) -> str:
    """The same as plain text; empty if nothing drifts."""
    return "".join(text for _, text, _ in not_steady(question))


def how_steady(question: Question) -> str:
    """What the tests found where nothing drifts, and which cases are too short for them; empty without any case."""
    found = points(question)
    if not found:
        return ""
    short = [point for point in found if point[2].steady is None]
    drifting = [point for point in found if point[2].steady is False]
    level = f"t tests at {100 * LEVEL:g} % for {_cases(len(found))}{' together' if len(found) > 1 else ''}"
    too_short = _too_short(short + by_size(question, None))
    if len(short) + len(drifting) == len(found):
        return too_short
    seen = max(one.drift.half for _, _, one in found if one.steady)
    quiet = len(found) - len(short) - len(drifting)
    which = f"{quiet} of the cases {'does' if quiet == 1 else 'do'} not" if drifting or short else "no case"
    does = "drifts" if which == "no case" else "drift"
    whole = "Over all flows" if by_size(question, False) else "Steady:"
    steady = f"{whole} {which} {does} over the run ({level}; a drift of {in_percent(seen)} would show)."
    return " ".join(part for part in (steady, too_short) if part)


def _too_short(short: Sequence[Point]) -> str:
    """The whole case comes before its sizes, and what is seen least before what takes long."""
    if not short:
        return ""
    entity, condition, one = max(short, key=_urgency)
    where = f"{entity}{condition.where and f' {condition.where}'}"
    whole = f"{one.kind} under {where}" if one.kind else where
    more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
    lasts, took = said(one.arrivals_ns, "ns"), said(one.slowest_ns, "ns")
    longer = f"run {significant(math.ceil(10 * one.missing) / 10, 3)} times as long, or longer"
    why = (
        f"could drift by {in_percent(one.drift.half)} of the mean unseen; run more flows or seeds"
        if one.is_blind
        else f"arrive for {lasts}, and their slowest one in a hundred takes {took}; {longer}"
        if one.kind
        else f"has arrivals for {lasts}, and the slowest flow in a hundred takes {took}; {longer}"
    )
    return f"Too short to tell whether it is steady: {whole}{more} {why}."


def _urgency(point: Point) -> tuple[bool, bool, float]:
    one = point[2]
    return not one.kind, one.is_blind, one.drift.half if one.is_blind else one.missing


def _cases(count: int) -> str:
    return "one case" if count == 1 else f"all {count} cases"


def drift_of(question: Question, measure: Measure, entity: str, condition: Condition) -> float:
    """How far a case drifts, as a fraction of its mean; 0 if it is not known to."""
    one = _diagnosis(question, measure, entity, condition)
    return one.size if one else 0.0


def trend(question: Question, measure: Measure, entity: str, condition: Condition) -> str:
    """Whether slowdowns are rising or falling over the run, so that a longer one has others; empty if not known to."""
    one = _diagnosis(question, measure, entity, condition)
    if one is None or one.state not in ("growing", "drifting") or not measure.lower_is_better:
        return ""
    return "rising" if one.drift.value > 0 else "falling"


def _diagnosis(question: Question, measure: Measure, entity: str, condition: Condition) -> Steadiness | None:
    by_bin: Mapping[str, Steadiness] = question.steadiness.get((entity, condition), {})
    return by_bin.get(measure.bin) or by_bin.get(ALL_SIZES)
