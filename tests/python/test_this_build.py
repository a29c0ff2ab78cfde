"""This build, on this machine, computes what every other does: a pin for each component of the scenario's format.

The first thing that `make test` runs. `UPDATE_PINS=1 pytest tests/python/test_this_build.py` writes the pins anew, for
a change that alters results on purpose.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.scenario.plan import read_plan
from scenes import FILES, scene

PINS = Path(__file__).with_name("pins.json")
SECTIONS = (
    *("transport", "queue", "scheduler", "aqm", "buffer", "flow_control", "routing"),
    *("connections", "queue-pairs", "lengths"),
    *("topology", "link-retry", "forwarding", "processing", "sizes", "pattern", "arrivals", "deadlines", "fault"),
)
NAMES = [
    f"{one['section']}/{one['kind']}"
    for one in json.loads(_core.registry())
    if one["section"] in SECTIONS and not one["kind"].startswith("python")
]
"""Classes that users write give the bits of what they are translated from: tests in `test_user_classes.py`."""


@pytest.fixture(scope="module")
def pins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What runs gave; written if that is asked for. Files that scenarios name lie where they are run."""
    folder = tmp_path_factory.mktemp("scenes")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    kept: dict[str, str] = json.loads(PINS.read_text()) if PINS.exists() else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield kept
    if os.environ.get("UPDATE_PINS"):
        PINS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_is_pinned(name: str, pins: dict[str, str]) -> None:
    section, kind = name.split("/")
    case = read_plan(scene(section, kind)[0]).cases[0]
    one, two = (_core.Simulation(case).run(threads, True) for threads in (1, 2))
    assert one.violation is None
    assert one.fingerprint == two.fingerprint, "on two threads"
    if os.environ.get("UPDATE_PINS"):
        pins[name] = one.fingerprint
    assert one.fingerprint == pins[name]


def test_every_pin_is_of_a_component(pins: dict[str, str]) -> None:
    assert sorted(pins) == sorted(NAMES)
    assert len(set(pins.values())) > len(pins) / 2, "the scenes are too much alike to tell components apart"
