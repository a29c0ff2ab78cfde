"""Claims of schemes that packetloom does not have: listed with their bands, and not judged.

Whoever builds one takes its claims out of here into a module of its own beside `powertcp`, and runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from packetloom.reproduce.claims import Claim, Measured, NotComparable
from packetloom.reproduce.measure import Runs

ABSTRACT = "abstract"


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A scheme that is not built, where it was published, and its claims: id, text, where it is from, band."""

    name: str
    published: str
    claims: tuple[tuple[str, str, str, str], ...]


FLOODGATE = Unbuilt(
    "Floodgate",
    "CoNEXT 2021",
    (
        (
            "FG1",
            "under DCQCN, TIMELY, HPCC: buffer occupancy 6.6 times lower under incast",
            ABSTRACT,
            "≥ 3 times",
        ),
        (
            "FG2",
            "flows of no incast are not slowed by its windows for each destination",
            ABSTRACT,
            "mean FCT within 3 % without incast",
        ),
    ),
)


def claims_of(scheme: Unbuilt) -> tuple[Claim, ...]:
    """Its claims, none of which can be judged."""
    where = f"{scheme.name} ({scheme.published}), "
    return tuple(
        Claim(id, claim, where + source, band, (), _not_built(scheme.name)) for id, claim, source, band in scheme.claims
    )


def _not_built(name: str) -> Callable[[Runs], Sequence[Measured]]:
    def measure(_: Mapping[str, object]) -> Sequence[Measured]:
        raise NotComparable(f"{name} is not built.")

    return measure
