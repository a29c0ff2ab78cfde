"""A scheme from a class that is at hand: in a notebook's cell, or in a module."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import FunctionType
from typing import Any

from packetloom import _core
from packetloom.common import arguments
from packetloom.common.files import write_text
from packetloom.errors import ArgumentError
from packetloom.scenario.plan import Component, Scheme
from packetloom.schemes.declaration import CongestionControl, PathChoice, QueueRule, RateControl
from packetloom.schemes.loader import base_of, folder_of

# The kind of transport that a class makes, and the queue that it gets if none is named.
_KINDS = {
    "CongestionControl": ("python", "drop-tail"),
    "RateControl": ("python-rate", "shared-buffer"),
    "TelemetryControl": ("python-telemetry", "shared-buffer"),
}


def scheme(
    control: type[CongestionControl] | type[RateControl],
    *,
    name: str | None = None,
    queue: Component | type[QueueRule] | None = None,
    routing: Component | type[PathChoice] | None = None,
    **parameters: Any,
) -> Scheme:
    """A scheme whose congestion control, or rate control, is a class of your own.

    The class may be written in a notebook's cell; then the cell has to hold what it uses, its imports included.

    Args:
        control: a `packetloom.schemes.CongestionControl`, `RateControl` or `TelemetryControl`.
        name: what tables and figures call it; the class's name by default.
        queue: the switches' queue, or a `QueueRule` of your own; by default "ecn" where a window goes by marks, else
            "drop-tail", and "shared-buffer" for rates.
        routing: the path selection, or a `PathChoice` of your own; "ecmp" by default.
        parameters: the class's own and those of the transport's core, as a scenario has them; a list spans a grid.

    Raises:
        ArgumentError: if the source of a class is nowhere to be found, or it is none of `packetloom.schemes`.
    """
    if (found := _KINDS.get(base_of(control) or "")) is None:
        raise arguments.wrong("control", control, f"a class derived from packetloom.schemes.{' or '.join(_KINDS)}")
    kind, default_queue = found
    if kind == "python" and control.ecn:
        default_queue = "ecn"
    return Scheme(
        name=control.__name__ if name is None else name,
        transport=_component(kind, control, parameters),
        queue=default_queue if queue is None else _part(queue),
        routing=None if routing is None else _part(routing),
    )


def component(part: type[QueueRule] | type[PathChoice], **parameters: Any) -> dict[str, Any]:
    """A queue or a routing that is a class of your own, with its parameters, for a scheme.

    Raises:
        ArgumentError: if the source of the class is nowhere to be found, or it is neither.
    """
    if base_of(part) not in ("QueueRule", "PathChoice"):
        raise arguments.wrong("part", part, "a class derived from packetloom.schemes.QueueRule or PathChoice")
    return _component("python", part, parameters)


def _part(part: Component | type) -> Component:
    return component(part) if isinstance(part, type) else part


def _component(kind: str, found: type, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "file": str(_file(found)), "class": found.__name__} | parameters


def _file(control: type) -> Path:
    """The file that the class is written in; a cell's text is written to one.

    ipykernel names cells like files in a temporary folder, and may write them there.
    """
    functions = [value for value in vars(control).values() if isinstance(value, FunctionType)]
    if not functions:
        raise ArgumentError(f"{control.__name__} has no method, so there is nothing that says where it is written")
    source = functions[0].__code__.co_filename
    if Path(source).is_file() and Path(source).suffix == ".py" and "ipykernel" not in source:
        return Path(source).absolute()
    text = "".join(linecache.getlines(source))
    if f"class {control.__name__}" not in text:
        raise ArgumentError(f"the source of {control.__name__} was not found; write it to a file")
    # Commands to the notebook are no Python; lines keep their numbers.
    lines = ("" if line.startswith(("%", "!")) else line for line in text.splitlines())
    content = "\n".join(lines) + "\n"
    file = folder_of(_core.file_hash(content.encode())) / f"{control.__name__}.py"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, content)
    return file
