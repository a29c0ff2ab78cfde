"""Scenarios: read from a file, a dict or a results folder, with keys overridden."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from packetloom import _core
from packetloom.common import arguments
from packetloom.common.text_files import MOST_SCENARIO_BYTES, read_text
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.scenario import confounders
from packetloom.scenario.late_sources import late_sources
from packetloom.scenario.override_texts import Overrides, texts
from packetloom.scenario.plain_values import plain

Component = str | Mapping[str, Any]
Parameter = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A way to run the network: a transport, a switch queue and a path selection."""

    name: str
    transport: Component
    queue: Component | None = None
    nic: Component | None = None
    routing: Component | None = None

    def to_dict(self) -> dict[str, Any]:
        """The scheme as the scenario format has it."""
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """An experiment, in the same structure as a scenario file; keys are those that `packetloom explain` shows."""

    topology: Component
    workload: Sequence[Mapping[str, Any]]
    schemes: Sequence[Scheme | Mapping[str, Any]]
    run: Mapping[str, Any]
    measure: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Mapping[str, Any]] = ()
    name: str | None = None
    description: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The experiment as the scenario format has it."""
        schemes = self.schemes if isinstance(self.schemes, Sequence) and not isinstance(self.schemes, str) else ()
        sections: dict[str, Any] = {
            "topology": {"kind": self.topology} if isinstance(self.topology, str) else self.topology,
            "workload": self.workload,
            "scheme": [one.to_dict() if isinstance(one, Scheme) else one for one in schemes] or self.schemes,
            "run": self.run,
        }
        # What is no list, or no table, is reported when the scenario is read.
        sections |= {} if _is_empty(self.faults) else {"fault": self.faults}
        said = {"name": self.name, "description": self.description}
        sections |= {key: text for key, text in said.items() if text is not None}
        return sections | ({} if _is_empty(self.measure) else {"measure": self.measure})


def _is_empty(value: object) -> bool:
    return isinstance(value, list | tuple | dict) and not value


ALIKE = 0.01
"""`run.alike` of results that do not say it."""


@dataclass(frozen=True, slots=True)
class Precision:
    """When the seeds of a point of the grid are enough; `[run.precision]` of the scenario."""

    statistic: str
    within: float
    first_seeds: int
    max_extensions: int = 0
    """How often runs that are not steady are made twice as long; of results that do not say it, never."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases to run, and the text that they come from. With a precision, more seeds than may be needed, and longer
    cases may take the place of these (`lengths`)."""

    text: str
    format: Literal["toml", "json"]
    origin: str
    overrides: tuple[str, ...]
    cases: tuple[_core.Case, ...]
    warnings: tuple[str, ...]
    precision: Precision | None = None
    alike: float = ALIKE
    """Schemes that differ by less than this fraction are called alike."""
    is_driven: bool = False
    """Whether a program sends the traffic, so that it alone can repeat the run."""

    @property
    def name(self) -> str:
        """A short name for the results: the scenario file's stem."""
        return Path(self.origin).stem if self.origin else "scenario"

    def default_folder(self) -> Path:
        """Where the results go by default: each set of overrides has a folder of its own."""
        if not self.overrides:
            return Path("results") / self.name
        digest = hashlib.sha256("\n".join(self.overrides).encode()).hexdigest()[:6]
        return Path("results") / f"{self.name}-{digest}"


ScenarioSource = str | Path | Mapping[str, Any] | Scenario


def read_plan(source: ScenarioSource, overrides: Overrides = ()) -> Plan:
    """Reads a scenario and works out its cases; raises `ScenarioError` or `PacketloomError` with what to change."""
    settings = texts(overrides)
    if isinstance(source, Scenario):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return _plan(json.dumps(plain(source), indent=2), "json", "", settings)
    if not isinstance(source, str | Path):
        raise arguments.wrong("scenario", source, "a file's path, a dict, or a packetloom.Scenario")
    path = arguments.path("scenario", source)
    if os.path.isdir(path):  # noqa: PTH112 a name that is too long is no folder, and reported below
        from packetloom.store.stored_plan import stored_plan

        return stored_plan(path, settings)
    missing = f"there is no such file{_nearby(path)}"
    text = read_text(_readable_name(path), MOST_SCENARIO_BYTES, missing)
    return _plan(text, "json" if path.suffix == ".json" else "toml", str(path), settings)


def plan_from_text(text: str, format: Literal["toml", "json"], origin: str, overrides: Sequence[str]) -> Plan:
    """The plan of a scenario's text; `origin` is the file that relative file names in it start from."""
    return _plan(text, format, origin, overrides)


def _plan(text: str, format: Literal["toml", "json"], origin: str, overrides: Sequence[str]) -> Plan:
    if overrides:
        text, scenario = _overridden(text, origin, format, overrides)
    else:
        scenario = _core.Scenario.read(text, origin, format)
    cases = tuple(scenario.cases())
    precision = Precision(*scenario.precision) if scenario.precision else None
    warnings = (*scenario.warnings, *late_sources(text, cases), *confounders.warnings(cases))
    return Plan(text, format, origin, tuple(overrides), cases, warnings, precision, scenario.alike)


def _overridden(
    text: str, origin: str, format: Literal["toml", "json"], overrides: Sequence[str]
) -> tuple[str, _core.Scenario]:
    """The text with keys overridden, and what it says. Only that has to be right: an override may mend a mistake."""
    from packetloom.scenario.overrides import override

    try:
        changed = override(text, format, overrides)
    except PacketloomError:
        _core.Scenario.read(text, origin, format)  # what can't even be parsed is reported with its line
        raise
    try:
        return changed, _core.Scenario.read(changed, origin, format)
    except ScenarioError as error:
        settings = " ".join(f"--set {setting}" for setting in overrides)
        raise ScenarioError(f"with {settings}: {error}") from None


def _nearby(path: Path) -> str:
    folder = path.parent
    if not os.path.isdir(folder):  # noqa: PTH112
        return f" (and no folder {folder})"
    scenarios = sorted(entry.name for entry in folder.glob("*.toml"))[:8]
    return f"; in {folder} there are: {', '.join(scenarios)}" if scenarios else ""


def _readable_name(path: Path) -> Path:
    """The path itself: the simulator looks for other files beside it, and knows names in UTF-8 only."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise PacketloomError(f"{path}: the name of this file is not UTF-8; give it another") from None
    return path
