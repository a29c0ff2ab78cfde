"""What came out, in sentences: what was compared, what is best, by how much, and how sure that is.

Every number is computed, and carries the row of the table that holds it. The page and the terminal say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from packetloom.common.quantities import in_percent, said, said_within
from packetloom.pages.drift_words import how_steady, not_steady, trend, warning
from packetloom.pages.measures import STALLED, UNMEASURED, Condition, Measure, Question, question_of
from packetloom.pages.ranking import Answer, Outcome, comparison_text
from packetloom.stats.curves import SomeResults
from packetloom.stats.paired import MOST_SEEDS, Comparison

Answers = Literal["steady", "compared", "best", "sure", "more"]
MOST_NAMED = 6
MOST_EXCEPTIONS = 4
MOST_VALUES = 8
MOST_PAIRS_TOLD = 2
# Outcomes that name no best one.
UNDECIDED = ("untold", "one seed", "drifting")
SUGGESTED_SEEDS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of a statistic: a scheme under a condition."""

    measure: str
    condition: Condition
    entity: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a sentence, and where it stands in a table."""

    text: str
    row: Row
    is_interval: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A scheme's name in a sentence."""

    text: str


Part = str | Number | Name


def unfinished_row(entity: str) -> Row:
    """The row that says how many of its flows a scheme left unfinished, where it left most."""
    return Row("unfinished", Condition(), entity)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and which question of a reader's it answers."""

    answers: Answers
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """As plain text."""
        return "".join(map(_plain, self.parts))


def _plain(part: Part) -> str:
    """A name with a comma in it is put in quotation marks."""
    if isinstance(part, str):
        return part
    return f'"{part.text}"' if isinstance(part, Name) and "," in part.text else part.text


def sentences(answer: Answer, setting: str = "") -> Iterator[Sentence]:
    """What was compared; what is best and by how much; where it is not so; how sure that is; what else came out."""
    question = answer.question
    if parts := tuple(_not_steady(question)):
        yield Sentence("steady", parts)
    yield Sentence("compared", tuple(_compared(question, setting)))
    lead = question.lead
    here = answer.typical(lead)
    yield Sentence("best", tuple(_best(answer, lead, here)))
    if parts := tuple(_exceptions(answer, lead)):
        yield Sentence("best", parts)
    if question.stopped:
        yield Sentence("best", tuple(_stopped(question)))
    yield Sentence("sure", tuple(_sure(answer, lead, here)))
    if question.estimated & set(question.rivals):
        yield Sentence("sure", tuple(_estimates(question)))
    for twins in question.twins:
        if parts := tuple(_twins(question, twins)):
            yield Sentence("sure", parts)
    # The best of the flows that finished may have finished the fewest.
    if question.unfinished:
        yield Sentence("sure", tuple(_unfinished(question)))
    if text := how_steady(question):
        yield Sentence("sure", (text,))
    for measure in question.measures[1:]:
        there = answer.typical(measure)
        if answer.ranked(measure, there):
            yield Sentence("more", tuple(_best(answer, measure, there, is_first=False)))
        if parts := tuple(_turned(answer, measure)):
            yield Sentence("more", parts)
    if parts := tuple(_elsewhere(answer, lead)):
        yield Sentence("more", parts)
    if parts := tuple(_references(answer, lead, here)):
        yield Sentence("more", parts)


def told_briefly(results: SomeResults) -> list[str]:
    """Whether it is steady; what is best, by how much, how sure that is and what it leaves out, where several are
    compared, and what is best by another statistic, where that is another; for below a table."""
    question = question_of(results)
    if question is None:
        return []
    if len(question.rivals) < 2:
        return [text for text in (warning(question), how_steady(question)) if text]
    answer = Answer(question)
    shown = [one for one in sentences(answer) if one.answers in ("steady", "best", "sure")]
    for measure in question.measures[1:]:
        if answer.is_contrary(measure):
            shown.append(Sentence("more", tuple(_best(answer, measure, answer.typical(measure), is_first=False))))
            shown.append(Sentence("more", tuple(_turned(answer, measure))))
    return [one.text for one in shown if one.parts]


def steadiness_row(entity: str, condition: Condition) -> Row:
    """The row that says how far the slowdowns of a scheme drift."""
    return Row("steady", condition, entity)


def _not_steady(question: Question) -> Iterator[Part]:
    for kind, text, place in not_steady(question):
        yield Name(text) if kind == "name" else Number(text, steadiness_row(*place)) if place else text


