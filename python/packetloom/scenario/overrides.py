"""`--set key=value`: change one key of a scenario, keeping the rest of its text as it is."""

from __future__ import annotations

import json
import tomllib
import unicodedata
from collections.abc import MutableMapping, MutableSequence, Sequence
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError

from packetloom import _core
from packetloom.errors import PacketloomError

NOT_ON_A_LINE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode's categories: control characters, halves of pairs, ends of lines and paragraphs."""


def override(text: str, format: Literal["toml", "json"], settings: Sequence[str]) -> str:
    """The scenario's text with each `key=value` applied."""
    document = _parsed(text, format)
    for setting in settings:
        _refuse_unprintable(setting)
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise PacketloomError(f"--set {setting}: write it as key=value, for example --set run.seeds=5")
        try:
            _set(document, key.strip().split("."), setting_value(value.strip(), setting), setting)
        except TOMLKitError as error:
            raise PacketloomError(f"--set {setting}: cannot be written into the file: {error}") from None
    return tomlkit.dumps(document) if format == "toml" else _json_text(document, settings)


def _parsed(text: str, format: Literal["toml", "json"]) -> Any:
    if format == "json":
        try:
            return json.loads(text, object_pairs_hook=_table)
        except (ValueError, RecursionError) as error:
            raise PacketloomError(f"--set: this file cannot be changed: {error}") from None
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise PacketloomError(f"--set: this file cannot be changed: {error}") from None


def _json_text(document: Any, settings: Sequence[str]) -> str:
    try:
        return json.dumps(document, indent=2, allow_nan=False, default=str)
    except ValueError:
        given = " ".join(f"--set {setting}" for setting in settings)
        raise PacketloomError(f"{given}: nan and inf are not allowed here; write a finite number") from None


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, which may not have a key twice."""
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        raise PacketloomError(f"{next(key for key in table if keys.count(key) > 1)}: is there twice; write it once")
    return table


def _refuse_unprintable(setting: str) -> None:
    for place, letter in enumerate(setting, 1):
        if unicodedata.category(letter) in NOT_ON_A_LINE:
            raise PacketloomError(f"--set {setting!r}: letter {place} is {letter!r}; write printable text in one line")


def setting_value(text: str, setting: str) -> Any:
    """A TOML value; a bare word such as 40Gbps is taken as text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if text[:1] in tuple("[{\"'"):
            raise PacketloomError(
                f'--set {setting}: {text} is not a TOML value; a list is written as \'["100KB", "225KB"]\''
            ) from None
        return text
    except (RecursionError, ValueError):
        raise PacketloomError(f"--set {setting[:80]}: the value is too deep, or its number too long") from None


def _set(node: Any, path: list[str], value: Any, setting: str) -> None:
    """Sets `path` below `node`. In a list of tables a part of the path is a name, a number from 0, or `*` for all."""
    head, rest = path[0], path[1:]
    if isinstance(node, MutableSequence):
        chosen, rest = _choose(node, path, setting)
        for table in chosen:
            _set(table, rest, value, setting)
    elif isinstance(node, MutableMapping):
        if not head:
            raise PacketloomError(f"--set {setting}: the key has an empty part; put one dot between two names")
        if not rest:
            node[head] = value
            return
        if isinstance(node.get(head), str):  # `queue = "ecn"` is short for `queue = { kind = "ecn" }`
            node[head] = {"kind": str(node[head])}
        if head not in node:
            node[head] = {}
        _set(node[head], rest, value, setting)
    else:
        raise PacketloomError(f"--set {setting}: {head} is not inside a table")


def _choose(tables: MutableSequence[Any], path: list[str], setting: str) -> tuple[list[Any], list[str]]:
    """The tables of a list that the path means, and the path inside them."""
    names = [table.get("name") for table in tables if isinstance(table, MutableMapping)]
    for parts in range(len(path), 0, -1):  # a name may hold dots
        name = ".".join(path[:parts])
        if name in names:
            return [tables[names.index(name)]], _inside(path[parts:], name, setting)
    head, rest = path[0], path[1:]
    if head == "*":
        return list(tables), _inside(rest, head, setting)
    places = [str(place) for place in range(len(tables))]
    if head in places:
        return [tables[int(head)]], _inside(rest, head, setting)
    may_leave_out = not names[0:] or names[0] is None or head in tables[0] or head in _keys_of_schemes()
    if len(tables) == 1 and may_leave_out and not head.removeprefix("-").isdecimal():
        return [tables[0]], path
    known = ", ".join([str(name) for name in names if name] or places) or "none, as there is none"
    raise PacketloomError(f"--set {setting}: {head!r} is none of {known}; or * for all of them")


def _inside(rest: list[str], name: str, setting: str) -> list[str]:
    if not rest:
        raise PacketloomError(f"--set {setting}: names no key of {name}; write it as {name}.KEY=VALUE after the rest")
    return rest


def _keys_of_schemes() -> set[str]:
    """Only schemes have names: with one of them, what is not its name has to be a key of it."""
    schemes = json.loads(_core.schema())["$defs"]["section-scheme"]["oneOf"]
    return {key for scheme in schemes for key in scheme["properties"]}
