"""What the paper leaves open of DAQ's schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from packetloom.reproduce.claims import Measured
from packetloom.reproduce.daq.measure import DAQ, OTHER_Q
from packetloom.reproduce.readings import Numbers, unless_it_hangs

# What our own choice of Q is called, and the others'.
OUR_Q = "5 ms"
Q_OF = {scheme: scheme.removeprefix("DAQ (Q = ").removesuffix(")") for scheme in OTHER_Q}


def whatever_q(numbers_of: Callable[[str], Numbers], beside: Sequence[Measured] = ()) -> Numbers:
    """A claim's numbers, if the verdict is the same whatever Q; `numbers_of` gives them for one of DAQ's schemes."""
    by_q = {OUR_Q: numbers_of(DAQ), **{value: numbers_of(scheme) for scheme, value in Q_OF.items()}}
    return unless_it_hangs("Q, the queue at which windows shrink", by_q, beside)