def _compared(question: Question, setting: str) -> Iterator[Part]:
    rivals = question.rivals
    yield "Compared: " if len(rivals) > 1 else "Looked at: "
    yield from _names_or_product(rivals)
    if others := [one for one in question.entities if one not in rivals]:
        yield ", beside "
        yield from _names(others)
    if conditions := _conditions_text(question.conditions):
        yield f", {conditions}"
    yield f"{setting and f'; {setting}'}; {_count(question.seeds, 'seed')}."


def _conditions_text(conditions: Sequence[Condition]) -> str:
    if len(conditions) == 1 or _are_few_of_a_grid(conditions):
        return "; ".join(one.where for one in conditions)
    loads = list(dict.fromkeys(one.load for one in conditions if one.load is not None))
    parts = [f"at load{'s' if len(loads) > 1 else ''} {_listed([f'{load:g}' for load in loads])}"] if loads else []
    axes = list(dict.fromkeys(name for one in conditions for name, _ in one.axes))
    for axis in axes:
        texts = dict.fromkeys(
            Condition(None, ((name, value),)).text for one in conditions for name, value in one.axes if name == axis
        )
        parts.append(f"with {_listed(_without_repeats(list(texts)))}")
    return ", ".join(parts)


def _are_few_of_a_grid(conditions: Sequence[Condition]) -> bool:
    """Whether these are not every load with every value of each axis, so that naming those would name others, too."""
    product = len({one.load for one in conditions})
    for axis in {name for one in conditions for name, _ in one.axes}:
        product *= len({dict(one.axes).get(axis) for one in conditions})
    return product != len(set(conditions)) and len(conditions) <= MOST_VALUES


def _without_repeats(texts: Sequence[str]) -> list[str]:
    """5, 10 and 20 senders instead of 5 senders, 10 senders and 20 senders; likewise degree 4 and 8."""
    firsts, others = ([text.partition(" ")[place] for text in texts] for place in (0, 2))
    if len(set(others)) == 1 and others[0]:
        return [*firsts[:-1], texts[-1]]
    if len(set(firsts)) == 1 and all(others):
        return [texts[0], *others[1:]]
    return list(texts)


def _best(answer: Answer, measure: Measure, here: Condition, *, is_first: bool = True) -> Iterator[Part]:
    """What is best under a condition, as under how many others, and how far the next and the last are from it."""
    ranked, outcome = answer.ranked(measure, here), answer.outcome(measure, here)
    if outcome.kind == "nothing":
        stopped = answer.question.stopped
        yield f"{_capital(here.where)}, none" if here.where else "None"
        yield " finished." if stopped else f" has a {measure.title}."
        return
    if outcome.kind == "alone":
        yield from _of_one(answer, measure, here, ranked[0][0])
        return
    first, mean = ranked[0][0], measure.mean(ranked[0][0], here)
    assert mean is not None
    is_range = outcome.kind == "alike" and any(_up_to(measure, here, outcome.leaders))
    half = None if is_range else measure.half(first, here)
    value = Number(said_within(mean, half, measure.unit), Row(measure.name, here, first))
    where = f"{here.where}{_as_elsewhere(answer, measure)}"
    if outcome.kind == "drifting":
        yield from _no_best(answer, measure, here)
        return
    if is_first:
        yield f"{_capital(where)}, " if where else ""
    else:
        yield f"By the {measure.title}{where and f' {where}'}, "
    yield from _headline(answer, measure, here, is_capital=is_first and not where)
    starts = is_first and not where and outcome.kind == "one seed"
    quantity = f"{'The' if starts else 'the'} {measure.title}" if is_first else "it"
    if outcome.kind in ("untold", "one seed"):
        yield f"{quantity} is {'lowest' if measure.lower_is_better else 'highest'} with "
        yield Name(first)
        yield ", "
    else:
        yield f"{quantity} is "
    yield value
    if outcome.kind == "alike":
        yield from _up_to(measure, here, outcome.leaders)
    yield from _capped(answer.question, measure, outcome.leaders)
    if outcome.kind == "untold":
        yield from _not_told_apart(answer, measure, here)
        yield "."
        return
    yield from _behind(answer, measure, here, first, [one for one, _ in ranked if one not in outcome.leaders])
    yield "."


