"""`list` and `explain`: what a scenario can name."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from packetloom import _core, terminal
from packetloom.errors import ScenarioError
from packetloom.fabric_bench.catalogue import all_tests
from packetloom.figures import FIGURES
from packetloom.reproduce import PAPERS


def print_catalogue() -> None:
    """All components by section, then distributions, figures, papers, tests and benchmarks, a line each."""
    console = terminal.console()
    sections: dict[str, dict[str, str]] = {}
    for component in json.loads(_core.registry()):
        sections.setdefault(component["section"], {})[component["kind"]] = component["doc"]
    sections["distributions of flow sizes (workload.sizes)"] = dict.fromkeys(_core.distributions(), "")
    sections["figures (packetloom plot)"] = {name: figure.shows for name, figure in FIGURES.items()}
    sections["papers (packetloom reproduce)"] = {name: paper.title for name, paper in PAPERS.items()}
    sections["tests of AI fabrics (packetloom fabric-bench run)"] = {test.id: test.measures for test in all_tests()}
    sections["benchmarks (packetloom bench)"] = dict.fromkeys(_core.bench_names(), "")
    for section, entries in sections.items():
        console.print(f"\n{section}", style="bold")
        table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
        for name, doc in entries.items():
            table.add_row(name, doc)
        console.print(table)
    console.print("\npacketloom explain NAME lists a component's parameters.", style="dim")


def _explanation(name: str) -> str:
    """A component, or a class that a Python file has: "my_cc.py:MyCC"."""
    file, colon, class_name = name.rpartition(":")
    if colon and file.endswith(".py"):
        return _core.explain_class(file, class_name)
    if name.endswith(".py"):
        raise ScenarioError(f"which class of {name}? Write {name}:CLASS")
    return _core.explain(name)


def print_explanation(name: str) -> None:
    """Each component of that name (a queue and a transport may share one), or of that section."""
    console = terminal.console()
    for component in json.loads(_explanation(name)):
        _print_component(component, console)


def _print_component(component: dict[str, Any], console: Console) -> None:
    console.print(f"\n{component['section']}: {component['kind']}", style="bold")
    console.print(component["doc"])
    console.print(f"source: {component['source']}", style="dim")
    if not component["params"]:
        console.print("It has no parameters.")
        return
    for param in component["params"]:
        default = "must be given" if param["required"] else f"default {param['default'] or 'none'}"
        heading = Text.assemble("\n  ", (param["name"], "bold"), f"  {default}  (", (param["kind"], "dim"), ")")
        console.print(heading)
        console.print(Padding(param["doc"], (0, 0, 0, 6)))
        console.print(Padding(f"source: {param['source']}", (0, 0, 0, 6)), style="dim")
