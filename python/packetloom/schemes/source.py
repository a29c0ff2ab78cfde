"""Reads a user's file, and checks that what it gives depends on its text alone.

A case's identity has the file's text, and the cache goes by that. So nothing in a file may read another file, the
clock, memory that nobody wrote, or random numbers that no seed sets. And it is run wherever a scenario is read, so it
may write nothing either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packetloom.common.suggest import meant
from packetloom.schemes.translate import TranslationError

_IMPORTS = ("packetloom", "math", "numpy", "numba", "typing", "__future__")
# Modules that others import: numpy.sys is sys.
_ELSEWHERE = frozenset(("builtins", "ctypes", "importlib", "inspect", "io", "os", "pathlib", "sys", "warnings")) | {
    *("datetime", "random", "secrets", "subprocess", "tempfile", "uuid")
}
_NUMPY = frozenset(("DataSource", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "random")) | {
    *("core", "ctypeslib", "datetime64", "empty", "empty_like", "f2py", "lib", "rec", "testing", "_core")
}
_NUMBA = frozenset(("boolean", "float32", "float64", "int32", "int64", "jit", "njit", "prange", "typed", "types"))
_BUILTINS = frozenset(("compile", "eval", "exec", "getattr", "globals", "input", "locals", "open", "setattr", "vars"))
# What two processes call differently; as names of the user's own they are common.
_ADDRESSES = frozenset(("hash", "id"))
# What writes a file: of numpy, and of its arrays.
_WRITES = frozenset(("dump", "save", "savetxt", "savez", "savez_compressed", "tofile"))
# Of packetloom's own modules; the rest runs simulations, and writes results.
_OURS = "packetloom.schemes"
_UNDERSCORES = frozenset(("__all__", "__doc__", "__init__", "__name__"))
_INSTEAD = {
    "random": "; queue.random(n) and paths.random(n) draw numbers that the seed sets",
    "empty": "; write np.zeros",
    "empty_like": "; write np.zeros_like",
}
# Translating a level takes a few of Python's own calls, of which it allows a thousand.
_MOST_LEVELS = 150


def parsed(text: str, name: str) -> ast.Module:
    """A file's syntax.

    Raises:
        TranslationError: if it is no Python, or its parts stand in each other too deep to be translated.
    """
    try:
        tree = ast.parse(text, name)
    except SyntaxError as error:
        raise TranslationError(error.lineno or 1, error.msg) from None
    except ValueError as error:
        raise TranslationError(1, f"{error}") from None
    except (RecursionError, MemoryError):
        # Python does not say where; a statement that is too deep is long, most likely.
        lines = text.splitlines()
        raise _too_deep(max(range(len(lines)), key=lambda at: len(lines[at])) + 1) from None
    _check_levels(tree)
    return tree


def _check_levels(tree: ast.Module) -> None:
    nodes: list[ast.AST] = [tree]
    for _ in range(_MOST_LEVELS):
        nodes = [inner for node in nodes for inner in ast.iter_child_nodes(node)]
    if nodes:
        lines = [node.lineno for node in nodes if isinstance(node, ast.expr | ast.stmt)]
        raise _too_deep(min(lines, default=1))


def _too_deep(line: int) -> TranslationError:
    return TranslationError(line, f"this is nested more than {_MOST_LEVELS} deep; write it in several statements")


def check_alone(tree: ast.Module) -> None:
    """Refuses what makes results depend on something beside the file.

    Raises:
        TranslationError: what does, and where.
    """
    modules = _modules(tree)
    foreign = {alias.asname or alias.name: alias.name for alias in _foreign(tree)}
    # What a module is used by: `np` in `np.sqrt`. Elsewhere its name would be another name of the module.
    owners: set[int] = set()
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute):
            _check_attribute(node, modules)
            owners.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ADDRESSES:
            raise _not_alone(node, node.func.id, node.func.id)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in _BUILTINS or _is_internal(node.id):
                raise _not_alone(node, node.id, node.id)
            if node.id in foreign:
                raise _from_elsewhere(node, foreign[node.id], node.id)
            if id(node) not in owners and modules.get(node.id, "packetloom") != "packetloom":
                raise TranslationError(node.lineno, f"{node.id} is a module; write what of it, such as {node.id}.NAME")


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, each after what it stands in, but for what runs only if the file is a program."""
    todo: list[ast.AST] = [tree]
    for node in todo:
        yield node
        match node:
            case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")])):
                todo += node.orelse
            case _:
                todo += ast.iter_child_nodes(node)


