"""The result cache: what one campaign has computed, no other computes again.

It lies in `$PACKETLOOM_CACHE`, or else in `packetloom` below `$XDG_CACHE_HOME` (`~/.cache`), and it can be deleted at
any time. A case is found by its identity and by the compiled simulator: another build never answers for this one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from packetloom.build import this_build
from packetloom.case_files import COMMIT, OTHERS, CaseFiles
from packetloom.outcome import Outcome
from packetloom.results import FORMAT, CaseRow

PLACE = "PACKETLOOM_CACHE"
OFF = "off"
MOST_BYTES = 5_000_000_000


def cache_folder() -> Path | None:
    """Where the cache is; nothing if it is switched off."""
    place = os.environ.get(PLACE, "")
    if place == OFF:
        return None
    if place:
        return Path(place).expanduser()
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "packetloom"


def open_cache() -> ResultCache | None:
    """The cache, if it is not switched off and can be written."""
    root = cache_folder()
    if root is None:
        return None
    cache = ResultCache(root)
    try:
        cache.files.make_folders()
    except OSError:
        return None
    return cache


def build_fingerprint() -> str:
    """Whatever changes the simulator's code, or the format of its results, changes this."""
    build = this_build()
    return f"{build.version}-{FORMAT}-{build.digest}"


class ResultCache:
    """Finished cases of earlier campaigns. Several campaigns may use it at the same time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = CaseFiles(root / build_fingerprint())

    def ids(self) -> set[str]:
        """The cases that it knows."""
        return self.files.ids()

    def get(self, case_id: str) -> Outcome | None:
        """What came of a case."""
        found = self.files.read(case_id)
        if found is None or found[0].case_id != case_id:
            return None
        return found[1]

    def put(self, row: CaseRow, origin: CaseFiles) -> None:
        """Keeps a case that is finished in a results folder. What can't be kept is no loss."""
        with suppress(OSError):
            for table in (*OTHERS, COMMIT):
                file = origin.file(table, row.case_id)
                if file.exists():
                    _share(file, self.files.file(table, row.case_id))

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drops the oldest cases until the rest is no larger than this."""
        cases = sorted(self._cases(), key=lambda case: case.written_at)
        total = sum(case.size_bytes for case in cases)
        for case in cases:
            if total <= most_bytes:
                break
            total -= case.size_bytes
            for file in case.files:
                file.unlink(missing_ok=True)

    def _cases(self) -> list[_Kept]:
        files: dict[tuple[Path, str], list[Path]] = defaultdict(list)
        for file in self.root.glob("*/*.parquet/*.parquet"):
            files[(file.parents[1], file.name)].append(file)
        return [kept for named in files.values() if (kept := _kept(named))]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A case in the cache; its files in the order in which they go, that which makes it count first."""

    files: list[Path]
    size_bytes: int
    written_at: float


def _kept(files: list[Path]) -> _Kept | None:
    try:
        states = [file.stat() for file in files]
    except FileNotFoundError:  # another campaign prunes, too
        return None
    files = sorted(files, key=lambda file: file.parent.stem != COMMIT)
    return _Kept(files, sum(state.st_size for state in states), max(state.st_mtime for state in states))


def _share(original: Path, target: Path) -> None:
    """Puts a file into the cache: a second name for it, or a copy where the cache is on another disk."""
    if target.exists():
        return
    try:
        os.link(original, target)
    except FileExistsError:
        return
    except OSError:
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as copy, original.open("rb") as source:
            shutil.copyfileobj(source, copy)
        Path(copy.name).replace(target)
