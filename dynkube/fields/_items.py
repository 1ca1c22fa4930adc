"""Where the steps of a path lead in an object. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dynkube.fields._steps import Field, ItemIndex, ItemKey, ItemValue, Step, same_json
from dynkube.meta import JSON, MISSING, Missing


def value_at(value: object, steps: Sequence[Step]) -> Any | Missing:
    """What the steps lead to, or :data:`MISSING`."""
    for step in steps:
        value = child_of(value, step)
        if value is MISSING:
            break
    return value


def child_of(value: object, step: Step) -> object:
    """What one step leads to, or :data:`MISSING`."""
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
    """Where the item with these keys is in a list.

    Args:
        items: The list.
        keys: Key fields and their values.
        others: Key fields that other items of the list are known by, which the one looked for has not.
    """
    candidates = [
        (index, item)
        for index, item in enumerate(items)
        if isinstance(item, Mapping) and not any(name in item for name in others)
    ]
    for index, item in candidates:
        if all(name in item and same_json(item[name], value) for name, value in keys.items()):
            return index
    # Left out: a key with a default. An item that has none of the keys could be any.
    for index, item in candidates:
        present = [name for name in keys if item.get(name) is not None]
        if present and all(same_json(item[name], keys[name]) for name in present):
            return index
    return None
