"""What may be varied: a key with the ends of its range, or with a few choices, as text such as `10KB..400KB:log`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal

from packetloom.common.quantities import BINARY_BYTES, BYTES
from packetloom.errors import PacketloomError
from packetloom.scenario.overrides import setting_value

QUANTITY = r"([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ]*)"
RANGE = re.compile(rf"{QUANTITY}\s*\.\.\s*{QUANTITY}\s*(:log)?")
WHOLE = re.compile(r"[+-]?[0-9]+")
INDIVISIBLE = ("", "B")
"""Units of which there are only whole ones, where both ends are written as whole numbers."""
KINS: tuple[dict[str, int], ...] = (
    {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    BYTES,
    BINARY_BYTES,
)
"""Units that are multiples of each other."""
STEPS = 1000
"""Values are rounded to a thousandth of the range or better, so that they can be read and written again."""
EXAMPLE = "scheme.DCTCP.queue.mark_above=10KB..400KB:log"
LONGEST = 400

Value = float | int | str
"""As a sampler gives it: a number in the range's unit, or a choice as it was written."""


@dataclass(frozen=True, slots=True)
class Range:
    """A key and two numbers of one unit; values between them are whole, or rounded."""

    key: str
    low: float
    high: float
    unit: str
    is_log: bool
    is_whole: bool

    @property
    def text(self) -> str:
        """As a user writes it."""
        ends = f"{_plain(self.low)}{self.unit}..{_plain(self.high)}{self.unit}"
        return f"{self.key}={ends}{':log' if self.is_log else ''}"

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends as values of a scenario."""
        return self.value_text(self.low), self.value_text(self.high)

    def value_text(self, value: Value) -> str:
        """A value of this range, rounded, as a scenario has it: `"37.3KB"` or `0.0042`."""
        number = min(self.high, max(self.low, self._rounded(float(value))))
        return f'"{_plain(number)}{self.unit}"' if self.unit else _plain(number)

    def _rounded(self, value: float) -> float:
        if self.is_whole:
            return round(value)
        # Of a logarithmic range three digits count at every size; of another, a thousandth of its width.
        scale = abs(value) / STEPS * 10 if self.is_log else (self.high - self.low) / STEPS
        decimals = -math.floor(math.log10(scale)) if scale else 0
        return round(value, decimals)


@dataclass(frozen=True, slots=True)
class Choices:
    """A key and a few values, which have no order."""

    key: str
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """As a user writes it."""
        return f"{self.key}={'|'.join(self.values)}"

    @property
    def ends(self) -> tuple[str, ...]:
        """All of them as values of a scenario."""
        return tuple(self.value_text(value) for value in self.values)

    def value_text(self, value: Value) -> str:
        """A choice as a scenario has it."""
        return json.dumps(setting_value(str(value), f"{self.key}={value}"))


Dimension = Range | Choices


def parse(text: str) -> Dimension:
    """From `KEY=LOW..HIGH`, with `:log` behind it, or `KEY=ONE|OTHER`."""
    key, separator, rest = (part.strip() for part in text.partition("="))
    if len(text) > LONGEST or not separator or not key:
        raise _unreadable(text)
    found = RANGE.fullmatch(rest)
    if found:
        return _range(text, key, found)
    choices = tuple(part.strip() for part in rest.split("|"))
    if ".." in rest or len(choices) < 2 or not all(choices):
        raise _unreadable(text)
    if len(set(choices)) < len(choices):
        raise PacketloomError(f"--vary {text}: a choice is there twice; write each once")
    return Choices(key, choices)


def parse_all(texts: list[str]) -> tuple[Dimension, ...]:
    """All of them; each key once."""
    if not texts:
        raise PacketloomError(f"name what may vary: --vary {EXAMPLE}")
    dimensions = tuple(parse(text) for text in texts)
    keys = [one.key for one in dimensions]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice:
        raise PacketloomError(f"--vary {twice}: is there twice; write one range for each key")
    return dimensions


def _range(text: str, key: str, found: re.Match[str]) -> Range:
    first, unit_of_first, last, unit, log = found.groups()
    if unit_of_first not in ("", unit):
        kin = next((kin for kin in KINS if unit_of_first in kin and unit in kin), None)
        if kin is None:
            raise PacketloomError(
                f"--vary {text}: the ends have the units {unit_of_first} and {unit or 'none'}; "
                "write both in one, such as 500KB..2MB"
            )
        last, unit = f"{Decimal(last) * kin[unit] / kin[unit_of_first]:f}", unit_of_first
    low, high = float(first), float(last)
    if not (math.isfinite(low) and math.isfinite(high)) or low >= high:
        raise PacketloomError(f"--vary {text}: holds no number but its end; write the smaller end first: LOW..HIGH")
    if log and low <= 0:
        raise PacketloomError(f"--vary {text}: a logarithmic range begins above 0; raise its lower end, or leave :log")
    is_whole = unit in INDIVISIBLE and all(WHOLE.fullmatch(end) for end in (first, last))
    return Range(key, low, high, unit, bool(log), is_whole)


def _unreadable(text: str) -> PacketloomError:
    return PacketloomError(
        f"--vary {text[:LONGEST]}: write it as KEY=LOW..HIGH or KEY=LOW..HIGH:log with numbers of one unit, such as "
        f"{EXAMPLE}, or as KEY=ONE|OTHER"
    )


def _plain(value: float) -> str:
    """A number without an exponent, as quantities are written."""
    text = f"{Decimal(repr(float(value))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
