"""Translation of kubectl's JSONPath to jsonpath-ng's, which is close to RFC 9535.

The output is source text, which is jsonpath-ng's stable public API. Every name is quoted, as jsonpath-ng has no other
escapes. Three constructs have no counterpart in jsonpath-ng:

* A union selects *all* matches of its first member, then all of its second, over all values selected so far
  (``[*]['name','image']`` gives the names and then the images). So a path is split into stages at its
  unions, and each stage is a list of expressions that are evaluated one after the other.
* ``$`` in a filter is the element in kubectl; it becomes ``@``.
* A comparison with a path that has no match is false in kubectl, even for ``!=``; in RFC 9535 it may be true.
  So conditions that the paths exist are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from dynkube.meta._jsonpath.nodes import (
    Combination,
    Comparison,
    Condition,
    Descend,
    ExistsNode,
    FieldNode,
    FilterNode,
    IndexNode,
    Literal,
    Path,
    Slice,
    Step,
    Union,
    Wildcard,
)

if TYPE_CHECKING:
    import jsonpath_ng

Stage: TypeAlias = "tuple[jsonpath_ng.JSONPath, ...]"


def translate(steps: Sequence[Step]) -> tuple[Stage, ...]:
    """Compile the stages of a path.

    Each stage is applied to all values that the previous stage found.
    """
    from jsonpath_ng.ext.parser import parse  # importing it takes 50 ms, and paths of plain fields do not need it

    return tuple(tuple(parse(text) for text in stage) for stage in stage_texts(steps))


def stage_texts(steps: Sequence[Step]) -> list[list[str]]:
    """Return the stages of a path as jsonpath-ng source."""
    stages: list[list[str]] = []
    pending = "$"
    for step in steps:
        if isinstance(step, Union):
            # "..['a','b']" is "..['a']", then "..['b']".
            stages.append([pending + "".join(map(_step, member)) for member in step.members])
            pending = "$"
        else:
            pending += _step(step)
    if pending != "$" or not stages:
        stages.append([pending])
    return stages


def _step(step: Step) -> str:
    match step:
        case FieldNode():
            return f"[{_quote(step.name)}]"
        case Wildcard():
            return "[*]"
        case IndexNode():
            return f"[{step.index}]"
        case Slice(start=None, end=None, step=None):
            return "[*]"
        case Slice():
            start, end, stride = ("" if bound is None else bound for bound in (step.start, step.end, step.step))
            return f"[{start}:{end}:{stride}]"
        case Descend():
            return ".."
        case FilterNode():
            return f"[?{_condition(step.condition)}]"
        case Union():
            raise AssertionError("unions divide stages and are refused in filters")


def _condition(condition: Condition) -> str:
    match condition:
        case ExistsNode():
            return f"{'!' if condition.negated else ''}{_path(condition.path)}"
        case Combination():
            return "(" + f" {condition.operator} ".join(map(_condition, condition.conditions)) + ")"
        case Comparison():
            left, right = _operand(condition.left), _operand(condition.right)
            comparison = f"{left} {condition.operator} {right}"
            paths = {side: _operand(side) for side in (condition.left, condition.right) if isinstance(side, Path)}
            if condition.operator == "!=" or len(paths) == 2:
                return "(" + " && ".join([*paths.values(), comparison]) + ")"
            return comparison


def _operand(operand: Path | Literal) -> str:
    if isinstance(operand, Path):
        return _path(operand)
    value = operand.value
    if isinstance(value, str):
        return _quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    # jsonpath-ng parses no exponents, and a number without a point as an integer.
    digits = f"{Decimal(repr(value)):f}"
    return digits if "." in digits else f"{digits}.0"


def _path(path: Path) -> str:
    return "@" + "".join(map(_step, path.steps))


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
