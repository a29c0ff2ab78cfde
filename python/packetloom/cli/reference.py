"""The reference pages of the documentation, made from what the simulator says of itself and from the command line."""

from __future__ import annotations

import json
from typing import Any

from packetloom import _core
from packetloom.cli.catalogue import preset_value
from packetloom.common.markdown import table_row
from packetloom.store.columns import TABLES, columns_of

ABOUT = {
    "scenario": "The whole, and the sections that are its own",
    "topology": "Networks",
    "workload": "Traffic",
    "fault": "What breaks",
    "transport": "What hosts do",
    "queue": "What switches do with packets that wait",
    "routing": "Which path a packet takes",
}
PAGE_OF = {
    "scheme": "scenario",
    "run": "scenario",
    "precision": "scenario",
    "measure": "scenario",
    "link": "topology",
    "forwarding": "topology",
    "processing": "topology",
    "link-retry": "topology",
    "sizes": "workload",
    "arrivals": "workload",
    "pattern": "workload",
    "deadlines": "workload",
    "model": "workload",
    "tokens": "workload",
    "prefill": "workload",
    "decode": "workload",
    "lengths": "transport",
    "scheduler": "queue",
    "aqm": "queue",
    "buffer": "queue",
    "flow_control": "queue",
}
"""Sections that are on another's page."""


def component_pages() -> dict[str, str]:
    """A page of Markdown for each subject, with every component that a scenario can name."""
    components: dict[str, list[dict[str, Any]]] = {}
    for component in json.loads(_core.registry()):
        page = PAGE_OF.get(component["section"], component["section"])
        components.setdefault(page, []).append(component)
    return {name: _page(name, entries) for name, entries in components.items()}


def _page(name: str, components: list[dict[str, Any]]) -> str:
    about = ABOUT.get(name, name.capitalize())
    lead = f"# {about}\n\n`packetloom explain NAME` prints the same in a terminal.\n"
    return "\n".join([lead, *(_component(component) for component in components)])


def _component(component: dict[str, Any]) -> str:
    section, kind = component["section"], component["kind"]
    title = f"`{kind}`" if section == kind else f"{section} `{kind}`"
    lines = [f"## {title}\n", f"{component['doc']}\n", f"Source: {component['source']}\n"]
    if component["params"]:
        lines += ["| Key | What | Value | Default | Source |", "|---|---|---|---|---|"]
        lines += [_parameter(parameter) for parameter in component["params"]]
    else:
        lines.append("It has no parameters.")
    for preset in component["presets"]:
        lines += [f'\n`preset = "{preset["name"]}"`: {preset["doc"]}\n', "| Key | Value | Source |", "|---|---|---|"]
        lines += [f"| `{one['key']}` | {preset_value(one)} | {one['source']} |" for one in preset["sets"]]
    return "\n".join(lines) + "\n"


def _parameter(parameter: dict[str, Any]) -> str:
    default = "must be given" if parameter["required"] else f"`{parameter['default']}`" if parameter["default"] else ""
    cells = [f"`{parameter['name']}`", parameter["doc"], parameter["kind"], default, parameter["source"]]
    return table_row(cells)


def column_page() -> str:
    """A page of Markdown with the columns of every table of results."""
    lines = ["# Columns of results\n", "`packetloom explain flows.parquet` prints a table's in a terminal.\n"]
    for table in TABLES:
        lines += [f"## {table}.parquet\n", "| Column | Meaning |", "|---|---|"]
        lines += [*(table_row([f"`{column}`", meaning]) for column, meaning in columns_of(table).items()), ""]
    return "\n".join(lines)


def command_page() -> str:
    """A page of Markdown with every command and its options."""
    from typer.main import get_command

    from packetloom.cli.main import app

    group: Any = get_command(app)
    commands = [text for name, command in group.commands.items() for text in _commands(name, command)]
    return "\n".join(["# The command line\n\n`packetloom COMMAND --help` prints the same in a terminal.\n", *commands])


def _commands(name: str, command: Any) -> list[str]:
    """A command, and those that it is a group of."""
    own = [] if command.hidden else [_command(name, command)]
    below = getattr(command, "commands", {})
    return [*own, *(text for inner, one in below.items() for text in _commands(f"{name} {inner}", one))]


def _command(name: str, command: Any) -> str:
    lines = [f"## `packetloom {name}`\n", f"{command.help}\n"]
    if command.params:
        lines += ["| | |", "|---|---|"]
    for parameter in command.params:
        written = ", ".join([*parameter.opts, *parameter.secondary_opts])
        option = parameter.param_type_name == "option"
        metavar = f" {parameter.metavar}" if option and parameter.metavar else ""
        label = f"{written}{metavar}" if option else parameter.metavar or parameter.name
        lines.append(f"| `{label}` | {(parameter.help or '').replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"
