"""The command: runs the examination, prints its table, and writes its page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from packetloom.common import terminal
from packetloom.doctor.examination import Examination, examine
from packetloom.doctor.page import doctor_page, failure_lines, table
from packetloom.errors import ScenarioError
from packetloom.scenario.overrides import setting_value
from packetloom.schemes.named import named_class


def run_doctor(control: str, output: Path | None, settings: Sequence[str]) -> bool:
    """Examines a class, "my_cc.py:MyCC" or "my_cc.py". Whether it survived."""
    file, _ = named_class(control)
    page_file = output or Path(f"{file.stem}-doctor.html")
    is_terminal = sys.stderr.isatty()
    examination = examine(
        control, _parameters(settings), lambda name: print(name, file=sys.stderr) if is_terminal else None
    )
    doctor_page(examination).write(page_file)
    print_examination(examination, terminal.console())
    print(f"\nwrote {page_file}")
    return examination.survived


def print_examination(examination: Examination, console: Console) -> None:
    """The table, and why what was not survived was not."""
    header, lines = table(examination)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(header):
        drawn.add_column(heading, justify="left" if place < 3 else "right", overflow="fold")
    for line in lines:
        drawn.add_row(*line)
    console.print(drawn)
    for failure in failure_lines(examination):
        console.print(failure)


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    """The class's parameters, of `key=value` texts."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise ScenarioError(f"--set {setting}: write it as name=value, for example --set g=0.5")
        parameters[key.strip()] = setting_value(value.strip(), setting)
    return parameters
