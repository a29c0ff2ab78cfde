"""The machine that a figure was measured on. Its name is not recorded."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """What of a machine decides how fast it is, as far as it says so."""

    processor: str
    cores: int
    system: str

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} core{'s' if self.cores != 1 else ''}, {self.system}"


def this_machine(cpuinfo: Path = CPUINFO) -> Machine:
    """The machine that runs this; of its cores those that this process may use."""
    return Machine(_processor(cpuinfo), len(usable_cores()), platform.platform())


def usable_cores() -> list[int]:
    """The numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _processor(cpuinfo: Path) -> str:
    """The model, which Linux reports for most processors; of the others the architecture."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