def _behind(answer: Answer, measure: Measure, here: Condition, first: str, others: Sequence[str]) -> Iterator[Part]:
    """How far the next and the last are from the best; several are last, where chance may have ordered them."""
    if len(others) == 1:
        yield "; "
        yield from _beside(answer, measure, here, others[0], first, has=" has ")
    if len(others) < 2:
        return
    last = answer.last(measure, here, others)
    if last != others:
        yield "; next is "
        yield from _beside(answer, measure, here, others[0], first)
    if len(last) == 1:
        yield "; worst is "
        yield from _beside(answer, measure, here, last[0], first)
        return
    yield "; next are " if last == others else "; worst are "
    if len(last) > 2:
        yield f"{'the other ' if last == others else ''}{len(last)}, from "
    yield from _beside(answer, measure, here, last[0], first)
    yield " to " if len(last) > 2 else " and "
    yield from _beside(answer, measure, here, last[-1], first)
    are_alike = all(answer.is_small(measure, here, one, last[-1]) for one in last[:-1])
    yield ", which are alike" if are_alike else ", which are not told apart"


def _of_one(answer: Answer, measure: Measure, here: Condition, entity: str) -> Iterator[Part]:
    """What the only one has; of several conditions, under which it is lowest and highest."""

    def value(there: Condition) -> Number:
        mean = means[there]
        return Number(said_within(mean, measure.half(entity, there), measure.unit), Row(measure.name, there, entity))

    found = {one: measure.mean(entity, one) for one in answer.question.conditions}
    means = {one: mean for one, mean in found.items() if mean is not None}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    is_flat = said(means[low], measure.unit) == said(means[high], measure.unit)
    yield f"{_capital(here.where)}, the " if is_flat and here.where else "The "
    yield f"{measure.title} of "
    yield Name(entity)
    if is_flat:
        yield " is "
        yield value(here)
        yield f"{_as_elsewhere(answer, measure)}."
        return
    yield f" is lowest {low.where}, "
    yield value(low)
    yield f", and highest {high.where}, "
    yield value(high)
    if means[low] > 0:
        yield ": "
        yield Number(f"{means[high] / means[low]:.2f}", Row(measure.name, high, entity))
        yield " times that"
    yield "."


def _not_told_apart(answer: Answer, measure: Measure, here: Condition) -> Iterator[Part]:
    """What may be as good as the first, the next that is not, and the last, in the order of their means."""
    first, *others = (one for one, _ in answer.ranked(measure, here))
    leaders = answer.outcome(measure, here).leaders

    def doubtful(one: str, has: str) -> Iterator[Part]:
        yield from _beside(answer, measure, here, one, first, has=has)
        if one in leaders:
            found = answer.comparison(measure, here, one, first)
            yield f", which {found.doubt if found else 'may be chance'}"

    rival = next(one for one in leaders[1:] if not answer.is_small(measure, here, one, first))
    beaten = next((one for one in others[:-1] if one not in leaders), None)
    told = [one for one in others if one in (rival, beaten)]
    for one in told:
        yield "; next is " if one == beaten else "; "
        yield from doubtful(one, " with " if one == beaten else " has ")
    if others[-1] not in told:
        yield "; worst is "
        yield from doubtful(others[-1], " with ")


def _no_best(answer: Answer, measure: Measure, here: Condition) -> Iterator[Part]:
    first, other = answer.outcome(measure, here).leaders[:2]
    drifting, drift = answer.drift(measure, here, first, other)
    where = f" {here.where}" if here.where else ""
    mean = measure.mean(first, here)
    assert mean is not None
    yield f"By the {measure.title}{where}, no scheme is called best: "
    yield Name(first)
    yield " has "
    yield Number(said_within(mean, measure.half(first, here), measure.unit), Row(measure.name, here, first))
    yield " and "
    yield from _beside(answer, measure, here, other, first, has=" ")
    yield ", while "
    yield Name(drifting)
    yield f" drifts by {in_percent(drift)} of its mean."


def _headline(answer: Answer, measure: Measure, here: Condition, *, is_capital: bool) -> Iterator[Part]:
    """Which are best, alike, or not told apart, up to where the value comes."""
    outcome, ranked = answer.outcome(measure, here), answer.ranked(measure, here)
    is_all = len(outcome.leaders) == len(ranked)
    if outcome.kind == "best":
        yield from _names(outcome.leaders)
        yield f" is best{_of_what(answer.question)}: "
    elif outcome.kind in ("same", "alike"):
        if is_all and len(ranked) > 2:
            yield f"{'All' if is_capital else 'all'} {len(ranked)}"
        else:
            yield from _names(outcome.leaders)
        what = " are the same" if outcome.kind == "same" else f" are alike, within {100 * answer.question.alike:g} %"
        yield what + (": " if is_all else ", and best: ")
    elif outcome.kind == "untold":
        yield f"{'None' if is_capital else 'none'} is shown to be best: "


