"""What a results folder says of itself, and the scenario and the cases that it was made from."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from packetloom import _core
from packetloom.common.files import DamageError, must_be_a_file, unreadable
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario.plan import ALIKE, Plan, Precision, plan_from_text
from packetloom.schemes import kept as schemes
from packetloom.store.case_rows import FORMAT, FORMATS_READ, MARKER, PLAN


def read_marker(folder: Path) -> dict[str, Any]:
    """What a results folder says of itself; an error if it is not one."""
    path = folder / MARKER
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "there is no such folder"
        raise PacketloomError(f"{folder}: {what}; a results folder is made by `packetloom run`")
    if path.exists():
        must_be_a_file(path)
    try:
        marker = json.loads(path.read_text(encoding="utf-8"))
        known_format = marker["format"]
    except FileNotFoundError:
        raise PacketloomError(
            f"{folder}: not a results folder (it has no {MARKER}); one is made by `packetloom run SCENARIO -o DIR`"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamageError(path, "is damaged, and not the JSON that `packetloom run` wrote", MEND_MARKER) from None
    except OSError as error:
        raise unreadable(path, error) from None
    version = str(marker.get("version", "of another version"))
    if type(known_format) is not int or known_format not in FORMATS_READ:
        raise PacketloomError(
            f"{folder}: written in format {known_format}, and this packetloom reads formats up to {FORMAT}: "
            f"use packetloom {version}, or run the scenario again"
        )
    if _numbers(version) > _numbers(_core.version()):
        raise PacketloomError(
            f"{folder}: written by packetloom {version}, which is newer than this one ({_core.version()}): "
            "use that one, or run the scenario again with -o DIR"
        )
    wrong = [key for key, is_right in MARKER_KEYS.items() if not is_right(marker.get(key, ...))]
    if wrong:
        raise DamageError(path, f"is damaged: {', '.join(wrong)} is missing or of the wrong type", MEND_MARKER)
    return dict(marker)


def _is_precision(value: Any) -> bool:
    types = {"statistic": str, "within": int | float, "first_seeds": int, "max_extensions": int}
    return value is None or (
        isinstance(value, dict)
        # Results of earlier versions do not say `max_extensions`.
        and types.keys() - {"max_extensions"} <= value.keys() <= types.keys()
        and all(isinstance(value[name], types[name]) for name in value)
    )


MEND_MARKER = (
    "delete it and run the scenario that the results were made from with -o and this folder; what is finished is kept"
)
MARKER_KEYS: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: isinstance(value, str),
    "scenario": lambda value: value in ("scenario.toml", "scenario.json"),
    "origin": lambda value: isinstance(value, str),
    "set": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "precision": _is_precision,
    "alike": lambda value: value is ... or (isinstance(value, int | float) and not isinstance(value, bool)),
}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", version.partition("-")[0]))


def stored_plan(folder: Path, overrides: Sequence[str] = (), *, to_run: bool = True) -> Plan:
    """The plan that a results folder was made from: it needs no other file unless keys are overridden.

    A list of cases that is damaged is made again from the scenario.
    """
    marker = read_marker(folder)
    if to_run and is_driven(folder):
        raise PacketloomError(
            f"{folder}: a program sent its traffic (packetloom.Network), and the folder does not hold that: "
            "run the program again"
        )
    text = stored_scenario(folder, marker)
    schemes.restore(folder)
    format: Literal["toml", "json"] = "json" if marker["scenario"].endswith(".json") else "toml"
    if overrides:
        return plan_from_text(text, format, marker["origin"], overrides)
    try:
        cases = stored_cases(folder, marker)
    except DamageError as damage:
        print(f"warning: {damage}; made again from {marker['scenario']}", file=sys.stderr)
        return replace(plan_from_text(text, format, marker["origin"], ()), overrides=tuple(marker["set"]))
    stored = marker["precision"]
    precision = Precision(**stored) if stored else None
    alike = marker.get("alike", ALIKE)
    driven = bool(marker.get("driven"))
    return Plan(text, format, marker["origin"], tuple(marker["set"]), cases, (), precision, alike, driven)


def is_driven(folder: Path) -> bool:
    """Whether a program sent the traffic of these results, which the folder does not hold."""
    return bool(read_marker(folder).get("driven"))


def stored_scenario(folder: Path, marker: Mapping[str, Any]) -> str:
    """The scenario as it was run; `DamageError` if the file is anything else."""
    file = folder / marker["scenario"]
    made_from = marker["origin"] or "the scenario that the results were made from"
    advice = f"`packetloom run {made_from} -o {folder}` writes it again, and keeps what is finished"
    try:
        text = text_of(file)
    except DamageError as damage:
        raise DamageError(file, str(damage).removeprefix(f"{file}: "), advice) from None
    try:
        json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamageError(file, f"is damaged ({error})", advice) from None
    if digest_of(text) != marker.get("sha256", {}).get(file.name, digest_of(text)):
        raise DamageError(file, "was changed since it was run", advice)
    return text


def stored_cases(folder: Path, marker: Mapping[str, Any]) -> tuple[_core.Case, ...]:
    """Every case of the scenario, as long as written; `DamageError` if the file that lists them is damaged."""
    file = folder / PLAN
    lines, damage = plan_lines(file)
    if damage:
        raise damage[0]
    text = text_of(file)
    if digest_of(text) != marker.get("sha256", {}).get(PLAN, digest_of(text)):
        raise DamageError(file, "is not as it was written: cut short or changed")
    try:
        return tuple(_core.Case.from_json(line["case"]) for line in lines if line.get("times", 1) == 1)
    except (ScenarioError, TypeError) as error:
        raise DamageError(file, f"holds a case that cannot be run ({error})") from None


def plan_lines(file: Path) -> tuple[list[dict[str, Any]], list[DamageError]]:
    """The cases that are listed, and what is damaged of the list."""
    try:
        texts = text_of(file).splitlines()
    except DamageError as damage:
        return [], [damage]
    lines, damaged = [], []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            right = isinstance(line["id"], str) and "scheme" in line["parameters"] and isinstance(line["case"], str)
            if not (right and type(line.get("times", 1)) is int):
                raise ValueError
            lines.append(line)
        except (KeyError, TypeError, ValueError, RecursionError):
            damaged.append(DamageError(file, f"line {number} is damaged, no case of the scenario"))
    return lines, damaged


def text_of(file: Path) -> str:
    must_be_a_file(file)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def digest_of(text: str) -> str:
    """A hash over a text, by which the marker knows the files that are not a case's."""
    return hashlib.sha256(text.encode()).hexdigest()
