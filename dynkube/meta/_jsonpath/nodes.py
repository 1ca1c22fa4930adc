"""Syntax tree of a JSONPath: steps, filter conditions and literals.

``position`` is the offset of a node in the source, for error messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class FieldNode:
    """``.name`` or ``['name']``: a member of an object."""

    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """``.*``: every member of an object, every element of a list."""

    position: int


@dataclass(frozen=True, slots=True)
class IndexNode:
    """``[2]``, ``[-1]``: one element of a list."""

    position: int
    index: int


@dataclass(frozen=True, slots=True)
class Slice:
    """``[1:5:2]``; ``[*]`` is the slice without bounds."""

    position: int
    start: int | None = None
    end: int | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Descend:
    """``..``: the following step is applied at every depth."""

    position: int


@dataclass(frozen=True, slots=True)
class Union:
    """``['a','b']``, ``[0,2]``: all matches of each member, one after the other."""

    position: int
    members: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True)
class FilterNode:
    """``[?(@.type=="Ready")]``: the elements for which the condition holds."""

    position: int
    condition: Condition


Step: TypeAlias = FieldNode | Wildcard | IndexNode | Slice | Descend | Union | FilterNode


@dataclass(frozen=True, slots=True)
class Path:
    """A path inside a filter, relative to the element.

    Written ``@``, or ``$`` as kubectl allows.
    """

    position: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: a quoted string, a number, ``true``, ``false``, ``null``."""

    position: int
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ExistsNode:
    """``@.x``: the path has a match; ``!@.x``: it has none."""

    position: int
    path: Path
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right``; at least one side is a path."""

    position: int
    left: Path | Literal
    operator: str
    right: Path | Literal


@dataclass(frozen=True, slots=True)
class Combination:
    """Conditions joined by ``&&`` or ``||``."""

    position: int
    operator: str
    conditions: tuple[Condition, ...]


Condition: TypeAlias = ExistsNode | Comparison | Combination