def _modules(tree: ast.Module) -> dict[str, str]:
    """The modules that a file imports, by its own names for them."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _check_import(node, alias.name)
                _check_path(node, alias.name, alias.name)
                first = alias.name.partition(".")[0]
                modules[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            _check_import(node, module)
            for alias in node.names:
                if alias.name == "*" and module.partition(".")[0] in ("numpy", "numba"):
                    raise TranslationError(node.lineno, f"write import {module}, and use what is needed of it by name")
                _check_path(node, f"{module}.{alias.name}", f"{module}.{alias.name}")
                if module == _OURS:
                    _check_ours(node, alias.name)
    return modules


def _foreign(tree: ast.Module) -> Iterator[ast.alias]:
    """What a file imports from packetloom beside what classes are made of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "packetloom":
            of_schemes = node.module == _OURS
            yield from (one for one in node.names if not of_schemes and f"{node.module}.{one.name}" != _OURS)


def _check_ours(node: ast.stmt, name: str) -> None:
    """Refuses a name that there is not, with those that there are."""
    from packetloom import schemes

    if name != "*" and not hasattr(schemes, name):
        raise TranslationError(node.lineno, f"{_OURS} has no {name!r}; {meant(name, schemes.__all__)}")


def _check_import(node: ast.stmt, name: str) -> None:
    if name.partition(".")[0] not in _IMPORTS:
        known = ", ".join(_IMPORTS)
        raise TranslationError(node.lineno, f"{name} can't be imported here, only {known}: the file has to be whole")


def _check_attribute(node: ast.Attribute, modules: dict[str, str]) -> None:
    if _is_internal(node.attr):
        raise _not_alone(node, node.attr, node.attr)
    if node.attr in _WRITES:
        raise _not_a_program(node, node.attr)
    names = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    if isinstance(value, ast.Name) and value.id in modules:
        path = ".".join(reversed(names))
        _check_path(node, f"{modules[value.id]}.{path}", f"{value.id}.{path}")


def _check_path(node: ast.stmt | ast.expr, path: str, written: str) -> None:
    """Refuses what a module has that reads something else; `path` begins with the module."""
    module, *names = path.split(".")
    first = names[0] if names else ""
    refused = [name for name in names if name in _ELSEWHERE or _is_internal(name)]
    if (module == "numpy" and first in _NUMPY) or (module == "numba" and first not in (*_NUMBA, "", "*")):
        refused = [first]
    if refused:
        raise _not_alone(node, written, refused[0])
    if module == "packetloom" and isinstance(node, ast.expr) and first not in ("", "schemes"):
        raise _not_a_program(node, written)
    if module == "numpy" and first in _WRITES:
        raise _not_a_program(node, written)


def _is_internal(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _UNDERSCORES


def _from_elsewhere(node: ast.expr, name: str, written: str) -> TranslationError:
    """What a file imports from packetloom, and not from where classes find it."""
    from packetloom import schemes

    if name in schemes.__all__:
        return TranslationError(node.lineno, f"{name} is imported from elsewhere; write from {_OURS} import {name}")
    return _not_a_program(node, written)


def _not_a_program(node: ast.stmt | ast.expr, written: str) -> TranslationError:
    return TranslationError(
        node.lineno,
        f"{written} can't be used here, for the file is run wherever the scenario is read, and may write nothing; "
        'write it under if __name__ == "__main__":',
    )


def _not_alone(node: ast.stmt | ast.expr, written: str, name: str) -> TranslationError:
    instead = _INSTEAD.get(name, "; write what it gives into the file")
    return TranslationError(
        node.lineno, f"{written} can't be used here, for results have to depend on this file alone{instead}"
    )
