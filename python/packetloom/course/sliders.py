"""Pictures that sliders choose from: all are in the output, so a stored notebook needs no kernel and no network.

Every picture is drawn beforehand, to the same scale. The script only says which one is seen; without it, the one in the
middle is.
"""

from __future__ import annotations

import hashlib
import html
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packetloom.stats.curves import COLOURS

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 14, 42
TICKS_X, TICKS_Y = 4, 5
SCRIPT = """(function () {
  var box = document.getElementById("ID"), inputs = box.querySelectorAll("input");
  function show() {
    var at = Array.prototype.map.call(inputs, function (one) { return one.value; }).join("-");
    box.querySelectorAll("[data-at]").forEach(function (one) {
      one.style.display = one.getAttribute("data-at") === at ? "" : "none";
    });
    inputs.forEach(function (one) {
      one.nextElementSibling.textContent = one.getAttribute("data-values").split("|")[one.value];
    });
  }
  inputs.forEach(function (one) { one.addEventListener("input", show); });
  show();
})();"""


@dataclass(frozen=True, slots=True)
class Picture:
    """Curves by name, drawn as steps, and what to read beside them."""

    curves: Mapping[str, Sequence[tuple[float, float]]]
    said: str


@dataclass(frozen=True, slots=True)
class Sliders:
    """A slider for each list of settings, and a picture for each combination, in the order of the sliders."""

    settings: Mapping[str, Sequence[object]]
    pictures: Mapping[tuple[Any, ...], Picture]
    x: str
    y: str

    def __post_init__(self) -> None:
        missing = set(itertools.product(*self.settings.values())) ^ set(self.pictures)
        if missing:
            raise ValueError(f"there is no slider, or no picture, for {sorted(missing, key=repr)[0]}")

    def __repr__(self) -> str:
        return f"{len(self.pictures)} pictures, by {' and '.join(self.settings)}: shown where HTML is"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """The sliders, all pictures, and the script."""
        body = f"{''.join(self._inputs())}{self._drawn()}{''.join(self._sentences())}"
        name = f"sliders-{hashlib.sha256(body.encode()).hexdigest()[:12]}"
        return f'<div id="{name}">{body}</div>\n<script>{SCRIPT.replace("ID", name)}</script>'

    def _inputs(self) -> Iterator[str]:
        for name, values in self.settings.items():
            texts = [html.escape(str(value)) for value in values]
            middle = len(values) // 2
            yield (
                f'<label style="display:block">{html.escape(name)} <input type="range" min="0" max="{len(values) - 1}" '
                f'step="1" value="{middle}" data-values="{"|".join(texts)}" style="vertical-align:middle"> '
                f"<output>{texts[middle]}</output></label>"
            )

    def _places(self) -> Iterator[tuple[str, bool, Picture]]:
        """Each picture, where its sliders are, and whether that is the middle of all."""
        sizes = [len(values) for values in self.settings.values()]
        middle = tuple(size // 2 for size in sizes)
        for at in itertools.product(*map(range, sizes)):
            values = tuple(values[place] for values, place in zip(self.settings.values(), at, strict=True))
            yield "-".join(map(str, at)), at == middle, self.pictures[values]

    def _sentences(self) -> Iterator[str]:
        for at, is_seen, picture in self._places():
            yield f'<p data-at="{at}"{_hidden(is_seen)}>{html.escape(picture.said)}</p>'

    def _drawn(self) -> str:
        points = [point for picture in self.pictures.values() for curve in picture.curves.values() for point in curve]
        most_x, most_y = _two_digits(max(x for x, _ in points)), _round_up(max(y for _, y in points))
        names = list(dict.fromkeys(name for picture in self.pictures.values() for name in picture.curves))
        groups = [
            f'<g data-at="{at}"{_hidden(is_seen)}>'
            + "".join(
                f'<path d="{_steps(curve, most_x, most_y)}" stroke="{_colour(names.index(name))}"/>'
                for name, curve in picture.curves.items()
            )
            + "</g>"
            for at, is_seen, picture in self._places()
        ]
        size = f'viewBox="0 0 {WIDTH} {HEIGHT}" style="display:block;width:100%;max-width:{WIDTH}px"'
        axes, legend = "".join(_axes(most_x, most_y, self.x, self.y)), "".join(_legend(names))
        drawn = f'<g fill="none" stroke-width="1.6">{"".join(groups)}</g>'
        font = 'font-family="sans-serif" font-size="12" fill="currentColor"'
        return f'<svg role="img" {size} {font}>{axes}{drawn}{legend}</svg>'


def _hidden(is_seen: bool) -> str:
    return "" if is_seen else ' style="display:none"'


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _round_up(most: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten, by which an axis is divided well."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= most * (1 - 1e-9))


def _two_digits(most: float) -> float:
    """Where an axis ends that is to be full: little beyond its last point."""
    unit = 10.0 ** (math.floor(math.log10(most)) - 1)
    return math.ceil(most / unit - 1e-9) * unit


def _x(value: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most


def _steps(curve: Sequence[tuple[float, float]], most_x: float, most_y: float) -> str:
    """A path along the axes; what does not change is drawn as one line."""
    parts: list[str] = []
    last = ""
    for x, y in curve:
        at, level = f"{_x(x, most_x):.0f}", f"{_y(y, most_y):.0f}"
        if not parts:
            parts.append(f"M{at} {level}")
        elif level != last:
            parts.append(f"H{at}V{level}")
        last = level
    if curve:
        parts.append(f"H{_x(curve[-1][0], most_x):.0f}")
    return "".join(parts)


def _axes(most_x: float, most_y: float, x: str, y: str) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
    for part in (place / TICKS_X for place in range(TICKS_X + 1)):
        yield f'<text x="{_x(part, 1):.0f}" y="{bottom + 16}" text-anchor="middle">{part * most_x:.4g}</text>'
    for part in (place / TICKS_Y for place in range(TICKS_Y + 1)):
        yield f'<text x="{LEFT - 6}" y="{_y(part, 1) + 4:.0f}" text-anchor="end">{part * most_y:.3g}</text>'
    yield f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x)}</text>'
    middle = (TOP + bottom) / 2
    yield (
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 14 {middle:.0f})">'
        f"{html.escape(y)}</text>"
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        at = TOP + 12 + 16 * place
        yield (
            f'<path d="M{WIDTH - 150} {at - 4}h22" stroke="{_colour(place)}" stroke-width="3"/>'
            f'<text x="{WIDTH - 122}" y="{at}">{html.escape(name)}</text>'
        )
