"""The terminal, which shows text literally."""

from __future__ import annotations

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Where tables are printed. Nothing in a name is taken for markup (`[fast]`), or for an emoji (`:fast:`)."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
