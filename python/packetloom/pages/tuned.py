"""The page of a tuning: whether the best point holds on held-out seeds, what mattered, and how the search went."""

from __future__ import annotations

from collections.abc import Sequence

from packetloom.common.quantities import in_percent
from packetloom.pages.drift_words import warning
from packetloom.pages.html import Cell, Page
from packetloom.pages.measures import question_of
from packetloom.pages.panels import Curve, Dots, Panel, panel_json
from packetloom.stats.curves import style_at
from packetloom.store.results import Results
from packetloom.tuning.outcome import Judged, Tuning
from packetloom.tuning.ranges import Dimension
from packetloom.tuning.sampler import FEWEST
from packetloom.tuning.telling import change_text, refused, short_keys

SHOWN = 10
"""So many of the best points."""
LIMITS = (
    "A point is best for this topology, traffic, loads and statistic. Shares are of the ranges given: a key whose "
    "range is narrow matters little. The sampler proposes more where results were good, so trust only chances near 0."
)


def drift(found: Tuning) -> str:
    """Which held-out runs drift, so that what is best for them need not be for longer ones; empty if none does."""
    if found.held_out is None:
        return ""
    question = question_of(Results(found.held_out))
    return warning(question) if question else ""


def tuning_page(found: Tuning, dimensions: Sequence[Dimension], name: str, drifts: str) -> Page:
    """The page of what was found; `drifts`: what `drift` says of it."""
    page = Page(f"{name}: tuned for {found.goal}")
    page.list([*([drifts] if drifts else []), *refused(found)])
    page.heading("The best point on held-out seeds")
    if found.best is None:
        page.text("No point was allowed: widen the ranges, or ask for less with --require.")
    else:
        _best(page, found, found.best)
    page.heading("What mattered")
    if found.importances:
        _importances(page, found, dimensions)
    elif len(dimensions) > 1:
        page.text(f"It can't be told: that takes at least {FEWEST} points that ran, and that differ.")
    else:
        page.text("One key varied.")
    page.heading("How the search went")
    _search(page, found)
    page.text(LIMITS, note=True)
    return page


def _best(page: Page, found: Tuning, best: Sequence[str]) -> None:
    seeds = found.held_out_seeds
    page.text(
        f"Of {len(found.points)} points this was the best on the tuning's own seeds, where it is partly the luckiest. "
        f"So it was run again on the seeds {seeds[0]} to {seeds[-1]}, beside the scenario's own values."
    )
    page.list(best)
    if not found.judged:
        page.text("A held-out run has no such value, so it can't be judged.")
        return
    page.table(
        ["scheme", "own values", "tuned", "change", "95 % interval", "seeds", "verdict"], map(_judged, found.judged)
    )
    page.text(
        "Better or worse: the change is beyond chance (paired t test, corrected for the number of rows) and more than "
        "run.alike. Else the two are alike.",
        note=True,
    )
    if found.violated:
        page.text(f"What is required did not hold in {found.violated} held-out runs of it.")
    if all(one.comparison.is_ratio for one in found.judged):
        changes = [[_percent(value) for value in _bounds(one)] for one in found.judged]
        names = [_label(one) for one in found.judged]
        _dots(page, "held-out", ("tuned", "change on held-out seeds, with 95 % intervals"), names, changes)


def _importances(page: Page, found: Tuning, dimensions: Sequence[Dimension]) -> None:
    ranges = {one.key: one.text.partition("=")[2] for one in dimensions}
    short = short_keys(list(ranges))
    page.table(
        ["key", "range", "share", "95 % interval", "chance", "said"],
        (
            [
                *(short[one.key], ranges[one.key], in_percent(one.share)),
                *(f"{in_percent(one.low)} to {in_percent(one.high)}", f"{one.p:.2g}"),
                "mattered" if one.is_told else "not told from chance",
            ]
            for one in found.importances
        ),
        text_columns=2,
    )
    page.text(
        "Share: by PED-ANOVA, of all keys together; the interval is over resampled points. Chance: how often a key "
        "that does not matter seems to matter as much, corrected for the number of keys.",
        note=True,
    )
    shares = [[100 * value for value in (one.share, one.low, one.high)] for one in found.importances]
    names = [short[one.key] for one in found.importances]
    _dots(page, "importances", ("share", "of what mattered, with 95 % intervals"), names, shares)


def _search(page: Page, found: Tuning) -> None:
    """The best loss so far, point by point, and the best points."""
    allowed = [(nth, one) for nth, one in enumerate(found.points, 1) if one.is_allowed and one.loss is not None]
    x: list[float] = []
    best: list[float] = []
    for nth, one in allowed:
        if not best or (one.loss or 0.0) < best[-1]:
            x.append(float(nth))
            best.append(one.loss or 0.0)
    if not best:
        page.text("No point ran that was allowed.")
        return
    x.append(float(len(found.points)))
    best.append(best[-1])
    curve = Curve("the best so far", style_at(0), x, best, step=True)
    _chart(page, "search", Panel("the best so far, on the tuning's own seeds", "points", "loss", [curve]))
    ranked = sorted(allowed, key=lambda pair: (pair[1].loss or 0.0, pair[0]))[:SHOWN]
    page.table(
        ["the best points", "point", "loss"],
        ([", ".join(one.settings), str(nth), f"{one.loss:+.4g}"] for nth, one in ranked),
    )
    page.text("Loss: how much worse than the scenario's own values, as a fraction; below 0 it is better.", note=True)


def _label(one: Judged) -> str:
    return one.label if one.load is None else f"{one.label} at load {one.load:g}"


def _judged(one: Judged) -> list[str | Cell]:
    found = one.comparison
    change, low, high = (change_text(value, found.is_ratio) for value in (found.value, found.low, found.high))
    numbers = [f"{one.own:.4g}", f"{one.tuned:.4g}", change, f"{low} to {high}", str(found.seeds)]
    return [_label(one), *numbers, Cell(one.verdict, one.verdict == "better")]


def _bounds(one: Judged) -> tuple[float, float | None, float | None]:
    return one.comparison.value, one.comparison.low, one.comparison.high


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)


def _dots(
    page: Page, name: str, titles: tuple[str, str], names: Sequence[str], values: Sequence[Sequence[float | None]]
) -> None:
    """A dot with its interval for each name."""
    label, title = titles
    y, low, high = zip(*values, strict=True)
    known = [0.0 if one is None else one for one in y]
    _chart(page, name, Panel(title, "", "%", [Dots(label, style_at(0), names, known, low, high)]))


def _chart(page: Page, name: str, panel: Panel) -> None:
    page.chart({"name": name, "title": panel.title, "columns": 1, "panels": [panel_json(panel)]})
