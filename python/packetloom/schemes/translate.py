"""Turns the methods of a class into functions that numba compiles.

`self.fall(window)` becomes a call of the function for `fall`; what the simulator guards, such as a window, becomes a
call of its own functions. Names that do not exist are reported here, with their line; types are numba's business.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from packetloom.schemes.roles import EVENTS, TOOLS, Hook, Role

# Begins the names of the simulator's own functions in translated code.
OURS = "_packetloom_"


class TranslationError(Exception):
    """What can't be translated, with its line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True)
class Field:
    """What every flow has of its own."""

    kind: type
    initial: tuple[float, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Declared:
    """A class's own names."""

    name: str
    role: Role
    constants: Mapping[str, int]
    parameters: Collection[str]
    fields: Mapping[str, Field]
    methods: Mapping[str, ast.FunctionDef]
    # What else a method may name.
    known: Collection[str]


def function_name(class_name: str, method: str) -> str:
    """The function that a method becomes."""
    return f"{class_name}__{method}"


def entry_name(class_name: str, hook: str) -> str:
    """The function that the simulator calls for a hook."""
    return f"{class_name}__{hook}__entry"


def translate(declared: Declared) -> ast.Module:
    """A module of functions, one for each method and one for each hook's entry."""
    _check_calls(declared)
    functions: list[ast.stmt] = [_function(method, declared) for method in declared.methods.values()]
    functions += [
        _entry(declared, name, hook) for name, hook in declared.role.hooks.items() if name in declared.methods
    ]
    return ast.fix_missing_locations(ast.Module(functions, type_ignores=[]))


def _function(method: ast.FunctionDef, declared: Declared) -> ast.FunctionDef:
    arguments = method.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise TranslationError(method.lineno, f"{method.name} takes plain arguments only, without defaults")
    if method.decorator_list:
        raise TranslationError(method.lineno, f"{method.name} can't have a decorator here")
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if not names:
        raise TranslationError(method.lineno, f"{method.name} needs self as its first argument")
    given = {argument.arg: kind for argument in arguments.args[1:] if (kind := _kind(argument))}
    if (hook := declared.role.hooks.get(method.name)) is not None:
        kinds = [kind for kind in (hook.event, hook.tools) if kind]
        if len(names) != 1 + len(kinds):
            takes = " and ".join(kind.lower() for kind in kinds)
            raise TranslationError(method.lineno, f"{method.name} takes self, {takes}")
        given |= dict(zip(names[1:], kinds, strict=True))
    _check_names(method, declared)
    translator = _Translator(declared, names[0], given)
    body = [translator.visit(statement) for statement in method.body]
    plain = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    function = ast.FunctionDef(function_name(declared.name, method.name), plain, body, [])
    return ast.copy_location(function, method)


def _check_calls(declared: Declared) -> None:
    """A method that nothing calls is a hook whose name was not spelled right, most likely."""
    hooks = declared.role.hooks
    called = [name for name in declared.methods if name in hooks]
    # Grows as it goes, by what these call in turn.
    for name in called:
        nodes = ast.walk(declared.methods[name])
        asked = [node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        called += [other for other in dict.fromkeys(asked) if other in declared.methods and other not in called]
    for name, method in declared.methods.items():
        if name not in called:
            near = difflib.get_close_matches(name, hooks, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"nothing calls {name!r}{hint} The simulator calls: {', '.join(hooks)}"
            raise TranslationError(method.lineno, message)


def _check_names(method: ast.FunctionDef, declared: Declared) -> None:
    """A name that nothing defines is reported where it stands; numba would name the whole function."""
    names = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
    own = {argument.arg for argument in ast.walk(method.args) if isinstance(argument, ast.arg)}
    own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    body = {id(node) for statement in method.body for node in ast.walk(statement)}
    for node in names:
        if id(node) in body and node.id not in own and node.id not in declared.known:
            raise TranslationError(node.lineno, f"name {node.id!r} is not defined")


def _kind(argument: ast.arg) -> str | None:
    annotation = argument.annotation
    if isinstance(annotation, ast.Attribute):
        name = annotation.attr
    elif isinstance(annotation, ast.Name):
        name = annotation.id
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        name = annotation.value
    else:
        name = argument.arg.capitalize()
    return name if name in TOOLS or name in EVENTS else None


def _entry(declared: Declared, name: str, hook: Hook) -> ast.stmt:
    given = ("state", "event", "tools") if hook.event else ("state", "tools")
    records = ", ".join(f"carray({one}, 1)[0]" for one in given)
    call = f"{function_name(declared.name, name)}({records})"
    result = f"carray(tools, 1)[0].result = {OURS}chosen({call})" if hook.returns else call
    # numba's own code raises exceptions, such as for an index that is out of range. The simulator ends the run.
    body = f"    try:\n        {result}\n    except Exception:\n        return 1\n    return 0\n"
    text = f"def {entry_name(declared.name, name)}(state, event, tools):\n{body}"
    entry = ast.parse(text.replace("carray", f"{OURS}carray")).body[0]
    line = declared.methods[name].lineno
    for node in ast.walk(entry):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = line
    return entry


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AO' else 'a'} {kind.lower()}"


def _loaded(target: ast.expr) -> ast.expr:
    """What is assigned to, as it is read."""
    return ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)


def _constant(index: ast.expr) -> int | None:
    match index:
        case ast.Constant(int(value)):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return -value
    return None


class _Translator(ast.NodeTransformer):
    def __init__(self, declared: Declared, self_name: str, given: Mapping[str, str]) -> None:
        self.declared = declared
        self.self_name = self_name
        self.given = given

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node.func:
            case ast.Attribute(ast.Name(owner), name) if owner == self.self_name:
                self._known(node, name, self.declared.methods, f"{self.declared.name} has no method")
                return self._call(node, function_name(self.declared.name, name), owner)
            case ast.Attribute(ast.Name(owner), name) if (kind := self.given.get(owner, "")) in TOOLS:
                methods = TOOLS[kind].methods
                self._known(node, name, methods, f"a {kind.lower()} has no method")
                if len(node.args) != methods[name] or node.keywords:
                    raise TranslationError(node.lineno, f"{owner}.{name} takes {methods[name]} arguments")
                self._promised(node, name)
                return self._call(node, f"{OURS}{kind.lower()}_{name}", owner)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            self.generic_visit(node)
            return node
        owner, name = node.value.id, node.attr
        kind = self.given.get(owner, "")
        if owner == self.self_name:
            self._own(node, name)
        elif kind in TOOLS:
            return self._of_tools(node, owner, kind)
        elif kind:
            self._known(node, name, EVENTS[kind], f"{_article(kind)} has no")
            if isinstance(node.ctx, ast.Store):
                raise TranslationError(node.lineno, f"{owner}.{name} can't be set")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node.value:
            case ast.Attribute(ast.Name(owner), name) if owner == self.self_name:
                self._check_index(node, name)
        self.generic_visit(node)
        return node

    def _check_index(self, node: ast.Subscript, name: str) -> None:
        """An index that is written as a number is checked here."""
        field = self.declared.fields.get(name)
        index = _constant(node.slice)
        if field is None or index is None:
            return
        length = len(field.initial)
        if not field.is_list:
            raise TranslationError(node.lineno, f"{name} is no list; write self.{name}")
        if not -length <= index < length:
            message = f"{name} has {length} elements, so there is no {name}[{index}]; write 0 to {length - 1}"
            raise TranslationError(node.lineno, message)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if (target := self._guarded(node.targets[0])) is None:
            self.generic_visit(node)
            for one in node.targets:
                node.value = self._kept_whole(one, node.value)
            return node
        if len(node.targets) > 1:
            raise TranslationError(node.lineno, f"{target[0]}.{target[1]} is set by itself; write two statements")
        return self._set(node, target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if (target := self._guarded(node.target)) is None:
            if not self._is_whole(node.target):
                self.generic_visit(node)
                return node
            value = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
            return self.visit_Assign(ast.copy_location(ast.Assign([node.target], value), node))
        before = ast.copy_location(ast.Attribute(ast.Name(target[0], ast.Load()), target[1], ast.Load()), node)
        value = ast.BinOp(self.visit(before), node.op, self.visit(node.value))
        return self._set(node, target, ast.copy_location(value, node))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_For(self, node: ast.For) -> ast.stmt:
        if self._has_whole(node.target):
            message = f"for can't count in {ast.unparse(node.target)}; write a name of its own, and set the field to it"
            raise TranslationError(node.lineno, message)
        self.generic_visit(node)
        return node

    def _guarded(self, target: ast.expr) -> tuple[str, str] | None:
        """Whose field is set, and which, if a function of the simulator sets it."""
        match target:
            case ast.Attribute(ast.Name(owner), name) if (kind := self.given.get(owner, "")) in TOOLS:
                tools = TOOLS[kind]
                settable = (*tools.guarded, *tools.settable)
                self._known(target, name, settable, f"of {_article(kind)} nothing can be set that is called")
                return (owner, name) if name in tools.guarded else None
        return None

    def _is_whole(self, target: ast.expr) -> bool:
        match target:
            case ast.Subscript(ast.Attribute() as field):
                return self._is_whole(field)
            case ast.Attribute(ast.Name(owner), name) if owner == self.self_name:
                return name in self.declared.fields and self.declared.fields[name].kind is not float
            case ast.Attribute(ast.Name(owner), name) if (kind := self.given.get(owner, "")) in TOOLS:
                return TOOLS[kind].record.get(name, float) is not float
        return False

    def _whole(self, value: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(f"{OURS}whole", ast.Load()), [value], []), value)

    def _kept_whole(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """What is assigned to several targets, too, may be no float where one of them is an int."""
        if self._is_whole(target):
            return self._whole(value)
        if not (isinstance(target, ast.Tuple | ast.List) and self._has_whole(target)):
            return value
        if not (isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)):
            raise TranslationError(target.lineno, f"{ast.unparse(target)} holds ints; write a statement for each")
        value.elts = [self._kept_whole(one, its) for one, its in zip(target.elts, value.elts, strict=True)]
        return value

    def _has_whole(self, target: ast.expr) -> bool:
        return any(isinstance(one, ast.expr) and self._is_whole(one) for one in ast.walk(target))

    def _set(self, node: ast.stmt, target: tuple[str, str], value: ast.expr) -> ast.stmt:
        owner, name = target
        function = ast.Name(f"{OURS}{self.given[owner].lower()}_set_{name}", ast.Load())
        call = ast.Call(function, [ast.Name(owner, ast.Load()), value], [])
        return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)

    def _of_tools(self, node: ast.Attribute, owner: str, kind: str) -> ast.expr:
        tools = TOOLS[kind]
        self._known(node, node.attr, tools.known, f"{_article(kind)} has no")
        if isinstance(node.ctx, ast.Store) and node.attr in tools.guarded:
            raise TranslationError(node.lineno, f"{owner}.{node.attr} is set by itself; write a statement for it alone")
        if node.attr in tools.comparisons:
            low, high = (self._read(node, owner, field) for field in tools.comparisons[node.attr])
            return ast.copy_location(ast.Compare(low, [ast.Lt()], [high]), node)
        return self._read(node, owner, node.attr) if node.attr in tools.guarded else node

    def _read(self, node: ast.expr, owner: str, field: str) -> ast.expr:
        function = ast.Name(f"{OURS}{self.given[owner].lower()}_{field}", ast.Load())
        return ast.copy_location(ast.Call(function, [ast.Name(owner, ast.Load())], []), node)

    def _call(self, node: ast.Call, function: str, owner: str) -> ast.expr:
        arguments = [ast.Name(owner, ast.Load()), *(self.visit(argument) for argument in node.args)]
        call = ast.Call(ast.Name(function, ast.Load()), arguments, [self.visit(one) for one in node.keywords])
        return ast.copy_location(call, node)

    def _promised(self, node: ast.expr, method: str) -> None:
        promise = self.declared.role.promised.get(method)
        if promise and not self.declared.constants[promise.partition(" = ")[0]]:
            message = f"{method}() needs {promise} in the class {self.declared.name}"
            raise TranslationError(node.lineno, message)

    def _own(self, node: ast.Attribute, name: str) -> None:
        known = (*self.declared.fields, *self.declared.parameters)
        self._known(node, name, known, f"{self.declared.name} declares no")
        if isinstance(node.ctx, ast.Store) and name in self.declared.parameters:
            message = f"{name} is a parameter, the same for all flows; declare a field to change"
            raise TranslationError(node.lineno, message)
        if isinstance(node.ctx, ast.Store) and self.declared.fields[name].is_list:
            raise TranslationError(node.lineno, f"{name} is a list of fixed length; set its elements one by one")

    def _known(self, node: ast.expr, name: str, known: Collection[str], what: str) -> None:
        if name in known:
            return
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TranslationError(node.lineno, f"{what} {name!r}{hint} Known: {', '.join(sorted(known)) or 'none'}")
