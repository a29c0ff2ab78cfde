"""Which build of packetloom this is, or another: its version, and a hash over the compiled simulator."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packetloom import _core
from packetloom.errors import PacketloomError

ASK = """\
import json, packetloom._core as core
guided = getattr(core, "profile_guided", lambda: None)()
print(json.dumps([core.version(), core.__file__, guided, core.bench_names()]))
"""


@dataclass(frozen=True)
class Build:
    """A compiled simulator. Whatever changes its code changes the digest."""

    version: str
    digest: str
    profile_guided: bool | None
    """None where the build is older than the question."""

    def __str__(self) -> str:
        guided = ", profile-guided" if self.profile_guided else ""
        return f"packetloom {self.version} (build {self.digest}{guided})"


def this_build() -> Build:
    """The build that runs here."""
    return Build(_core.version(), _digest(Path(_core.__file__)), _core.profile_guided())


def build_of(python: Path) -> tuple[Build, list[str]]:
    """The build that this Python has, and its benchmarks."""
    try:
        found = subprocess.run([str(python), "-c", ASK], capture_output=True, text=True, check=True)
        version, file, guided, benchmarks = json.loads(found.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise PacketloomError(f"{python} is not a Python that has packetloom: {error}") from None
    return Build(version, _digest(Path(file)), guided), benchmarks


def build_text(version: str, digest: str) -> str:
    """Which build computed a case; folders of earlier formats do not record it."""
    return f"packetloom {version}, {f'build {digest}' if digest else 'a build that is not recorded'}"


def builds_text(builds: Iterable[tuple[str, str]]) -> str:
    """Which builds computed how many cases, each given by its version and its digest."""
    counted = Counter(builds)
    if len(counted) == 1:
        return build_text(*next(iter(counted)))
    return "; ".join(f"{count} by {build_text(*build)}" for build, count in counted.items())


def other_builds_text(builds: Iterable[tuple[str, str]]) -> str:
    """What to say of cases that this build did not compute; nothing if there are none."""
    of_all = list(builds)
    here = this_build().digest
    others = [(version, digest) for version, digest in of_all if digest != here]
    if not others:
        return ""
    return f"{len(others)} of {len(of_all)} cases were computed by another build: {builds_text(others)}"


@cache
def _digest(compiled: Path) -> str:
    with compiled.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
