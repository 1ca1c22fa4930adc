"""Functions for lists and sets, of cel-go and of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key, reduce
from itertools import pairwise
from types import NoneType

from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.literals import Duration
from dynkube_testing._schemas.cel.standard import FUNCTIONS as STANDARD
from dynkube_testing._schemas.cel.standard import Function
from dynkube_testing._schemas.cel.syntax import Uint
from dynkube_testing._schemas.cel.values import Value, compare, contains, equal


def _position(indexes: range, values: list[Value], item: Value) -> int:
    for index in indexes:
        try:
            if equal(values[index], item):
                return index
        except EvaluationError:
            continue
    return -1


def _best(name: str, order: int) -> Function:
    def best(values: list[Value]) -> Value:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        return reduce(lambda found, value: value if compare(found, value) == order else found, values)

    return best


def _sum(zero: Value) -> Function:
    return lambda values: reduce(STANDARD["_+_"], values, zero)


def _slice(values: list[Value], begin: int, end: int) -> list[Value]:
    wrong = f"cannot slice({begin}, {end}), "
    if begin < 0 or end < 0:
        raise EvaluationError(f"{wrong}negative indexes not supported")
    if begin > end:
        raise EvaluationError(f"{wrong}start index must be less than or equal to end index")
    if end > len(values):
        raise EvaluationError(f"{wrong}list is length {len(values)}")
    return list(values[begin:end])


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Value] = []
    for value in values:
        if isinstance(value, list) and depth > 0:
            flat += _flatten(value, depth - 1)
        else:
            flat.append(value)
    return flat


def _distinct(values: list[Value]) -> list[Value]:
    found: list[Value] = []
    for value in values:
        if not contains(found, value):
            found.append(value)
    return found


def _sorted(values: list[Value], keys: list[Value] | None = None) -> list[Value]:
    by = values if keys is None else keys
    if by and isinstance(by[0], list | dict | NoneType):
        raise EvaluationError("list elements must be comparable")
    if len({type(key) for key in by}) > 1:
        raise EvaluationError("list elements must have the same type")

    def compared(one: int, other: int) -> int:
        return compare(by[one], by[other])

    return [values[index] for index in sorted(range(len(by)), key=cmp_to_key(compared))]


def _holds_all(values: list[Value], part: list[Value]) -> bool:
    return all(contains(values, item) for item in part)


FUNCTIONS: Mapping[str, Function] = {
    "isSorted": lambda values: all(compare(before, after) <= 0 for before, after in pairwise(values)),
    "min": _best("min", 1),
    "max": _best("max", -1),
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": lambda count: list(range(count)),
    "reverse": lambda values: list(reversed(values)),
    "distinct": _distinct,
    "sort": _sorted,
    "@sortByAssociatedKeys": _sorted,
    "sets.contains": _holds_all,
    "sets.equivalent": lambda one, other: _holds_all(one, other) and _holds_all(other, one),
    "sets.intersects": lambda one, other: any(contains(other, item) for item in one),
}
OVERLOADS: Mapping[str, Function] = {
    "list_a_index_of_int": lambda values, item: _position(range(len(values)), values, item),
    "list_a_last_index_of_int": lambda values, item: _position(range(len(values) - 1, -1, -1), values, item),
    "list_int_sum_int": _sum(0),
    "list_uint_sum_uint": _sum(Uint(0)),
    "list_double_sum_double": _sum(0.0),
    "list_duration_sum_duration": _sum(Duration(0)),
}
