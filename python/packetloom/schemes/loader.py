"""Finds a class in a user's file, and says what is wrong with it.

The file is copied to a folder of the cache that is called by what it holds. There numba keeps what it compiled, and
there a campaign's other processes find what the scenario was read with, whatever has become of the user's file.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import inspect
import os
import re
import shutil
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from packetloom import _core
from packetloom.common.cache_folder import cache_folder
from packetloom.common.files import write_text
from packetloom.common.text_files import MOST_SCENARIO_BYTES, read_text
from packetloom.errors import ScenarioError
from packetloom.schemes import declaration
from packetloom.schemes.declaration import Parameter
from packetloom.schemes.rehearsal import rehearse
from packetloom.schemes.roles import ROLES, Role
from packetloom.schemes.source import check_alone, parsed
from packetloom.schemes.statements import check_body, check_statements
from packetloom.schemes.translate import Declared, Field, TranslationError, translate

# Lines of numba's messages that speak of itself.
_FRAMES = ("Failed in", "During:", "File ", "[", "- ", "^", "There are", ">>>")
# Where the copies are while the cache is off.
_PLACE = "PACKETLOOM_SCHEMES"
# What numba keeps beside the copies is of this kind; of another it is not used, and classes are compiled again.
_FORMAT = 6
# Fields are of these types, or lists of them, and begin with what a class gives them.
_TYPES = {"int": int, "float": float, "bool": bool}
_LISTS = {"list[int]": int, "list[float]": float}
# Ints have 64 bits, as in the simulator.
_INT_END = 1 << 63
# As many numbers as a state holds: half a megabyte for each flow or port.
_MOST_NUMBERS = 65_536
# A file takes so many of Python's instructions, loops included, to define its classes and constants; some seconds.
_MOST_STEPS = 10_000_000
Value = int | float | bool


def load(file: str, file_hash: str, class_name: str) -> dict[str, Any]:
    """A class of a file: what it declares, and the addresses of its compiled methods.

    Raises:
        ScenarioError: what is wrong, and where.
    """
    name = Path(file).name
    copy = copy_of(Path(file), file_hash)
    source = copy.read_text(encoding="utf-8")
    try:
        return _describe(copy, source, class_name)
    except TranslationError as error:
        raise ScenarioError(f"{name} line {error.line}: {error.message}") from None


def copy_of(file: Path, file_hash: str) -> Path:
    """The copy of a file in the cache; made, if there is none.

    Raises:
        ScenarioError: if the file is another one by now.
    """
    copy = folder_of(file_hash) / file.name
    if not _is_whole(copy, file_hash) and not put(file, file_hash):
        raise ScenarioError(f"{file} changed after the scenario was read; run it again")
    return copy


def put(file: Path, file_hash: str) -> bool:
    """Copies a file to where schemes are compiled, unless it holds something else."""
    return put_text(file.name, file_hash, read_text(file, MOST_SCENARIO_BYTES))


def put_text(name: str, file_hash: str, content: str) -> bool:
    """The same of what a file holds."""
    if _core.file_hash(content.encode()) != file_hash:
        return False
    copy = folder_of(file_hash) / name
    if not _is_whole(copy, file_hash):
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_text(copy, content)
    return True


def _is_whole(copy: Path, file_hash: str) -> bool:
    return copy.is_file() and _core.file_hash(copy.read_bytes()) == file_hash


def folder_of(file_hash: str) -> Path:
    """Where the copy of a file is kept, and what numba makes of it."""
    return (cache_folder() or _temporary()) / "schemes" / f"{_core.version()}-{_FORMAT}-{file_hash}"


def _temporary() -> Path:
    """A folder for this process and those that it starts, where no cache may be kept."""
    if _PLACE not in os.environ:
        os.environ[_PLACE] = tempfile.mkdtemp(prefix="packetloom-")
        atexit.register(shutil.rmtree, os.environ[_PLACE], ignore_errors=True)
    return Path(os.environ[_PLACE])


def _describe(copy: Path, source: str, class_name: str) -> dict[str, Any]:
    namespace, node = _module(copy, source, class_name)
    found = namespace[class_name]
    base = base_of(found)
    if base is None:
        known = ", ".join(ROLES)
        raise TranslationError(
            node.lineno, f"{class_name} is none of packetloom.schemes; derive it from one of {known}"
        )
    if found.__bases__ != (getattr(declaration, base),):
        message = f"write {class_name} as a class of {base} alone; what it has of other classes is not compiled"
        raise TranslationError(node.lineno, message)
    role = ROLES[base]
    parameters = {name: value for name, value in vars(found).items() if isinstance(value, Parameter)}
    fields = _fields(found, node, role)
    methods = _methods(node)
    constants = _constants(found, node, role)
    declared = Declared(class_name, role, constants, parameters, fields, methods, {*namespace, *dir(builtins)})
    tree = translate(declared)
    _check_methods(found, node, role)
    return {
        "base": base,
        "doc": _first_sentence(found),
        "source": copy.name,
        "constants": constants,
        "params": [{"name": name} | asdict(value) for name, value in parameters.items()],
        "initial": [_bits(one.kind, value) for one in fields.values() for value in one.initial],
        "methods": _compiled(copy, tree, namespace, class_name, role, _layout(found, fields)),
    }


def base_of(found: Any) -> str | None:
    """The class of `packetloom.schemes` that a class derives from."""
    if not isinstance(found, type):
        return None
    return next((name for name in ROLES if issubclass(found, getattr(declaration, name))), None)


def layout_of(file: str, file_hash: str, class_name: str) -> dict[str, Field]:
    """What a flow has of a class, in the order in which it lies there; the class was loaded."""
    copy = copy_of(Path(file), file_hash)
    namespace, node = _module(copy, copy.read_text(encoding="utf-8"), class_name)
    found = namespace[class_name]
    return _layout(found, _fields(found, node, ROLES[base_of(found) or "CongestionControl"]))


def _layout(found: type, fields: dict[str, Field]) -> dict[str, Field]:
    """The parameters, then the fields."""
    kinds = {"number": float, "flag": bool}
    parameters = {name: value for name, value in vars(found).items() if isinstance(value, Parameter)}
    return {name: Field(kinds.get(one.kind, int), (0,)) for name, one in parameters.items()} | fields


def _module(copy: Path, source: str, class_name: str) -> tuple[dict[str, Any], ast.ClassDef]:
    """What a file defines, and where the class stands in it."""
    tree = parsed(source, str(copy))
    check_alone(tree)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if class_name not in classes:
        known = ", ".join(classes) or "none"
        raise TranslationError(1, f"there is no class {class_name!r} here; the classes are: {known}")
    check_body(classes[class_name])
    check_statements(tree, _methods(classes[class_name]))
    rehearse(copy)
    try:
        namespace = run_file(copy)
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(copy) and frame.lineno]
        raise TranslationError(lines[-1] if lines else 1, f"{type(error).__name__}: {error}") from None
    return namespace, classes[class_name]


def run_file(copy: Path) -> dict[str, Any]:
    """What a file defines, once it is run."""
    source = copy.read_text(encoding="utf-8")
    namespace = _namespace(copy, source)
    _run(compile(source, str(copy), "exec"), namespace)
    return namespace


def _run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Runs a file, but not for ever: what it computes beside its classes are constants."""
    steps = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if frame.f_code.co_filename != code.co_filename:
            return None
        # Of a loop that stands on one line, Python tells of no second line.
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += event == "opcode"
        if steps > _MOST_STEPS:
            raise TimeoutError(f"more than {_MOST_STEPS:,} steps before a class is there; look for a loop without end")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        exec(code, namespace)
    finally:
        sys.settrace(before)


