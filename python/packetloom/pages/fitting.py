"""Tables in a terminal that is too narrow for them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

BETWEEN_COLUMNS = 3


def print_fitting(table: Table, console: Console, between: int = BETWEEN_COLUMNS) -> None:
    """Prints a table of which no column is cut off: where it is too wide, cells are broken between words, first of
    those columns that may be (not `no_wrap`), and last the longest words. `between`: what lines and padding take of a
    column."""
    texts = [[str(cell) for cell in (column.header, *column.cells)] for column in table.columns]
    whole = [max(len(line) for text in own for line in text.splitlines() or [""]) for own in texts]
    words = [max(len(word) for text in own for word in text.split() or [""]) for own in texts]
    kept = [line if column.no_wrap else word for column, line, word in zip(table.columns, whole, words, strict=True)]
    room = console.width - len(texts) * between
    widths = kept if sum(kept) <= room else words
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    for place, column in enumerate(table.columns):
        widths[place] += min(whole[place] - widths[place], max(0, room - sum(widths)))
        column.no_wrap, column.overflow, column.width = False, "fold", widths[place]
    console.print(table)
