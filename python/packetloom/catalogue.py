"""`list` and `explain`: what a scenario can name."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from packetloom import _core
from packetloom.figures import FIGURES
from packetloom.reproduce import PAPERS


def print_catalogue() -> None:
    """All components by section, then distributions, figures, papers and benchmarks, a line each."""
    console = Console(highlight=False)
    sections: dict[str, dict[str, str]] = {}
    for component in json.loads(_core.registry()):
        sections.setdefault(component["section"], {})[component["kind"]] = component["doc"]
    sections["distributions of flow sizes (workload.sizes)"] = dict.fromkeys(_core.distributions(), "")
    sections["figures (packetloom plot)"] = {name: figure.shows for name, figure in FIGURES.items()}
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
    for component in json.loads(_core.explain(name)):
        _print_component(component, console)


def _print_component(component: dict[str, Any], console: Console) -> None:
    console.print(f"\n[bold]{escape(component['section'])}: {escape(component['kind'])}[/bold]")
    console.print(escape(component["doc"]))
    console.print(f"source: {component['source']}", style="dim", markup=False)
    if not component["params"]:
        console.print("It has no parameters.")
        return
    for param in component["params"]:
        default = "must be given" if param["required"] else f"default {param['default'] or 'none'}"
        console.print(
            f"\n  [bold]{escape(param['name'])}[/bold]  {escape(default)}  ([dim]{escape(param['kind'])}[/dim])"
        )
        console.print(Padding(escape(param["doc"]), (0, 0, 0, 6)))
        console.print(Padding(escape(f"source: {param['source']}"), (0, 0, 0, 6)), style="dim")
