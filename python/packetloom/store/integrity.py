"""`packetloom check DIR`: every file of a results folder, held against what was written there."""

from __future__ import annotations

from pathlib import Path

from packetloom.common.files import DamageError, must_be_a_file
from packetloom.errors import PacketloomError
from packetloom.store.case_files import COMMIT, CaseFiles
from packetloom.store.case_rows import FLOWS, INDEX, MARKER, PLAN, read_rows
from packetloom.store.stored_plan import read_marker, stored_cases, stored_scenario


def check_folder(folder: Path) -> int:
    """How many cases are finished; `PacketloomError` with a line for each file that is damaged."""
    damage = [*_of_its_own_files(folder)]
    rows, of_rows = read_rows(folder)
    damage += map(str, of_rows)
    files = CaseFiles(folder)
    for row in rows:
        try:
            found, _ = files.read(row.case_id)
            if not found.is_of(row):
                raise DamageError(folder / INDEX, f"tells of another run of case {row.case_id} than its {COMMIT} file")
        except DamageError as problem:
            damage.append(str(problem))
    if damage:
        lines = [*dict.fromkeys(damage)]
        mend = f"`packetloom run {folder}` computes damaged cases again, and keeps the rest"
        raise PacketloomError("\n".join([*lines, f"{folder}: {len(lines)} damaged; {mend}"]))
    return len(rows)


def _of_its_own_files(folder: Path) -> list[str]:
    """What is wrong with the files that are the folder's, not a case's."""
    if not (folder / MARKER).exists() and not (folder / PLAN).exists() and not (folder / FLOWS).exists():
        read_marker(folder)  # says what it is instead of a results folder
    damage = []
    try:
        marker = read_marker(folder)
    except PacketloomError as problem:
        return [str(problem)]
    for look in (stored_scenario, stored_cases):
        try:
            look(folder, marker)
        except DamageError as problem:
            damage.append(str(problem))
    try:
        must_be_a_file(folder / INDEX)
    except DamageError as problem:
        damage.append(str(problem))
    return damage
