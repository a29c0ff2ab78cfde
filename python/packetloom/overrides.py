"""`--set key=value`: change one key of a scenario, keeping the rest of its text as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import MutableMapping, MutableSequence, Sequence
from typing import Any, Literal

import tomlkit

from packetloom.errors import PacketloomError


def override(text: str, format: Literal["toml", "json"], settings: Sequence[str]) -> str:
    """The scenario's text with each `key=value` applied."""
    document: Any = tomlkit.parse(text) if format == "toml" else json.loads(text)
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise PacketloomError(f"--set {setting}: write it as key=value, for example --set run.seeds=5")
        _set(document, key.strip().split("."), _value(value.strip(), setting), setting)
    return tomlkit.dumps(document) if format == "toml" else json.dumps(document, indent=2)


def _value(text: str, setting: str) -> Any:
    """A TOML value; a bare word such as 40Gbps is taken as text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if text[:1] in tuple("[{\"'"):
            raise PacketloomError(
                f'--set {setting}: {text} is not a TOML value; a list is written as \'["100KB", "225KB"]\''
            ) from None
        return text


def _set(node: Any, path: list[str], value: Any, setting: str) -> None:
    """Sets `path` below `node`. In a list of tables a part of the path is a name, a number from 0, or `*` for all."""
    head, rest = path[0], path[1:]
    if isinstance(node, MutableSequence):
        chosen, rest = _choose(node, path, setting)
        for table in chosen:
            _set(table, rest, value, setting)
    elif isinstance(node, MutableMapping):
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
    for parts in range(len(path) - 1, 0, -1):  # a name may hold dots
        name = ".".join(path[:parts])
        if name in names:
            return [tables[names.index(name)]], path[parts:]
    head, rest = path[0], path[1:]
    if head == "*" and rest:
        return list(tables), rest
    if head.isdigit() and int(head) < len(tables) and rest:
        return [tables[int(head)]], rest
    if len(tables) == 1:
        return [tables[0]], path
    known = ", ".join([str(name) for name in names if name] or [str(index) for index in range(len(tables))])
    raise PacketloomError(f"--set {setting}: {head!r} is none of {known}; or * for all of them")
