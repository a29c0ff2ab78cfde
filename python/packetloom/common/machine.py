"""The machine that a figure was measured on. Its name is not recorded."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from packetloom.common.system import CPUINFO, processor_name, usable_cores


@dataclass(frozen=True)
class Machine:
    """What of a machine decides how fast it is, as far as it says so."""

    processor: str
    cores: int
    system: str

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} core{'s' if self.cores != 1 else ''}, {self.system}"


def this_machine(cpuinfo: Path = CPUINFO) -> Machine:
    """The machine that runs this; of its cores those that this process may use, of its processor at least the kind."""
    processor = processor_name(cpuinfo) or platform.processor() or platform.machine()
    return Machine(processor, len(usable_cores()), platform.platform())
