"""What a checker says of an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NO_ANSWER = "Not answered yet: write your answer in place of the dots, and run the cell again."


@dataclass(frozen=True, slots=True)
class Mark:
    """Whether an answer is right, and what to tell who gave it; a notebook shows the text."""

    right: bool
    text: str

    def __repr__(self) -> str:
        return self.text


def right(text: str = "") -> Mark:
    """The answer is right; what there is to add."""
    return Mark(True, f"Right. {text}".strip())


def wrong(text: str) -> Mark:
    """The answer is not right; a hint."""
    return Mark(False, f"Not yet. {text}")


def is_missing(answer: object) -> bool:
    """Whether the dots are still there."""
    return answer is ... or answer is None


def number(answer: Any, expected: float, *, within: float, hint: str, praise: str = "") -> Mark:
    """A number that should be within a fraction of what is expected."""
    if is_missing(answer):
        return Mark(False, NO_ANSWER)
    value = _as_number(answer)
    if value is None:
        return wrong(f"{answer!r} is not a number.")
    if abs(value - expected) <= within * abs(expected):
        return right(praise)
    return wrong(f"{value:g} is too {'large' if value > expected else 'small'}. {hint}")


def function(
    answer: Callable[..., Any],
    cases: Sequence[tuple[tuple[Any, ...], float]],
    *,
    within: float,
    hint: str,
    praise: str = "",
) -> Mark:
    """A function that should give what is expected for each tuple of arguments."""
    for arguments, expected in cases:
        called = f"{getattr(answer, '__name__', 'it')}({', '.join(map(_short, arguments))})"
        try:
            value = answer(*arguments)
        except Exception as error:
            return wrong(f"{called} raised {type(error).__name__}: {error}")
        if is_missing(value):
            return Mark(False, NO_ANSWER)
        given = _as_number(value)
        if given is None:
            return wrong(f"{called} gives {value!r}, which is not a number.")
        if abs(given - expected) > within * max(abs(expected), 1e-12):
            return wrong(f"{called} gives {given:g}, which is too {'large' if given > expected else 'small'}. {hint}")
    return right(praise)


def _as_number(value: Any) -> float | None:
    try:
        read = float(value)
    except (TypeError, ValueError):
        return None
    return read if math.isfinite(read) else None


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, float) else f"{value:g}"
    return text if len(text) <= 60 else f"{text[:57]}..."
