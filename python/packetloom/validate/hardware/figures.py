"""A measurement beside what is simulated of it, and what a set of these comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from packetloom.validate.hardware.measurements import Measurement

NEAR, NEARER = 0.15, 0.10


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement, what is simulated of it in the same unit, and whether it counts for the set's verdict."""

    of: Measurement
    simulated: float
    is_judged: bool

    @property
    def ratio(self) -> float:
        """Simulated over measured."""
        return self.simulated / self.of.value

    @property
    def error(self) -> float:
        """How far the ratio is from 1."""
        return abs(self.ratio - 1)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.of.id,
            "system": self.of.system,
            "ranks": self.of.ranks,
            "servers": self.of.servers,
            "operation": self.of.operation,
            "size_bytes": self.of.size_bytes,
            "unit": self.of.unit,
            "measured": self.of.value,
            "simulated": self.simulated,
            "ratio": self.ratio,
            "judged": self.is_judged,
            "source": self.of.source,
            "revision": self.of.revision,
            "licence": self.of.licence,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """What the judged figures of a set come to."""

    figures: int
    judged: int
    median: float
    worst: float
    within_10: float
    within_15: float
    nine_of_ten: float
    """The error that nine of ten do not exceed."""

    @classmethod
    def of(cls, figures: Sequence[Figure]) -> Summary:
        """Of a set with one judged figure at least."""
        errors = sorted(figure.error for figure in figures if figure.is_judged)
        return cls(
            figures=len(figures),
            judged=len(errors),
            median=median(errors),
            worst=errors[-1],
            within_10=sum(error <= NEARER for error in errors) / len(errors),
            within_15=sum(error <= NEAR for error in errors) / len(errors),
            nine_of_ten=errors[max(0, -(-9 * len(errors) // 10) - 1)],
        )