def _methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}


def _check_methods(found: type, node: ast.ClassDef, role: Role) -> None:
    """What is translated is what stands in the class; a function that is put there later would be ignored."""
    written = _methods(node)
    for name in (*role.hooks, *written):
        value = vars(found).get(name)
        line = written[name].lineno if name in written else None
        if value is not None and getattr(getattr(value, "__code__", None), "co_firstlineno", 0) != line:
            message = f"{node.name}.{name} is set outside of the class, and not compiled; write it as a method there"
            raise TranslationError(line or node.lineno, message)


def _namespace(copy: Path, source: str) -> dict[str, Any]:
    """What a file's code is run in: a module, because numba imports that of what it has kept. Its name says what the
    file holds, and is not what the user's own programs import the file by."""
    module = ModuleType(f"packetloom_scheme_{_core.file_hash(source.encode())}")
    module.__file__ = str(copy)
    sys.modules[module.__name__] = module
    return vars(module)


def _constants(found: type, node: ast.ClassDef, role: Role) -> dict[str, int]:
    """What the class says of itself, whatever a scenario sets."""
    constants = {}
    for name, (least, most) in role.constants.items():
        value = getattr(found, name)
        if not (isinstance(value, int) and least <= value <= most):
            wanted = "True or False" if (least, most) == (0, 1) else f"a whole number from {least} to {most}"
            raise TranslationError(node.lineno, f"{name} is {value!r}; write {wanted}")
        constants[name] = int(value)
    used = _used(node)
    return constants | {name: int(not used.isdisjoint(names)) for name, names in role.implied.items()}


def _used(node: ast.ClassDef) -> set[str]:
    """What methods name of what they are given."""
    used: set[str] = set()
    for method in (one for one in node.body if isinstance(one, ast.FunctionDef) and one.args.args):
        own = method.args.args[0].arg
        for part in ast.walk(method):
            if isinstance(part, ast.Attribute) and not (isinstance(part.value, ast.Name) and part.value.id == own):
                used.add(part.attr)
    return used