def _of_what(question: Question) -> str:
    """What a best one is best of, where that is not all flows, packet by packet."""
    finished = ", of the flows that finished" if question.unfinished else ""
    estimates = ", by an estimate beside packets" if question.estimated & set(question.rivals) else ""
    return finished + estimates


def _up_to(measure: Measure, here: Condition, alike: Sequence[str]) -> Iterator[Part]:
    """The other end of what is alike, where it reads otherwise."""
    means = [(mean, one) for one in alike if (mean := measure.mean(one, here)) is not None]
    last = max(means) if measure.lower_is_better else min(means)
    if said(last[0], measure.unit) != said((min if measure.lower_is_better else max)(means)[0], measure.unit):
        yield " to "
        yield Number(said(last[0], measure.unit), Row(measure.name, here, last[1]))


def _as_elsewhere(answer: Answer, measure: Measure) -> str:
    """At how many of the other conditions it is the same: `, as at 3 of the 4 other points`."""
    others, alike = len(answer.question.conditions) - 1, answer.alike(measure)[0][1][:-1]
    if not alike:
        return ""
    if len(alike) == 1:
        return f", as {alike[0].where}"
    if len(alike) == others:
        return f", as at {'both' if others == 2 else f'all {others}'} other points"
    return f", as at {len(alike)} of the {others} other points"


def _exceptions(answer: Answer, measure: Measure) -> Iterator[Part]:
    """Where something else came out than where it is told first."""
    (first, _), *others = answer.alike(measure)
    yield from _told_otherwise(first, measure, others)


def _turned(answer: Answer, measure: Measure) -> Iterator[Part]:
    """Where others are best than where a further statistic is told."""
    (first, _), *others = answer.alike(measure)
    turned = [one for one in others if one[0].kind == "best" and not set(one[0].leaders) & set(first.leaders)]
    yield from _told_otherwise(first, measure, turned)


def _told_otherwise(
    first: Outcome, measure: Measure, others: Sequence[tuple[Outcome, Sequence[Condition]]]
) -> Iterator[Part]:
    end = "lowest" if measure.lower_is_better else "highest"
    # Where none is best anywhere, others are only lowest elsewhere.
    undecided = all(outcome.kind in UNDECIDED for outcome, _ in others[:MOST_EXCEPTIONS])
    nowhere = first.kind == "untold" and undecided
    for place, (outcome, conditions) in enumerate(others[:MOST_EXCEPTIONS]):
        yield "; " if place > 0 else "Nor " if nowhere else "Not so "
        yield f"{_conditions_text(conditions)}: "
        if outcome.kind in ("nothing", "alone"):
            yield "none has anything to show" if outcome.kind == "nothing" else "there is only "
            yield from _names(outcome.leaders) if outcome.leaders else ()
            continue
        if outcome.kind in UNDECIDED:
            yield f"{end} is " if nowhere else f"none is shown to be best, and {end} is "
            yield from _names(outcome.leaders[:1])
        else:
            yield from _names(outcome.leaders)
            yield " is best" if outcome.kind == "best" else " are the same" if outcome.kind == "same" else " are alike"
        yield " ("
        yield from _values(measure, outcome.leaders[0], conditions[-MOST_EXCEPTIONS:])
        yield ")"
    if len(others) > MOST_EXCEPTIONS:
        yield f"; and otherwise at {sum(len(where) for _, where in others[MOST_EXCEPTIONS:])} more points"
    yield from (["."] if others else [])


def _stopped(question: Question) -> Iterator[Part]:
    """What did not finish, and where."""
    by_what: dict[tuple[str, str], list[Condition]] = {}
    for (entity, condition), stopped in question.stopped.items():
        by_what.setdefault((entity, stopped.text), []).append(condition)
    for place, ((entity, text), conditions) in enumerate(list(by_what.items())[:MOST_NAMED]):
        yield "" if place == 0 else "; "
        yield Name(entity)
        where = _conditions_text(sorted(conditions, key=lambda one: one.rank))
        yield f" {text}{where and f', {where}'}"
    more = len(by_what) - MOST_NAMED
    yield f"; and {more} more. " if more > 0 else ". "
    if any(one.what == UNMEASURED for one in question.stopped.values()):
        yield "More flows, or a shorter warm_up, would measure some. "
    yield "What did not finish, or measured nothing, is best at nothing there."


