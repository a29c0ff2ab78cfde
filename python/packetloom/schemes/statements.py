"""What the methods of a class, and the functions that these call, may consist of.

numba takes more than works: what it calls from the simulator can neither raise an exception nor wait, and one that
calls itself has no end but that of the stack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from packetloom.schemes.translate import TranslationError

_IF = "nothing can handle an exception here; write an if"
_PLAIN = "the simulator waits for what a method does; write it as a plain def"
_APART = "write it as a method, or as a function beside the class"
_LOOP = "write a for loop"
_REFUSED: Mapping[str, tuple[str, str]] = {
    "Raise": ("raise", _IF),
    "Assert": ("assert", _IF),
    "Try": ("try", _IF),
    "TryStar": ("try", _IF),
    "With": ("with", "write its statements by themselves"),
    "AsyncWith": ("async with", _PLAIN),
    "AsyncFor": ("async for", _PLAIN),
    "AsyncFunctionDef": ("async def", _PLAIN),
    "Await": ("await", _PLAIN),
    "Yield": ("yield", _PLAIN),
    "YieldFrom": ("yield from", _PLAIN),
    "FunctionDef": ("a def in another", _APART),
    "Lambda": ("lambda", _APART),
    "ClassDef": ("class", "write it beside the class"),
    "GeneratorExp": ("a generator", _LOOP),
    "SetComp": ("a set in a loop", _LOOP),
    "DictComp": ("a dict in a loop", _LOOP),
    "Match": ("match", "write if and elif"),
    "Delete": ("del", "set what is no longer wanted to 0"),
    "Global": ("global", "declare a field, which each flow has of its own"),
    "Nonlocal": ("nonlocal", "declare a field, which each flow has of its own"),
    "Import": ("import", "write it at the top of the file"),
    "ImportFrom": ("import", "write it at the top of the file"),
}
"""What is refused, by its name in Python's syntax: what it is called, and what to write."""

_Methods = Mapping[str, ast.FunctionDef]


def check_body(node: ast.ClassDef) -> None:
    """Refuses what nobody would read in a class's body.

    Raises:
        TranslationError: what it is, and where.
    """
    if node.decorator_list or node.keywords:
        raise TranslationError(node.lineno, f"{node.name} can't have a decorator or a metaclass here; leave it out")
    for one in node.body:
        match one:
            case ast.FunctionDef() | ast.Assign() | ast.AnnAssign() | ast.Pass() | ast.Expr(ast.Constant()):
                continue
            case ast.AsyncFunctionDef(name):
                raise TranslationError(one.lineno, f"{name} is an async def, which is not called; write def {name}")
        written = ast.unparse(one).partition("\n")[0][:40]
        raise TranslationError(
            one.lineno, f"{written!r} has no effect in a class's body; write parameters, fields and methods there only"
        )


def check_statements(tree: ast.Module, methods: _Methods) -> None:
    """Refuses what the simulator can't call: in methods, and in the functions of the file that they call.

    Raises:
        TranslationError: what it is, and where.
    """
    calls = _calls(tree, methods)
    todo = [f"self.{name}" for name in methods]
    # Grows as it goes, by what these call in turn.
    for name in todo:
        _, definition = calls[name]
        if isinstance(definition, ast.FunctionDef):
            _check_function(definition)
        todo += [other for other in calls[name][0] if other not in todo]
    _check_recursion({name: calls[name][0] for name in todo})


def _check_function(function: ast.FunctionDef) -> None:
    for statement in function.body:
        for node in ast.walk(statement):
            if (refused := _REFUSED.get(type(node).__name__)) is not None:
                what, instead = refused
                line = getattr(node, "lineno", function.lineno)
                raise TranslationError(line, f"{what} can't be compiled in {function.name}: {instead}")


_Calls = dict[str, tuple[dict[str, int], ast.stmt]]


def _calls(tree: ast.Module, methods: _Methods) -> _Calls:
    """What each method, function and constant of a file names of the others, with the line; and what it is."""
    found: dict[str, ast.stmt] = dict(_definitions(tree.body))
    functions = set(found)
    calls: _Calls = {name: (_named(node, functions, methods), node) for name, node in found.items()}
    return calls | {f"self.{name}": (_named(node, functions, methods), node) for name, node in methods.items()}


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for one in body:
        match one:
            case ast.FunctionDef(name):
                yield name, one
            case ast.Assign():
                yield from ((target.id, one) for target in one.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(ast.Name(name)):
                yield name, one
            case ast.If():
                yield from _definitions([*one.body, *one.orelse])


def _named(node: ast.stmt, functions: set[str], methods: _Methods) -> dict[str, int]:
    if not isinstance(node, ast.FunctionDef):
        return {name: line for name, line in _renamed(node) if name in functions}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    arguments = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    own = {*arguments, *(one.id for one in names if isinstance(one.ctx, ast.Store))}
    named = {one.id: one.lineno for one in reversed(names) if one.id in functions and one.id not in own}
    for one in ast.walk(node):
        match one:
            case ast.Attribute(ast.Name(owner), name) if owner in arguments[:1] and name in methods:
                named.setdefault(f"self.{name}", one.lineno)
    return named


def _renamed(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """The functions that a constant is another name of: `g = f`, `g = numba.njit(f)`; not what it is computed by."""
    match node:
        case ast.Assign(value=ast.Name(name)):
            yield name, node.lineno
        case ast.Assign(value=ast.Call(function, arguments)) if "jit" in ast.unparse(function):
            yield from ((one.id, node.lineno) for one in arguments if isinstance(one, ast.Name))


def _check_recursion(calls: Mapping[str, Mapping[str, int]]) -> None:
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        # Each is called by the one after it; the first is the last, too.
        called, caller, *others = error.args[1]
        between = [name.removeprefix("self.") for name in reversed([caller, *others])]
        way = f" by way of {', '.join(between[1:])}" if between[1:] else ""
        name = called.removeprefix("self.")
        raise TranslationError(
            calls[caller][called], f"{name} calls itself{way}; there is no recursion here, write a loop"
        ) from None