def _fields(found: type, node: ast.ClassDef, role: Role) -> dict[str, Field]:
    """The annotated fields with their types and initial values."""
    fields: dict[str, Field] = {}
    for one in node.body:
        if not isinstance(one, ast.Assign | ast.AnnAssign):
            continue
        name = _name(one.targets[0] if isinstance(one, ast.Assign) else one.target)
        if name in role.constants or isinstance(getattr(found, name, None), Parameter):
            continue
        if isinstance(one, ast.Assign):
            raise TranslationError(one.lineno, f"what is {name}? Write its type, such as {name}: float = 0.0")
        fields[name] = _field(name, ast.unparse(one.annotation), getattr(found, name, None), one.lineno)
        if (count := sum(len(field.initial) for field in fields.values())) > _MOST_NUMBERS:
            message = f"{name} makes the fields {count:,} numbers, and each flow or port has its own"
            raise TranslationError(one.lineno, f"{message}; write {_MOST_NUMBERS:,} at most")
    return fields


def _field(name: str, written: str, value: Any, line: int) -> Field:
    if (kind := _LISTS.get(written)) is not None:
        if not (isinstance(value, list) and value and all(isinstance(one, int | float) for one in value)):
            raise TranslationError(line, f"{name} needs its initial values, such as {name}: {written} = [0] * 5")
        return Field(kind, tuple(_initial(name, kind, one, line) for one in value), is_list=True)
    if (kind := _TYPES.get(written)) is None:
        raise TranslationError(line, f"{name} is {written}; a field is int, float or bool, list[int] or list[float]")
    if not isinstance(value, int | float):
        raise TranslationError(line, f"{name} needs an initial value, such as {name}: {written} = 0")
    return Field(kind, (_initial(name, kind, value, line),))


def _initial(name: str, kind: type, value: float, line: int) -> float:
    """An initial value as its field has it; nothing of it may be lost."""
    if kind is not float and isinstance(value, float):
        message = f"{name} is declared {kind.__name__} and gets a float, {value!r}; write int(...), or declare it float"
        raise TranslationError(line, message)
    if kind is bool and value not in (0, 1):
        raise TranslationError(line, f"{name} is declared bool and gets {value}; write True or False")
    if isinstance(value, int) and not -_INT_END <= value < _INT_END:
        message = f"{name} gets a whole number of {value.bit_length()} bits; write one from -2**63 to 2**63 - 1"
        raise TranslationError(line, f"{message}, or a float such as 1e20 for a field that is declared float")
    return float(value) if kind is float else kind(value)


def _name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ast.unparse(target)


def _bits(kind: type, value: Any) -> int:
    packed = struct.pack("<d", value) if kind is float else struct.pack("<q", value)
    return int.from_bytes(packed, "little")


def values_of(layout: Mapping[str, Field], state: Iterable[int]) -> dict[str, Value | list[Value]]:
    """What a state holds, bit by bit."""
    words = iter(state)
    found: dict[str, Value | list[Value]] = {}
    for name, field in layout.items():
        values = [_value_of(field.kind, next(words)) for _ in field.initial]
        found[name] = values if field.is_list else values[0]
    return found


def _value_of(kind: type, bits: int) -> Value:
    packed = bits.to_bytes(8, "little")
    value: int | float = struct.unpack("<d" if kind is float else "<q", packed)[0]
    return bool(value) if kind is bool else value


def _first_sentence(found: type) -> str:
    text = inspect.cleandoc(found.__doc__ or "") or f"{found.__name__}, a class in Python."
    return " ".join(text.split("\n\n")[0].split())


def _compiled(
    copy: Path, tree: ast.Module, namespace: dict[str, Any], class_name: str, role: Role, layout: dict[str, Field]
) -> dict[str, int]:
    try:
        from packetloom.schemes import compiler
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("numba", "llvmlite"):
            raise
        message = "a scheme in Python is compiled by numba, which is not installed; write pip install 'numba>=0.61'"
        raise ScenarioError(message) from None
    try:
        return compiler.compile_methods(tree, namespace, str(copy), class_name, role, layout)
    except compiler.NumbaError as error:
        line, message = _sentence(str(error), copy)
        raise TranslationError(line, message) from None


def _sentence(text: str, copy: Path) -> tuple[int, str]:
    """The innermost line of the user's file that numba complains of, and its complaint without frames of its own."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = re.findall(rf'{re.escape(copy.name)}", line (\d+)', text)
    raised = re.search(r"raised a specific error:\s+\w+: (.+)", text)
    plain = (line.strip() for line in text.splitlines())
    complaints = [line for line in plain if line and not line.startswith(_FRAMES)]
    complaint = raised[1] if raised else next(iter(complaints), "numba can't compile this")
    return int(lines[0]) if lines else 1, complaint