def _estimates(question: Question) -> Iterator[Part]:
    """Estimates beside packets differ by the estimate's error, too."""
    names = [one for one in question.rivals if one in question.estimated]
    yield "Estimates beside packets: "
    yield from _names(names)
    yield f" {'was' if len(names) == 1 else 'were'} not run packet by packet, and intervals leave the estimate's error "
    yield "out; `packetloom fidelity` measures it."


def _twins(question: Question, twins: Sequence[str]) -> Iterator[Part]:
    """Schemes that came out the same to the last bit: what sets them apart never had an effect."""
    if set(twins) <= set(question.rivals):
        yield from _names(twins)
        yield " gave the same flows to the last bit: what sets them apart never came into play."


def _capped(question: Question, measure: Measure, best: Sequence[str]) -> Iterator[Part]:
    if question.sought and measure.name == "limit" and set(best) & question.capped:
        yield ", the end of the range that was searched, so the true limit is higher"


def _beside(
    answer: Answer, measure: Measure, here: Condition, entity: str, best: str, has: str = " with "
) -> Iterator[Part]:
    """A scheme and how far it is from the best: 2.9 times that (2.6 to 3.2)."""
    yield Name(entity)
    mean = measure.mean(entity, here)
    assert mean is not None
    row = Row(measure.name, here, entity)
    found = answer.comparison(measure, here, entity, best)
    if found is None:  # no ratio, as of a zero, or no seed in common
        yield has
        yield Number(said_within(mean, measure.half(entity, here), measure.unit), row)
        return
    text, bounds = comparison_text(found, measure)
    if found.is_ratio:
        yield has
        yield Number(text, row)
        yield " times that"
    else:
        yield has
        yield Number(said(mean, measure.unit), row)
        yield ", "
        yield Number(text, row)
        yield " fewer" if measure.unit == "count" else " lower"
    if bounds:
        way = trend(answer.question, measure, entity, here)
        yield " ("
        yield Number(bounds, row, is_interval=True)
        yield f"{way and f'; {way}'})"


def _sure(answer: Answer, measure: Measure, here: Condition) -> Iterator[Part]:
    question = answer.question
    ranked = answer.ranked(measure, here)
    if question.seeds < 2:
        yield (
            "How sure this is cannot be said from one seed: run it with several, such as "
            f"--set run.seeds={SUGGESTED_SEEDS}."
        )
        return
    if len(ranked) < 2:
        yield f"± is half a 95 % interval over {_count(question.seeds, 'seed')}."
        return
    best = ranked[0][0]
    others = [one for one, _ in ranked if one != best]
    compared = {one: answer.comparison(measure, here, one, best) for one in others}
    known = {one: found for one, found in compared.items() if found is not None and not found.is_same}
    alike = [one for one in known if answer.is_small(measure, here, one, best)]
    told = [one for one, found in known.items() if found.is_told]
    untold = [one for one in known if one not in told]
    tests = answer.tested(measure)
    corrected = f" (95 %{f', Holm over {tests} comparisons' if tests > 1 else ''})"
    if not known:
        yield f"With {_count(question.seeds, 'seed')} nothing differs that could be told apart."
        return
    if len(alike) == len(known):
        yield f"What differs by less than {100 * question.alike:g} % is called alike (run.alike), sure or not."
        return
    known = {one: found for one, found in known.items() if one not in alike}
    told, untold = ([one for one in names if one in known] for names in (told, untold))
    if all(found.is_exact for found in known.values()):
        yield f"All {question.seeds} seeds gave exactly the same {'ratios' if measure.by_ratio else 'differences'}."
        return
    yield f"{_capital(_count(question.seeds, 'seed'))} "
    if told:
        yield "tell "
        yield Name(best)
        yield " from " + (
            ""
            if untold or len(told) == 1
            else "both others"
            if len(told) == len(others) == 2
            else f"all {len(told)} others"
            if len(told) == len(others)
            else ""
        )
        if untold or len(told) == 1 or len(told) < len(others):
            yield from _names(told)
        yield corrected
        yield ", but not from " if untold else "."
    else:
        yield "do not tell "
        yield Name(best)
        yield " from "
    if untold:
        yield from _untold(answer, measure, here, known, untold, best)
        yield "." if told else f"{corrected}."


