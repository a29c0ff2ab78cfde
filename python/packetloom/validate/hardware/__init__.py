"""`packetloom validate hardware`: published measurements of machines, simulated as far as the machines are known.

Constants come from documents, or from a set's own rows of a single flow, and each set says which. None is fitted to
what it is to predict. A set that is missed says so, with what is known of why, and stays in the table.
"""

from __future__ import annotations

from packetloom.validate.hardware.comparisons import hardware_comparisons, set_names

__all__ = ["hardware_comparisons", "set_names"]
