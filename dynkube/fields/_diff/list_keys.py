"""How list items are identified, derived from managedFields instead of a schema.

Pure: no I/O.

``managedFields`` identify list items by keys, by value, or not at all, according to the list's schema. Lists at the
same location in different list items are assumed to have the same keys. A list without owned fields is treated as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from dynkube.fields._path import FieldPath
from dynkube.fields._set import FieldSet
from dynkube.fields._steps import Field, ItemKey, ItemValue, Step
from dynkube.meta import JSON

Location: TypeAlias = tuple[str, ...]
_ITEM: Final = "[]"
_LIST: Final = Field("list")


class Shape:
    """How list items are identified, and which fields are atomic.

    Args:
        owned: the fields of all managers.
    """

    __slots__ = ("_atomic", "_keys", "_sets")

    def __init__(self, owned: Iterable[FieldSet]) -> None:
        self._keys: dict[Location, tuple[str, ...]] = {}
        self._sets: set[Location] = set()
        inner: set[Location] = set()
        ends: set[Location] = set()
        for path in (path for fields in owned for path in fields):
            place: Location = ()
            for step in path.steps:
                inner.add(place)
                if isinstance(step, ItemKey):
                    self._keys[place] = tuple(step.keys)
                elif isinstance(step, ItemValue):
                    self._sets.add(place)
                place = (*place, _name(step))
            ends.add(place)
        self._atomic = ends - inner

    def is_atomic(self, path: FieldPath) -> bool:
        """Whether the field at ``path`` is owned as a whole, with no fields below it."""
        return _location(path) in self._atomic

    def items(self, path: FieldPath, value: list[Any]) -> dict[Step, Any] | None:
        """Return the items of a list by step; ``None`` if they cannot be identified."""
        place = _location(path)
        if place in self._sets:
            found: dict[Step, Any] = {ItemValue(item): item for item in value}
        elif keys := self._keys.get(place):
            found = {ItemKey(key): item for item in value if (key := _key_of(item, keys))}
        else:
            return None
        return found if len(found) == len(value) else None  # duplicate or missing keys

    def full(self, path: FieldPath, obj: Mapping[str, Any]) -> FieldPath:
        """Return a path with all keys of each list item, as in ``obj``.

        Keys with a default may have been omitted.
        """
        if self._has_all_keys(path):
            return path
        found = FieldPath()
        for step in path.steps:
            found /= self._full(step, found, (found / step).find(obj))
        return found

    def _has_all_keys(self, path: FieldPath) -> bool:
        place: Location = ()
        for step in path.steps:
            if isinstance(step, ItemKey) and len(step.keys) < len(self._keys.get(place, ())):
                return False
            place = (*place, _name(step))
        return True

    def _full(self, step: Step, path: FieldPath, item: Any) -> Step:
        names = self._keys.get(_location(path), ())
        return ItemKey(_key_of(item, names)) if isinstance(step, ItemKey) and isinstance(item, Mapping) else step


def _key_of(item: object, names: tuple[str, ...]) -> Mapping[str, JSON]:
    return {name: item[name] for name in names if name in item} if isinstance(item, Mapping) else {}


def _location(path: FieldPath) -> Location:
    return tuple(map(_name, path.steps))


def _name(step: Step) -> str:
    return step.wire if isinstance(step, Field) else _ITEM
