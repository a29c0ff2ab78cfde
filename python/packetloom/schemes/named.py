"""A class that is named by its file: "my_cc.py:MyCC", or "my_cc.py" where the file has one congestion control."""

from __future__ import annotations

import ast
from pathlib import Path

from packetloom.common.text_files import MOST_SCENARIO_BYTES, read_text
from packetloom.errors import ScenarioError
from packetloom.schemes.source import parsed
from packetloom.schemes.translate import TranslationError

BASE = "CongestionControl"


def named_class(text: str) -> tuple[Path, str]:
    """The file and the name of the class. The file is read, and not run.

    Raises:
        ScenarioError: if the file is not there, or no such class is in it; or which classes there are to choose from.
    """
    name, colon, class_name = text.rpartition(":")
    if not (colon and name.endswith(".py")):
        name, class_name = text, ""
    if not name.endswith(".py"):
        raise ScenarioError(f"{text}: write a Python file and a class of it, such as my_cc.py:MyCC")
    file = Path(name)
    classes, controls = _classes(file)
    if class_name:
        if class_name not in classes:
            known = f"the classes are: {', '.join(classes)}" if classes else "there are no classes"
            raise ScenarioError(f"{file}: there is no class {class_name!r}; {known}")
        return file, class_name
    if len(controls) == 1:
        return file, controls[0]
    if controls:
        choice = " or ".join(f"{file}:{one}" for one in controls)
        raise ScenarioError(f"{file} has {len(controls)} congestion controls; write which: {choice}")
    raise ScenarioError(f"{file} has no congestion control; write a class derived from packetloom.schemes.{BASE}")


def _classes(file: Path) -> tuple[list[str], list[str]]:
    """The classes that a file defines, and those of them that are congestion controls."""
    text = read_text(file, MOST_SCENARIO_BYTES)
    try:
        tree = parsed(text, str(file))
    except TranslationError as error:
        raise ScenarioError(f"{file} line {error.line}: {error.message}") from None
    known = {BASE}
    classes: list[str] = []
    controls: list[str] = []
    for node in tree.body:
        known |= _names_of_base(node)
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
            if any(_last_name(base) in known for base in node.bases):
                known.add(node.name)
                controls.append(node.name)
    return classes, controls


def _names_of_base(node: ast.stmt) -> set[str]:
    """What an import calls the base, if it renames it."""
    if not isinstance(node, ast.ImportFrom):
        return set()
    return {alias.asname for alias in node.names if alias.name == BASE and alias.asname}


def _last_name(base: ast.expr) -> str:
    match base:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def without_place(problem: str, class_name: str) -> str:
    """What is wrong with a scheme that no scenario of the user's names: by the class, not by its place in one."""
    return problem.replace("scenario: scheme[0].transport.file: ", "").replace(
        "scenario: scheme[0].transport.", f"{class_name}: "
    )
