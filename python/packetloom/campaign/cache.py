"""The result cache: what one campaign has computed, no other computes again.

It lies in `$PACKETLOOM_CACHE`, or else in `packetloom` below `$XDG_CACHE_HOME` (`~/.cache`), and it can be deleted at
any time. A case is found by its identity and by the compiled simulator: another build never answers for this one. Its
files are nobody else's, and what they hold is checked against what was written whenever they are used.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from packetloom.common.build import this_build
from packetloom.common.cache_folder import cache_folder
from packetloom.common.files import TEMPORARY_SUFFIX, DamageError
from packetloom.store.case_files import COMMIT, OTHERS, CaseFiles
from packetloom.store.case_rows import FORMAT, CaseRow
from packetloom.store.outcome import Outcome

MOST_BYTES = 5_000_000_000
LOOK_INTERVAL_S = 3600.0
"""The sizes of all files are read again after this time."""
LOOK_BYTES = MOST_BYTES // 50
"""And after a campaign has added this much: reading them takes longer than a small campaign."""
LOOKED = "looked"
"""An empty file in the cache's folder, written when the sizes were last read."""


def open_cache() -> ResultCache | None:
    """The cache, if it is not switched off and can be written."""
    root = cache_folder()
    if root is None:
        return None
    cache = ResultCache(root)
    try:
        cache.files.make_folders()
    except (OSError, DamageError):
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
        self._build = this_build().digest
        self._added_bytes = 0

    def ids(self) -> set[str]:
        """The cases that it knows."""
        return self.files.ids()

    def get(self, case_id: str) -> Outcome | None:
        """The outcome of a case; a damaged one is dropped, with a message."""
        try:
            row, outcome = self.files.read(case_id)
            if row.build == self._build and row.tables:
                return outcome
            problem = f"{self.files.file(COMMIT, case_id)}: is of another build"
        except DamageError as damage:
            problem = str(damage)
        if self.files.file(COMMIT, case_id).exists():  # otherwise another campaign has pruned it
            print(f"warning: {problem}; dropped from the cache, its case is computed again", file=sys.stderr)
            self._drop([self.files.file(table, case_id) for table in (COMMIT, *OTHERS)])
        return None

    def put(self, row: CaseRow, origin: CaseFiles) -> None:
        """Keeps a case that is finished in a results folder. What can't be kept is no loss."""
        if row.build != self._build:
            return
        with suppress(OSError):
            for table in (*OTHERS, COMMIT):
                file = origin.file(table, row.case_id)
                if file.exists():
                    self._added_bytes += _copy(file, self.files.place(table, row.case_id))

    def keep_small(self) -> None:
        """Prunes the cache if it may have become too large since its sizes were read."""
        looked = self.root / LOOKED
        with suppress(OSError):
            is_recent = looked.exists() and abs(time.time() - looked.stat().st_mtime) < LOOK_INTERVAL_S
            if not is_recent or self._added_bytes > LOOK_BYTES:
                looked.touch()
                self._added_bytes = 0
                self.prune()

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Drops the oldest cases until the rest is no larger than this."""
        cases = sorted(self._cases(), key=lambda case: case.written_at)
        total = sum(case.size_bytes for case in cases)
        for case in cases:
            if total <= most_bytes:
                break
            total -= case.size_bytes
            self._drop(case.files)

    def _drop(self, files: Iterable[Path]) -> None:
        for file in files:
            with suppress(OSError):
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


def _copy(original: Path, target: Path) -> int:
    """Puts a copy of a file into the cache; returns how many bytes that adds."""
    if target.exists():
        return 0
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    try:
        shutil.copyfile(original, temporary)
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return original.stat().st_size
