"""Measured, simulated and ratio of every figure, in the terminal and in Markdown; and what each set comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packetloom.common.quantities import significant
from packetloom.validate.comparison import Row

RowDict = Mapping[str, Any]
HEADINGS = ("ranks", "operation", "size", "measured", "simulated", "ratio")
BINARY = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def size_in_binary(size_bytes: int) -> str:
    """A size as those who measure write it: 64 MiB."""
    factor, name = next(((factor, name) for factor, name in BINARY if size_bytes >= factor), (1, "B"))
    return f"{size_bytes / factor:g} {name}" if size_bytes else ""


def cells(figure: Mapping[str, Any]) -> list[str]:
    """A figure's own."""
    unit = "" if figure["unit"] == "ratio" else f" {figure['unit']}"
    mark = "" if figure["judged"] else ", not judged"
    return [
        str(figure["ranks"]),
        figure["operation"],
        size_in_binary(figure["size_bytes"]),
        f"{significant(figure['measured'], 4)}{unit}",
        f"{significant(figure['simulated'], 4)}{unit}",
        f"{figure['ratio']:.3f}{mark}",
    ]


def print_figures(rows: Sequence[Row]) -> None:
    """A table for each set."""
    from rich.table import Table

    from packetloom.common.terminal import console

    screen = console()
    for row in rows:
        figures = row.more.get("figures", ())
        if not figures:
            continue
        table = Table(title=row.id, title_justify="left", header_style="bold")
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading == "operation" else "right")
        for figure in figures:
            table.add_row(*cells(figure))
        screen.print(table)


def summary_cells(row: RowDict) -> list[str]:
    """A set's: how many figures, and how far off."""
    summary = row["summary"]
    return [
        row["what"].removesuffix(": median error"),
        f"{summary['judged']} of {summary['figures']}",
        f"{row['band'][1]:.0%}",
        f"{summary['median']:.1%}",
        f"{summary['worst']:.1%}",
        "met" if row["verdict"] == "holds" else "**missed**",
    ]
