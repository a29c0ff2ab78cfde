"""Pictures that sliders choose from: all are in the output, so a stored notebook needs no kernel and no network.

Every picture is drawn beforehand, to the same scale. The script only says which one is seen; without it, the one in the
middle is. What is drawn where is reckoned here; `templates/sliders.html` has the HTML and the SVG.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packetloom.common.templates import render
from packetloom.stats.curves import COLOURS

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 14, 42
TICKS_X, TICKS_Y = 4, 5


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
        from markupsafe import Markup

        body = render("course", "sliders.html", **self._content())
        name = f"sliders-{hashlib.sha256(body.encode()).hexdigest()[:12]}"
        return render("course", "chosen.html", name=name, body=Markup(body))

    def _content(self) -> dict[str, Any]:
        points = [point for picture in self.pictures.values() for curve in picture.curves.values() for point in curve]
        most_x, most_y = _two_digits(max(x for x, _ in points)), _round_up(max(y for _, y in points))
        names = list(dict.fromkeys(name for picture in self.pictures.values() for name in picture.curves))
        return {
            "width": WIDTH,
            "height": HEIGHT,
            "inputs": [
                {"name": name, "texts": [*map(str, values)], "middle": len(values) // 2}
                for name, values in self.settings.items()
            ],
            "axes": _axes(most_x, most_y, self.x, self.y),
            "pictures": [
                {
                    "at": at,
                    "is_seen": is_seen,
                    "said": picture.said,
                    "curves": [
                        {"line": _steps(curve, most_x, most_y), "colour": _colour(names.index(name))}
                        for name, curve in picture.curves.items()
                    ],
                }
                for at, is_seen, picture in self._places()
            ],
            "legend": [_entry(place, name) for place, name in enumerate(names)],
        }

    def _places(self) -> Iterator[tuple[str, bool, Picture]]:
        """Each picture, where its sliders are, and whether that is the middle of all."""
        sizes = [len(values) for values in self.settings.values()]
        middle = tuple(size // 2 for size in sizes)
        for at in itertools.product(*map(range, sizes)):
            values = tuple(values[place] for values, place in zip(self.settings.values(), at, strict=True))
            yield "-".join(map(str, at)), at == middle, self.pictures[values]


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


def _axes(most_x: float, most_y: float, x: str, y: str) -> dict[str, Any]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    below = [place / TICKS_X for place in range(TICKS_X + 1)]
    beside = [place / TICKS_Y for place in range(TICKS_Y + 1)]
    return {
        "line": f"M{LEFT} {TOP}V{bottom}H{right}",
        "below": [{"at": f"{_x(part, 1):.0f}", "text": f"{part * most_x:.4g}"} for part in below],
        "below_y": bottom + 16,
        "beside": [{"at": f"{_y(part, 1) + 4:.0f}", "text": f"{part * most_y:.3g}"} for part in beside],
        "beside_x": LEFT - 6,
        "x": x,
        "x_at": f"{(LEFT + right) / 2:.0f}",
        "y": y,
        "y_at": f"{(TOP + bottom) / 2:.0f}",
    }


def _entry(place: int, name: str) -> dict[str, Any]:
    """A curve's name in the corner, after a piece of its line."""
    at = TOP + 12 + 16 * place
    return {"line": f"M{WIDTH - 150} {at - 4}h22", "colour": _colour(place), "x": WIDTH - 122, "y": at, "name": name}
