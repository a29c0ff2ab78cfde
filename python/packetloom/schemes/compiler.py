"""Compiles a class's methods to native code, through numba.

numba keeps what it compiled beside the file, so that it is compiled once for each version of numba, of packetloom and
of the file. The functions live as long as the process: the simulator has their addresses.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError, TypingError
from numba.extending import intrinsic, overload
from numba.np.numpy_support import carray

from packetloom import _core
from packetloom.schemes.declaration import cbrt
from packetloom.schemes.roles import EVENTS, TOOLS, Role
from packetloom.schemes.translate import OURS, Field, entry_name

# Compiled functions, which must stay.
_KEPT: list[Any] = []


def compile_methods(
    tree: ast.Module,
    namespace: dict[str, Any],
    file: str,
    class_name: str,
    role: Role,
    fields: Mapping[str, Field],
) -> dict[str, int]:
    """The addresses of a class's hooks; `fields` are those of its state, parameters included.

    `namespace` is that of the user's module; `tree` has the functions that the class was translated to.

    Raises:
        NumbaError: what can't be compiled.
    """
    for name, address in _core.scheme_symbols().items():
        llvm.add_symbol(name, address)
    entries = {name: entry_name(class_name, name) for name in role.hooks}
    namespace |= _OURS
    exec(compile(tree, file, "exec"), namespace)
    for name, value in list(namespace.items()):
        if value is cbrt:
            namespace[name] = _compiled_cbrt
        elif isinstance(value, FunctionType) and value.__code__.co_filename == file and name not in entries.values():
            namespace[name] = numba.njit(cache=True, error_model="numpy", boundscheck=True)(value)
    state = _state(fields)
    addresses: dict[str, int] = {}
    for name, hook in role.hooks.items():
        if (entry := namespace.get(entries[name])) is not None:
            records = (state, _record(EVENTS[hook.event] if hook.event else {}), _record(TOOLS[hook.tools].record))
            pointers = [_pointer(record) for record in records]
            function = numba.cfunc(types.int64(*pointers), cache=True, error_model="numpy")(entry)
            _KEPT.append(function)
            addresses[name] = int(function.address or 0)
    return addresses


_pointer: Any = types.CPointer
_DTYPES: Mapping[type, Any] = {int: np.int64, bool: np.int64, float: np.float64}


def _state(fields: Mapping[str, Field]) -> Any:
    def layout(name: str, field: Field) -> tuple[Any, ...]:
        return (name, _DTYPES[field.kind], (len(field.initial),)) if field.is_list else (name, _DTYPES[field.kind])

    return numba.from_dtype(np.dtype([layout(*one) for one in fields.items()] or [("nothing", np.int64)]))


def _record(fields: Mapping[str, type]) -> Any:
    return numba.from_dtype(
        np.dtype([(name, _DTYPES[kind]) for name, kind in fields.items()] or [("nothing", np.int64)])
    )


def _address_of(_: Any, record: Any) -> Any:
    """A record's address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], cgutils.voidptr_t)

    return types.voidptr(record), generate


_address: Any = intrinsic(_address_of)


def _whole(value):  # type: ignore[no-untyped-def]
    """A value for a field that is an int. (numba compares signatures, and a lambda has no annotations.)"""


@overload(_whole)
def _typed_whole(value):  # type: ignore[no-untyped-def]
    if not isinstance(value, types.Integer | types.Boolean):
        raise TypingError("a field that is declared int or bool gets a float; write int(...), or declare it float")
    return lambda value: value


def _chosen(value):  # type: ignore[no-untyped-def]
    """What a method returns that is to return a whole number."""


@overload(_chosen)
def _typed_chosen(value):  # type: ignore[no-untyped-def]
    if isinstance(value, types.NoneType | types.Optional):
        raise TypingError("it does not return a number wherever it ends; write a last line such as return 0")
    if not isinstance(value, types.Integer | types.Boolean):
        raise TypingError(f"it returns {value}, and a whole number is wanted; write return int(...)")
    return lambda value: value


def _external(name: str, result: Any, *arguments: Any) -> Any:
    return types.ExternalFunction(name, result(*arguments))


_grow = _external("packetloom_window_grow", types.void, types.voidptr)
_shrink = _external("packetloom_window_shrink", types.void, types.voidptr, types.float64)
_halve = _external("packetloom_window_halve_ssthresh", types.void, types.voidptr, types.int64, types.int64)
_restart = _external("packetloom_window_restart", types.void, types.voidptr)
_cwnd = _external("packetloom_window_cwnd", types.float64, types.voidptr)
_set_cwnd = _external("packetloom_window_set_cwnd", types.void, types.voidptr, types.float64)
_ssthresh = _external("packetloom_window_ssthresh", types.float64, types.voidptr)
_set_ssthresh = _external("packetloom_window_set_ssthresh", types.void, types.voidptr, types.float64)
_cbrt = _external("packetloom_cbrt", types.float64, types.float64)


@numba.njit
def _window_grow(window: Any) -> None:
    _grow(_address(window))


@numba.njit
def _window_shrink(window: Any, fraction: Any) -> None:
    _shrink(_address(window), fraction)


@numba.njit
def _window_halve_ssthresh(window: Any, in_flight: Any, least: Any) -> None:
    _halve(_address(window), in_flight, least)


@numba.njit
def _window_restart(window: Any) -> None:
    _restart(_address(window))


@numba.njit
def _window_cwnd(window: Any) -> Any:
    return _cwnd(_address(window))


@numba.njit
def _window_set_cwnd(window: Any, packets: Any) -> None:
    _set_cwnd(_address(window), packets)


@numba.njit
def _window_ssthresh(window: Any) -> Any:
    return _ssthresh(_address(window))


@numba.njit
def _window_set_ssthresh(window: Any, packets: Any) -> None:
    _set_ssthresh(_address(window), packets)


def _plain_methods(kind: str) -> dict[str, Any]:
    """Tools' functions of whole numbers, each by the name that translated code has for it."""
    return {f"{OURS}{kind.lower()}_{name}": _plain(kind, name, count) for name, count in TOOLS[kind].methods.items()}


def _plain(kind: str, name: str, arguments: int) -> Any:
    external = _external(f"packetloom_{kind.lower()}_{name}", types.int64, types.voidptr, *[types.int64] * arguments)
    if arguments:
        return numba.njit(lambda tools, number: external(_address(tools), number))
    return numba.njit(lambda tools: external(_address(tools)))


@numba.njit
def _compiled_cbrt(value: Any) -> Any:
    """The simulator's cube root."""
    return _cbrt(value)


_OURS: dict[str, Any] = {
    f"{OURS}carray": carray,
    f"{OURS}whole": _whole,
    f"{OURS}chosen": _chosen,
    **_plain_methods("Pace"),
    **_plain_methods("Paths"),
    **_plain_methods("Queue"),
    f"{OURS}window_grow": _window_grow,
    f"{OURS}window_shrink": _window_shrink,
    f"{OURS}window_halve_ssthresh": _window_halve_ssthresh,
    f"{OURS}window_restart": _window_restart,
    f"{OURS}window_cwnd": _window_cwnd,
    f"{OURS}window_set_cwnd": _window_set_cwnd,
    f"{OURS}window_ssthresh": _window_ssthresh,
    f"{OURS}window_set_ssthresh": _window_set_ssthresh,
}

__all__ = ["NumbaError", "compile_methods"]
