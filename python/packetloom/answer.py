"""The top of the report: what came out in sentences, the figure that shows it, and the tables that hold its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from packetloom.charts import Dots, Panel, panel_json
from packetloom.curves import Style, style_at, styles
from packetloom.findings import Row, sentences
from packetloom.page import Cell, Page
from packetloom.paired import MOST_SEEDS
from packetloom.quantities import said_within
from packetloom.questions import Condition, Measure, Question, competitors
from packetloom.results import Results
from packetloom.verdicts import Answer, Verdict, comparison_text

MOST_CONDITIONS = 4
"""Drawn side by side at the top; the figures below have all."""
WIDE_RANGE = 5.0
"""From the least to the most: beyond, the axis is logarithmic."""
BOUNDS = {"ratio": (1.0, float("inf")), "share": (0.0, 1.0)}
"""What a slowdown and a share can be: no interval goes beyond, symmetric though it is."""
SCALES = {"ns": ("ms", 1e6), "share": ("%", 0.01), "gbps": ("Gb/s", 1.0)}


def looks_of(question: Question, several: Sequence[Results]) -> dict[str, Style]:
    """How each competitor looks: as the first of its series does in every figure."""
    competes = competitors(several)
    looks: dict[str, Style] = {}
    for label, look in styles(list(several)).items():
        looks.setdefault(competes[label]["entity"], look)
    return {one: looks.get(one, style_at(place)) for place, one in enumerate(question.entities)}


def write_answer(page: Page, answer: Answer, setting: str, looks: Mapping[str, Style]) -> None:
    """The sentences, and the figure of what they say first."""
    page.heading("What came out")
    told = list(sentences(answer, setting))
    with page.group("answer"):
        for is_more in (False, True):
            own = [sentence for sentence in told if (sentence.answers == "more") == is_more]
            if own:
                with page.group("more" if is_more else "first"):
                    for sentence in own:
                        page.sentence(sentence)
        _lead_figure(page, answer.question, looks)


def _lead_figure(page: Page, question: Question, looks: Mapping[str, Style]) -> None:
    measure = question.lead
    unit, scale = SCALES.get(measure.unit, ("", 1.0))
    conditions = question.conditions[-MOST_CONDITIONS:]
    values = [mean for here in conditions for one in question.entities if (mean := measure.mean(one, here)) is not None]
    is_wide = bool(values) and min(values) > 0 and max(values) > WIDE_RANGE * min(values)
    title = measure.heading + (f" ({unit})" if unit else "")
    panels = [
        Panel(here.text, "", title, _dots(question, measure, here, looks, scale), log_y=is_wide) for here in conditions
    ]
    title = measure.title[:1].upper() + measure.title[1:]
    better = "less is better" if measure.lower_is_better else "more is better"
    chart = {"name": "answer", "title": title, "panels": [panel_json(panel) for panel in panels]}
    seeds = " Whiskers: 95 % intervals over seeds." if question.seeds > 1 else ""
    page.chart(chart, note=f"{title}: {better}.{seeds}")


def _dots(
    question: Question, measure: Measure, here: Condition, looks: Mapping[str, Style], scale: float
) -> list[Dots]:
    marks = []
    for one in question.entities:
        mean, half = measure.mean(one, here), measure.half(one, here)
        if mean is None:
            marks.append(Dots(one, looks[one], [one], [float("nan")]))
            continue
        least, most = BOUNDS.get(measure.unit, (0.0, float("inf")))
        low = [None] if half is None else [max(mean - half, least) / scale]
        high = [None] if half is None else [min(mean + half, most) / scale]
        marks.append(Dots(one, looks[one], [one], [mean / scale], low, high))
    return marks


def write_comparisons(page: Page, answer: Answer) -> None:
    """The numbers of the sentences: the table of the first statistic, those of the others folded."""
    page.heading("How they compare")
    first, *others = answer.question.measures
    _table(page, answer, first)
    _explain(page, answer)
    for measure in others:
        with page.fold(f"The same for the {measure.title}"):
            _table(page, answer, measure)
    if len(answer.question.rivals) > 2 and answer.question.seeds > 1:
        here = answer.question.hardest
        with page.fold(f"Every pair{f' {here.where}' if here.where else ''}: {first.title}"):
            _all_pairs(page, answer, first, here)


def _explain(page: Page, answer: Answer) -> None:
    tests = answer.tested(answer.question.lead)
    if answer.question.seeds < 2:
        page.text("One seed, so there are no intervals and nothing is told from chance.", note=True)
        return
    holm = f", after Holm's correction over {tests} comparisons: each with each, at every point" if tests > 1 else ""
    page.text(
        "± and intervals are 95 %, by Student's t. Schemes are compared seed by seed, as in one seed all of them carry "
        f"the same flows. Told from the best: at 5 %{holm}. Seeds to tell: how many would do so with a chance of 80 %, "
        "if difference and spread are what they seem.",
        note=True,
    )


def _table(page: Page, answer: Answer, measure: Measure) -> None:
    question = answer.question
    has_condition, has_seeds = len(question.conditions) > 1 or bool(question.hardest.text), question.seeds > 1
    compared = "times\nthe best" if measure.by_ratio else "from\nthe best"
    header = [
        *(["at"] if has_condition else []),
        "scheme",
        measure.heading,
        compared,
        *(["95 % interval", "p (Holm)", "told from\nthe best", "seeds\nto tell"] if has_seeds else []),
    ]
    rows: list[list[str | Cell]] = []
    holds = []
    for here in reversed(question.conditions):
        best = answer.best(measure, here)
        for one in question.entities:
            mean = measure.mean(one, here)
            if mean is None:
                continue
            value = Cell(said_within(mean, measure.half(one, here), measure.unit), one in best)
            is_reference = one in question.references and one not in question.rivals
            name = f"{one} (reference)" if is_reference else one
            verdict = None if one in best or not best else answer.verdict(measure, here, one, best[0])
            rows.append([*([here.text] if has_condition else []), name, value, *_cells(verdict, measure, has_seeds)])
            holds.append(Row(measure.name, here, one))
    if has_seeds and not any(row[-1] for row in rows):  # everything is told
        header, rows = header[:-1], [row[:-1] for row in rows]
    page.table(header, rows, text_columns=2 if has_condition else 1, holds=holds)


def _cells(verdict: Verdict | None, measure: Measure, has_seeds: bool) -> list[str]:
    if verdict is None:
        return ["", *(["", "", "", ""] if has_seeds else [])]
    text, bounds = comparison_text(verdict.found, measure, signed=True)
    if not has_seeds:
        return [text]
    if verdict.corrected is None:
        return [text, bounds, "", "", ""]
    p = "< 0.001" if verdict.corrected < 0.001 else f"{verdict.corrected:.3f}"
    return [text, bounds, p, "yes" if verdict.is_told else "no", "" if verdict.is_told else _needed(verdict)]


def _needed(verdict: Verdict) -> str:
    needed = verdict.seeds_needed
    return f"> {MOST_SEEDS:,}" if needed is None else f"{max(needed, verdict.found.seeds + 1):,}"


def _all_pairs(page: Page, answer: Answer, measure: Measure, here: Condition) -> None:
    ranked = [one for one, _ in answer.ranked(measure, here)]
    rows = []
    for better, worse in combinations(ranked, 2):
        verdict = answer.verdict(measure, here, worse, better)
        rows.append([worse, better, *_cells(verdict, measure, True)])
    compared = "ratio" if measure.by_ratio else "difference"
    header = ["scheme", "beside", compared, "95 % interval", "p (Holm)", "told apart", "seeds\nto tell"]
    page.table(header, rows, text_columns=2)
