"""Evaluation of checked expressions, with their costs.

An expression becomes functions of the variables, one for each part. As in cel-go, conversions of literals and literal
lists are evaluated when an expression is compiled, errors are values for ``&&``, ``||`` and the macros, and each step
has a cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynkube_testing._schemas.cel.calls import call, call_cost, implementation
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.checker import Checked
from dynkube_testing._schemas.cel.errors import Aborted, EvaluationError, no_overload
from dynkube_testing._schemas.cel.items import as_key
from dynkube_testing._schemas.cel.made import Made
from dynkube_testing._schemas.cel.ranges import MOST
from dynkube_testing._schemas.cel.standard import Function
from dynkube_testing._schemas.cel.steps import (
    Access,
    Lazy,
    Run,
    Scope,
    Step,
    attempt,
    follow,
    logical,
    not_strictly_false,
    or_value,
    pairs_of,
    variable,
)
from dynkube_testing._schemas.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Select,
    children,
)
from dynkube_testing._schemas.cel.values import Optional, Value, equal
from dynkube_testing._schemas.patterns import BadPattern, compile_pattern

_LIST_COST, _MAP_COST, _MESSAGE_COST = 10, 30, 40
_OPTIONAL_INDEXES = frozenset({"_[?_]", "_?._"})
_INDEXES = frozenset({"_[_]", *_OPTIONAL_INDEXES})
_CONDITIONAL: Final = "_?_:_"
_CONVERSIONS = frozenset(["bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"])
_PATTERNS = frozenset({"matches", "find", "findAll"})
_NO_KEYS = {list: "*types.baseList", dict: "*types.baseMap", bytes: "types.Bytes", type(None): "types.Null"}
_SCALARS = frozenset({"bool", "int", "uint", "double"})


class Program:
    """A checked expression that can be evaluated.

    Raises:
        EvaluationError: A literal in it cannot be converted, or is not a pattern.
    """

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._root = _Planner(checked).plan(checked.tree.root)

    def evaluate(self, variables: Mapping[str, Value], limit: int) -> tuple[Value | EvaluationError, int]:
        """Return the result and its cost.

        Raises:
            CostExceeded: The expression costs more than ``limit``.
        """
        run = Run(limit)
        try:
            return attempt(self._root, run, dict(variables)), run.cost
        except Aborted as problem:
            return EvaluationError(str(problem)), run.cost


class _Planner:
    """Makes the functions of one expression."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._constants: dict[int, Value] = dict(checked.type_names)
        self._fold(checked.tree.root)

    def plan(self, expr: Expr) -> Step:
        """Return the function that evaluates ``expr``."""
        if expr.id in self._constants:
            return _constant(self._constants[expr.id])
        if _is_attribute(expr):
            return self._attribute(expr)
        match expr:
            case Call():
                return self._call(expr)
            case ListOf():
                return self._list(expr)
            case MapOf():
                return self._map(expr)
            case Comprehension():
                return self._loop(expr)
        raise AssertionError(expr)

    # ── constants ─────────────────────────────────────────────────────────────────────────

    def _fold(self, expr: Expr) -> None:
        """Evaluate literal lists and maps, and conversions of literals."""
        if expr.id in self._constants:
            return
        for part in children(expr):
            self._fold(part)
        known = all(part.id in self._constants for part in children(expr))
        match expr:
            case Literal():
                self._constants[expr.id] = expr.value
            case ListOf() if known:
                self._constants[expr.id] = self.plan(expr)(Run(MOST), {})
            case MapOf() if known and not expr.name:
                self._constants[expr.id] = self.plan(expr)(Run(MOST), {})
            case Call() if known and expr.function in _CONVERSIONS and expr.target is None:
                self._constants[expr.id] = self.plan(expr)(Run(MOST), {})
            case Call() if self._overload(expr) == "in_list" and self._constants.get(expr.args[1].id) == []:
                self._constants[expr.id] = False
            case Call() if self._has_pattern(expr):
                self._check_pattern(self._constants[expr.args[-1 if expr.target is None else 0].id])

    def _has_pattern(self, expr: Call) -> bool:
        """Return whether a function has a literal pattern, which is compiled with the expression."""
        return expr.function in _PATTERNS and expr.args[-1 if expr.target is None else 0].id in self._constants

    def _check_pattern(self, pattern: Value) -> None:
        try:
            compile_pattern(pattern)
        except BadPattern as problem:
            raise EvaluationError(str(problem)) from None

    # ── variables, fields and items ───────────────────────────────────────────────────────

    def _attribute(self, expr: Expr) -> Step:
        """Return the function for a variable, a field, an item, or a conditional expression.

        A chain of fields and items is one step, which costs one, and one for each of them. A conditional expression
        costs nothing itself.
        """
        begin, accesses = self._chain(expr)
        resolve = self._resolved(begin, accesses)
        tested = bool(accesses) and accesses[-1].tested
        conditional = isinstance(begin, Call) and begin.function == _CONDITIONAL and begin.id not in self._constants
        cost = (0 if conditional else 1) - (1 if tested else 0)

        def attribute(run: Run, scope: Scope) -> Value:
            try:
                value = resolve(run, scope)
            except EvaluationError:
                run.charge(cost)
                raise
            run.charge(cost)
            return value

        return attribute

    def _chain(self, expr: Expr) -> tuple[Expr, tuple[Access, ...]]:
        """Return the beginning of a chain, and what follows."""
        accesses: list[Access] = []
        while expr.id not in self._constants and expr.id not in self._checked.qualified:
            if isinstance(expr, Select):
                accesses.insert(0, Access(expr.field, tested=expr.test_only))
                expr = expr.operand
            elif isinstance(expr, Call) and expr.function in _INDEXES:
                accesses.insert(0, self._indexed(expr))
                expr = expr.args[0]
            else:
                break
        return expr, tuple(accesses)

    def _indexed(self, expr: Call) -> Access:
        index, optional = expr.args[1], expr.function in _OPTIONAL_INDEXES
        if index.id in self._constants:
            key = self._constants[index.id]
            if (wrong := _NO_KEYS.get(type(key))) is not None:
                raise EvaluationError(f"invalid qualifier type: {wrong}")
            return Access(key, optional=optional)
        evaluate = self._resolved(*self._chain(index)) if _is_attribute(index) else self.plan(index)
        return Access(index=evaluate, optional=optional)

    def _resolved(self, begin: Expr, accesses: tuple[Access, ...]) -> Step:
        if isinstance(begin, Call) and begin.function == _CONDITIONAL and begin.id not in self._constants:
            return self._conditional(begin, accesses)
        if begin.id in self._checked.qualified:
            first = variable(self._checked.qualified[begin.id])
        elif isinstance(begin, Ident) and begin.id not in self._constants:
            first = variable(begin.name)
        else:
            first = self.plan(begin)
        if not accesses:
            return first
        return lambda run, scope: follow(first(run, scope), accesses, run, scope)

    def _conditional(self, expr: Call, accesses: tuple[Access, ...]) -> Step:
        condition = self.plan(expr.args[0])
        branches = []
        for branch in expr.args[1:]:
            begin, own = self._chain(branch)
            branches.append(self._resolved(begin, own + accesses))
        yes, no = branches

        def choose(run: Run, scope: Scope) -> Value:
            chosen = condition(run, scope)
            if not isinstance(chosen, bool):
                raise no_overload()
            return (yes if chosen else no)(run, scope)

        return choose

    # ── literals ──────────────────────────────────────────────────────────────────────────

    def _list(self, expr: ListOf) -> Step:
        parts = [(self.plan(part), index in expr.optional) for index, part in enumerate(expr.elements)]

        def make(run: Run, scope: Scope) -> list[Value]:
            items = []
            try:
                for part, optional in parts:
                    value = part(run, scope)
                    if optional:
                        value = _optional(value, "optional list element")
                        if not value.present:
                            continue
                        value = value.value
                    items.append(value)
            except EvaluationError:
                run.charge(_LIST_COST)
                raise
            run.charge(_LIST_COST)
            return items

        return make

    def _map(self, expr: MapOf) -> Step:
        parts, cost = [], _MESSAGE_COST if expr.name else _MAP_COST
        for entry in expr.entries:
            key_of = _constant(entry.key) if isinstance(entry.key, str) else self.plan(entry.key)
            parts.append((key_of, self.plan(entry.value), entry.optional))

        def make(run: Run, scope: Scope) -> dict[Value, Value]:
            entries: dict[Value, Value] = {}
            try:
                for key_of, value_of, optional in parts:
                    key, value = as_key(key_of(run, scope)), value_of(run, scope)
                    if optional:
                        value = _optional(value, f"optional entry '{key}'")
                        if not value.present:
                            entries.pop(key, None)
                            continue
                        value = value.value
                    entries[key] = value
            except EvaluationError:
                run.charge(cost)
                raise
            run.charge(cost)
            return Made(expr.name.removeprefix("."), entries) if expr.name else entries

        return make

    # ── calls ─────────────────────────────────────────────────────────────────────────────

    def _call(self, expr: Call) -> Step:
        match expr.function:
            case "_&&_" | "_||_":
                return logical([self.plan(part) for part in expr.args], decisive=expr.function == "_||_")
            case "@not_strictly_false":
                return not_strictly_false(self.plan(expr.args[0]))
            case "or" | "orValue":
                assert expr.target is not None
                return or_value(self.plan(expr.target), self.plan(expr.args[0]), unwrap=expr.function == "orValue")
        if self._overload(expr) == "in_list" and _is_set(self._constants.get(expr.args[1].id)):
            first, values = self.plan(expr.args[0]), self._constants[expr.args[1].id]
            return lambda run, scope: call("@in", [first(run, scope), values], method=False)
        return self._function_call(expr)

    def _function_call(self, expr: Call) -> Step:
        parts = [self.plan(part) for part in _arguments(expr)]
        count, name, overload = len(parts), expr.function, self._overload(expr)
        function = self._function(expr)
        # Functions of one or two arguments evaluate all of them, even if the first one fails.
        all_evaluated = count <= 2 and not self._has_pattern(expr)
        fixed = 1 if self._costs_one(expr) else None

        def apply(run: Run, scope: Scope) -> Value:
            arguments: list[Value] = []
            try:
                arguments.extend(part(run, scope) for part in parts)
                result = function(*arguments)
            except EvaluationError as error:
                if len(arguments) < count:
                    arguments.append(error)
                    rest = parts[len(arguments) :] if all_evaluated else []
                    arguments += [attempt(part, run, scope) for part in rest]
                if len(arguments) == count:
                    run.charge(call_cost(name, overload, arguments, None))
                raise
            run.charge(call_cost(name, overload, arguments, result) if fixed is None else fixed)
            return result

        return apply

    def _overload(self, expr: Call) -> str:
        """Return the overload of a call; ``""`` if it depends on the values."""
        found = self._checked.overloads.get(expr.id, ())
        return found[0] if len(found) == 1 else ""

    def _function(self, expr: Call) -> Function:
        if expr.function in {"_==_", "_!=_"}:
            return equal if expr.function == "_==_" else _differ
        known = all(_is_known(self._checked.types[part.id]) for part in _arguments(expr))
        if known and (overload := self._overload(expr)):
            return implementation(expr.function, overload)
        name, method = expr.function, expr.target is not None
        return lambda *arguments: call(name, list(arguments), method=method)

    def _costs_one(self, expr: Call) -> bool:
        """Return whether an operator always costs one, as it has numbers or booleans as its operands."""
        operands = [self._checked.types[part.id].kind for part in _arguments(expr)]
        return not expr.function[0].isalpha() and all(kind in _SCALARS for kind in operands)

    # ── comprehensions ────────────────────────────────────────────────────────────────────

    def _loop(self, expr: Comprehension) -> Step:
        over, start, condition, step, result = (
            self.plan(part) for part in (expr.range, expr.start, expr.condition, expr.step, expr.result)
        )
        first, second, accumulator = expr.variable, expr.variable2, expr.accumulator

        def loop(run: Run, scope: Scope) -> Value:
            values = over(run, scope)
            inner = {**scope, accumulator: Lazy(start, scope)}
            for key, value in pairs_of(values, two=bool(second)):
                inner[first] = key
                if second:
                    inner[second] = value
                if attempt(condition, run, inner) is False:
                    break
                inner[accumulator] = attempt(step, run, inner)
            return result(run, inner)

        return loop


def _constant(value: Value) -> Step:
    return lambda run, scope: value


def _optional(value: Value, part: str) -> Optional:
    if not isinstance(value, Optional):
        raise EvaluationError(f"cannot initialize {part} from non-optional value {value}")
    return value


def _arguments(expr: Call) -> list[Expr]:
    return [*([expr.target] if expr.target is not None else []), *expr.args]


def _is_attribute(expr: Expr) -> bool:
    """Return whether ``expr`` is a chain of fields and items, or a conditional expression."""
    return isinstance(expr, Ident | Select) or (
        isinstance(expr, Call) and (expr.function in _INDEXES or expr.function == _CONDITIONAL)
    )


def _is_known(value: Type) -> bool:
    """Return whether values of a type need no checks when the expression is evaluated."""
    return not value.is_dyn and value.kind not in {"error", "param"} and all(map(_is_known, value.params))


def _is_set(value: Value) -> bool:
    """Return whether cel-go tests for membership in a literal list by a set, which costs nothing."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, bool | int | float | str) for each in value)


def _differ(one: Value, other: Value) -> bool:
    try:
        return not equal(one, other)
    except EvaluationError:
        return True
