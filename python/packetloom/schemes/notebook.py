"""A scheme from a class that is at hand: in a notebook's cell, or in a module."""

from __future__ import annotations

import linecache
from pathlib import Path
from types import FunctionType
from typing import Any

from packetloom import _core, arguments
from packetloom.errors import ArgumentError
from packetloom.scenario import Component, Scheme
from packetloom.schemes.declaration import CongestionControl
from packetloom.schemes.loader import folder_of
from packetloom.storage import write_text


def scheme(
    control: type[CongestionControl],
    *,
    name: str | None = None,
    queue: Component | None = None,
    routing: Component | None = None,
    **parameters: Any,
) -> Scheme:
    """A scheme whose congestion control is a class of your own.

    The class may be written in a notebook's cell; then the cell has to hold what it uses, its imports included.

    Args:
        control: a `packetloom.schemes.CongestionControl`.
        name: what tables and figures call it; the class's name by default.
        queue: the switches' queue; by default "ecn" where the class goes by marks, else "drop-tail".
        routing: the path selection; "ecmp" by default.
        parameters: the class's own and those of TCP's core, as a scenario has them; a list spans a grid.

    Raises:
        ArgumentError: if the source of the class is nowhere to be found, or it is no congestion control.
    """
    if not (isinstance(control, type) and issubclass(control, CongestionControl)):
        raise arguments.wrong("control", control, "a class derived from packetloom.schemes.CongestionControl")
    transport = {"kind": "python", "file": str(_file(control)), "class": control.__name__} | parameters
    default_queue = "ecn" if control.ecn else "drop-tail"
    return Scheme(
        name=control.__name__ if name is None else name,
        transport=transport,
        queue=default_queue if queue is None else queue,
        routing=routing,
    )


def _file(control: type[CongestionControl]) -> Path:
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
        raise ArgumentError(f"the source of {control.__name__} is not to be found; write it to a file")
    # Commands to the notebook are no Python; lines keep their numbers.
    lines = ("" if line.startswith(("%", "!")) else line for line in text.splitlines())
    content = "\n".join(lines) + "\n"
    file = folder_of(_core.file_hash(content.encode())) / f"{control.__name__}.py"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, content)
    return file
