"""How near ours must come to theirs, and the row that says so."""

from __future__ import annotations

from pathlib import Path

from packetloom.validate.comparison import Row, Span

# What others measured comes with the source tree, as the papers' scenarios do.
PEERS_FOLDER = Path(__file__).parents[4] / "validation"

# As fractions of the peer's figure; goodputs in points of a link's rate.
MEAN_WITHIN = 0.03
P99_WITHIN = 0.08
GOODPUT_WITHIN_POINTS = 1.5


def agreement(
    id: str,
    what: str,
    source: str,
    theirs: float,
    ours: float,
    tolerance: float,
    why: str = "",
    *,
    points: bool = False,
    interval: Span | None = None,
) -> Row:
    """Holds if ours is within the tolerance of theirs: a fraction of it, or percentage points."""
    slack = tolerance if points else abs(theirs) * tolerance
    return Row(
        id=_as_id(id),
        what=what,
        source=source,
        expected=(theirs, theirs),
        measured=ours,
        interval=interval,
        band=(theirs - slack, theirs + slack),
        rule=f"within {tolerance:g} points" if points else f"within {tolerance * 100:g} %",
        why=why,
    )


def _as_id(text: str) -> str:
    """Small letters and figures, the rest hyphens."""
    for sign, word in (("≤", "to"), (">", "above")):
        text = text.replace(sign, word)
    return "-".join("".join(one if one.isalnum() or one == "." else " " for one in text.lower()).split())
