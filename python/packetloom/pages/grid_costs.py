"""What a value of the grid costs: each scheme beside itself at the first value of an axis, seed by seed.

Schemes are elsewhere compared at each point of the grid. Here an axis' values are: a fault, an oversubscription or a
buffer costs a scheme so many times the statistic that the scenario is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from packetloom.common.quantities import FAN_IN, FAULT_AT, SCALES_OF_AXES, axis_value_text, said_within
from packetloom.errors import PacketloomError
from packetloom.pages.drift_words import warning
from packetloom.pages.measures import (
    SCHEME,
    Condition,
    Measure,
    Question,
    condition_of,
    entity_of,
    question_of,
    renamed_rows,
)
from packetloom.pages.ranking import Answer, Pair, comparison_text
from packetloom.pages.sentences import Name, Number, Part, Row, Sentence
from packetloom.scenario.plan import Parameter
from packetloom.stats.curves import Style, as_list, style_at
from packetloom.stats.paired import Comparison
from packetloom.store.case_rows import EVERY_CASE_HAS, CaseRow
from packetloom.store.results import Results

LOAD = "load"


@dataclass(frozen=True, slots=True)
class Along:
    """The values of an axis as what is compared; a scheme at a point of the others is a condition."""

    axis: str
    base: str
    """The value that the others are held against."""
    values: dict[str, Parameter]
    """All values by their texts, in the scenario's order."""
    answer: Answer
    there: frozenset[tuple[str, Condition]]
    """The values, each with the conditions under which it was run."""
    unsteady: str
    """Which cases drift; empty if none does."""

    def by(self, measure: Measure) -> Along:
        """The same with another statistic as the one that matters."""
        question = self.answer.question
        others = tuple(one for one in question.measures if one is not measure)
        return replace(self, answer=Answer(replace(question, measures=(measure, *others)), self.answer.pairs))

    @property
    def name(self) -> str:
        """The axis in a few words."""
        return axis_name(self.axis)

    @property
    def measure(self) -> Measure:
        """The statistic that the scenario is about."""
        return self.answer.question.lead

    @property
    def others(self) -> list[str]:
        """The values beside the first."""
        return [value for value in self.values if value != self.base]

    def lines(self) -> Iterator[tuple[Condition, str]]:
        """Each scheme at each point with each value that was run, in the order of a table."""
        for here in self.answer.question.conditions:
            yield from ((here, value) for value in self.values if (value, here) in self.there)

    def comparison(self, value: str, here: Condition, measure: Measure | None = None) -> Comparison | None:
        """How a value compares with the first, of a scheme."""
        return self.answer.comparison(measure or self.measure, here, value, self.base)


def axis_name(axis: str) -> str:
    """An axis as sentences call it."""
    if FAULT_AT.fullmatch(axis):
        return axis.removesuffix("_ns").replace(".", " ")
    short = ".".join(axis.split(".")[-2:])
    if short == FAN_IN:
        return "senders"
    name, _, unit = short.rpartition("_")
    return (name if unit in SCALES_OF_AXES else short).removeprefix("topology.").removeprefix("run.")


def axes_there_are(several: Sequence[Results]) -> list[str]:
    """The axes of the grid with at least two values, the load among them."""
    values: dict[str, set[str]] = {}
    for one in several:
        for row in one.rows():
            for name, value in row.parameters.items():
                if value is not None and (name == LOAD or name not in EVERY_CASE_HAS):
                    values.setdefault(name, set()).add(str(value))
    return [name for name, found in values.items() if len(found) > 1]


def axes_meant(name: str, there: Iterable[str]) -> list[str]:
    """Those of the axes that a person may call so: by its name, its end, or, where none ends so, a part of it."""
    axes = list(there)
    if name in axes:
        return [name]
    called = {axis: (axis, axis_name(axis)) for axis in axes}
    ends = [axis for axis in axes if any(text == name or text.endswith(f".{name}") for text in called[axis])]
    return ends or [axis for axis in axes if name in axis.split(".")]


def axis_called(name: str, several: Sequence[Results]) -> str:
    """The axis that a person means: its full name, or the end of it, without the unit if need be."""
    there = axes_there_are(several)
    if not there:
        raise PacketloomError("the scenario varies nothing but schemes and seeds, so there is nothing to compare along")
    found = axes_meant(name, there)
    if len(found) == 1:
        return found[0]
    one = "no" if not found else "more than one"
    raise PacketloomError(f"there is {one} axis {name!r} of the grid to compare along; there are {', '.join(there)}")


def along(results: Results | Sequence[Results], axis: str, base: str | None = None) -> Along:
    """The values of an axis beside each other. `base`: the value to hold the others against, if not the first."""
    several = as_list(results)
    question = question_of(several)
    if question is None or question.kind == "search":
        raise PacketloomError("nothing is finished that could be compared along an axis")
    axis = axis_called(axis, several)
    places: dict[tuple[str, Condition], tuple[str, Condition]] = {}
    values: dict[str, Parameter] = {}
    for row, label in renamed_rows(several):
        value = row.parameters.get(axis)
        if value is not None:
            text = f"{value:g}" if axis == LOAD and isinstance(value, int | float) else axis_value_text(axis, value)
            values.setdefault(text, value)
            places[entity_of(row, label), condition_of(row)] = text, _rest(row, label, axis)
    chosen = next((text for text, value in values.items() if base in (None, text, str(value))), None)
    if chosen is None:
        raise PacketloomError(f"{axis} has no value {base!r}; there are {', '.join(values)}")
    pairs: list[Pair] = [(value, chosen) for value in values if value != chosen]
    answer = Answer(_turned(question, places, tuple(values)), pairs)
    return Along(axis, chosen, values, answer, frozenset(places.values()), warning(question))


