"""What the paper leaves open: a verdict that hangs on it is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from packetloom.claims import Measured, NotComparable
from packetloom.reproduce.daq.measure import DAQ, OTHER_Q

# What our own choice of Q is called, and the others'.
OUR_Q = "5 ms"
Q_OF = {scheme: scheme.removeprefix("DAQ (Q = ").removesuffix(")") for scheme in OTHER_Q}

Numbers = list[Measured]


def whatever_q(numbers_of: Callable[[str], Numbers], beside: Sequence[Measured] = ()) -> Numbers:
    """A claim's numbers, if the verdict is the same whatever Q; `numbers_of` gives them for one of DAQ's schemes."""
    by_q = {OUR_Q: numbers_of(DAQ), **{value: numbers_of(scheme) for scheme, value in Q_OF.items()}}
    return unless_it_hangs("Q, the queue at which windows shrink", by_q, beside)


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
