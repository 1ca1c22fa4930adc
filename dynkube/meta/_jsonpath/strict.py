"""Strict mode: kubectl's evaluation errors.

Without strict mode there is no match in these cases. A check inspects the values before a step is applied to them; it
does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from dynkube.meta._jsonpath.nodes import Comparison, FilterNode, IndexNode, Literal, Path, Slice, Step

Complaint: TypeAlias = tuple[str, int]
Check: TypeAlias = Callable[[object], Iterator[Complaint]]
Find: TypeAlias = Callable[[object], list[object]]


def check_for(step: Step, compile_path: Callable[[tuple[Step, ...]], Find]) -> Check | None:
    """Return a check for kubectl's errors in applying ``step``, or ``None``.

    Args:
        step: any step; for most types kubectl has no evaluation errors, hence ``None``.
        compile_path: compiles a path inside a filter to a finder.

    Returns:
        A function of a value that yields messages with their positions in the path.
    """
    match step:
        case IndexNode():
            return partial(_index, step)
        case Slice():
            return partial(_slice, step)
        case FilterNode(condition=Comparison() as comparison):
            finders = (_finder(comparison.left, compile_path), _finder(comparison.right, compile_path))
            return partial(_filter, step, partial(_comparison, comparison, finders))
        case FilterNode():
            return partial(_filter, step, None)
    return None


def _finder(side: Path | Literal, compile_path: Callable[[tuple[Step, ...]], Find]) -> Find:
    if isinstance(side, Literal):
        return lambda _: [side.value]
    return compile_path(side.steps)


def _index(step: IndexNode, value: object) -> Iterator[Complaint]:
    if value is None:
        return  # null, as an absent list
    if not isinstance(value, list):
        yield f"{_kind(value)} is not a list and has no elements", step.position
    elif not -len(value) <= step.index < len(value):
        yield f"index {step.index} is out of bounds: the list has {len(value)} elements", step.position


def _slice(step: Slice, value: object) -> Iterator[Complaint]:
    if value is None:
        return
    if not isinstance(value, list):
        yield f"{_kind(value)} is not a list and has no elements", step.position
        return
    length = len(value)
    start, end = step.start or 0, length if step.end is None else step.end
    start, end = start + length * (start < 0), end + length * (end < 0)
    if start == end:
        return  # an empty slice
    if not 0 <= start < length or not 0 <= end <= length:
        yield f"the slice is out of bounds: the list has {length} elements", step.position
    elif start > end:
        yield f"the slice starts at {start}, after its end at {end}", step.position


def _filter(step: FilterNode, check_element: Check | None, value: object) -> Iterator[Complaint]:
    if not isinstance(value, list):
        yield f"{_kind(value)} is not a list and cannot be filtered", step.position
    elif check_element is not None:
        for element in value:
            yield from check_element(element)


def _comparison(comparison: Comparison, finders: tuple[Find, Find], element: object) -> Iterator[Complaint]:
    sides = [find(element) for find in finders]
    if not all(sides):
        return  # a side without a match: the element is skipped
    for side, values in zip((comparison.left, comparison.right), sides, strict=True):
        if len(values) > 1:
            yield f"the path matches {len(values)} values, but only one can be compared", side.position
            return
    left, right = (_kind(values[0]) for values in sides)
    if any(kind in ("null", "a list", "an object") for kind in (left, right)):
        yield f"{left} and {right} cannot be compared", comparison.position
    elif left != right:
        yield f"{left} and {right} are of different types", comparison.position
    elif left == "a boolean" and comparison.operator not in ("==", "!="):
        yield f"booleans cannot be ordered with {comparison.operator!r}", comparison.position


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a float"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
