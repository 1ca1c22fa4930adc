"""Two states of an object, field by field. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from dynkube.client._apply.shape import Shape
from dynkube.fields import Field, FieldPath, ItemIndex, Step, same_json
from dynkube.meta import MISSING

Difference: TypeAlias = tuple[FieldPath, Any, Any]
"""Where, what the first has there, and what the second; :data:`~dynkube.meta.MISSING` for nothing."""

ROOT: Final = FieldPath()


def differences(before: Any, after: Any, shape: Shape, path: FieldPath = ROOT) -> Iterator[Difference]:
    """What is not the same in both, in their order.

    Items of lists are matched as ``shape`` says; by position where it says nothing and there are as many. A list that
    differs otherwise is one difference, as is an item that only one has. A field that only one has is looked into.
    """
    if before == after and same_json(before, after):  # Python alone takes true for 1
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
    """What is one step below in both; ``None`` where they are compared as they are."""
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


def restricted(wanted: Any, live: Any, shape: Shape, kept: Collection[FieldPath], path: FieldPath = ROOT) -> Any:
    """As much of ``live`` as ``wanted`` speaks of, in its order.

    Args:
        wanted: what somebody has applied.
        live: what is there, or MISSING.
        shape: how lists are read.
        kept: the fields that are as they were applied, though perhaps written otherwise (``"1000m"`` and ``"1"``).
        path: where all this is.
    """
    is_kept = path in kept
    if is_kept and not _is_bare(wanted, live, shape, path):
        return wanted
    if shape.is_atomic(path) and not is_kept:
        return live
    if isinstance(wanted, Mapping) and (isinstance(live, Mapping) or live is MISSING):
        parts = _restricted_fields(wanted, live, shape, kept, path)
        return MISSING if live is MISSING and not parts else parts
    if isinstance(wanted, list) and isinstance(live, list):
        pairs = shape.pairs(path, wanted, live)
        if pairs is not None:
            items = (restricted(item, other, shape, kept, path / step) for step, item, other in pairs)
            return [item for item in items if item is not MISSING]
    return live


def _is_bare(wanted: Any, live: Any, shape: Shape, path: FieldPath) -> bool:
    """Whether a map, list or item is kept without what was applied in it.

    Who updates owns maps and lists besides what is in them, and goes on owning them when that is migrated, and others
    change or remove what is in them. Of one that is owned as a whole nothing can be missing.
    """
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return not shape.is_atomic(path) or any(part and name not in live for name, part in wanted.items())
    return isinstance(wanted, list) and isinstance(live, list) and not shape.is_atomic(path)


def _restricted_fields(
    wanted: Mapping[str, Any], live: Any, shape: Shape, kept: Collection[FieldPath], path: FieldPath
) -> dict[str, Any]:
    present = {} if live is MISSING else live
    parts = {
        name: restricted(part, present.get(name, MISSING), shape, kept, path / Field(name))
        for name, part in wanted.items()
    }
    return {name: part for name, part in parts.items() if part is not MISSING}
