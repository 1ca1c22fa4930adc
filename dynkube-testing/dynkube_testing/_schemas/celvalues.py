"""Conversion of values for CEL rules: declared fields only, under escaped names."""

from __future__ import annotations

import re
from typing import Any

from dynkube_testing._schemas.structural import Node

_WORDS = """true false null in as break const continue else for function if import let loop package namespace return
var void while"""
_RESERVED = frozenset(_WORDS.split())
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED = re.compile(r"__|[./-]")
#: Formats whose values are not strings in CEL. The CEL library cannot convert such values in objects.
TYPED_FORMATS = frozenset({"date", "date-time", "duration", "byte"})


def rule_value(value: Any, node: Node | None, *, resource: bool = False) -> Any:
    """Convert ``value`` to the value of the variable ``self`` in rules.

    Args:
        value: A value in an object.
        node: Its schema; fields that are not declared are left out.
        resource: Whether ``value`` is a Kubernetes object. Rules can then use apiVersion, kind, ``metadata.name`` and
            ``metadata.generateName``, declared or not, but no other metadata.
    """
    if node is None:
        return value
    if isinstance(value, dict):
        return _object_value(value, node, resource or node.embedded)
    if isinstance(value, list):
        return [rule_value(item, node.items) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and node.types == ("number",):
        return float(value)
    if isinstance(value, float) and node.types == ("integer",):
        return int(value)
    return value


def _object_value(value: dict[str, Any], node: Node, resource: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, content in value.items():
        child = node.properties.get(name)
        if resource and name in {"apiVersion", "kind"}:
            result[name] = content
        elif resource and name == "metadata" and isinstance(content, dict):
            result[name] = {key: content[key] for key in ("name", "generateName") if key in content}
        elif child is not None and _NAME.fullmatch(name):
            result[escaped(name)] = rule_value(content, child)
        elif child is None and node.additional is not None:
            result[name] = rule_value(content, node.additional)
        elif child is None and node.source.get("x-kubernetes-int-or-string"):
            result[name] = content
    return result


def escaped(name: str) -> str:
    """Return the name of a field in CEL; ``namespace`` becomes ``__namespace__``.

    Reserved words, ``__`` and the characters ``.``, ``/`` and ``-`` are escaped as in Kubernetes.
    """
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def has_typed_formats(node: Node | None, depth: int = 8) -> bool:
    """Return whether ``node`` may contain a value with one of :data:`TYPED_FORMATS`.

    The search stops ``depth`` levels below ``node``, because schemas may be recursive.
    """
    if node is None or depth == 0:
        return False
    if node.source.get("format") in TYPED_FORMATS:
        return True
    below = [*node.properties.values(), node.items, node.additional]
    return any(has_typed_formats(child, depth - 1) for child in below)
