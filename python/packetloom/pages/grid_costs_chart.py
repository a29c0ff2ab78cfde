"""The figure and the page's section of what values of the grid cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from packetloom.common.quantities import axis_scale
from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.pages.figures import Chart, Choice, Figure
from packetloom.pages.grid_costs import (
    LOAD,
    Along,
    along,
    axes_meant,
    axes_there_are,
    axis_called,
    axis_name,
    looks_along,
    point_of,
    scheme_of,
    sentences_along,
    table_along,
)
from packetloom.pages.html import Page
from packetloom.pages.measures import Condition
from packetloom.pages.panels import Curve, Dots, Panel, panel_json
from packetloom.pages.sentences import Row
from packetloom.stats.curves import SomeResults, Style, as_list
from packetloom.store.results import Results

LONG_RANGE = 20.0


@dataclass(frozen=True, slots=True)
class AlongChart(Chart):
    """What the values of each axis cost: a panel for each axis and point of the others."""

    panels: Mapping[str, Sequence[Panel]] = field(default_factory=dict)

    def values(self, choice: str) -> list[Choice]:
        """The axes; or the points of all others."""
        if choice == "axis":
            return list(self.panels)
        return list(dict.fromkeys(panel.title for panels in self.panels.values() for panel in panels))

    def panel(self, chosen: Mapping[str, Choice]) -> Panel:
        """That of an axis, at the last point of the others that is meant."""
        return self.panels_at(chosen)[-1]

    def panels_at(self, chosen: Mapping[str, Choice]) -> list[Panel]:
        """Those of an axis: one for each point of the others, or for those that `where` names a part of."""
        axis = str(chosen.get("axis", next(iter(self.panels))))
        called = axes_meant(axis, self.panels)
        if len(called) != 1:
            raise PacketloomError(f"along: there is no axis {axis!r}; {meant(axis, map(axis_name, self.panels))}")
        points = self.panels[called[0]]
        where = chosen.get("where")
        shown = [panel for panel in points if where is None or str(where) in panel.title.split(", ")]
        shown = shown or [panel for panel in points if str(where) in panel.title]
        if not shown:
            there = [panel.title for panel in points if panel.title]
            raise PacketloomError(f"along: nothing is at {where!r}; {meant(str(where), there)}")
        return shown

    def unshown(self, chosen: Mapping[str, Choice]) -> list[str]:
        """The other axes. All points of one are shown."""
        axes = [axis_name(axis) for axis in self.panels]
        if "axis" in chosen or len(axes) < 2:
            return []
        return [f"axis {axes[0]} (--axis for {', '.join(axes[1:])})"]

    def to_json(self) -> dict[str, Any]:
        """For the page's script."""
        shown = [panel_json(panel) for panels in self.panels.values() for panel in panels]
        figure = self.figure
        return {"name": figure.name, "title": figure.title, "shows": figure.shows, "panels": shown}


def chart_along(figure: Figure, results: SomeResults, axis: str | None = None) -> AlongChart:
    """The figure of these results, of one axis or of all but the load."""
    several = as_list(results)
    axes = [one for one in axes_there_are(several) if one != LOAD] or axes_there_are(several)
    if axis is not None:
        axes = [axis_called(axis, several)]
    if not axes:
        raise PacketloomError(
            "the scenario varies nothing but schemes and seeds, so no value of its grid costs anything"
        )
    looks = figure.looks(results)
    panels = {one: panels_along(found := along(several, one), looks_along(found, looks)) for one in axes}
    known = {one: own for one, own in panels.items() if own}
    if not known:
        raise PacketloomError("no measured flow has finished, so there is nothing to show")
    return AlongChart(figure, pl.DataFrame(), looks, known)


def panels_along(found: Along, looks: Mapping[str, Style]) -> list[Panel]:
    """The values from left to right, a line for each scheme; a panel for each point of the other axes."""
    groups: dict[str, list[Condition]] = {}
    for here in found.answer.question.conditions:
        groups.setdefault(point_of(here).text, []).append(here)
    title, per = axis_scale(found.axis)
    numbers = [value for value in found.values.values() if isinstance(value, int | float)]
    is_line = len(numbers) == len(found.values)
    is_long = is_line and min(numbers) > 0 and max(numbers) > LONG_RANGE * min(numbers)
    measure = found.measure
    compared = "times" if measure.by_ratio else "less"
    y_title = f"{measure.heading}, {compared} that at {found.base}"
    panels = []
    for point, conditions in groups.items():
        marks: list[Curve | Dots] = []
        for here in conditions:
            line = [(value, *_at(found, value, here)) for value in found.values]
            shown = [one for one in line if one[1] is not None]
            if len(shown) < 2:
                continue
            names, y, low, high = (list(column) for column in zip(*shown, strict=True))
            scheme = scheme_of(here)
            if is_line:
                x = [float(found.values[name]) / per for name in names]  # type: ignore[arg-type]
                marks.append(Curve(scheme, looks[scheme], x, y, low, high))
            else:
                marks.append(Dots(scheme, looks[scheme], [f"{found.name} {name}" for name in names], y, low, high))
        if marks:
            x_title = title.removeprefix("topology.") if is_line else ""
            panels.append(Panel(point, x_title, y_title, marks, log_x=is_long))
    return panels


def _at(found: Along, value: str, here: Condition) -> tuple[float | None, float | None, float | None]:
    if (value, here) in found.answer.question.stopped:
        return None, None, None
    if value == found.base:
        return (1.0 if found.measure.by_ratio else 0.0) if (value, here) in found.measure.values else None, None, None
    own = found.comparison(value, here)
    return (None, None, None) if own is None else (own.value, own.low, own.high)


def write_along(page: Page, several: Sequence[Results], figure: Figure) -> None:
    """The page's section: for each axis but the load the sentences, the figure, and the table of its numbers."""
    axes = [axis for axis in axes_there_are(several) if axis != LOAD]
    if not axes:
        return
    page.heading("What values of the grid cost")
    page.text(
        "Each scheme beside itself at the first value of an axis, seed by seed, with 95 % intervals; `packetloom "
        "compare DIR --along AXIS --from VALUE` does so from another.",
        note=True,
    )
    for axis in axes:
        found = along(several, axis)
        page.heading(found.name, 3)
        for sentence in sentences_along(found):
            page.sentence(sentence)
        try:
            drawn = chart_along(figure, several, axis).to_json()
        except PacketloomError:
            drawn = None
        if drawn is not None:
            page.chart({**drawn, "name": f"along-{len(page.charts)}", "title": f"What {found.name} costs"})
        _table(page, found)


def _table(page: Page, found: Along) -> None:
    measure = found.measure
    compared = f"over that\nat {found.base}" if measure.by_ratio else f"less that\nat {found.base}"
    header = ["scheme", "at", found.name, measure.heading, compared, "95 % interval", "told apart"]
    rows, holds = [], []
    for cells, (here, value) in zip(table_along(found, measure), found.lines(), strict=True):
        rows.append(cells)
        holds.append(Row(f"{found.axis} {measure.name}", here, value))
    kept = [place for place in range(len(header)) if place in (0, 2, 3) or any(row[place] for row in rows)]
    with page.fold(f"Table: {measure.title} by {found.name}"):
        page.table(
            [header[place] for place in kept],
            [[row[place] for place in kept] for row in rows],
            text_columns=2 if 1 in kept else 1,
            holds=holds,
        )
