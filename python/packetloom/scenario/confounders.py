"""In what schemes that are compared differ beside themselves; what that is, the simulator says (`_core.unequal`)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packetloom import _core
from packetloom.errors import ScenarioError


@dataclass(frozen=True, slots=True)
class Unequal:
    """A thing that differs, with what each scheme has; what `--set` makes it alike; whether it is no scheme's own."""

    what: str
    values: tuple[tuple[str, str], ...]
    remedy: tuple[str, ...]
    is_foreign: bool

    @property
    def said(self) -> str:
        """The thing and its values, on a line."""
        schemes: dict[str, list[str]] = {}
        for scheme, value in self.values:
            schemes.setdefault(value, []).append(scheme)
        return f"{self.what}: {', '.join(f'{_listed(alike)} {value}' for value, alike in schemes.items())}"


def _listed(schemes: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(schemes[:-1]), schemes[-1]]))


def unequal(cases: Iterable[_core.Case]) -> list[Unequal]:
    """In what the schemes of a campaign's cases differ, each scheme by its first case."""
    first: dict[object, _core.Case] = {}
    for case in cases:
        first.setdefault(case.parameters["scheme"], case)
    if len(first) < 2:
        return []
    found = _core.unequal(list(first.values()))
    return [Unequal(what, tuple(values), tuple(remedy), is_foreign) for what, values, remedy, is_foreign in found]


def unequal_as_stored(lines: Sequence[dict[str, object]]) -> list[Unequal]:
    """The same of a results folder's list of cases; nothing where that is damaged."""
    first: dict[object, str] = {}
    for line in lines:
        scheme, case = scheme_as_stored(line), line.get("case")
        if scheme is not None and isinstance(case, str):
            first.setdefault(scheme, case)
    try:
        return unequal(_core.Case.from_json(case) for case in first.values())
    except ScenarioError:
        return []


def scheme_as_stored(line: dict[str, object]) -> object:
    """Whose a case of such a list is; None where that is damaged."""
    parameters = line.get("parameters")
    return parameters.get("scheme") if isinstance(parameters, dict) else None


def warning(one: Unequal) -> str:
    """What to say of a thing that belongs to no scheme and differs all the same."""
    settings = " ".join(f"--set {shlex.quote(setting)}" for setting in one.remedy)
    alike = f"; alike with {settings}" if settings else ""
    return f"what schemes differ in beside themselves may decide between them: {one.said}{alike}"


def warnings(cases: Iterable[_core.Case]) -> tuple[str, ...]:
    """A warning for each thing that belongs to no scheme and differs all the same."""
    return tuple(warning(one) for one in unequal(cases) if one.is_foreign)


def lines(found: Iterable[Unequal]) -> list[str]:
    """All that differs, a line each."""
    whose = {True: "differs, and is no scheme's own", False: "differs, as the schemes are made"}
    return [f"{whose[one.is_foreign]}: {one.said}" for one in found]
