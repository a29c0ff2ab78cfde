"""What a paper leaves undefined, or compares with nothing: one rule for each, for all papers.

Where a definition or a value is left open, the claim is measured by every reading of it. If all give the same verdict,
that is the claim's, with the numbers of the first; if they do not, the verdict hangs on what is not said, and is none.

A ratio to what did not occur is no number. Where both did not, there is nothing to compare; where one did, it is held
against a single occurrence of the other, which is less than what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from packetloom.reproduce.claims import Measured, NotComparable

Numbers = list[Measured]


def times_as_many(count: float, other: float, what: str) -> float:
    """One total over another, of what is counted in whole units."""
    if not count and not other:
        raise NotComparable(f"nothing to compare: {what} did not occur on either side")
    return count / max(other, 1.0)


def unless_it_hangs(what: str, by_value: Mapping[str, Numbers], beside: Sequence[Measured] = ()) -> Numbers:
    """The first numbers, and those beside, unless the verdict is another by the others.

    Each are the numbers with one value of what the paper does not give. The first value is ours.
    """
    verdicts = {value: holds(numbers) for value, numbers in by_value.items()}
    ours, numbers = next(iter(by_value.items()))
    if len(set(verdicts.values())) == 1:
        return [*numbers, *beside]
    verdicts_by_value = " and ".join(
        _values_with(verdicts, verdict) for verdict in (verdicts[ours], not verdicts[ours])
    )
    apart = [replace(one, what=f"{value}: {one.what}") for value, found in by_value.items() for one in found]
    raise NotComparable(f"The paper does not give {what}: the claim {verdicts_by_value}.", beside=[*apart, *beside])


def _values_with(verdicts: Mapping[str, bool], verdict: bool) -> str:
    values = ", ".join(value for value, one in verdicts.items() if one is verdict)
    return f"{'holds' if verdict else 'differs'} with {values}"


def holds(numbers: Sequence[Measured]) -> bool:
    """Whether all that decide lie in their bands."""
    return all(one.holds for one in numbers if one.decides)
