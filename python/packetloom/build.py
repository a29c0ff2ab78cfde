"""Which build of packetloom this is, or another: its version, and a hash over the compiled simulator."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from packetloom import _core
from packetloom.errors import PacketloomError


@dataclass(frozen=True)
class Build:
    """A compiled simulator. Whatever changes its code changes the digest."""

    version: str
    digest: str

    def __str__(self) -> str:
        return f"packetloom {self.version} (build {self.digest})"


def this_build() -> Build:
    """The build that runs here."""
    return Build(_core.version(), _digest(Path(_core.__file__)))


def build_of(python: Path) -> tuple[Build, list[str]]:
    """The build that this Python has, and its benchmarks."""
    code = (
        "import json, packetloom._core as core; print(json.dumps([core.version(), core.__file__, core.bench_names()]))"
    )
    try:
        found = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PacketloomError(f"{python} is no Python with a packetloom: {error}") from None
    version, file, benchmarks = json.loads(found.stdout)
    return Build(version, _digest(Path(file))), benchmarks


def _digest(compiled: Path) -> str:
    with compiled.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
