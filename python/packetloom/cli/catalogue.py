"""`list` and `explain`: what a scenario can name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from packetloom import _core
from packetloom.common import terminal
from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.store.columns import TABLES, columns_of

Entries = Mapping[str, str]
"""What can be named, each with what it is."""


def _figures() -> Entries:
    from packetloom.pages.figures import FIGURES

    return {name: figure.shows for name, figure in FIGURES.items()}


def _papers() -> Entries:
    from packetloom.reproduce import PAPERS

    return {name: paper.title for name, paper in PAPERS.items()}


def _tests() -> Entries:
    from packetloom.fabric_bench.catalogue import all_tests

    return {test.id: test.measures for test in all_tests()}


OTHERS: dict[str, tuple[str, Callable[[], Entries]]] = {
    "distributions": ("flow sizes (workload.sizes)", lambda: dict.fromkeys(_core.distributions(), "")),
    "figures": ("packetloom plot", _figures),
    "papers": ("packetloom reproduce", _papers),
    "tests": ("of AI fabrics: packetloom fabric-bench run", _tests),
    "benchmarks": ("packetloom bench", lambda: dict.fromkeys(_core.bench_names(), "")),
}
"""What is no component of a scenario: by section, what it is for, and what it has."""


@cache
def _components() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for component in json.loads(_core.registry()):
        found.setdefault(component["section"], {})[component["kind"]] = component["doc"]
    return found


@cache
def _parameters() -> dict[tuple[str, str], dict[str, str]]:
    """Of each component, by section and kind, its parameters and what they say."""
    return {
        (component["section"], component["kind"]): {one["name"]: one["doc"] for one in component["params"]}
        for component in json.loads(_core.registry())
    }


def sections() -> list[str]:
    """All that `list` can be asked for."""
    return [*_components(), *OTHERS]


def entries(section: str) -> Entries:
    """What a section has."""
    if section not in sections():
        hint = meant(section, sections())
        if not hint.startswith("did you mean") and any(_with(section, one) for one in sections()):
            hint = f"packetloom list --search {section} shows what has that in its name or description"
        raise PacketloomError(f"there is no section {section!r} to list; {hint}")
    return OTHERS[section][1]() if section in OTHERS else _components()[section]


def print_catalogue(section: str | None = None, text: str | None = None) -> None:
    """A section or all, a line for each of its names; with a text, those that have it in their name or description, or
    in those of a parameter."""
    console = terminal.console()
    found = {one: _with(text, one) for one in ([section] if section else sections())}
    if not any(found.values()):
        where = f"section {section}" if section else "catalogue"
        raise PacketloomError(f"nothing in the {where} has {text!r} in its name or description")
    for name, kept in found.items():
        if not kept:
            continue
        use = f" ({OTHERS[name][0]})" if name in OTHERS else ""
        console.print(f"\n{name}{use}", style="bold")
        table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
        for one, doc in kept.items():
            table.add_row(one, Text(doc))
        console.print(table)
    hints = (
        "" if section or text else "\npacketloom list SECTION shows one of these, --search TEXT what has a word in it."
    )
    console.print(f"{hints}\npacketloom explain NAME lists a component's parameters.", style="dim")


def _with(text: str | None, section: str) -> Entries:
    """What of a section has a text; where only parameters have it, these are named."""
    if text is None:
        return entries(section)
    asked = text.lower()
    found = {}
    for name, doc in entries(section).items():
        if asked in name.lower() or asked in doc.lower():
            found[name] = doc
        elif parameters := [
            parameter
            for parameter, its_doc in _parameters().get((section, name), {}).items()
            if asked in parameter.lower() or asked in its_doc.lower()
        ]:
            found[name] = f"{doc} Parameters: {', '.join(parameters)}."
    return found


def _explanation(name: str) -> str:
    """A component, or a class that a Python file has: "my_cc.py:MyCC"."""
    file, colon, class_name = name.rpartition(":")
    if colon and file.endswith(".py"):
        return _core.explain_class(file, class_name)
    if name.endswith(".py"):
        raise ScenarioError(f"which class of {name}? Write {name}:CLASS")
    return _core.explain(name)


TABLE = ".parquet"


def print_explanation(name: str) -> None:
    """Each component of that name (a queue and a transport may share one), or of that section; or a table's columns."""
    console = terminal.console()
    if name.endswith(TABLE):
        _print_columns(name.removesuffix(TABLE), console)
        return
    from difflib import get_close_matches

    if near := get_close_matches(name, [table + TABLE for table in TABLES], 1, 0.8):
        raise PacketloomError(f"there is no component and no table {name!r}; did you mean {near[0]!r}?")
    for component in json.loads(_explanation(name)):
        _print_component(component, console)


def _print_columns(table: str, console: Console) -> None:
    if table not in TABLES:
        raise PacketloomError(
            f"there is no table {table + TABLE!r} in results; {meant(table + TABLE, [one + TABLE for one in TABLES])}"
        )
    for column, meaning in columns_of(table).items():
        console.print(Text(f"\n  {column}", style="bold"))
        console.print(Padding(meaning, (0, 0, 0, 6)))


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
    for preset in component["presets"]:
        _print_preset(preset, console)


RATES_SHOWN = (40, 100, 400)
"""Of hosts' links in Gb/s, at which the values of presets are shown."""


def _print_preset(preset: dict[str, Any], console: Console) -> None:
    """What a preset sets, each value with its source."""
    console.print(Text.assemble("\n  preset = ", (f'"{preset["name"]}"', "bold"), " sets, of what is left out"))
    console.print(Padding(preset["doc"], (0, 0, 0, 6)))
    for one in preset["sets"]:
        console.print(Padding(Text.assemble((one["key"], "bold"), f" = {preset_value(one)}"), (0, 0, 0, 6)))
        console.print(Padding(f"source: {one['source']}", (0, 0, 0, 8)), style="dim")


def preset_value(one: Mapping[str, Any]) -> str:
    """What a preset sets a parameter to, on hosts' links of some rates."""
    if one["at_gbps"] is None:
        return str(one["value"])
    value, unit = re.fullmatch(r"([\d.]+)(\w+)", one["value"]).groups()  # type: ignore[union-attr]
    each = [f"{float(value) * gbps / one['at_gbps']:g}{unit} at {gbps}" for gbps in RATES_SHOWN]
    return f"{', '.join(each)} Gb/s, and so on in proportion to the hosts' links"
