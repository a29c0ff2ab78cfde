"""`packetloom validate hardware`: published measurements of machines, simulated as far as their networks are known.

Constants come from documents, and each set says which. None is fitted to what it is to predict. A set that is missed
says why, as far as that is known, and stays in the table.
"""

from __future__ import annotations

from packetloom.validate.hardware.judging import hardware_comparisons, print_figures

__all__ = ["hardware_comparisons", "print_figures"]