def _untold(
    answer: Answer, measure: Measure, here: Condition, known: Mapping[str, Comparison], untold: Sequence[str], best: str
) -> Iterator[Part]:
    """What can't be told from the best, and how many seeds would."""
    shown = untold[:MOST_PAIRS_TOLD]
    for place, one in enumerate(shown):
        yield "" if place == 0 else ", " if place < len(shown) - 1 or len(untold) > len(shown) else " and "
        yield Name(one)
        needed = known[one].seeds_needed
        needed = needed and max(needed, answer.question.seeds + 1)
        row = Row(measure.name, here, one)
        if needed is not None:
            yield " (about "
            yield Number(f"{needed:,}", row)
            yield " seeds would)"
        elif known[one].mean:
            yield " ("
            yield Number(f"more than {MOST_SEEDS:,}", row)
            yield " seeds would be needed)"
    if len(untold) > len(shown):
        yield f" and {len(untold) - len(shown)} more"


def _elsewhere(answer: Answer, measure: Measure) -> Iterator[Part]:
    """What the first has under the other conditions that show the same."""
    outcome, conditions = answer.alike(measure)[0]
    if len(conditions) < 2 or len(answer.question.rivals) < 2 or not outcome.leaders:
        return
    shown = conditions[:-1][-MOST_VALUES:]
    yield f"The {measure.title} of "
    yield Name(outcome.leaders[0])
    yield f" {_conditions_text(shown)}: "
    yield from _values(measure, outcome.leaders[0], shown)
    yield "."


def _values(measure: Measure, entity: str, conditions: Sequence[Condition]) -> Iterator[Part]:
    for place, condition in enumerate(conditions):
        mean = measure.mean(entity, condition)
        yield "" if place == 0 else " and " if place == len(conditions) - 1 else ", "
        yield "?" if mean is None else Number(said(mean, measure.unit), Row(measure.name, condition, entity))


def _references(answer: Answer, measure: Measure, here: Condition) -> Iterator[Part]:
    question = answer.question
    shown = [one for one in question.entities if one in question.references and one not in question.rivals]
    known = [(one, mean) for one in shown if (mean := measure.mean(one, here)) is not None]
    for place, (one, mean) in enumerate(known):
        yield "" if place == 0 else "; "
        yield Name(one)
        yield ", a reference without packets, has " if place == 0 else " "
        yield Number(said(mean, measure.unit), Row(measure.name, here, one))
    yield from (["."] if known else [])


def _unfinished(question: Question) -> Iterator[Part]:
    worst = max(question.unfinished, key=lambda one: question.unfinished[one])
    yield "Not every flow finished: "
    yield Name(worst)
    yield " left up to "
    yield Number(f"{100 * question.unfinished[worst]:.3g}", unfinished_row(worst))
    has_stalled = any(one.what == STALLED for one in question.stopped.values())
    yield f" % of its own{', what a stall kept from starting among them' if has_stalled else ''}. "
    yield "Completion times and slowdowns are those of the flows that did."


def _names(names: Sequence[str]) -> Iterator[Part]:
    shown = list(names) if len(names) <= MOST_NAMED else list(names[: MOST_NAMED - 2])
    for place, one in enumerate(shown):
        is_last = place == len(names) - 1
        yield "" if place == 0 else " and " if is_last else ", "
        yield Name(one)
    if len(shown) < len(names):
        yield f" and {len(names) - len(shown)} more"


def _names_or_product(names: Sequence[str]) -> Iterator[Part]:
    """Too many to name, but each scheme with each of its own settings: A and B, each with x, y and z."""
    pairs = [name.partition(", ")[::2] for name in names]
    schemes, settings = (list(dict.fromkeys(texts)) for texts in zip(*pairs, strict=True))
    is_product = len(set(pairs)) == len(schemes) * len(settings) and all(settings)
    if len(names) <= MOST_NAMED or max(len(schemes), len(settings)) > MOST_NAMED or not is_product:
        yield from _names(names)
        return
    yield from _names(schemes)
    yield f", {'each ' if len(schemes) > 1 else ''}with {_listed(_without_repeats(settings))}"


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
