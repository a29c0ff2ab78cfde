"""What Python programs put into a scenario, as values that a scenario file could hold."""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packetloom.errors import ScenarioError

DEEPEST = 100
MOST_VALUES = 1_000_000
LARGEST = 1 << 64


def plain(value: Any) -> Any:
    """The value in dicts, lists, texts, numbers and truth values; `ScenarioError` with the key of what is none."""
    return _plain(value, "", 0, itertools.count())


def _plain(value: Any, key: str, depth: int, count: itertools.count[int]) -> Any:
    if depth > DEEPEST:
        raise _problem(key[:80], f"holds itself, or more than {DEEPEST} levels; write fewer")
    if next(count) > MOST_VALUES:  # few objects can hold one another so often that they are very many
        raise _problem(key[:80], f"is beyond the first {MOST_VALUES:,} values; write fewer")
    if hasattr(value, "tolist") and not isinstance(value, type):  # numpy's arrays and scalars
        value = value.tolist()
    match value:
        case None:
            raise _problem(key, "is None; leave it out, or write a value")
        case bool():
            return value
        case str():
            return _text(value, key)
        case Path():
            return _text(str(value), key)
        case int():
            return _bounded(value, key)
        case float():
            return _finite(value, key)
        case Mapping():
            below = ((_name(name, key), one) for name, one in value.items())
            return {name: _plain(one, f"{key}.{name}".lstrip("."), depth + 1, count) for name, one in below}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(one, f"{key}[{place}]", depth + 1, count) for place, one in enumerate(value)]
    kind = type(value).__name__
    raise _problem(
        key, f"{reprlib.repr(value)} is of type {kind}; write a text, a number, True, False, a list or a dict"
    )


def _name(name: object, key: str) -> str:
    if not isinstance(name, str):
        raise _problem(key, f"the key {reprlib.repr(name)} is of type {type(name).__name__}; keys are texts")
    return _text(name, key)


def _text(text: str, key: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _problem(key, f"{reprlib.repr(text)} holds half of a surrogate pair, which no text file can") from None
    return str(text)


def _bounded(number: int, key: str) -> int:
    if not -LARGEST < number < LARGEST:
        raise _problem(key, "a whole number of more than 64 bits; write a smaller one")
    return int(number)


def _finite(number: float, key: str) -> float:
    if not math.isfinite(number):
        raise _problem(key, f"{number} is not finite; write a number that is")
    return float(number)


def _problem(key: str, message: str) -> ScenarioError:
    return ScenarioError(f"scenario: {key}: {message}" if key else f"scenario: {message}")
