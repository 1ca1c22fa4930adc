"""Field-by-field comparison of two states of an object. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from dynkube.fields._diff.list_keys import Shape
from dynkube.fields._path import FieldPath
from dynkube.fields._steps import Field, ItemIndex, Step, same_json
from dynkube.meta import MISSING

Difference: TypeAlias = tuple[FieldPath, Any, Any]
"""Path, first value, second value; :data:`~dynkube.meta.MISSING` for an absent value."""

ROOT: Final = FieldPath()


def differences(before: Any, after: Any, shape: Shape, path: FieldPath = ROOT) -> Iterator[Difference]:
    """Yield the differences, in the order of the fields.

    List items are matched by ``shape``, else by position if both lists are of the same length. A list whose items
    cannot be matched is one difference, and so is a list item that only one state has. If only one state has a field,
    each field below it is a difference.
    """
    if before == after and same_json(before, after):  # same_json distinguishes True from 1; == is faster
        return
    steps = _steps(before, after, shape, path)
    if steps is None:
        yield path, before, after
        return
    olds, news = steps
    found = [
        difference
        for step in {**olds, **news}
        for difference in differences(olds.get(step, MISSING), news.get(step, MISSING), shape, path / step)
    ]
    yield from found or [(path, before, after)]  # the same items in another order


def _steps(before: Any, after: Any, shape: Shape, path: FieldPath) -> tuple[dict[Step, Any], dict[Step, Any]] | None:
    """Return the children of both values by step.

    ``None`` if they are compared as a whole.
    """
    if isinstance(before, list) and isinstance(after, list):
        return _items(before, after, shape, path)
    is_field = not path.steps or isinstance(path.steps[-1], Field)
    if MISSING in (before, after) and (not is_field or {} in (before, after)):
        return None
    parts = [{} if side is MISSING else _fields(side) for side in (before, after)]
    return None if parts[0] is None or parts[1] is None else (parts[0], parts[1])


def _fields(value: Any) -> dict[Step, Any] | None:
    return {Field(name): part for name, part in value.items()} if isinstance(value, Mapping) else None


def _items(
    before: list[Any], after: list[Any], shape: Shape, path: FieldPath
) -> tuple[dict[Step, Any], dict[Step, Any]] | None:
    olds, news = shape.items(path, before), shape.items(path, after)
    if olds is not None and news is not None:
        return olds, news
    if len(before) != len(after):
        return None
    return dict(_positions(before)), dict(_positions(after))


def _positions(items: list[Any]) -> Iterator[tuple[Step, Any]]:
    return ((ItemIndex(index), item) for index, item in enumerate(items))
