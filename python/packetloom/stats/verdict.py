"""What comes of holding a number against a band: the words that papers' claims and rows of `validate` share."""

from __future__ import annotations

from typing import Literal

Band = tuple[float, float]
Verdict = Literal["holds", "differs as known", "undecided", "differs", "not comparable"]
"""`differs as known`: outside its band, within the one of a known cause. `undecided`: chance leaves both open.
`not comparable`: the number cannot be had, or not as it was published."""
COLOURS: dict[Verdict, str] = {
    "holds": "green",
    "differs as known": "yellow",
    "undecided": "yellow",
    "differs": "red",
    "not comparable": "yellow",
}


def lies_in(band: Band, value: float) -> bool:
    """Whether a value is in a band, ends included; NaN is in none."""
    return band[0] <= value <= band[1]
