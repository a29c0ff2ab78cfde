"""Any scenario that the schema describes, and many that it does not: `check` and `run` end with an answer or with a
message, never with a traceback, and never not at all.

A bounded number is drawn in every test run, always the same. `PACKETLOOM_PROPERTIES=2000` draws so many others."""

import faulthandler
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as draws

from packetloom import _core
from packetloom.cli import exit_codes
from packetloom.cli import main as cli

Json = Any

ASKED = os.environ.get("PACKETLOOM_PROPERTIES")
ANSWERS = {0, exit_codes.MISTAKE, exit_codes.STALLED}
HANGS_AFTER_S = 300
SCHEMA: Mapping[str, Json] = json.loads(_core.schema())
ANY_VALUE = draws.none() | draws.booleans() | draws.integers() | draws.floats(allow_nan=False) | draws.text(max_size=9)
ANYTHING = (
    ANY_VALUE | draws.lists(ANY_VALUE, max_size=2) | draws.dictionaries(draws.text(max_size=5), ANY_VALUE, max_size=2)
)
NUMBERS = [0, 1, 2, 3, 4, 6, 8, 16, 10**9, 10**12, 2**32, 2**63 - 1, 2**63, 2**64, -1]
TEXTS = ["", "host0", "edge0", "web-search", "no such file", "/dev/null", "\x00", "9" * 400]
AMOUNTS = ["0", "1", "0.4", "22.5", "1500", "1e3", "9223372036854775807", "99999999999999999999999"]


class Drawing:
    """Values that schemas describe: as wild as they allow and some of another kind, or more often sensible ones."""

    def __init__(self, *, wild: bool) -> None:
        self.wild = wild

    def values(self, schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
        """Values that a schema describes; a few of another kind among them."""
        right = self.described(schema)
        if not self.wild:
            return right
        return draws.integers(0, 40).flatmap(lambda odds: ANYTHING if odds == 40 else right)

    def described(self, schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
        """Values that a schema describes."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in SENSIBLE and not self.wild:
                return draws.sampled_from(SENSIBLE[name])
            return draws.deferred(lambda: self.described(SCHEMA["$defs"][name]))
        if "const" in schema:
            return draws.just(schema["const"])
        if "enum" in schema:
            return draws.sampled_from(schema["enum"])
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return draws.sampled_from(schema[several]).flatmap(self.described)
        return self.of_type(schema)

    def of_type(self, schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
        """Values of a schema's type."""
        match schema.get("type"):
            case "boolean":
                return draws.booleans()
            case "integer":
                least = schema.get("minimum", 0)
                return draws.sampled_from(NUMBERS) if self.wild else draws.integers(least, least + 4)
            case "number":
                bounds = schema.get("minimum"), schema.get("maximum")
                return draws.floats(*bounds, allow_nan=False, allow_infinity=False)
            case "string" if "pattern" in schema:
                return quantities(schema)
            case "string":
                return draws.sampled_from(TEXTS) | draws.text(max_size=8)
            case "array":
                least = max(schema.get("minItems", 0), 0 if self.wild else 1)
                return draws.lists(self.values(schema.get("items", {})), min_size=least, max_size=max(least, 2))
            case "object":
                return self.objects(schema)
            case _:
                return ANYTHING

    def objects(self, schema: Mapping[str, Json]) -> draws.SearchStrategy[Json]:
        """Tables with all that they need, and up to two keys more."""
        properties = {name: self.values(of) for name, of in schema.get("properties", {}).items()}
        required = [name for name in properties if name in schema.get("required", ())]
        more = sorted(set(properties) - set(required))
        some = draws.lists(draws.sampled_from(more), max_size=2, unique=True) if more else draws.just([])

        def table(names: list[str]) -> draws.SearchStrategy[Json]:
            return draws.fixed_dictionaries({name: properties[name] for name in [*required, *names]})

        return some.flatmap(table)

    def part(self, name: str) -> draws.SearchStrategy[Json]:
        """A part of a scenario."""
        return self.described({"$ref": f"#/$defs/section-{name}"})


def quantities(schema: Mapping[str, Json]) -> draws.SearchStrategy[str]:
    """Amounts with a unit that the pattern allows: the last of its alternatives in brackets."""
    units = schema["pattern"].rpartition("(")[2].partition(")")[0].split("|")
    made = draws.builds("{}{}".format, draws.sampled_from(AMOUNTS), draws.sampled_from(units))
    return draws.sampled_from(schema.get("examples", ["1"])) | made


def sensible() -> draws.SearchStrategy[Json]:
    """Scenarios that run in milliseconds, if they make sense."""
    drawing = Drawing(wild=False)
    sizes = draws.sampled_from(["web-search", {"kind": "exponential", "mean": "20KB"}])
    run = {"flows": draws.integers(1, 30), "max_time": draws.just("1ms"), "loads": draws.just([0.5])}
    workload = draws.builds(lambda part, sizes: {"sizes": sizes, **part}, drawing.part("workload"), sizes)
    scheme = draws.builds(lambda part: {"queue": "drop-tail", **part, "name": "any"}, drawing.part("scheme"))
    needed = {
        "topology": draws.sampled_from(TOPOLOGIES),
        "workload": draws.lists(workload, min_size=1, max_size=1),
        "scheme": draws.lists(scheme, min_size=1, max_size=1),
        "run": draws.fixed_dictionaries(run),
    }
    fault = draws.lists(drawing.part("fault"), min_size=1, max_size=1)
    return draws.fixed_dictionaries(needed, optional={"fault": fault})


SENSIBLE = {
    "time": ["1us", "40us", "1ms"],
    "bytes": ["1B", "1.5KB", "100KB"],
    "buffer": ["30KB", "8packets"],
    "rate": ["1Gbps", "10Gbps"],
}
TOPOLOGIES = [
    {"kind": "rack", "hosts": 3},
    {"kind": "fat-tree", "k": 4},
    {"kind": "leaf-spine", "spines": 2, "leaves": 2, "hosts_per_leaf": 2},
]
WILD = Drawing(wild=True).described(SCHEMA)


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
    """Ends the tests, and says where they were, if what is inside takes forever."""
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


def test_check_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: Counter[int] = Counter()
    file = tmp_path / "drawn.json"

    @bounded(80)
    @given(scenario=WILD | sensible())
    def answers(scenario: Json) -> None:
        file.write_text(json.dumps(scenario))
        with no_hang():
            code = answer(["check", str(file)], monkeypatch)
        assert code in ANSWERS
        codes[code] += 1

    answers()
    assert min(codes[0], codes[exit_codes.MISTAKE]) > sum(codes.values()) / 20, codes


def test_run_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: Counter[int] = Counter()
    file = tmp_path / "drawn.json"

    @bounded(60)
    @given(scenario=sensible())
    def answers(scenario: Json) -> None:
        file.write_text(json.dumps(scenario))
        out = tmp_path / f"out{sum(codes.values())}"
        with no_hang():
            code = answer(["run", str(file), "-o", str(out), "--workers", "1", "--audit"], monkeypatch)
        assert code in ANSWERS
        codes[code] += 1

    answers()
    assert codes[0] > sum(codes.values()) / 5, codes
