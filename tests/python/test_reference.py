"""The generated reference: everything that can be named stands in it, and every page has its place in the site."""

import json
import re
from pathlib import Path

from packetloom import _core
from packetloom.cli.reference import command_page, component_pages

ROOT = Path(__file__).parents[2]


def test_every_component_and_parameter_is_told() -> None:
    text = "\n".join(component_pages().values())
    for component in json.loads(_core.registry()):
        assert f"`{component['kind']}`\n" in text
        assert component["doc"] in text
        for parameter in component["params"]:
            assert f"| `{parameter['name']}` | {parameter['doc'].replace('|', chr(92) + '|')} |" in text


def test_tables_have_as_many_cells_as_columns() -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", "\n".join(component_pages().values()) + "\n", re.MULTILINE)
    assert len(tables) > 100
    for table in tables:
        head, *rows = (len(re.split(r"(?<!\\)\|", row)) for row in table.splitlines())
        assert rows, table
        assert set(rows) == {head}, table


def test_every_command_and_option_is_told() -> None:
    page = command_page()
    for command in ("run", "combine", "report", "reproduce", "validate"):
        assert f"## `packetloom {command}`\n" in page
    for option in ("SCENARIO", "--set KEY=VALUE", "--shard I/N", "--no-cache", "--ray [HOST:PORT]", "-o, --output DIR"):
        assert f"| `{option}` |" in page


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    named = set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE))
    generated = {f"reference/{name}.md" for name in component_pages()} | {
        "reference/commands.md",
        "reference/columns.md",
        "reference/python.md",
        "reference/scheme-classes.md",
        "tutorial.md",
        "own-scheme.md",
        *(f"course/{book.stem}.md" for book in (ROOT / "docs" / "course").glob("*.ipynb")),
    }
    written = {file.name for file in (ROOT / "docs").glob("*.md")}
    papers = {f"papers/{file.parent.name}.md" for file in ROOT.glob("papers/*/README.md")}
    assert named == generated | written | papers | {
        "index.md",
        "contributing.md",
        "changelog.md",
        "examples.md",
        "measurements.md",
        "workloads.md",
    }
