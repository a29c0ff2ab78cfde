"""The top of the report: what came out in sentences, the figure that shows it, and the tables that hold its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from packetloom.common.quantities import axis_scale, axis_value_text, said_within
from packetloom.pages.html import Cell, Page
from packetloom.pages.measures import Condition, Measure, Question, competitors
from packetloom.pages.panels import Curve, Dots, Panel, panel_json
from packetloom.pages.ranking import Answer, comparison_text
from packetloom.pages.sentences import Row, sentences
from packetloom.scenario.plan import Parameter
from packetloom.stats.curves import Style, style_at, styles
from packetloom.stats.paired import MOST_SEEDS, Comparison
from packetloom.store.results import Results

MOST_PANELS = 12
"""Drawn side by side at the top; what else there is is named."""
LONG_RANGE = 20.0
"""From the least to the most value of the grid: beyond, their axis is logarithmic."""
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
    panels, left_out = lead_panels(question, looks)
    title = measure.title[:1].upper() + measure.title[1:]
    better = "less is better" if measure.lower_is_better else "more is better"
    chart = {"name": "answer", "title": title, "panels": [panel_json(panel) for panel in panels]}
    seeds = " Whiskers: 95 % intervals over seeds." if question.seeds > 1 else ""
    missing = f" Not drawn here, but in the table below: {'; '.join(left_out)}." if left_out else ""
    page.chart(chart, note=f"{title}: {better}.{seeds}{missing}")


def lead_panels(question: Question, looks: Mapping[str, Style]) -> tuple[list[Panel], list[str]]:
    """The statistic that the scenario is about, under every condition; and the conditions that there is no room for.

    The grid's longest axis, the load first, goes from left to right; each point of the others is a panel.
    """
    measure = question.lead
    along, groups = _along(question.conditions)
    unit, _ = SCALES.get(measure.unit, ("", 1.0))
    values = [mean for mean in (measure.mean(*key) for key in measure.values) if mean is not None]
    is_wide = bool(values) and min(values) > 0 and max(values) > WIDE_RANGE * min(values)
    y_title = measure.heading + (f" ({unit})" if unit else "")
    panels = []
    for rest, conditions in list(groups.items())[-MOST_PANELS:]:
        if along is None:
            panels.append(Panel(rest, "", y_title, _dots(question, conditions, looks, None), log_y=is_wide))
            continue
        places = [_place(condition, along) for condition in conditions]
        x_title, per = axis_scale(along)
        if all(isinstance(place, int | float) and not isinstance(place, bool) for place in places):
            numbers = [float(place) / per for place in places]  # type: ignore[arg-type]
            is_long = min(numbers) > 0 and max(numbers) > LONG_RANGE * min(numbers)
            lines = _lines(question, conditions, numbers, looks)
            panels.append(Panel(rest, x_title, y_title, lines, log_x=is_long, log_y=is_wide))
        else:
            panels.append(Panel(rest, "", y_title, _dots(question, conditions, looks, along), log_y=is_wide))
    return panels, list(groups)[:-MOST_PANELS]


def _along(conditions: Sequence[Condition]) -> tuple[str | None, dict[str, list[Condition]]]:
    """The axis with most values, the load first of those that have as many; and the conditions by all others."""
    if len(conditions) < 2:
        return None, {one.text: [one] for one in conditions}
    names = ["load", *dict.fromkeys(name for one in conditions for name, _ in one.axes)]
    along = max(names, key=lambda name: len({str(_place(one, name)) for one in conditions}))
    groups: dict[str, list[Condition]] = {}
    for one in conditions:
        rest = one.without(along)
        groups.setdefault(rest.text, []).append(one)
    return along, groups


def _place(condition: Condition, axis: str) -> Parameter:
    return condition.load if axis == "load" else dict(condition.axes).get(axis)


def _lines(
    question: Question, conditions: Sequence[Condition], places: Sequence[float], looks: Mapping[str, Style]
) -> list[Curve]:
    lines = []
    for one in question.entities:
        numbers = [_bounded(question.lead, one, here) for here in conditions]
        shown = [(place, *found) for place, found in zip(places, numbers, strict=True) if found is not None]
        if shown:
            x, y, low, high = (list(column) for column in zip(*sorted(shown), strict=True))
            lines.append(Curve(one, looks[one], x, y, low, high))
    return lines


def _dots(
    question: Question, conditions: Sequence[Condition], looks: Mapping[str, Style], along: str | None
) -> list[Dots]:
    """A dot for each scheme: beside its own name under a single condition, else beside the conditions' names."""
    marks = []
    for one in question.entities:
        found = [_bounded(question.lead, one, here) or (float("nan"), None, None) for here in conditions]
        names = [one if along is None else _named(here, along) for here in conditions]
        y, low, high = (list(column) for column in zip(*found, strict=True))
        marks.append(Dots(one, looks[one], names, y, low, high))
    return marks


