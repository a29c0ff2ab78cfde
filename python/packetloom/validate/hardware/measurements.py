"""Published figures, each with source, revision and licence, as `validation/hardware/` has them; or a user's own."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packetloom.errors import PacketloomError
from packetloom.validate.peers.agreement import PEERS_FOLDER

SHIPPED = PEERS_FOLDER / "hardware"

OPERATIONS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "all_gather/reduce_scatter": "all-gather",
}
"""Collective operations that have other names in files; others have an underscore for the hyphen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A figure that somebody measured."""

    id: str
    what: str
    system: str
    ranks: int
    servers: int
    nic_gbps: float
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
    def setting(self) -> tuple[int, int, float, str, str, str, str]:
        """What else than the size tells it from others of its set: those that share it are one curve."""
        return self.ranks, self.servers, self.nic_gbps, self.operation, self.algorithm, self.protocol, self.what


def file_of(name: str, folder: Path = SHIPPED) -> Path:
    """A set's file."""
    return folder / f"{name}.csv"


@cache
def measurements(name: str, folder: Path = SHIPPED) -> tuple[Measurement, ...]:
    """Those of a set."""
    path = file_of(name, folder)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(_read(path, csv.DictReader(file)))
    except OSError as error:
        raise PacketloomError(f"{path}: can't be read: {error.strerror or error}") from error


def _read(path: Path, rows: csv.DictReader[str]) -> Iterator[Measurement]:
    for row in rows:
        try:
            yield _measurement(row)
        except (KeyError, TypeError, ValueError) as error:
            wrong = f"has no column {error}" if isinstance(error, KeyError) else str(error)
            raise PacketloomError(f"{path}:{rows.line_num}: {wrong}; see validation/hardware/README.md") from error


def _measurement(row: dict[str, str]) -> Measurement:
    named = row["collective"]
    value = float(row["value"])
    if not value > 0:
        raise ValueError(f"value is {row['value']}; write a number above 0")
    return Measurement(
        id=row["id"],
        what=row["what"],
        system=row["system"],
        ranks=int(row["ranks"]),
        servers=int(row["servers"] or row["ranks"]),
        nic_gbps=float(row["nic_gbps"] or 0),
        operation=OPERATIONS.get(named, named.replace("_", "-")),
        algorithm=row["algorithm"],
        protocol=row["protocol"],
        size_bytes=int(row["size_bytes"] or 0),
        value=value,
        unit=row["unit"],
        source=row["source"],
        revision=row.get("revision", ""),
        licence=row.get("licence", ""),
    )
