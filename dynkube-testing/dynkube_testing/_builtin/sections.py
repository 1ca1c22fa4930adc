"""Parts of decoded objects, whose fields may be missing."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from dynkube_testing._calls.api import JSONObject


def section(owner: JSONObject, *names: str) -> JSONObject:
    """Return the object at the path ``names``; create it if it is missing."""
    for name in names:
        if not isinstance(owner.get(name), dict):
            owner[name] = {}
        owner = owner[name]
    return owner


def fill(owner: JSONObject, **values: Any) -> None:
    """Set fields of ``owner`` to ``values``, which are copied, if they are missing or empty strings."""
    for name, value in values.items():
        if owner.get(name) in (None, ""):
            owner[name] = copy.deepcopy(value) if isinstance(value, dict | list) else value


def items(owner: Mapping[str, Any], name: str) -> list[JSONObject]:
    """Return the objects in the list ``name``, which may be missing."""
    found = owner.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def indexed(owner: Mapping[str, Any], path: str, name: str) -> Iterator[tuple[str, JSONObject]]:
    """Return path and object for each object in the list ``name``, if any.

    ``path`` is the path of ``owner``.
    """
    prefix = f"{path}.{name}" if path else name
    return ((f"{prefix}[{index}]", item) for index, item in enumerate(items(owner, name)))


def read_copy(value: Any) -> Any:
    """Return a deep copy without null fields, which Go decodes as missing."""
    if isinstance(value, dict):
        return {key: read_copy(part) for key, part in value.items() if part is not None}
    return [read_copy(part) for part in value] if isinstance(value, list) else value


def complete_pair(part: JSONObject, one: str, many: str, key: str = "") -> None:
    """Set each field of a pair from the other one; if they differ, the older one counts.

    Args:
        part: The object that has the fields.
        one: The older field, a string.
        many: The newer field, a list.
        key: The field of an item that has the value; ``""`` if items are strings.
    """
    value, values = part.get(one) or "", part.get(many) or []
    if not isinstance(value, str) or not isinstance(values, list):
        return  # an error of its own
    first = _value(values[0], key) if values else ""
    if value and value != first:
        part[many] = [{key: value} if key else value]
    elif first and not value:
        part[one] = first


def _value(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item
