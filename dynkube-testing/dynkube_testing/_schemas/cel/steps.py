"""The parts of an evaluation: variables, fields and items, and the operators that treat errors as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dynkube_testing._schemas.cel.errors import EvaluationError, no_overload
from dynkube_testing._schemas.cel.items import MISSING, item
from dynkube_testing._schemas.cel.values import NONE, Optional, Value, type_of

Scope: TypeAlias = dict[str, Value]


class CostExceeded(Exception):
    """The expression costs more than the limit.

    Attributes:
        cost: The cost when the limit was exceeded.
    """

    def __init__(self, cost: int) -> None:
        super().__init__(f"the expression costs {cost} or more")
        self.cost = cost


class Run:
    """One evaluation, with the cost so far."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int) -> None:
        self.cost = 0
        self.limit = limit

    def charge(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded(self.cost)


Step: TypeAlias = Callable[[Run, Scope], Value]


def attempt(step: Step, run: Run, scope: Scope) -> Value | EvaluationError:
    try:
        return step(run, scope)
    except EvaluationError as error:
        return error


@dataclass(frozen=True, slots=True)
class Lazy:
    """The first value of an accumulator, which is evaluated when it is used."""

    step: Step
    scope: Scope


@dataclass(frozen=True, slots=True)
class Access:
    """A field or an item in a chain such as ``self.a[0]``.

    Attributes:
        key: Its name or index, if that is a literal.
        index: Evaluates the index otherwise.
        optional: Whether the result is an optional value.
        tested: Whether the result is whether the field exists.
    """

    key: Value = None
    index: Step | None = None
    optional: bool = False
    tested: bool = False


def pairs_of(over: Value, *, two: bool) -> list[tuple[Value, Value]]:
    if isinstance(over, dict):
        return list(over.items())
    if isinstance(over, list):
        return list(enumerate(over)) if two else [(each, None) for each in over]
    raise EvaluationError(f"got 'types.{type_of(over).kind.capitalize()}', expected iterable type")


def variable(name: str) -> Step:
    def read(run: Run, scope: Scope) -> Value:
        value = scope.get(name, MISSING)
        if isinstance(value, Lazy):
            value = scope[name] = attempt(value.step, run, value.scope)
        if isinstance(value, EvaluationError):
            raise value
        if value is MISSING:
            raise EvaluationError(f"no such attribute(s): {name}")
        return value

    return read


def follow(value: Value, accesses: tuple[Access, ...], run: Run, scope: Scope) -> Value:
    """Return the field or item at the end of a chain that begins with ``value``."""
    optional = False
    if isinstance(value, Optional):
        if not value.present:
            return False if accesses[-1].tested else NONE
        optional, value = True, value.value
    for access in accesses:
        optional = optional or access.optional
        try:
            key = access.key if access.index is None else access.index(run, scope)
            value = item(value, key, optional=optional or access.tested)
        except EvaluationError:
            run.charge(0 if optional else 1)
            raise
        if access.tested:
            run.charge(1)
            return value is not MISSING
        if value is MISSING:
            return NONE
        run.charge(1)
    return Optional(value) if optional else value


def logical(parts: list[Step], *, decisive: bool) -> Step:
    def check(run: Run, scope: Scope) -> Value:
        problem: EvaluationError | None = None
        for part in parts:
            value = attempt(part, run, scope)
            if value is decisive:
                return decisive
            if not isinstance(value, bool):
                problem = problem or (value if isinstance(value, EvaluationError) else no_overload())
        if problem is not None:
            raise problem
        return not decisive

    return check


def not_strictly_false(part: Step) -> Step:
    def check(run: Run, scope: Scope) -> bool:
        value = attempt(part, run, scope)
        run.charge(1)
        return bool(value is not False)

    return check


def or_value(first: Step, other: Step, *, unwrap: bool) -> Step:
    def choose(run: Run, scope: Scope) -> Value:
        optional = first(run, scope)
        if not isinstance(optional, Optional):
            return optional
        if optional.present:
            return optional.value if unwrap else optional
        return other(run, scope)

    return choose
