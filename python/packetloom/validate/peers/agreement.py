"""How near ours must come to theirs, and the row that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packetloom.validate.comparison import Known, Row, span_text
from packetloom.validate.draws import Draws, Span
from packetloom.validate.peers.schemes import schemes_of

# What others measured comes with the source tree, as the papers' scenarios do.
PEERS_FOLDER = Path(__file__).parents[4] / "validation"

# As fractions of the peer's figure; goodputs in points of a link's rate.
MEAN_WITHIN = 0.03
P99_WITHIN = 0.08
GOODPUT_WITHIN_POINTS = 1.5


@dataclass(frozen=True, slots=True)
class Deviation:
    """A known ratio of ours to theirs, or the range of it, and why.

    A row that deviates may be as far from that as another from 1, unless the range has been `measured` as a whole.
    """

    reason: str
    ratio: Span
    measured: bool = False
    always: bool = True


# Of some statistics of a case; the others have to agree.
Deviations = Mapping[str, Deviation]
NONE: Deviations = {}


def agreement(
    id: str,
    what: str,
    source: str,
    theirs: float,
    ours: float,
    tolerance: float,
    deviation: Deviation | None = None,
    *,
    points: bool = False,
    few: float = 0.0,
    draws: Draws | None = None,
) -> Row:
    """Holds if ours is within the tolerance of theirs: a fraction of it (of `few` at least), or percentage points.

    With `draws`, of which these are the means, the interval of the difference has to lie within it.
    """
    slack = tolerance if points else max(abs(theirs), few) * tolerance
    rule = f"within {tolerance:g} points" if points else f"within {tolerance * 100:g} %"
    rule += f" (of {few:g} at least)" if few else ""
    rule += ", with the interval of the difference" if draws else ""
    return Row(
        id=as_id(id),
        what=what,
        source=source,
        expected=(theirs, theirs),
        measured=ours,
        interval=None if draws is None else draws.reach,
        band=(theirs - slack, theirs + slack),
        rule=rule,
        draws=draws,
        schemes=schemes_of(source, what),
        known=None if deviation is None else _known(deviation, theirs, slack, rule),
    )


def drawn(
    id: str,
    what: str,
    source: str,
    draws: Draws,
    tolerance: float,
    deviation: Deviation | None = None,
    *,
    points: bool = False,
    few: float = 0.0,
) -> Row:
    """The same of what chance decides."""
    theirs, ours = draws.means
    return agreement(id, what, source, theirs, ours, tolerance, deviation, points=points, few=few, draws=draws)


def _known(deviation: Deviation, theirs: float, slack: float, rule: str) -> Known:
    around = 0.0 if deviation.measured else slack
    band = (theirs * deviation.ratio[0] - around, theirs * deviation.ratio[1] + around)
    words = f"{span_text(deviation.ratio)} times theirs" + ("" if deviation.measured else f", {rule}")
    return Known(deviation.reason, band, words, deviation.always)


def as_id(text: str) -> str:
    """Small letters and figures, the rest hyphens."""
    for sign, word in (("≤", "to"), (">", "above")):
        text = text.replace(sign, word)
    return "-".join("".join(one if one.isalnum() or one == "." else " " for one in text.lower()).split())
