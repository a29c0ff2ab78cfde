"""How many flows a new scenario has: as many as it takes to be steady, where that is cheap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from packetloom import _core
from packetloom.campaign.forecast import HOPS_PER_CPU_S
from packetloom.new.text import FLOWS, Answers

ENOUGH = "long enough to be steady, as far as sizes and loads tell; the run tests it"
AT_LEAST = "long enough where flows hardly slow each other down; {:.0f} has room for slow schemes; the run tests it"
TOO_FEW = "too few to be steady, which takes {:.0f}: the first flows of a network that starts empty"
MOST_CPU_S = 60.0
"""A first scenario is to be over in a minute, about."""


def long_enough(answers: Answers, cases: Sequence[_core.Case]) -> Answers:
    """With as many flows as every case needs to be steady, with room for slow schemes; if that takes long, with as many
    as it takes at least, or with few, and with what it takes."""
    needed = [case.flows_to_be_steady() for case in _of_one_seed(cases)]
    known = [flows for flows in needed if flows is not None]
    if len(known) < len(needed):
        return replace(answers, about_flows="no number is steady in every case here: `packetloom check` says why")
    least, with_room = (max(FLOWS, *(each[place] for each in known)) for place in (0, 1))
    cpu_s = _cpu_s(cases) / FLOWS
    if with_room <= FLOWS or with_room * cpu_s <= MOST_CPU_S:
        slowest_ms = max(1, math.ceil(1e3 * max(each[2] for each in known)))
        return replace(answers, flows=round(with_room), about_flows=ENOUGH, cool_down=f"{slowest_ms}ms")
    if least <= FLOWS or least * cpu_s <= MOST_CPU_S:
        return replace(answers, flows=round(least), about_flows=AT_LEAST.format(with_room))
    return replace(answers, about_flows=TOO_FEW.format(with_room))


def _of_one_seed(cases: Sequence[_core.Case]) -> list[_core.Case]:
    """Of those that differ in their seed alone, one."""
    first = cases[0].parameters["seed"]
    return [case for case in cases if case.parameters["seed"] == first]


def _cpu_s(cases: Sequence[_core.Case]) -> float:
    """Roughly, by a fast scheme's speed; nothing where that depends on how long flows take."""
    demands = [case.demand() for case in _of_one_seed(cases)]
    hops = sum(2 * demand[1] for demand in demands if demand is not None)
    return hops / HOPS_PER_CPU_S * len(cases) / max(1, len(demands))
