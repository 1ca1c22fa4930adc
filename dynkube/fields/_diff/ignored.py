"""Fields that a comparison leaves out. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynkube.errors import InvalidInput
from dynkube.fields._items import child_of, value_at
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._steps import Field, Step
from dynkube.meta import MISSING


def ignored_paths(given: Iterable[PathLike]) -> list[FieldPath]:
    """Return the paths to leave out, in an order in which removing one does not move the others.

    Raises:
        InvalidInput: it is no iterable of paths, or one is malformed or that of the whole object.
    """
    if isinstance(given, str | FieldPath):
        raise InvalidInput(f"ignore is {str(given)!r}: pass a list of paths, like ['.spec.replicas', '.status']")
    paths = [FieldPath.parse(each) for each in given]
    if not all(path.steps for path in paths):
        raise InvalidInput("ignore has the path of the whole object: pass paths of fields, like '.spec.replicas'")
    return sorted(paths, reverse=True)  # the last items of a list first


def remove(state: dict[str, Any], path: FieldPath, other: dict[str, Any] | None) -> None:
    """Remove a field from a private copy of an object.

    Maps and lists that are empty without it are removed as well, unless the other state has them.
    """
    value: Any = state
    parents: list[tuple[Any, Step, Any]] = []
    for step in path.steps:
        child = child_of(value, step)
        if child is MISSING:
            return
        parents.append((value, step, child))
        value = child
    for depth, (container, step, child) in reversed(list(enumerate(parents))):
        if isinstance(step, Field):
            del container[step.name]
        else:
            del container[next(index for index, item in enumerate(container) if item is child)]
        if container or value_at(other, path.steps[:depth]) is not MISSING:
            return
