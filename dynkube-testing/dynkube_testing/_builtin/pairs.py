"""Fields in pairs: the first of several addresses also has a field of its own, from the time before dual stack."""

from __future__ import annotations

from typing import Any

from dynkube_testing._calls.api import JSONObject


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
