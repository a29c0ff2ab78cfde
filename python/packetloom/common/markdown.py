"""Markdown that packetloom writes: rows of tables, and parts of pages between two marks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packetloom.errors import PacketloomError


def table_row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_part(text: str, part: str, marks: tuple[str, str], path: Path, what: str) -> str:
    """The page's text with another part between its two marks; `what` the part is, for the page that has no marks."""
    begin, end = marks
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise PacketloomError(f"{path}: has no place for {what}: put these two lines into it:\n{begin}\n{end}")
    return f"{before}{begin}{part}{end}{after}"
