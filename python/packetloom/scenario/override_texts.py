"""Overrides as Python programs give them: texts as for `packetloom run --set`, or values by their keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from packetloom.common import arguments
from packetloom.scenario.plain_values import plain

Overrides = Sequence[str] | Mapping[str, Any]


def texts(overrides: object) -> tuple[str, ...]:
    """The overrides as `key=value`, where the value is TOML's."""
    give = 'a list of texts such as ["run.seeds=5"], or values by key such as {"run.seeds": 5}'
    if isinstance(overrides, Mapping):
        return tuple(f"{key}={_toml(value)}" for key, value in plain(overrides).items())
    if isinstance(overrides, str) or not isinstance(overrides, Sequence):
        raise arguments.wrong("overrides", overrides, give)
    return tuple(arguments.instance("overrides", setting, str, give) for setting in overrides)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(name)} = {_toml(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
