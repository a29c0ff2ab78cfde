"""Writes the scenario that was asked for, once it is known to run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packetloom import _core
from packetloom.errors import PacketloomError, ScenarioError
from packetloom.new.length import long_enough
from packetloom.new.recipes import Path as FabricPath
from packetloom.new.text import SCHEMA, Answers, scenario_text
from packetloom.scenario.plan import plan_from_text


def check_can_write(file: Path, force: bool) -> None:
    """Before any question is asked: an answer is not to be lost for the file's name."""
    if file.suffix != ".toml":
        raise PacketloomError(f"{file}: end the name in .toml")
    if not file.parent.is_dir():
        raise PacketloomError(f"{file}: there is no folder {file.parent}")
    if file.is_dir():
        raise PacketloomError(f"{file}: it is a folder")
    if file.exists() and not force:
        raise PacketloomError(f"{file}: it exists already; name another file, or replace it with --force")


def write_scenario(file: Path, answers: Answers) -> list[str]:
    """Writes the file; gives what to say of it."""
    answers = replace(answers, folder=file.parent)
    text = scenario_text(answers.checked(), shlex.quote(str(file)))
    cases = _cases(text, file, answers)
    answers = replace(answers, paths=_paths(cases))
    if answers.traffic.loads and answers.flows is None:
        answers = long_enough(answers, cases)
    finished = scenario_text(answers, shlex.quote(str(file)))
    if finished != text:
        text, cases = finished, _cases(finished, file, answers)
    file.write_text(text, encoding="utf-8")
    schema = shlex.quote(str(file.parent / SCHEMA))
    return [
        f"wrote {file}: {len(cases)} case{'s' if len(cases) != 1 else ''}",
        f"run it: packetloom run {shlex.quote(str(file))}",
        f"for completion in an editor (Taplo, Even Better TOML): packetloom schema > {schema}",
        f"the scenario's first line names that file: #:schema ./{SCHEMA}",
    ]


def _paths(cases: Sequence[_core.Case]) -> dict[str, FabricPath]:
    """By scheme what flows have before them; of a grid of networks, on the first."""
    first: dict[str, _core.Case] = {}
    for case in cases:
        first.setdefault(str(case.parameters["scheme"]), case)
    known = {scheme: case.path_across() for scheme, case in first.items()}
    return {scheme: FabricPath(*path) for scheme, path in known.items() if path}


def _cases(text: str, file: Path, answers: Answers) -> Sequence[_core.Case]:
    """The scenario's cases. Each scheme is begun once, as some schemes do not go with every fabric or workload."""
    try:
        cases = plan_from_text(text, "toml", str(file), ()).cases
        for case in {case.parameters["scheme"]: case for case in cases}.values():
            simulation = _core.Simulation(case)
            simulation.cancel()
            simulation.run(1)
    except ScenarioError as error:
        asked = f"--fabric {answers.fabric} --workload {answers.workload} --scheme {','.join(answers.schemes)}"
        reason = str(error).removeprefix(f"{file}:").lstrip("0123456789: ")
        raise PacketloomError(f"{asked}: these do not go together: {reason}") from None
    return cases
