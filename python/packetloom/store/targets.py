"""The files that commands write where the user says: nothing that they read, and nothing that is a results folder's."""

from __future__ import annotations

import os
from pathlib import Path

from packetloom.errors import PacketloomError
from packetloom.schemes import kept
from packetloom.store.case_rows import INDEX, MARKER, PARTITIONED, PLAN
from packetloom.store.writer import LOCK

OWN = {MARKER, PLAN, INDEX, LOCK, "scenario.toml", "scenario.json", kept.FOLDER, *PARTITIONED.values()}
"""What a run writes into a results folder; pages and figures may lie beside it."""


def check_target(file: Path | None, *inputs: Path | None) -> None:
    """Refuses a file to write that is one of `inputs`, or a results folder's own.

    Raises:
        PacketloomError: which of the two it is.
    """
    if file is None:
        return
    if any(one is not None and _are_same(file, one) for one in inputs):
        raise PacketloomError(f"{file}: is what this command reads, and would be overwritten; write to another file")
    place = Path(os.path.realpath(file))
    for folder in place.parents:
        own = place.relative_to(folder).parts[0]
        if own in OWN and any(os.path.lexists(folder / name) for name in (MARKER, PLAN)):
            raise PacketloomError(
                f"{file}: {own} belongs to the results in {folder}, and would be overwritten; write to another file"
            )


def check_target_folder(folder: Path) -> None:
    """Refuses a folder to write several files to that is a results folder, or one of those that a run writes into it.

    Raises:
        PacketloomError: which results folder it is.
    """
    place = Path(os.path.realpath(folder))
    for results in (place, *place.parents):
        parts = place.relative_to(results).parts
        is_own = not parts or parts[0] in OWN
        if is_own and any(os.path.lexists(results / name) for name in (MARKER, PLAN)):
            raise PacketloomError(
                f"-o {folder}: would be among the files of the results in {results}; write to a folder of its own, "
                f"such as {results / 'exported'}"
            )


def _are_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
