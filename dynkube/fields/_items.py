"""Look up the steps of a path in an object. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dynkube.fields._steps import Field, ItemIndex, ItemKey, ItemValue, Step, same_json
from dynkube.meta import JSON, MISSING, Missing


def value_at(value: object, steps: Sequence[Step]) -> Any | Missing:
    """Return the value at ``steps``, or :data:`MISSING`."""
    for step in steps:
        value = child_of(value, step)
        if value is MISSING:
            break
    return value


def child_of(value: object, step: Step) -> object:
    """Return the value one step below, or :data:`MISSING`."""
    if isinstance(step, Field):
        return value.get(step.name, MISSING) if isinstance(value, Mapping) else MISSING
    if not isinstance(value, list | tuple):
        return MISSING
    match step:
        case ItemIndex(index):
            return value[index] if index < len(value) else MISSING
        case ItemValue(wanted):
            return next((item for item in value if same_json(item, wanted)), MISSING)
        case ItemKey(keys):
            found = index_of_item(value, keys)
            return MISSING if found is None else value[found]
    return MISSING


def index_of_item(items: Sequence[object], keys: Mapping[str, JSON], others: Collection[str] = ()) -> int | None:
    """Return the index of the list item with these keys.

    Args:
        items: The list.
        keys: Key fields and their values.
        others: Key fields of other items of the list, which the item must not have.
    """
    candidates = [
        (index, item)
        for index, item in enumerate(items)
        if isinstance(item, Mapping) and not any(name in item for name in others)
    ]
    for index, item in candidates:
        if all(name in item and same_json(item[name], value) for name, value in keys.items()):
            return index
    # The item may omit a key that has a default. An item without any of the keys matches nothing.
    for index, item in candidates:
        present = [name for name in keys if item.get(name) is not None]
        if present and all(same_json(item[name], keys[name]) for name in present):
            return index
    return None


class KeyedItems:
    """Index of one list, for many lookups by the same keys.

    Equivalent to :func:`index_of_item`.

    Args:
        items: The list.
        names: The key fields.
        others: Key fields of other items of the list, which the items must not have.
    """

    __slots__ = ("_partial", "_whole")

    def __init__(self, items: Iterable[object], names: Collection[str], others: Collection[str] = ()) -> None:
        self._whole: dict[ItemKey, int] = {}
        self._partial: dict[tuple[str, ...], dict[ItemKey, int]] = {}
        for index, item in enumerate(items):
            if not isinstance(item, Mapping) or any(name in item for name in others):
                continue
            if all(name in item for name in names):
                self._whole.setdefault(_key(item, names), index)
            present = tuple(name for name in names if item.get(name) is not None)
            if present and len(present) < len(names):
                self._partial.setdefault(present, {}).setdefault(_key(item, present), index)

    def index(self, step: ItemKey) -> int | None:
        """Return the index of the item with these keys."""
        found = self._whole.get(step)
        if found is not None:
            return found
        partial = (known.get(_key(step.keys, names)) for names, known in self._partial.items())
        return min((index for index in partial if index is not None), default=None)


class Values:
    """The values at many paths of one object: each of its lists is indexed once.

    Args:
        obj: The object.
    """

    __slots__ = ("_lists", "obj")

    def __init__(self, obj: Mapping[str, Any]) -> None:
        self.obj: dict[str, Any] = dict(obj)  # keeps the values alive, so that their ids in _lists stay unique
        self._lists: dict[tuple[int, tuple[str, ...]], KeyedItems] = {}

    def at(self, steps: Sequence[Step]) -> Any | Missing:
        """Return the value at ``steps``, or :data:`MISSING`."""
        value: object = self.obj
        for step in steps:
            value = self.child(value, step)
            if value is MISSING:
                break
        return value

    def child(self, value: object, step: Step) -> Any | Missing:
        """Return the value one step below a value of the object, or :data:`MISSING`."""
        if isinstance(step, ItemKey) and isinstance(value, list | tuple):
            index = self._items(value, tuple(step.keys)).index(step)
            return MISSING if index is None else value[index]
        return child_of(value, step)

    def _items(self, value: Sequence[object], names: tuple[str, ...]) -> KeyedItems:
        key = id(value), names
        if key not in self._lists:
            self._lists[key] = KeyedItems(value, names)
        return self._lists[key]


def _key(values: Mapping[str, Any], names: Iterable[str]) -> ItemKey:
    return ItemKey({name: values[name] for name in names})
