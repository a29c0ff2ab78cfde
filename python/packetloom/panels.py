"""Plotly figures of several panels that share one legend, as the plain dicts that plotly.js reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.curves import COLOURS, Style

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
DASHES = ("solid", "dash", "dot")
PANEL_HEIGHT = 340
GAP = 0.07


class Panels:
    """Panels in rows of at most three."""

    def __init__(self, count: int, columns: int | None = None) -> None:
        self._columns = columns or min(count, 3)
        self._rows = -(-count // self._columns)
        self._data: list[dict[str, Any]] = []
        self._in_legend: set[str] = set()
        self._layout: dict[str, Any] = {
            "height": PANEL_HEIGHT * self._rows + 60,
            "margin": {"l": 60, "r": 10, "t": 30, "b": 50},
            "legend": {"orientation": "h", "y": 1 + 60 / (PANEL_HEIGHT * self._rows), "yanchor": "bottom"},
            "hovermode": "closest",
            "annotations": [],
        }

    def axes(self, place: int, title: str, *, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        """Lays out the axes of a panel."""
        row, column = divmod(place, self._columns)
        left, right = self._span(column, self._columns, GAP)
        bottom, top = self._span(self._rows - 1 - row, self._rows, 0.16)
        suffix = self._suffix(place)
        x_axis, y_axis = dict(x), dict(y)
        for axis, steps in ((x_axis, (1,)), (y_axis, (1, 2, 5))):
            axis["title"] = {"text": axis.get("title", "")}
            if axis.get("type") == "log":
                ticks = [step * 10**power for power in range(-6, 13) for step in steps]
                axis |= {"tickvals": ticks, "ticktext": [_tick_text(tick) for tick in ticks]}
        self._layout[f"xaxis{suffix}"] = {**x_axis, "domain": [left, right], "anchor": f"y{suffix}"}
        self._layout[f"yaxis{suffix}"] = {**y_axis, "domain": [bottom, top], "anchor": f"x{suffix}"}
        heading = {"text": title, "x": (left + right) / 2, "y": top, "xref": "paper", "yref": "paper"}
        self._layout["annotations"].append({**heading, "yanchor": "bottom", "showarrow": False})

    def add(self, place: int, label: str, trace: Mapping[str, Any], *, note: str = "", legend: bool = True) -> None:
        """Draws a series into a panel. A click on its legend shows or hides it in all panels."""
        suffix = self._suffix(place)
        first = legend and label not in self._in_legend
        self._in_legend.add(label)
        name = f"{label} {note}".strip()
        shared = {"name": name, "legendgroup": label, "showlegend": first}
        self._data.append({**trace, **shared, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})

    def figure(self) -> dict[str, Any]:
        """The figure."""
        return {"data": self._data, "layout": self._layout}

    @staticmethod
    def _suffix(place: int) -> str:
        return "" if place == 0 else str(place + 1)

    @staticmethod
    def _span(index: int, count: int, gap: float) -> tuple[float, float]:
        width = (1 - gap * (count - 1)) / count
        return index * (width + gap), index * (width + gap) + width


def _tick_text(value: float) -> str:
    for suffix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"


def line_style(look: Style, mode: str = "lines+markers") -> dict[str, Any]:
    """A series drawn as a line."""
    dash = DASHES[look.order // len(COLOURS) % len(DASHES)]
    return {
        "type": "scatter",
        "mode": mode,
        "line": {"color": look.colour, "width": 2, "dash": dash},
        "marker": {"color": look.colour, "size": 7, "symbol": SYMBOLS[look.order % len(SYMBOLS)]},
    }


def box(look: Style) -> dict[str, Any]:
    """A series drawn as bars."""
    return {"marker": {"color": look.colour}}


def spread(points: pl.DataFrame) -> dict[str, Any]:
    """Error bars from the columns low and high, where there is more than one seed."""
    if points["low"].null_count() == points.height:
        return {}
    above = (points["high"] - points["value"]).fill_null(0.0).to_list()
    # a slowdown is never below 1, whatever a symmetric interval says
    below = points.select(pl.col("value") - pl.max_horizontal(pl.col("low").fill_null(pl.col("value")), 1.0))
    return {"error_y": {"type": "data", "array": above, "arrayminus": below.to_series().to_list(), "symmetric": False}}
