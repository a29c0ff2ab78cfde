"""The page: the table, the thresholds, and a figure for each situation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from packetloom import _core
from packetloom.common.build import build_text, this_build
from packetloom.doctor import readings
from packetloom.doctor.examination import Examination
from packetloom.doctor.questions import SITUATIONS, Situation
from packetloom.doctor.readings import BOTTLENECK, Outcomes
from packetloom.doctor.situations import SAMPLE_US
from packetloom.pages.html import Page
from packetloom.pages.panels import Curve, Dots, Mark, Panel, panel_json
from packetloom.stats.curves import Style, style_at
from packetloom.store.outcome import Outcome

SMOOTHED = 10
"""Samples of a rate over time that are drawn as one point: 1 ms."""
TIME = "time, ms"

Entry = tuple[str, Style, Outcomes]
"""A contestant that survived: its name, its look and what came of it."""


def doctor_page(examination: Examination) -> Page:
    """The page of an examination."""
    page = Page(f"{examination.own.name}: how it does")
    page.text(_what_ran(examination))
    header, lines = table(examination)
    page.table(["", "the number is", *header[1:]], _with_meanings(lines), text_columns=4)
    page.text(
        "The verdict is on the first scheme; what has no threshold is a number to know. The thresholds are the same "
        "for all schemes. A scheme does not survive a situation in which a run ends with an error or can make no "
        "progress, or in which a flow has not ended when the time is up.",
        note=True,
    )
    page.list(failure_lines(examination))
    for situation in SITUATIONS:
        page.heading(situation.name)
        page.text(situation.about, note=True)
        if panels := list(_panels(situation, examination)):
            columns = min(2, len(panels))
            page.chart(
                {"name": _file_name(situation), "title": situation.name, "columns": columns}
                | {"panels": [panel_json(panel) for panel in panels]}
            )
    return page


def _what_ran(examination: Examination) -> str:
    """The class with what was set of it, and the build that ran it."""
    own = dict(examination.own.transport) if isinstance(examination.own.transport, Mapping) else {}
    values = ", ".join(f"{name} = {value}" for name, value in own.items() if name not in ("kind", "file", "class"))
    name = f"{Path(own['file']).name}:{own['class']}{values and f' with {values}'}"
    return f"{name}, beside DCTCP and TCP, by {build_text(_core.version(), this_build().digest)}."


def table(examination: Examination) -> tuple[list[str], list[list[str]]]:
    """The header and a line for each question: what is asked, from where on it is good, the verdict, the answers."""
    header = ["", "good is", "verdict", *(one.name for one in examination.contestants)]
    lines = []
    for situation in SITUATIONS:
        for question in situation.questions:
            answers = examination.answers(situation, question)
            verdict = {True: "yes", False: "no", None: ""}[answers[0].is_good]
            lines.append([question.asks, question.threshold, verdict, *(one.text for one in answers)])
    survived = [len(SITUATIONS) - len(examination.failures(one)) for one in examination.contestants]
    verdict = "yes" if examination.survived else "no"
    everything = f"{len(SITUATIONS)} of {len(SITUATIONS)}"
    lines.append(["survives everything", everything, verdict, *(f"{one} of {len(SITUATIONS)}" for one in survived)])
    return header, lines


def _with_meanings(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lines of the table, with what each number is; that of the last is said by its name."""
    meanings = [question.number for situation in SITUATIONS for question in situation.questions]
    return [[line[0], meaning, *line[1:]] for line, meaning in zip(lines, [*meanings, "situations"], strict=True)]


def failure_lines(examination: Examination) -> Iterator[str]:
    """A line for each situation that a scheme did not survive."""
    for contestant in examination.contestants:
        for name, failure in examination.failures(contestant).items():
            yield f"{name}: {contestant.name} does not survive: {failure}"


def _file_name(situation: Situation) -> str:
    return situation.name.lower().replace(" ", "-")


def _panels(situation: Situation, examination: Examination) -> Iterator[Panel]:
    """The figure of a situation, of those that survived it."""
    entries = [
        (contestant.name, Style(style_at(place).colour, place, place), course.outcomes)
        for place, contestant in enumerate(examination.contestants)
        if not (course := examination.course(situation, contestant)).failure
    ]
    return PANELS[situation.name](situation, entries) if entries else iter(())


def _lone(_: Situation, entries: Sequence[Entry]) -> Iterator[Panel]:
    queue = partial(readings.samples, column="queue_bytes", node=BOTTLENECK[0], peer=BOTTLENECK[1])
    curves = []
    for name, look, outcomes in entries:
        at, waiting = queue(readings.only(outcomes))
        curves.append(_line(name, look, at, waiting / 1e3))
    yield Panel("the queue before the link", TIME, "KB", curves)
    rates = [_rate(name, look, readings.only(outcomes), *BOTTLENECK) for name, look, outcomes in entries]
    yield Panel("what the link carries", TIME, "Gb/s", rates)


def _two(_: Situation, entries: Sequence[Entry]) -> Iterator[Panel]:
    for flow, host in (("the first flow", "host2"), ("the second flow", "host3")):
        rates = [_rate(name, look, readings.only(outcomes), "leaf1", host) for name, look, outcomes in entries]
        yield Panel(flow, TIME, "Gb/s", rates)


def _dead(_: Situation, entries: Sequence[Entry]) -> Iterator[Panel]:
    rates = [
        _rate(name, look, readings.only(outcomes), "spine0", "leaf1", smooth=1) for name, look, outcomes in entries
    ]
    yield Panel("what arrives behind the link", TIME, "Gb/s", rates)


def _sprayed(_: Situation, entries: Sequence[Entry]) -> Iterator[Panel]:
    marks: list[Mark] = [
        Dots(name, look, list(outcomes), [readings.mean_goodput_gbps(one) for one in outcomes.values()])
        for name, look, outcomes in entries
    ]
    yield Panel("the flows' mean goodput", "", "Gb/s", marks)


def _dots(title: str, unit: str, scale: float, situation: Situation, entries: Sequence[Entry]) -> Iterator[Panel]:
    """The answers to a situation's first question."""
    reads = situation.questions[0].reads
    marks = [Dots(name, look, [name], [scale * reads(outcomes)]) for name, look, outcomes in entries]
    yield Panel(title, "", unit, marks)


def _rate(name: str, look: Style, outcome: Outcome, node: str, peer: str, smooth: int = SMOOTHED) -> Curve:
    """A rate at the end of each interval; before the first one there was none."""
    at, rate = readings.rates(outcome, node, peer)
    means = readings.smoothed(rate, smooth)[::smooth]
    ends = at[: smooth * len(means) : smooth] + smooth * SAMPLE_US / 1e3
    return _line(name, look, np.insert(ends, 0, 0.0), np.insert(means, 0, 0.0))


def _line(name: str, look: Style, at: readings.Numbers, values: readings.Numbers) -> Curve:
    return Curve(name, look, at.tolist(), values.tolist(), points=False)


PANELS: Mapping[str, Callable[[Situation, Sequence[Entry]], Iterator[Panel]]] = {
    "A lone flow": _lone,
    "Two flows": _two,
    "Incast": partial(_dots, "an incast takes", "times the ideal", 1.0),
    "Random loss": partial(_dots, "goodput", "% of the link", 100.0),
    "Reordering": _sprayed,
    "A dead link": _dead,
}
