"""The files of a scenario's Python schemes, which a results folder keeps: a run from the folder uses them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.common.files import write_text

FOLDER = "schemes"
Sources = list[tuple[str, str, str]]
"""Of each file its name, the hash of what it holds, and its text."""
# How a case's JSON, which has no spaces, begins the kind of what a class is: "python", "python-rate".
_IS_PYTHON = '"kind":"python'


def keep(folder: Path, cases: Iterable[_core.Case]) -> None:
    """Writes the files of the cases' Python schemes into a results folder."""
    files = sorted(_files(cases))
    for file, file_hash in files:
        target = folder / FOLDER / file_hash / Path(file).name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, _text(file, file_hash))


def restore(folder: Path) -> None:
    """Puts what a results folder has kept where schemes are compiled; a file that was changed is left out."""
    files = sorted((folder / FOLDER).glob("*/*.py"))
    if files:
        from packetloom.schemes.loader import put
    for file in files:
        put(file, file.parent.name)


def has_classes(case: _core.Case) -> bool:
    """Whether a part of a case's scheme is a Python class."""
    return _IS_PYTHON in case.json


def sources(case: _core.Case) -> Sources:
    """What another machine needs to run a case: the files of its Python classes."""
    return [(Path(file).name, file_hash, _text(file, file_hash)) for file, file_hash in sorted(_files([case]))]


@cache
def _text(file: str, file_hash: str) -> str:
    """What a file held when the scenario was read; the cases of a campaign share few files."""
    # Only here: few scenarios have such schemes, and every command starts with this module.
    from packetloom.schemes.loader import copy_of

    return copy_of(Path(file), file_hash).read_text(encoding="utf-8")


def provide(sources: Sources) -> None:
    """Puts what another machine sent where schemes are compiled."""
    if not sources:
        return
    from packetloom.schemes.loader import put_text

    for name, file_hash, text in sources:
        put_text(name, file_hash, text)


def _files(cases: Iterable[_core.Case]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for case in cases:
        if _IS_PYTHON in (text := case.json):
            found |= {(part["file"], part["file_hash"]) for part in _classes(json.loads(text)["scheme"])}
    return found


def _classes(part: Any) -> Iterator[dict[str, Any]]:
    """The parts of a scheme, and the parts of these, that are classes."""
    if isinstance(part, dict):
        if str(part.get("kind")).startswith("python"):
            yield part
        for inner in part.values():
            yield from _classes(inner)
