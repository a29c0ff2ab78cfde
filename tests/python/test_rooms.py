"""The rooms of `python/packetloom` import one way: each only those that stand before it in `ORDER`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import packetloom

HOUSE = Path(packetloom.__file__).parent

ORDER = (
    *(
        "common",
        "scenario",
        "schemes",
        "store",
        "network",
        "stats",
        "campaign",
        "tuning",
        "gym",
        "pages",
        "exchange",
        "bench",
        "new",
        "doctor",
    ),
    *("fabric_bench", "reproduce", "validate", "course", "cli"),
)
"""From what every room uses to what uses every room."""

BESIDE = {"errors", "control", "testing", "start", "__main__", "_core"}
"""Modules beside the rooms, which all may import: the engine, what goes wrong, and what users import by its name."""

WHEN_ASKED = {
    ("scenario.plan", "store.stored_plan"): "a results folder may be given in place of a scenario",
    ("store.results", "pages.notebook"): "a notebook shows results as tables",
    ("campaign.progress", "pages.notebook"): "a notebook shows a campaign's progress",
}
"""Imports the other way, within a function, of what another room shows or reads; and why."""


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """The modules of packetloom that a file imports, by their names without it, and whether within a function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    within = {id(node) for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "packetloom":
            assert node.module
            for name in node.names:
                full = f"{node.module}.{name.name}".removeprefix("packetloom.")
                is_module = HOUSE.joinpath(*full.split(".")).with_suffix(".py").is_file()
                if is_module or node.module != "packetloom":
                    yield full if is_module else node.module.removeprefix("packetloom."), id(node) in within
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("packetloom."):
                    yield name.name.removeprefix("packetloom."), id(node) in within


def rooms() -> list[tuple[str, str, bool]]:
    """Who imports whom: two modules in rooms, and whether within a function."""
    found = []
    for file in sorted(HOUSE.rglob("*.py")):
        one = ".".join(file.relative_to(HOUSE).with_suffix("").parts)
        if "." in one:
            found += [(one, other, late) for other, late in imports(file) if other.split(".")[0] not in BESIDE]
    return found


def test_every_room_has_its_place() -> None:
    folders = {folder.name for folder in HOUSE.iterdir() if (folder / "__init__.py").is_file()}
    assert folders == set(ORDER)
    assert {file.stem for file in HOUSE.glob("*.py")} - {"__init__"} <= BESIDE


def test_rooms_import_one_way() -> None:
    place = {room: nth for nth, room in enumerate(ORDER)}
    upward = {
        (one, other): late for one, other, late in rooms() if place[one.split(".")[0]] < place[other.split(".")[0]]
    }
    assert set(upward) == set(WHEN_ASKED)
    assert all(upward.values())
