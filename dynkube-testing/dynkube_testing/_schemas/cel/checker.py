"""Type checks of CEL expressions, with the messages of cel-go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Substitutions, Type, most_general
from dynkube_testing._schemas.cel.overloads import TYPE_NAMES, Overload, functions
from dynkube_testing._schemas.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Select,
    Tree,
    children,
)
from dynkube_testing._schemas.cel.values import type_of

#: Finds the type of a field of an object's type, by the names of both; ``None`` if there is none.
FieldType = Callable[[str, str], Type | None]
#: Finds a type that an expression may make objects of, by its name; ``None`` if there is none.
MadeType = Callable[[str], Type | None]
_OF_PATCHES = "jsonpatch."  # prefix of functions that only expressions which make objects may use


@dataclass(frozen=True, slots=True)
class Problem:
    """An error at a position of the expression."""

    at: int
    text: str


@dataclass(slots=True)
class Checked:
    """A checked expression.

    Attributes:
        tree: The syntax tree, with names of functions and variables resolved.
        types: The type of each part, by its id.
        overloads: The overloads that each call may use, by its id.
        names: The variables that are used.
        qualified: The variables with qualified names, such as ``a.b``, by the ids of the parts that name them.
        type_names: The parts that are names of types, by their id.
        problems: The errors, in the order of their positions.
    """

    tree: Tree
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    qualified: dict[int, str] = field(default_factory=dict)
    type_names: dict[int, Type] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def result(self) -> Type:
        return self.types[self.tree.root.id]

    def describe(self) -> str:
        """Return the errors as cel-go prints them, one after the other."""
        return describe(self.tree.text, self.problems)


def check(
    tree: Tree, variables: Mapping[str, Type], field_type: FieldType, made_type: MadeType | None = None
) -> Checked:
    """Return the types of all parts of an expression, and the errors.

    Args:
        tree: The expression; qualified names of functions and variables in it are resolved.
        variables: The types of its variables.
        field_type: Finds the type of a field.
        made_type: Finds the types of objects that it may make; ``None`` if it makes none.
    """
    checker = _Checker(Checked(tree), dict(variables), field_type, made_type)
    checker.check(tree.root)
    checked = checker.checked
    checked.types = {key: checker.known.apply(value, to_dyn=True) for key, value in checked.types.items()}
    return checked


def describe(text: str, problems: list[Problem]) -> str:
    """Return errors as cel-go prints them: each with its line and a mark below its position."""
    return "\n".join(_shown(text, problem) for problem in sorted(problems, key=lambda problem: problem.at))


def _shown(text: str, problem: Problem) -> str:
    line = text.count("\n", 0, problem.at)
    begin = text.rfind("\n", 0, problem.at) + 1
    source = text.split("\n")[line].replace("\t", " ")
    column = problem.at - begin
    # cel-go prints wide dots and marks below characters of more than one byte.
    dots = "".join("." if letter.isascii() else "\uff0e" for letter in source[:column])
    mark = "^" if source[column : column + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{line + 1}:{column + 1}: {problem.text}\n | {source}\n | {dots}{mark}"


def qualified(expr: Expr) -> str:
    """Return ``a.b.c`` for an expression of identifiers and field names only; ``""`` for others."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only and (operand := qualified(expr.operand)):
        return f"{operand}.{expr.field}"
    return ""


