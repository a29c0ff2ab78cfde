"""`tuning.json` in a results folder: what is tuned, and the points proposed so far, written before they are run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom.common.files import DamageError, write_json
from packetloom.errors import PacketloomError
from packetloom.tuning.goal import Goal
from packetloom.tuning.space import Settings, Space

FILE = "tuning.json"


@dataclass(slots=True)
class Record:
    """What a folder's tuning is, and its points."""

    path: Path
    about: dict[str, Any]
    points: list[Settings] = field(default_factory=list)

    def add(self, points: Sequence[Settings]) -> None:
        """Writes points down; what is there is whole, whenever this is killed."""
        self.points += points
        write_json(self.path / FILE, {**self.about, "points": self.points}, "the tuning")


def about(space: Space, goal: Goal, *, seed: int, together: int, optuna: str) -> dict[str, Any]:
    """All that decides which points are proposed, beside the results."""
    return {
        "vary": [one.text for one in space.dimensions],
        "goal": goal.text,
        "sampler_seed": seed,
        "together": together,
        "optuna": optuna,
    }


def open_record(folder: Path, now: dict[str, Any]) -> Record:
    """The folder's record, or a new one; an error if the folder holds another tuning."""
    file = folder / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        points = [tuple(str(one) for one in point) for point in found.pop("points")]
    except FileNotFoundError:
        return Record(folder, now)
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        raise DamageError(file, "is damaged, and not what `packetloom tune` wrote", "name another folder") from None
    other = [key for key in now if found.get(key) != now[key]]
    if other:
        (first, *_) = other
        raise PacketloomError(
            f"{folder}: holds another tuning: its {first} is {found.get(first)}, not {now[first]}. "
            "Name another folder with -o DIR, or repeat the command that made this one"
        )
    return Record(folder, found, points)
