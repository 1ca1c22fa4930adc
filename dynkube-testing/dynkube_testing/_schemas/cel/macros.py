"""Macros that the parser does not expand: comprehensions with two variables, and ``sortBy``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import cast

from dynkube_testing._schemas.cel.checker import Problem, describe
from dynkube_testing._schemas.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    Entry,
    Expr,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Select,
    SyntaxProblem,
    Tree,
    walk,
)

_ACCUMULATOR = "@result"
_SORTED = "@__sortBy_input__"


def expand(tree: Tree) -> None:
    """Expand the macros in ``tree``.

    Raises:
        SyntaxProblem: A variable of a macro is not a name.
    """
    if any(isinstance(part, Call) and (part.function, len(part.args)) in _MACROS for part in walk(tree.root)):
        tree.root = _Expansion(tree).expanded(tree.root)


class _Expansion:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._last = max(tree.positions)
        self._at = 0  # the position of the macro, which all new parts have

    def expanded(self, expr: Expr) -> Expr:
        for each in fields(expr):
            setattr(expr, each.name, self._expanded_part(getattr(expr, each.name)))
        if isinstance(expr, Call) and expr.target is not None:
            macro = _MACROS.get((expr.function, len(expr.args)))
            if macro is not None:
                self._at = self._tree.positions.get(expr.id, 0)
                return macro(self, expr.target, expr.args)
        return expr

    def _expanded_part(self, part: object) -> object:
        if isinstance(part, list):
            return [self._expanded_part(each) for each in part]
        if isinstance(part, Entry):
            part.key, part.value = (cast("Expr", self._expanded_part(each)) for each in (part.key, part.value))
            return part
        return self.expanded(cast("Expr", part)) if is_dataclass(part) else part

    # ── new parts ─────────────────────────────────────────────────────────────────────────

    def id(self) -> int:
        self._last += 1
        self._tree.positions[self._last] = self._at
        return self._last

    def literal(self, value: Constant) -> Expr:
        return Literal(self.id(), value)

    def name(self, name: str = _ACCUMULATOR) -> Expr:
        return Ident(self.id(), name)

    def call(self, function: str, *args: Expr) -> Expr:
        return Call(self.id(), function, None, list(args))

    def variable(self, expr: Expr) -> str:
        if not isinstance(expr, Ident):
            raise self.problem(expr, "argument must be a simple name")
        if expr.name in {_ACCUMULATOR, "__result__"}:
            raise self.problem(expr, "iteration variable overwrites accumulator variable")
        return expr.name

    def problem(self, expr: Expr, text: str) -> SyntaxProblem:
        at = self._tree.positions.get(expr.id, 0)
        return SyntaxProblem(describe(self._tree.text, [Problem(at, text)]))

    def loop(self, target: Expr, args: list[Expr], start: Expr, condition: Expr, step: Expr, result: Expr) -> Expr:
        first, second = map(self.variable, args[:2])
        if first == second:
            raise self.problem(args[1], f"duplicate variable name: {first}")
        return Comprehension(self.id(), target, first, second, _ACCUMULATOR, start, condition, step, result)


_Macro = Callable[[_Expansion, Expr, list[Expr]], Expr]


def _all(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    condition = new.call("@not_strictly_false", new.name())
    return new.loop(target, args, new.literal(True), condition, new.call("_&&_", new.name(), args[2]), new.name())


def _exists(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    condition = new.call("@not_strictly_false", new.call("!_", new.name()))
    return new.loop(target, args, new.literal(False), condition, new.call("_||_", new.name(), args[2]), new.name())


def _exists_one(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    more = new.call("_+_", new.name(), new.literal(1))
    step = new.call("_?_:_", args[2], more, new.name())
    result = new.call("_==_", new.name(), new.literal(1))
    return new.loop(target, args, new.literal(0), new.literal(True), step, result)


def _filtered(new: _Expansion, args: list[Expr], step: Expr) -> Expr:
    return new.call("_?_:_", args[2], step, new.name()) if len(args) == 4 else step


def _transform_list(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    step = new.call("_+_", new.name(), ListOf(new.id(), [args[-1]]))
    start = ListOf(new.id(), [])
    return new.loop(target, args, start, new.literal(True), _filtered(new, args, step), new.name())


def _transform_map(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    step = new.call("cel.@mapInsert", new.name(), new.name(new.variable(args[0])), args[-1])
    start = MapOf(new.id(), "", [])
    return new.loop(target, args, start, new.literal(True), _filtered(new, args, step), new.name())


def _transform_entry(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    step = new.call("cel.@mapInsert", new.name(), args[-1])
    start = MapOf(new.id(), "", [])
    return new.loop(target, args, start, new.literal(True), _filtered(new, args, step), new.name())


def _sort_by(new: _Expansion, target: Expr, args: list[Expr]) -> Expr:
    if not isinstance(target, ListOf | Select | Ident | Comprehension | Call):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise new.problem(target, text)
    step = new.call("_+_", new.name(), ListOf(new.id(), [args[1]]))
    keys = Comprehension(
        new.id(),
        new.name(_SORTED),
        new.variable(args[0]),
        "",
        _ACCUMULATOR,
        ListOf(new.id(), []),
        new.literal(True),
        step,
        new.name(),
    )
    result = Call(new.id(), "@sortByAssociatedKeys", new.name(_SORTED), [keys])
    nothing = ListOf(new.id(), [])
    return Comprehension(
        new.id(), nothing, "#unused", "", _SORTED, target, new.literal(False), new.name(_SORTED), result
    )


# By name and number of arguments.
_MACROS: dict[tuple[str, int], _Macro] = {
    ("all", 3): _all,
    ("exists", 3): _exists,
    ("existsOne", 3): _exists_one,
    ("exists_one", 3): _exists_one,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_entry,
    ("transformMapEntry", 4): _transform_entry,
    ("sortBy", 2): _sort_by,
}
