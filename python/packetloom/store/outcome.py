"""What came of a case, wherever it ran: plain columns and numbers that travel between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from packetloom import _core
from packetloom.common.build import this_build
from packetloom.common.percentiles import percentiles
from packetloom.store.case_rows import PARTITIONED

Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a case: its tables by name, and what is kept of it beside them."""

    tables: Mapping[str, Columns]
    counters: Mapping[str, int | float]
    fingerprint: str
    version: str
    build: str
    warnings: tuple[str, ...]

    @staticmethod
    def of(core: _core.Outcome) -> Outcome:
        """The outcome of a simulation that was run here."""
        return Outcome(
            tables={name: getattr(core, name) for name in PARTITIONED},
            counters=core.counters | slowdown_counters(core.flows),
            fingerprint=core.fingerprint,
            version=_core.version(),
            build=this_build().digest,
            warnings=tuple(core.warnings),
        )


def slowdown_counters(flows: Columns) -> dict[str, float]:
    """The statistics of the slowdown of the measured flows that finished; none if there are no such flows."""
    slowdown = np.asarray(flows["slowdown"], dtype=float)
    counted = slowdown[np.asarray(flows["measured"], dtype=bool) & ~np.isnan(slowdown)]
    if not counted.size:
        return {}
    named = percentiles(counted).items()
    return {"slowdown_mean": float(counted.mean())} | {f"slowdown_{name}": value for name, value in named}
