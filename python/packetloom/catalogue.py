"""`list` and `explain`: what a scenario can name."""

from __future__ import annotations

import difflib
import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from packetloom import _core
from packetloom.errors import PacketloomError
from packetloom.reproduce import PAPERS

FIGURES = {
    "slowdown-by-load": "mean or tail slowdown against load, all flows or one size bin",
    "slowdown-by-size": "slowdown against flow size at one load",
    "fct-cdf": "distribution of flow completion times at one load",
    "queue-by-tier": "queue lengths by tier at one load",
}


def components() -> list[dict[str, Any]]:
    """Everything that a scenario can name, with its parameters."""
    found: list[dict[str, Any]] = json.loads(_core.registry())
    return found


def print_catalogue() -> None:
    """All components by section, then figures, papers and benchmarks, a line each."""
    console = Console(highlight=False)
    sections: dict[str, dict[str, str]] = {}
    for component in components():
        sections.setdefault(component["section"], {})[component["kind"]] = component["doc"]
    sections["figures (packetloom plot)"] = FIGURES
    sections["papers (packetloom reproduce)"] = {name: paper.title for name, paper in PAPERS.items()}
    sections["benchmarks (packetloom bench)"] = dict.fromkeys(_core.bench_names(), "")
    for section, entries in sections.items():
        console.print(f"\n[bold]{escape(section)}[/bold]")
        table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
        for name, doc in entries.items():
            table.add_row(escape(name), escape(doc))
        console.print(table)
    console.print("\npacketloom explain NAME tells a component's parameters.", style="dim")


def print_explanation(name: str) -> None:
    """Each component of that name (a queue and a transport may share one), or of that section."""
    console = Console(highlight=False)
    section, separator, kind = name.partition(".")
    chosen = [
        component
        for component in components()
        if (separator and (component["section"], component["kind"]) == (section, kind))
        or name in (component["kind"], component["section"])
    ]
    if not chosen:
        known = sorted({text for component in components() for text in (component["kind"], component["section"])})
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise PacketloomError(f"there is nothing named {name!r}{hint} `packetloom list` shows every name")
    for component in chosen:
        _print_component(component, console)


def _print_component(component: dict[str, Any], console: Console) -> None:
    console.print(f"\n[bold]{escape(component['section'])}: {escape(component['kind'])}[/bold]")
    console.print(escape(component["doc"]))
    console.print(f"source: {component['source']}", style="dim", markup=False)
    if not component["params"]:
        console.print("It has no parameters.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("parameter", "is", "default", "what it does", "the default's source"):
        table.add_column(heading, overflow="fold")
    for param in component["params"]:
        default = "(must be given)" if param["required"] else str(param["default"] or "(none)")
        table.add_row(
            *(escape(text) for text in (param["name"], param["type"], default, param["doc"], param["source"]))
        )
    console.print(table)
