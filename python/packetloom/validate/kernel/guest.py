"""The first process in the virtual machine: measures each case that comes on the second serial port.

A request is a line of JSON, a case; so is the answer: its `trials`, or what is `unavailable`.
"""

from __future__ import annotations

import json
import subprocess
import tty
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packetloom.validate.kernel.cases import case_from
from packetloom.validate.kernel.measure import trials_of
from packetloom.validate.kernel.network import UnavailableError

PORT = Path("/dev/ttyS1")
READY = "ready"
# Without udev no kernel loads these by itself.
MODULES = ("tcp_dctcp", "tcp_cubic", "tcp_bbr")


def serve() -> None:
    """Answers until the machine is switched off."""
    subprocess.run(["modprobe", "-a", *MODULES], check=False)
    with PORT.open("r+b", buffering=0) as port:
        tty.setraw(port.fileno())
        port.write(f"{READY}\n".encode())
        line = b""
        while True:
            line += port.read(1)
            if line.endswith(b"\n"):
                port.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
                line = b""


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"trials": [asdict(trial) for trial in trials_of(case_from(request))]}
    except UnavailableError as error:
        return {"unavailable": str(error)}


if __name__ == "__main__":
    serve()