def _rest(row: CaseRow, label: str, axis: str) -> Condition:
    """The point of the other axes, and the scheme, which are the condition now."""
    without = replace(row, parameters={name: value for name, value in row.parameters.items() if name != axis})
    scheme = entity_of(without, label.replace(row.label, without.label, 1))
    condition = condition_of(row).without(axis)
    return Condition(condition.load, (*condition.axes, (SCHEME, scheme)))


def _turned(
    question: Question, places: dict[tuple[str, Condition], tuple[str, Condition]], values: tuple[str, ...]
) -> Question:
    """The question with an axis' values in the place of the schemes."""
    measures = tuple(
        replace(one, values={places[key]: own for key, own in one.values.items() if key in places})
        for one in question.measures
    )
    # In the order of the scenario's schemes, not of their names.
    conditions = dict.fromkeys(there for key, (_, there) in places.items() if key[0] in question.entities)
    return replace(
        question,
        entities=values,
        references=frozenset(),
        conditions=tuple(conditions),
        measures=measures,
        unfinished_at={places[key]: one for key, one in question.unfinished_at.items() if key in places},
        stopped={places[key]: one for key, one in question.stopped.items() if key in places},
        twins=(),
        steadiness={places[key]: one for key, one in question.steadiness.items() if key in places},
    )


def scheme_of(here: Condition) -> str:
    """The scheme of such a condition."""
    return str(dict(here.axes)[SCHEME])


def point_of(here: Condition) -> Condition:
    """The rest of it."""
    return here.without(SCHEME)


def sentences_along(found: Along) -> Iterator[Sentence]:
    """What the values cost, a sentence for each but the first."""
    for value in found.others:
        parts = list(_costs(found, value))
        if parts:
            start = f"{found.name[:1].upper()}{found.name[1:]} {value} over {found.base}, {found.measure.title}: "
            yield Sentence("more", (start, *parts, "."))
    if unfinished := list(_unfinished(found)):
        yield Sentence("more", (f"This is of flows that finished. Unfinished are {'; '.join(unfinished)}.",))


def _unfinished(found: Along) -> Iterator[str]:
    """The share of its flows that each scheme left unfinished at each value, where it left any."""
    for here, value in found.lines():
        if share := found.answer.question.unfinished_at.get((value, here)):
            where = ", ".join(filter(None, [scheme_of(here), point_of(here).where, f"{found.name} {value}"]))
            yield f"{100 * share:.3g} % under {where}"


def _costs(found: Along, value: str) -> Iterator[Part]:
    is_first = True
    for here in found.answer.question.conditions:
        own = list(_cost(found, value, here))
        if not own:
            continue
        yield "" if is_first else "; "
        is_first = False
        yield Name(scheme_of(here))
        if where := point_of(here).where:
            yield f", {where},"
        yield from own


def _cost(found: Along, value: str, here: Condition) -> Iterator[Part]:
    """What a scheme has at a value, over what it has at the first."""
    measure, stopped = found.measure, found.answer.question.stopped
    for at in (found.base, value):
        if (at, here) in stopped:
            yield f" {stopped[at, here].text}"
            yield f" at {found.base}" if at == found.base else ""
            return
    compared = found.comparison(value, here)
    if compared is None:
        return
    row = Row(f"{found.axis} {measure.name}", here, value)
    if compared.is_same:
        yield " not at all, to the last bit"
        return
    if found.answer.is_small(measure, here, value, found.base):
        yield f" by less than {100 * found.answer.question.alike:g} %"
        return
    text, bounds = comparison_text(compared, measure, signed=True)
    yield " "
    yield Number(text, row)
    yield " times" if compared.is_ratio else ""
    if bounds:
        yield " ("
        yield Number(bounds, row, is_interval=True)
        yield ")"
    if found.answer.is_within_drift(measure, here, value, found.base):
        yield ", which is no more than it drifts over the run"
    elif not compared.is_told:
        yield f", which {compared.doubt}" if bounds else ", in the one seed that was run"


def table_along(found: Along, measure: Measure) -> Iterator[list[str]]:
    """A line for each scheme and value: scheme, point of the other axes, value, statistic, ratio, interval, told."""
    for here, value in found.lines():
        cells = [scheme_of(here), point_of(here).text, value, value_said(found, measure, value, here)]
        compared = None if value == found.base else found.comparison(value, here, measure)
        if compared is None or (value, here) in found.answer.question.stopped:
            yield [*cells, "", "", ""]
            continue
        text, bounds = comparison_text(compared, measure, signed=True)
        is_small = found.answer.is_small(measure, here, value, found.base)
        told = "alike" if is_small else "" if compared.corrected is None else "yes" if compared.is_told else "no"
        yield [*cells, text, bounds, told]


def looks_along(found: Along, looks: dict[str, Style]) -> dict[str, Style]:
    """How each scheme looks: as the first series elsewhere that is of it, and of its values on other axes; none as
    another does."""
    shown: dict[str, Style] = {}
    for place, scheme in enumerate(dict.fromkeys(map(scheme_of, found.answer.question.conditions))):
        parts = set(scheme.split(", "))
        kin = [look for name, look in looks.items() if name == scheme or parts <= set(name.split(", "))]
        look = kin[0] if kin else style_at(place)
        while look in shown.values():
            look = replace(look, marker=look.marker + 1, dash=look.dash + 1)
        shown[scheme] = look
    return shown


def value_said(found: Along, measure: Measure, value: str, here: Condition) -> str:
    """The statistic at a value, or that it did not finish there."""
    stopped, mean = found.answer.question.stopped.get((value, here)), measure.mean(value, here)
    text = "–" if mean is None else said_within(mean, measure.half(value, here), measure.unit)
    return text if stopped is None else stopped.text if mean is None else f"{text} ({stopped.text})"
