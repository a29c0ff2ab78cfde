"""The crates below the schemes have rooms that import one way, and stay small enough to be compiled side by side."""

import re
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"

ROOMS = {
    "base": (
        "narrow",
        "prefetch",
        "units",
        "random",
        "flow",
        "flow_table",
        "files",
        "spec",
        "packet_tag",
        "packet",
        "packets",
        "link_message",
        "user_class",
    ),
    "jobs": ("job", "formats", "nccl"),
    "serving": ("serving",),
    "workload": ("workload",),
    "fabric": ("topology", "routing"),
    "queue": ("queue",),
    "engine": ("fault", "record", "engine", "measure"),
}
"""Of each crate its rooms: each imports only those that stand before it, here or in a crate above."""

ORDER = [room for rooms in ROOMS.values() for room in rooms]

MOST_LINES = 15_000
"""What one of two cores compiles while the other is busy with its neighbour."""


def sources(crate: str) -> dict[Path, str]:
    folder = CRATES / f"packetloom-{crate}" / "src"
    return {file.relative_to(folder): file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.rs"))}


def imported(text: str) -> set[str]:
    """The rooms that a file names as `crate::ROOM`, in code and in its tests."""
    code = re.sub(r"//.*", "", text)
    return {name for name in re.findall(r"\bcrate::(\w+)", code) if name in ORDER}


@pytest.mark.parametrize("crate", ROOMS)
def test_every_room_has_its_place(crate: str) -> None:
    assert {path.parts[0].removesuffix(".rs") for path in sources(crate)} - {"lib"} == set(ROOMS[crate])


@pytest.mark.parametrize("crate", ROOMS)
def test_rooms_import_one_way(crate: str) -> None:
    upward = [
        f"{path} imports {other}"
        for path, text in sources(crate).items()
        for other in sorted(imported(text))
        if path.name != "lib.rs" and ORDER.index(path.parts[0].removesuffix(".rs")) < ORDER.index(other)
    ]
    assert not upward


def test_files_import_rooms_by_their_whole_paths() -> None:
    """What [`imported`] would not see."""
    grouped = [path for crate in ROOMS for path, text in sources(crate).items() if re.search(r"\bcrate::\{", text)]
    assert not grouped


@pytest.mark.parametrize("crate", ROOMS)
def test_no_crate_is_too_large(crate: str) -> None:
    assert sum(text.count("\n") for text in sources(crate).values()) <= MOST_LINES
