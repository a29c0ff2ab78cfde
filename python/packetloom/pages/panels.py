"""Panels: what a figure shows, with all its numbers. `plots` draws them for print, the page's script for a browser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

from packetloom.stats.curves import Style, style_at

Numbers = Sequence[float]
Bounds = Sequence[float | None]
Band = tuple[float, float | None]
"""From where to where a number would be without an estimate's error; `None`: without an upper end."""


class Bounded(Protocol):
    """A number, and its interval over seeds where there is more than one."""

    @property
    def value(self) -> float: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


FEW_VALUES = 6
"""So many values on a linear axis each have their tick."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line; `low` and `high` are its intervals, one for each point, where there are any, `bands` where packets would
    be that a point estimates. A step holds its value."""

    label: str
    look: Style
    x: Numbers
    y: Numbers
    low: Bounds = ()
    high: Bounds = ()
    points: bool = True
    step: bool = False
    bands: Sequence[Band | None] = ()

    @staticmethod
    def of(label: str, look: Style, found: Mapping[float, Bounded]) -> Curve:
        """Numbers with their intervals, by their place on the x axis."""
        found_at = found.values()
        y, low, high = [one.value for one in found_at], [one.low for one in found_at], [one.high for one in found_at]
        return Curve(label, look, list(found), y, low, high)


@dataclass(frozen=True, slots=True)
class Dots:
    """A dot with its interval beside each of some names: its place is its value, so no axis has to begin at zero."""

    label: str
    look: Style
    x: Sequence[str]
    y: Numbers
    low: Bounds = ()
    high: Bounds = ()
    bands: Sequence[Band | None] = ()


@dataclass(frozen=True, slots=True)
class Stack:
    """Stacked bars: a row of heights for each layer."""

    x: Numbers
    layers: Sequence[Numbers]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix in colours: a row for each place on the y axis."""

    rows: Sequence[Numbers]
    unit: str


Mark = Curve | Dots | Stack | HeatMap


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes with what is drawn on them."""

    title: str
    x_title: str
    y_title: str
    marks: Sequence[Mark]
    log_x: bool = False
    log_y: bool = False


def apart(marks: Sequence[Mark]) -> list[Mark]:
    """The same marks, but of lines with the same numbers each has dashes of its own, so that the one below shows."""
    taken: dict[object, set[int]] = {}
    found: list[Mark] = []
    for mark in marks:
        if isinstance(mark, Curve):
            twins = taken.setdefault((tuple(mark.x), tuple(_finite(mark.y)), mark.step), set())
            if twins:
                dash = next(dash for dash in count(max(1, mark.look.dash)) if dash not in twins)
                mark = replace(mark, look=replace(mark.look, dash=dash))
            twins.add(mark.look.dash)
        found.append(mark)
    return found


def errors_of(mark: Curve | Dots) -> tuple[list[float], list[float]] | None:
    """How far each interval reaches down and up; `None` where no point has one."""
    if not any(one is not None for one in mark.low):
        return None
    below = [0.0 if low is None else y - low for y, low in zip(mark.y, mark.low, strict=True)]
    above = [0.0 if high is None else high - y for y, high in zip(mark.y, mark.high, strict=True)]
    return below, above


def few_values(panel: Panel) -> list[float]:
    """The values on the x axis, where there are few and nothing lies between them: a number between would mislead."""
    if panel.log_x:
        return []
    curves = [mark for mark in panel.marks if isinstance(mark, Curve)]
    if len(curves) < len(panel.marks) or not all(curve.points for curve in curves):
        return []
    values = sorted({x for curve in curves for x in curve.x if isinstance(x, int | float)})
    return values if 0 < len(values) <= FEW_VALUES else []


def panel_json(panel: Panel) -> dict[str, Any]:
    """A panel for the page's script."""
    return {
        "title": panel.title,
        "x": {"title": panel.x_title, "log": panel.log_x, "ticks": few_values(panel)},
        "y": {"title": panel.y_title, "log": panel.log_y},
        "marks": [mark_json(mark) for mark in apart(panel.marks)],
    }


def mark_json(mark: Mark) -> dict[str, Any]:
    """A mark for the page's script; numbers that JSON does not know are left out of a line."""
    match mark:
        case Curve() | Dots():
            kind = "dots" if isinstance(mark, Dots) else "step" if mark.step else "curve"
            named: dict[str, Any] = {"kind": kind, "label": mark.label, "look": look_json(mark.look)}
            if isinstance(mark, Curve):
                named["points"] = mark.points
            has_errors = any(one is not None for one in mark.low)
            bounds: dict[str, Any] = {"low": list(mark.low), "high": list(mark.high)} if has_errors else {}
            if any(mark.bands):
                bounds["bands"] = list(mark.bands)
            x = list(mark.x) if isinstance(mark, Dots) else _finite(mark.x)
            return named | {"x": x, "y": _finite(mark.y)} | bounds
        case Stack():
            looks = [look_json(style_at(place)) for place in range(len(mark.layers))]
            return {"kind": "stack", "x": list(mark.x), "layers": [list(one) for one in mark.layers], "looks": looks}
        case HeatMap():
            return {"kind": "heat", "rows": [list(row) for row in mark.rows], "unit": mark.unit}


def look_json(look: Style) -> dict[str, Any]:
    """A look for the page's script."""
    return {"colour": look.colour, "marker": look.marker, "dash": look.dash}


def _finite(values: Numbers) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]