class _Checker:
    def __init__(
        self, checked: Checked, variables: dict[str, Type], field_type: FieldType, made_type: MadeType | None
    ) -> None:
        self.checked = checked
        self.known = Substitutions()
        self._variables = variables
        self._field_type = field_type
        self._made_type = made_type
        self._free = 0

    def check(self, expr: Expr) -> Type:
        """Return the type of ``expr``, and note it."""
        self.checked.types[expr.id] = found = self._check(expr)
        return found

    def _check(self, expr: Expr) -> Type:
        match expr:
            case Literal():
                return type_of(expr.value)
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListOf():
                return self._list(expr)
            case MapOf():
                return self._message(expr) if expr.name else self._map(expr)
            case Comprehension():
                return self._comprehension(expr)

    def _error(self, key: int, text: str) -> Type:
        self.checked.problems.append(Problem(self.checked.tree.positions.get(key, 0), text))
        return types.ERROR

    def _undeclared(self, expr: Expr, name: str) -> Type:
        return self._error(expr.id, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, expr: Expr, expected: Type, found: Type) -> Type:
        return self._error(expr.id, f"expected type '{expected}' but found '{found}'")

    def _new_param(self) -> Type:
        self._free += 1
        return types.param(f"_var{self._free - 1}")

    def _assignable(self, ones: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
        """Return whether ``others`` may be used as ``ones``; substitutions are kept only then."""
        known = self.known.copy()
        if not known.all_assignable(ones, others):
            return False
        self.known = known
        return True

    # ── names and fields ──────────────────────────────────────────────────────────────────

    def _lookup(self, expr: Expr, name: str) -> Type | None:
        name = name.removeprefix(".")
        if name in self._variables:
            self.checked.names.add(name)
            if isinstance(expr, Select):
                self.checked.qualified[expr.id] = name
            return self._variables[name]
        named = TYPE_NAMES.get(name) or (self._made_type(name) if self._made_type is not None else None)
        if named is None:
            return None
        self.checked.type_names[expr.id] = named
        return types.type_of(named)

    def _ident(self, expr: Ident) -> Type:
        found = self._lookup(expr, expr.name)
        expr.name = expr.name.removeprefix(".")
        return self._undeclared(expr, expr.name) if found is None else found

    def _select(self, expr: Select) -> Type:
        if (name := qualified(expr)) and (found := self._lookup(expr, name)) is not None:
            return found
        found = self._field_of(expr, expr.operand, expr.field)
        return types.BOOL if expr.test_only else found

    def _field_of(self, expr: Expr, operand: Expr, name: str, *, optional: bool = False) -> Type:
        target = self.known.apply(self.check(operand))
        if target.is_optional:
            optional, target = True, target.params[0]
        found = self._content(expr, target, name)
        return self.known.apply(types.optional_of(found) if optional else found)

    def _content(self, expr: Expr, target: Type, name: str) -> Type:
        match target.kind:
            case "map":
                return target.params[1]
            case "struct":
                found = self._field_type(target.name, name)
                return self._error(expr.id, f"undefined field '{name}'") if found is None else found
            case "param":
                self._assignable((types.DYN,), (target,))
            case "dyn" | "error":
                pass
            case _:
                self._error(expr.id, f"type '{target}' does not support field selection")
        return types.DYN

    # ── calls ─────────────────────────────────────────────────────────────────────────────

    def _call(self, expr: Call) -> Type:
        if expr.function == "_?._":
            operand, field = expr.args
            assert isinstance(field, Literal)
            assert isinstance(field.value, str)
            self.checked.overloads[expr.id] = ("select_optional_field",)
            return self._field_of(expr, operand, field.value, optional=True)
        arguments = [self.check(argument) for argument in expr.args]
        if expr.target is not None and (prefix := qualified(expr.target)):
            name = f"{prefix}.{expr.function}".removeprefix(".")
            hidden = self._made_type is None and name.startswith(_OF_PATCHES)
            if name in functions() and not hidden:  # a function such as ``sets.contains``
                expr.function, expr.target = name, None
        if expr.target is not None:
            arguments.insert(0, self.check(expr.target))
        expr.function = expr.function.removeprefix(".")
        overloads = functions().get(expr.function)
        if overloads is None:
            return self._undeclared(expr, expr.function)
        return self._resolved(expr, overloads, tuple(arguments))

    def _resolved(self, expr: Call, overloads: tuple[Overload, ...], arguments: tuple[Type, ...]) -> Type:
        if expr.function in {"_&&_", "_||_"}:
            return self._logical(expr, overloads[0], arguments)
        result: Type | None = None
        for overload in overloads:
            if overload.method != (expr.target is not None):
                continue
            own = Substitutions({each: self._new_param() for each in sorted(overload.params, key=str)})
            if self._assignable(arguments, tuple(map(own.apply, overload.arguments))):
                ids = self.checked.overloads.get(expr.id, ())
                self.checked.overloads[expr.id] = (*ids, overload.id)
                found = self.known.apply(own.apply(overload.result))
                if result is None:
                    result = found
                elif found != result:
                    result = types.DYN
        if result is not None:
            return result
        shown = [str(self.known.apply(argument, to_dyn=True)) for argument in arguments]
        target = f"{shown.pop(0)}." if expr.target is not None else ""
        applied = f"{target}({', '.join(shown)})"
        return self._error(expr.id, f"found no matching overload for '{expr.function}' applied to '{applied}'")

    def _logical(self, expr: Call, overload: Overload, arguments: tuple[Type, ...]) -> Type:
        fits = True
        for argument, found in zip(expr.args, arguments, strict=True):
            if not self._assignable((found,), (types.BOOL,)):
                self._mismatch(argument, types.BOOL, found)
                fits = False
        self.checked.overloads[expr.id] = (overload.id,)
        return types.BOOL if fits else types.ERROR

    # ── literals ──────────────────────────────────────────────────────────────────────────

    def _list(self, expr: ListOf) -> Type:
        item: Type | None = None
        for index, element in enumerate(expr.elements):
            found = self.check(element)
            item = self._joined(item, self._unwrapped(element, found, index in expr.optional))
        return types.list_of(self._new_param() if item is None else item)

    def _map(self, expr: MapOf) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in expr.entries:
            assert not isinstance(entry.key, str)
            key = self._joined(key, self.check(entry.key))
            found = self._unwrapped(entry.value, self.check(entry.value), entry.optional)
            value = self._joined(value, found)
        if key is None or value is None:
            key, value = self._new_param(), self._new_param()
        return types.map_of(key, value)

    def _unwrapped(self, expr: Expr, found: Type, optional: bool) -> Type:
        if not optional:
            return found
        if found.is_optional:
            return found.params[0]
        if not found.is_dyn:
            self._mismatch(expr, types.optional_of(found), found)
        return found

    def _joined(self, previous: Type | None, found: Type) -> Type:
        if previous is None:
            return found
        return most_general(previous, found) if self._assignable((previous,), (found,)) else types.DYN

    def _message(self, expr: MapOf) -> Type:
        found = self._lookup(expr, expr.name)
        self.checked.type_names.pop(expr.id, None)
        positions = self.checked.tree.positions
        positions[expr.id] = self.checked.tree.text.find("{", positions.get(expr.id, 0))  # as in cel-go
        if found is None:
            return self._undeclared(expr, expr.name)
        if found.kind != "type":
            return self._error(expr.id, f"'{found.name}' is not a type")
        if found.params and found.params[0].kind == "struct":
            self._check_fields(expr, found.params[0])
        elif found.params and found.params[0].kind not in {"duration", "timestamp", "null"}:
            return self._error(expr.id, f"'{found.params[0].name}' is not a message type")
        return found.params[0] if found.params else types.ERROR

    def _check_fields(self, expr: MapOf, made: Type) -> None:
        for entry in expr.entries:
            assert isinstance(entry.key, str)
            found = self._unwrapped(entry.value, self.check(entry.value), entry.optional)
            wanted = self._field_type(made.name, entry.key)
            if wanted is None:
                self._error(entry.id, f"undefined field '{entry.key}'")
            elif not self._assignable((wanted,), (found,)):
                what = f"expected type of field '{entry.key}' is '{wanted}' but provided type is '{found}'"
                self._error(entry.id, what)

    # ── comprehensions ────────────────────────────────────────────────────────────────────

    def _comprehension(self, expr: Comprehension) -> Type:
        over = self.known.apply(self.check(expr.range))
        start = self.check(expr.start)
        outer = self._variables
        self._variables = {**outer, expr.accumulator: start}
        inner = self._variables
        self._variables = {**inner, **dict(self._loop_variables(expr, over))}
        for part, wanted in ((expr.condition, types.BOOL), (expr.step, start)):
            found = self.check(part)
            if not self._assignable((wanted,), (found,)):
                self._mismatch(part, wanted, found)
        self._variables = inner
        result = self.check(expr.result)
        self._variables = outer
        return self.known.apply(result)

    def _loop_variables(self, expr: Comprehension, over: Type) -> Iterator[tuple[str, Type]]:
        first = second = types.DYN
        match over.kind:
            case "list":
                first, second = (types.INT if expr.variable2 else over.params[0]), over.params[0]
            case "map":
                first, second = over.params
            case "dyn" | "error" | "param":
                self._assignable((types.DYN,), (over,))
            case _:
                text = f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
                first = second = self._error(expr.range.id, text)
        yield expr.variable, first
        if expr.variable2:
            yield expr.variable2, second


def parts_of(tree: Tree) -> Iterator[Expr]:
    """Yield all parts of an expression, the outer ones before those inside."""
    todo = [tree.root]
    while todo:
        expr = todo.pop(0)
        yield expr
        todo = [*children(expr), *todo]
