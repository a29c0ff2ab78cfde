"""What came out, in sentences: what was compared, what is best, by how much, and how sure that is.

Every number is computed, and carries the row of the table that holds it. The page and the terminal say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from packetloom.curves import SomeResults
from packetloom.paired import MOST_SEEDS
from packetloom.quantities import said, said_within
from packetloom.questions import Condition, Measure, Question, question_of
from packetloom.steadiness.words import drift_of, how_steady, not_steady
from packetloom.verdicts import Answer, Verdict, comparison_text

Answers = Literal["steady", "compared", "best", "sure", "more"]
MOST_NAMED = 6
MOST_PAIRS_TOLD = 2
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
    """What was compared; what is best and by how much; how sure that is; what else came out."""
    question = answer.question
    if parts := tuple(_not_steady(question)):
        yield Sentence("steady", parts)
    yield Sentence("compared", tuple(_compared(question, setting)))
    lead, here = question.lead, question.hardest
    yield Sentence("best", tuple(_best(answer, lead, here)))
    yield Sentence("sure", tuple(_sure(answer, lead, here)))
    # The best of the flows that finished may have finished the fewest.
    if question.unfinished:
        yield Sentence("sure", tuple(_unfinished(question)))
    if text := how_steady(question):
        yield Sentence("sure", (text,))
    for measure in question.measures[1:]:
        if answer.ranked(measure, here):
            yield Sentence("more", tuple(_best(answer, measure, here, is_first=False)))
    if parts := tuple(_elsewhere(answer, lead)):
        yield Sentence("more", parts)
    if parts := tuple(_references(answer, lead, here)):
        yield Sentence("more", parts)


def told_briefly(results: SomeResults) -> list[str]:
    """Whether it is steady; what is best, by how much, how sure that is and what it leaves out, where several are
    compared; for below a table."""
    question = question_of(results)
    if question is None:
        return []
    if len(question.rivals) < 2:
        warning = "".join(text for _, text, _ in not_steady(question))
        return [text for text in (warning, how_steady(question)) if text]
    return [one.text for one in sentences(Answer(question)) if one.answers in ("steady", "best", "sure")]


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
    if len(conditions) == 1:
        return conditions[0].where
    loads = list(dict.fromkeys(one.load for one in conditions if one.load is not None))
    parts = [f"at load{'s' if len(loads) > 1 else ''} {_listed([f'{load:g}' for load in loads])}"] if loads else []
    axes = list(dict.fromkeys(name for one in conditions for name, _ in one.axes))
    for axis in axes:
        texts = dict.fromkeys(
            Condition(None, ((name, value),)).text for one in conditions for name, value in one.axes if name == axis
        )
        parts.append(f"with {_listed(_without_repeats(list(texts)))}")
    return ", ".join(parts)


def _without_repeats(texts: Sequence[str]) -> list[str]:
    """5, 10 and 20 senders instead of 5 senders, 10 senders and 20 senders; likewise degree 4 and 8."""
    firsts, others = ([text.partition(" ")[place] for text in texts] for place in (0, 2))
    if len(set(others)) == 1 and others[0]:
        return [*firsts[:-1], texts[-1]]
    if len(set(firsts)) == 1 and all(others):
        return [texts[0], *others[1:]]
    return list(texts)


def _best(answer: Answer, measure: Measure, here: Condition, *, is_first: bool = True) -> Iterator[Part]:
    ranked, best = answer.ranked(measure, here), answer.best(measure, here)
    where = here.where
    if not ranked:
        yield f"The {measure.title} is not known{where and f' {where}'}."
        return
    first, mean = ranked[0][0], measure.mean(ranked[0][0], here)
    assert mean is not None
    value = Number(said_within(mean, measure.half(first, here), measure.unit), Row(measure.name, here, first))
    if len(ranked) == 1:
        yield f"{_capital(where)}, the " if where else "The "
        yield f"{measure.title} of "
        yield Name(first)
        yield " is "
        yield value
        yield "."
        return
    if len(best) == len(ranked):
        yield f"{_capital(where)}, all" if where else "All"
        yield f" {len(ranked)} have the same {measure.title}: "
        yield value
        yield "."
        return
    if drifting := _within_drift(answer, measure, here):
        yield from _no_best(answer, measure, here, drifting)
        return
    if is_first:
        yield f"{_capital(where)}, " if where else ""
        yield from _names(best)
        yield f" {'are' if len(best) > 1 else 'is'} best: the {measure.title} is "
    else:
        yield f"By the {measure.title}{where and f' {where}'}, "
        yield from _names(best)
        yield f" {'are' if len(best) > 1 else 'is'} best: "
    yield value
    yield from _capped(answer.question, measure, best)
    others = [one for one, _ in ranked if one not in best]
    if len(others) > 1:
        yield "; next is "
        yield from _beside(answer, measure, here, others[0], first)
        yield "; worst is "
        yield from _beside(answer, measure, here, others[-1], first)
    else:
        yield "; "
        yield from _beside(answer, measure, here, others[-1], first, has=" has ")
    yield "."


def _within_drift(answer: Answer, measure: Measure, here: Condition) -> str:
    """Of the best and the next, which drifts further than they are apart; empty if neither does."""
    ranked, best = answer.ranked(measure, here), answer.best(measure, here)
    others = [(one, mean) for one, mean in ranked if one not in best]
    if not others:
        return ""
    (first, mean), (other, next_mean) = ranked[0], others[0]
    drifts = {one: drift_of(answer.question, measure, one, here) for one in (first, other)}
    further = max(drifts, key=lambda one: drifts[one])
    least = min(abs(mean), abs(next_mean))
    return further if drifts[further] and abs(mean - next_mean) <= drifts[further] * least else ""


def _no_best(answer: Answer, measure: Measure, here: Condition, drifting: str) -> Iterator[Part]:
    ranked, best = answer.ranked(measure, here), answer.best(measure, here)
    other = next(one for one, _ in ranked if one not in best)
    drift = drift_of(answer.question, measure, drifting, here)
    where = f" {here.where}" if here.where else ""
    mean = measure.mean(best[0], here)
    assert mean is not None
    yield f"By the {measure.title}{where}, no scheme is called best: "
    yield Name(best[0])
    yield " has "
    yield Number(said_within(mean, measure.half(best[0], here), measure.unit), Row(measure.name, here, best[0]))
    yield " and "
    yield from _beside(answer, measure, here, other, best[0], has=" ")
    yield ", while "
    yield Name(drifting)
    yield f" drifts by {100 * drift:.2g} % of its mean."


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
    verdict = answer.verdict(measure, here, entity, best)
    if verdict is None:  # no ratio, as of a zero, or no seed in common
        yield has
        yield Number(said_within(mean, measure.half(entity, here), measure.unit), row)
        return
    text, bounds = comparison_text(verdict.found, measure)
    if verdict.found.is_ratio:
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
        yield " ("
        yield Number(bounds, row, is_interval=True)
        yield ")"


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
    best = answer.best(measure, here)
    others = [one for one, _ in ranked if one not in best]
    found = {one: answer.verdict(measure, here, one, best[0]) for one in others}
    known = {one: verdict for one, verdict in found.items() if verdict is not None and not verdict.found.is_same}
    told = [one for one, verdict in known.items() if verdict.is_told]
    untold = [one for one in known if one not in told]
    tests = answer.tested(measure)
    corrected = f" (95 %{f', Holm over {tests} comparisons' if tests > 1 else ''})"
    if not known:
        yield f"With {_count(question.seeds, 'seed')} nothing differs that could be told apart."
        return
    if all(verdict.found.is_exact for verdict in known.values()):
        yield f"All {question.seeds} seeds gave exactly the same {'ratios' if measure.by_ratio else 'differences'}."
        return
    yield f"{_capital(_count(question.seeds, 'seed'))} "
    if told:
        yield "tell "
        yield from _names(best[:1])
        yield " from " + (
            "" if untold or len(told) == 1 else "both others" if len(told) == 2 else f"all {len(told)} others"
        )
        if untold or len(told) == 1:
            yield from _names(told)
        yield corrected
        yield ", but not from " if untold else "."
    else:
        yield "do not tell "
        yield from _names(best[:1])
        yield " from "
    if untold:
        yield from _untold(answer, measure, here, known, untold, best[0])
        yield "." if told else f"{corrected}."


def _untold(
    answer: Answer, measure: Measure, here: Condition, known: Mapping[str, Verdict], untold: Sequence[str], best: str
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
        elif known[one].found.mean:
            yield " ("
            yield Number(f"more than {MOST_SEEDS:,}", row)
            yield " seeds would be needed)"
    if len(untold) > len(shown):
        yield f" and {len(untold) - len(shown)} more"


def _elsewhere(answer: Answer, measure: Measure) -> Iterator[Part]:
    """Whether the same is best under the other conditions."""
    conditions = [one for one in answer.question.conditions[:-1] if not _within_drift(answer, measure, one)]
    if not conditions or len(answer.question.rivals) < 2:
        return
    last = answer.best(measure, answer.question.hardest)
    by_best: dict[tuple[str, ...], list[Condition]] = {}
    for condition in conditions:
        if best := tuple(answer.best(measure, condition)):
            by_best.setdefault(best, []).append(condition)
    if not by_best:
        return
    if list(by_best) == [tuple(last)]:
        yield from _names(last)
        yield f" {'are' if len(last) > 1 else 'is'} best {_conditions_text(conditions)}, too: "
        yield from _values(measure, last[0], conditions)
        yield "."
        return
    for place, (best, where) in enumerate(by_best.items()):
        text = _conditions_text(where)
        yield f"{_capital(text) if place == 0 else f'; {text}'} the best {'are' if len(best) > 1 else 'is'} "
        yield from _names(best)
        yield " ("
        yield from _values(measure, best[0], where)
        yield ")"
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
    yield " % of its own. Completion times and slowdowns are those of the flows that did."


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
