"""SIRD on its authors' simulator, an ns-2 (SIRD-Simulator): `validation/sird_ns2/`."""

from __future__ import annotations

from packetloom.validate.comparison import Check
from packetloom.validate.peers.sird.few import few_comparisons
from packetloom.validate.peers.sird.loads import load_comparisons
from packetloom.validate.peers.sird.over_time import over_time_comparisons


def sird_comparisons() -> list[Check]:
    """All of them."""
    return [*few_comparisons(), *over_time_comparisons(), *load_comparisons()]
