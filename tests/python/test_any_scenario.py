"""Any scenario that the schema describes, and many that it does not: `check` and `run` end with an answer or with a
message, never with a traceback, and never not at all.

A bounded number is drawn in every test run, always the same. `PACKETLOOM_PROPERTIES=2000` draws so many others."""

import faulthandler
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as draws

from packetloom import _core, cli

Json = Any

ASKED = os.environ.get("PACKETLOOM_PROPERTIES")
ANSWERS = {0, cli.MISTAKE, cli.STALLED}
HANGS_AFTER_S = 300
SCHEMA: Mapping[str, Json] = json.loads(_core.schema())
ANY_VALUE = draws.none() | draws.booleans() | draws.integers() | draws.floats(allow_nan=False) | draws.text(max_size=9)
ANYTHING = (
    ANY_VALUE | draws.lists(ANY_VALUE, max_size=2) | draws.dictionaries(draws.text(max_size=5), ANY_VALUE, max_size=2)
)
NUMBERS = [0, 1, 2, 3, 4, 6, 8, 16, 10**9, 10**12, 2**32, 2**63 - 1, 2**63, 2**64, -1]
TEXTS = ["", "host0", "edge0", "web-search", "no such file", "/dev/null", "\x00", "9" * 400]
AMOUNTS = ["0", "1", "0.4", "22.5", "1500", "1e3", "9223372036854775807", "99999999999999999999999"]


def values(schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
    """Values that a schema describes; a few of another kind among them."""
    right = described(schema)
    return draws.integers(0, 40).flatmap(lambda odds: ANYTHING if odds == 40 else right)


def described(schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
    """Values that a schema describes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return draws.deferred(lambda: described(SCHEMA["$defs"][name]))
    if "const" in schema:
        return draws.just(schema["const"])
    if "enum" in schema:
        return draws.sampled_from(schema["enum"])
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return draws.sampled_from(schema[several]).flatmap(described)
    return of_type(schema)


def of_type(schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
    match schema.get("type"):
        case "boolean":
            return draws.booleans()
        case "integer":
            return draws.sampled_from(NUMBERS)
        case "number":
            return draws.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False, allow_infinity=False)
        case "string" if "pattern" in schema:
            return quantities(schema)
        case "string":
            return draws.sampled_from(TEXTS) | draws.text(max_size=8)
        case "array":
            return draws.lists(values(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=3)
        case "object":
            return objects(schema)
        case _:
            return ANYTHING


def quantities(schema: Mapping[str, Json]) -> draws.SearchStrategy[str]:
    """Amounts with a unit that the pattern allows: the last of its alternatives in brackets."""
    units = schema["pattern"].rpartition("(")[2].partition(")")[0].split("|")
    made = draws.builds("{}{}".format, draws.sampled_from(AMOUNTS), draws.sampled_from(units))
    return draws.sampled_from(schema.get("examples", ["1"])) | made


def objects(schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
    required = set(schema.get("required", ()))
    properties = {name: values(of) for name, of in schema.get("properties", {}).items()}
    needed = {name: of for name, of in properties.items() if name in required}
    more = {name: of for name, of in properties.items() if name not in required}
    some = draws.lists(draws.sampled_from(sorted(more)), max_size=2, unique=True) if more else draws.just([])
    chosen = some.flatmap(lambda names: draws.fixed_dictionaries({**needed, **{name: more[name] for name in names}}))
    return draws.deferred(lambda: chosen)


TOPOLOGIES = [
    {"kind": "rack", "hosts": 3},
    {"kind": "fat-tree", "k": 4},
    {"kind": "leaf-spine", "spines": 2, "leaves": 2, "hosts_per_leaf": 2},
]
SCENARIOS = described(SCHEMA)


def part(name: str) -> draws.SearchStrategy[Json]:
    return described({"$ref": f"#/$defs/section-{name}"})


SMALL_SCENARIOS = draws.fixed_dictionaries(
    {
        "topology": draws.sampled_from(TOPOLOGIES),
        "workload": draws.lists(part("workload"), min_size=1, max_size=2),
        "scheme": draws.lists(part("scheme"), min_size=1, max_size=1),
        "run": draws.fixed_dictionaries(
            {"flows": draws.integers(1, 30), "max_time": draws.just("1ms"), "loads": draws.just([0.5])}
        ),
    },
    optional={"fault": draws.lists(part("fault"), max_size=2)},
)


def answer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", ["packetloom", *arguments])
    try:
        cli.main()
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else 0
    return 0


@contextmanager
def no_hang() -> Iterator[None]:
    """Ends the tests, and says where they were, if what is inside takes for ever."""
    faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def bounded(examples: int) -> settings:
    return settings(
        max_examples=int(ASKED or examples),
        derandomize=ASKED is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@bounded(150)
@given(scenario=SCENARIOS)
def test_check_answers(scenario: Json, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("drawn") / "drawn.json"
    file.write_text(json.dumps(scenario))
    with no_hang(), pytest.MonkeyPatch.context() as monkeypatch:
        assert answer(["check", str(file)], monkeypatch) in ANSWERS


@bounded(60)
@given(scenario=SMALL_SCENARIOS)
def test_run_answers(scenario: Json, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    file = folder / "drawn.json"
    file.write_text(json.dumps(scenario))
    command = ["run", str(file), "-o", str(folder / "out"), "--workers", "1", "--audit"]
    with no_hang(), pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PACKETLOOM_CACHE", "off")
        assert answer(command, monkeypatch) in ANSWERS
