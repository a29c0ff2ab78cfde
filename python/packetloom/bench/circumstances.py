"""What a benchmark's figures were measured on: without it they can't be held against others."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from packetloom.common.build import Build, this_build
from packetloom.common.machine import Machine, this_machine


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Circumstances:
    """The builds, the Python that started them, the machine, and when."""

    build: Build = field(default_factory=this_build)
    other_build: Build | None = None
    python: str = field(default_factory=platform.python_version)
    machine: Machine = field(default_factory=this_machine)
    started: str = field(default_factory=_now)

    def __str__(self) -> str:
        against = f"\nagainst {self.other_build}" if self.other_build else ""
        return f"{self.build}{against}\n{self.started}, Python {self.python}, {self.machine}"

    def of(self, figure: dict[str, Any]) -> dict[str, Any]:
        """The figure as it goes into a file: each says for itself what it was measured on."""
        return {**figure, "measured_on": {key: value for key, value in asdict(self).items() if value is not None}}
