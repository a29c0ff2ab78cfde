"""The files that a case reads as it begins: those that hold what they held when the scenario was read.

A case's identity has a hash of each. With other content it would be another case, under this one's name.
"""

from __future__ import annotations

import errno
import json
import stat
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.common.text_files import MOST_LIST_BYTES
from packetloom.errors import PacketloomError

HASH = "_hash"
PREFIX = "files"
"""The key of what the names of several files begin with, one for each rank."""
_HAS_FILES = f'{HASH}":"'
_READS_LATER = '"alone":true'
_hashing = threading.Lock()


def must_be_as_read(case: _core.Case) -> None:
    """Refuses a case one of whose files has changed; called again after they were read, it vouches for what was.

    Raises:
        PacketloomError: which file it is, and what to do. What can't be read is left to the simulator to say.
    """
    if _HAS_FILES not in (text := case.json):
        return
    for key, name, written in _files(json.loads(text)):
        try:
            found = _hash_of_all(name) if key == PREFIX else _hash_of(Path(name))
        except OSError:
            continue
        if found != written:
            what = f"{name}: these files have" if key == PREFIX else f"{name}: this file has"
            raise PacketloomError(
                f"{what} changed since the scenario was read, and the results are of what was there then: "
                "restore it, or run the scenario into a new folder with -o DIR"
            )


def must_be_as_read_at_its_end(case: _core.Case) -> None:
    """The same after a case has run, if that read its files once more: each job was run alone, too."""
    if _READS_LATER in case.json:
        must_be_as_read(case)


def _files(part: Any) -> Iterator[tuple[str, str, str]]:
    """The key, the name and the hash of each file. Classes in Python are not read from theirs, but from a copy."""
    if isinstance(part, list):
        for inner in part:
            yield from _files(inner)
    elif isinstance(part, dict) and not str(part.get("kind")).startswith("python"):
        for key, value in part.items():
            if key.endswith(HASH) and isinstance(name := part.get(key.removesuffix(HASH)), str):
                yield key.removesuffix(HASH), name, str(value)
            yield from _files(value)


def _hash_of_all(prefix: str) -> str:
    """The hash of all ranks' files: that of their hashes in a row, as the simulator makes it."""
    ending = "et" if Path(f"{prefix}.0.et").exists() else "json"
    names = (Path(f"{prefix}.{rank}.{ending}") for rank in count())
    hashes = [_hash_of(name) for name in _while_there(names)]
    return _core.file_hash("".join(hashes).encode())


def _while_there(files: Iterator[Path]) -> Iterator[Path]:
    for file in files:
        if not file.exists():
            return
        yield file


def _hash_of(file: Path) -> str:
    about = file.stat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_LIST_BYTES:
        raise OSError(errno.EINVAL, "not a file that the simulator reads", str(file))
    with _hashing:  # cases that begin together share one reading
        return _hash_at(file, (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))


@lru_cache(maxsize=4096)
def _hash_at(file: Path, _state: tuple[int, ...]) -> str:
    """What a file holds in a state; each is read once."""
    return _core.file_hash(file.read_bytes())
