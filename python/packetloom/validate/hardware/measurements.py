"""The published figures, as `validation/hardware/` has them: each row with its source, revision and licence."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.validate.peers.agreement import PEERS_FOLDER

HARDWARE_FOLDER = PEERS_FOLDER / "hardware"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure that somebody measured."""

    id: str
    system: str
    ranks: int
    servers: int
    operation: str
    algorithm: str
    protocol: str
    size_bytes: int
    value: float
    unit: str
    source: str
    revision: str
    licence: str

    @property
    def key(self) -> tuple[int, int, str, str, str]:
        """What the scenarios of figures differ by, beside their sizes."""
        return self.ranks, self.servers, self.operation, self.algorithm, self.protocol


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement, and what we make of it in the same unit; `judged`: whether it counts for the set's verdict."""

    of: Measurement
    simulated: float
    judged: bool

    @property
    def ratio(self) -> float:
        """Simulated over measured."""
        return self.simulated / self.of.value

    def to_dict(self) -> dict[str, Any]:
        """The figure for JSON."""
        return {
            "id": self.of.id,
            "system": self.of.system,
            "ranks": self.of.ranks,
            "operation": self.of.operation,
            "size_bytes": self.of.size_bytes,
            "unit": self.of.unit,
            "measured": self.of.value,
            "simulated": self.simulated,
            "ratio": self.ratio,
            "judged": self.judged,
            "source": self.of.source,
            "revision": self.of.revision,
            "licence": self.of.licence,
        }


OPERATIONS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "all_gather/reduce_scatter": "all-gather",
}


@cache
def measurements(name: str) -> tuple[Measurement, ...]:
    """Those of a set."""
    path = HARDWARE_FOLDER / f"{name}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(_read(csv.DictReader(file)))
    except (OSError, KeyError, ValueError) as error:
        raise PacketloomError(f"{path}: not a file of measurements ({error}); take it from the repository") from error


def _read(rows: Iterator[dict[str, str]] | csv.DictReader[str]) -> Iterator[Measurement]:
    for row in rows:
        named = row["collective"]
        yield Measurement(
            id=row["id"],
            system=row["system"],
            ranks=int(row["ranks"]),
            servers=int(row["servers"]),
            operation=OPERATIONS.get(named, named.replace("_", "-")),
            algorithm=row["algorithm"],
            protocol=row["protocol"],
            size_bytes=int(row["size_bytes"] or 0),
            value=float(row["value"]),
            unit=row["unit"],
            source=row["source"],
            revision=row["revision"],
            licence=row["licence"],
        )
