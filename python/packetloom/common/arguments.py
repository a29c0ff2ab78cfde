"""What is given to the command line and to Python functions, before anything is done with it."""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from packetloom.errors import ArgumentError

T = TypeVar("T")

AUTO = "auto"
LOCAL = "local"
"""Ray on this machine."""
ADDRESS = re.compile(r"[^\s=/-][^\s=]*:\d+|ray://.*")
MOST_WORKERS = 4096


def with_values(arguments: Sequence[str]) -> list[str]:
    """`--ray` alone, or before what is no address, means Ray on this machine."""
    written: list[str] = []
    for argument, following in zip(arguments, [*arguments, ""][1:], strict=True):
        alone = argument == "--ray" and not (following in (AUTO, LOCAL) or ADDRESS.fullmatch(following))
        written.append(f"--ray={LOCAL}" if alone else argument)
    return written


def wrong(name: str, value: object, give: str) -> ArgumentError:
    """The error of an argument that is not what it should be."""
    return ArgumentError(f"{name} is {reprlib.repr(value)} of type {type(value).__name__}; give {give}")


def instance(name: str, value: object, kind: type[T], give: str) -> T:
    """The value, if it is of this type. A truth value is no number, though Python has it so."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong(name, value, give)
    return value


def flag(name: str, value: object) -> bool:
    """The value, if it is True or False."""
    return instance(name, value, bool, "True or False")


def path(name: str, value: object) -> Path:
    """The path that a text or a `Path` names."""
    if not isinstance(value, str | Path):
        raise wrong(name, value, "a path as text or a pathlib.Path")
    if "\0" in str(value):
        raise wrong(name, value, "a path without the character NUL")
    return Path(value)


def folder(given: Path | None) -> Path:
    """The folder for results: the given one, or else a new temporary one."""
    import tempfile  # which takes a while, and the command line loads this module as it starts

    return Path(tempfile.mkdtemp(prefix="packetloom-")) if given is None else given


@contextmanager
def folder_for_now(given: Path | None) -> Iterator[Path]:
    """The given folder, which stays, or else a temporary one, which does not."""
    import tempfile

    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="packetloom-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def whole(name: str, value: Any, least: int, most: int) -> int:
    """The value, if it is a whole number in a range; numpy's are, too."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise wrong(name, value, f"a whole number from {least} to {most}")
    if not least <= number <= most:
        raise ArgumentError(f"{name} is from {least} to {most}, not {reprlib.repr(number)}")
    return number


def workers(value: object) -> int | None:
    """How many cases may run at a time, if anything is said of it."""
    return None if value is None else whole("workers", value, 1, MOST_WORKERS)