def _named(condition: Condition, along: str) -> str:
    value = _place(condition, along)
    return "none" if value is None else axis_value_text(along, value)


def _bounded(measure: Measure, one: str, here: Condition) -> tuple[float, float | None, float | None] | None:
    """A mean in the figure's unit, with an interval that does not go beyond what can be."""
    mean, half = measure.mean(one, here), measure.half(one, here)
    if mean is None:
        return None
    _, scale = SCALES.get(measure.unit, ("", 1.0))
    least, most = BOUNDS.get(measure.unit, (0.0, float("inf")))
    if half is None:
        return mean / scale, None, None
    return mean / scale, max(mean - half, least) / scale, min(mean + half, most) / scale


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
        here = answer.typical(first)
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
        f"the same flows. Told from the best: at 5 %{holm}; alike: it differs by "
        f"less than {100 * answer.question.alike:g} % (run.alike). Seeds to tell: how many would do so with a "
        "chance of 80 %, if difference and spread are what they seem.",
        note=True,
    )


def _table(page: Page, answer: Answer, measure: Measure) -> None:
    header, rows, holds = _lines_of(answer, measure)
    has_condition = "at" in header
    page.table(header, rows, text_columns=2 if has_condition else 1, holds=holds)


def table_lines(answer: Answer, measure: Measure) -> tuple[list[str], list[list[str]]]:
    """The table of a statistic as text."""
    header, rows, _ = _lines_of(answer, measure)
    return header, [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in rows]


def _lines_of(answer: Answer, measure: Measure) -> tuple[list[str], list[list[str | Cell]], list[Row]]:
    """Headings, a line for each scheme at each point, and which numbers of sentences each has."""
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
        best, first = answer.best(measure, here), answer.first(measure, here)
        for one in question.entities:
            mean = measure.mean(one, here)
            stopped = question.stopped.get((one, here))
            if mean is None and stopped is None:
                continue
            text = "–" if mean is None else said_within(mean, measure.half(one, here), measure.unit)
            value = Cell(text if stopped is None else f"{text} ({stopped.text})", one in best)
            is_reference = one in question.references and one not in question.rivals
            name = f"{one} (reference)" if is_reference else one
            found = None
            if first is not None and one != first and stopped is None:
                found = answer.comparison(measure, here, one, first)
            cells = _cells(found, measure, has_seeds)
            if found is not None and has_seeds and first is not None and answer.is_small(measure, here, one, first):
                cells[3:] = ["alike", ""]
            rows.append([*([here.text] if has_condition else []), name, value, *cells])
            holds.append(Row(measure.name, here, one))
    # A lone scheme is compared with none; and where everything is told, no more seeds are needed.
    own = 3 if has_condition else 2
    kept = [place for place in range(len(header)) if place < own or any(row[place] for row in rows)]
    header, rows = [header[place] for place in kept], [[row[place] for place in kept] for row in rows]
    return header, rows, holds


def _cells(found: Comparison | None, measure: Measure, has_seeds: bool) -> list[str]:
    if found is None:
        return ["", *(["", "", "", ""] if has_seeds else [])]
    text, bounds = comparison_text(found, measure, signed=True)
    if not has_seeds:
        return [text]
    if found.corrected is None:
        return [text, bounds, "", "", ""]
    p = "< 0.001" if found.corrected < 0.001 else f"{found.corrected:.3f}"
    return [text, bounds, p, "yes" if found.is_told else "no", "" if found.is_told else _needed(found)]


def _needed(found: Comparison) -> str:
    needed = found.seeds_needed
    return f"> {MOST_SEEDS:,}" if needed is None else f"{max(needed, found.seeds + 1):,}"


def _all_pairs(page: Page, answer: Answer, measure: Measure, here: Condition) -> None:
    ranked = [one for one, _ in answer.ranked(measure, here)]
    rows = []
    for better, worse in combinations(ranked, 2):
        found = answer.comparison(measure, here, worse, better)
        rows.append([worse, better, *_cells(found, measure, True)])
    compared = "ratio" if measure.by_ratio else "difference"
    header = ["scheme", "beside", compared, "95 % interval", "p (Holm)", "told apart", "seeds\nto tell"]
    page.table(header, rows, text_columns=2)
