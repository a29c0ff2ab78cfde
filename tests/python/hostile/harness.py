"""A worker, and what is held of its answers."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SCENARIO = {
    "topology": {"kind": "rack", "hosts": 3},
    "workload": [{"sizes": {"kind": "constant", "size": "2KB"}}],
    "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
    "run": {"loads": [0.5], "flows": 3, "seeds": 2},
}
"""It runs in milliseconds."""

WORKER = Path(__file__).with_name("worker.py")
TOO_LONG_S = 120.0
"""For what takes well below a second, on a machine that is very busy."""
START_S = 300.0


@dataclass(frozen=True)
class Answer:
    """What a command, or a piece of Python, ended with."""

    code: int
    out: str
    err: str

    def must_refuse(self, *message: str) -> None:
        """A message that holds all of this."""
        self.must_be_sound()
        assert self.code == 2, f"exit {self.code}: {self.out}{self.err}"
        words = " ".join(self.err.replace("│", " ").split())  # as it stands, without the breaks of narrow terminals
        for part in message:
            assert part in words, f"{part!r} is not in: {self.err}"

    def must_accept(self, *shown: str) -> None:
        """A right answer, which shows all of this."""
        self.must_be_sound()
        assert self.code == 0, f"exit {self.code}: {self.err}"
        for part in shown:
            assert part in self.out, f"{part!r} is not in: {self.out}"

    def must_be_sound(self) -> None:
        """No traceback."""
        assert "Traceback" not in self.err, self.err
        assert "panicked" not in self.err, self.err


class Worker:
    """The process, started when it is first asked, and again when it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def command(self, folder: Path, *arguments: str) -> Answer:
        """What `packetloom ARGUMENTS` in a folder ends with."""
        return self._ask({"arguments": arguments, "folder": str(folder)})

    def python(self, folder: Path, text: str) -> Answer:
        """What a piece of Python ends with: 2 is a `PacketloomError`."""
        return self._ask({"python": text, "folder": str(folder)})

    def close(self) -> None:
        """Ends the process."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, question: Mapping[str, Any]) -> Answer:
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        return Answer(**json.loads(self._line(process)))

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | {"PACKETLOOM_CACHE": "off", "COLUMNS": "300", "NO_COLOR": "1"}
        command = [sys.executable, str(WORKER)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, env=environment, **pipes)
        assert self._line(self._process, START_S) == "ready\n"
        return self._process

    def _line(self, process: subprocess.Popen[str], within_s: float = TOO_LONG_S) -> str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            come = selector.select(within_s)
        line = process.stdout.readline() if come else ""
        if not line:
            self.close()
            pytest.fail(f"no answer within {within_s:g} s" if not come else "the process has died")
        return line
