"""Defaulting of absent fields, and of nulls that the schema does not allow.

Objects are not modified. The result shares unchanged parts with its input.
"""

from __future__ import annotations

import copy
from typing import Any

from dynkube_testing._schemas.structural import Node


def defaulted(value: Any, node: Node | None) -> Any:
    """Return ``value`` with the defaults of the schema ``node``, at all levels."""
    if node is None or not node.with_defaults:
        return value
    if isinstance(value, dict):
        return _defaulted_object(value, node)
    if isinstance(value, list) and node.items is not None:
        items = node.items
        result = [defaulted(_instead_of_null(item, items), items) for item in value]
        return result if any(a is not b for a, b in zip(value, result, strict=True)) else value
    return value


def _defaulted_object(value: dict[str, Any], node: Node) -> dict[str, Any]:
    result = value
    for name, child in node.properties.items():
        if child.has_default and (name not in value or (value[name] is None and not child.nullable)):
            if result is value:
                result = dict(value)
            result[name] = _copied(child.default)
    properties, additional = node.properties, node.additional
    for name in result if result is value else list(result):
        child_node, content = properties.get(name), result[name]
        if child_node is None and additional is not None:
            child_node, content = additional, _instead_of_null(content, additional)
        after = defaulted(content, child_node)
        if after is not result[name]:
            result = dict(result) if result is value else result
            result[name] = after
    return result


def _instead_of_null(value: object, node: Node) -> object:
    return _copied(node.default) if value is None and not node.nullable else value


def _copied(default: object) -> object:
    return copy.deepcopy(default) if isinstance(default, dict | list) else default
