"""`packetloom validate theory`: predictions, measurements with their intervals, and whether they hold."""

from __future__ import annotations

from packetloom.validate.comparison import Check
from packetloom.validate.theory.congestion import congestion_comparisons
from packetloom.validate.theory.fabric import fabric_comparisons
from packetloom.validate.theory.lossless import lossless_comparisons
from packetloom.validate.theory.queueing import queueing_comparisons


def theory_comparisons() -> list[Check]:
    """All there are."""
    return [*queueing_comparisons(), *congestion_comparisons(), *fabric_comparisons(), *lossless_comparisons()]
