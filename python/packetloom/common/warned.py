"""Warnings of the functions in Python: what the commands print on stderr."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable

from packetloom.errors import ScenarioWarning


def warn(texts: Iterable[str]) -> None:
    """Warns of each, at the line outside packetloom that called it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "packetloom":
        level, frame = level + 1, frame.f_back
    for text in texts:
        warnings.warn(text, ScenarioWarning, stacklevel=level)
