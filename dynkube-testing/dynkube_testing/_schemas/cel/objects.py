"""Values for rules from the objects of a schema."""

from __future__ import annotations

import base64
import binascii
import re

from dynkube_testing._schemas.cel.literals import Duration, duration_of, timestamp_of
from dynkube_testing._schemas.cel.names import escaped
from dynkube_testing._schemas.cel.values import Fields, Listed, Preserved, Value
from dynkube_testing._schemas.structural import Node


def rule_value(value: Value, node: Node | None, *, resource: bool = False) -> Value:
    """Convert ``value`` to the value of the variable ``self`` in rules.

    Args:
        value: A value in an object.
        node: Its schema.
        resource: Whether ``value`` is a Kubernetes object. Rules can then use apiVersion, kind, ``metadata.name`` and
            ``metadata.generateName``, declared or not, but no other metadata.
    """
    if node is None or value is None:
        return value
    if node.source.get("x-kubernetes-int-or-string"):
        return value
    if not node.types and node.preserves:
        return Preserved(value)
    if isinstance(value, dict):
        return _object(value, node, resource or node.embedded)
    if isinstance(value, list):
        keys = tuple(escaped(name) or name for name in node.map_keys)
        return Listed([rule_value(item, node.items) for item in value], node.list_type, keys)
    if isinstance(value, str):
        return _text(value, node.source.get("format"))
    if isinstance(value, int) and not isinstance(value, bool) and node.types == ("number",):
        return float(value)
    if isinstance(value, float) and node.types == ("integer",):
        return int(value)
    return value


def _object(value: dict[str, Value], node: Node, resource: bool) -> Fields:
    known: dict[str, Value] = {}
    rest: dict[str, Value] = {}
    for name, content in value.items():
        child = node.properties.get(name)
        if resource and name in {"apiVersion", "kind"}:
            known[name] = content
        elif resource and name == "metadata" and isinstance(content, dict):
            names = {key: content[key] for key in ("name", "generateName") if key in content}
            below = {key: rule_value(item, child.field(key)) for key, item in content.items()} if child else {}
            known[name] = Fields({**names, **(below if child and child.properties else {})}, len(content), {})
        elif child is not None:
            if content is not None:
                known[escaped(name) or name] = rule_value(content, child)
        elif node.additional is not None:
            known[name] = rule_value(content, node.additional)
        else:
            rest[name] = content
    return Fields(known, len(value), rest)


_WORDS = re.compile(r"([0-9]+)\s*([A-Za-z\u00b5]+)")
_DAY = 24 * 3600 * 10**9
_LONG_UNITS = {"nano": 1, "micro": 10**3, "milli": 10**6, "sec": 10**9, "min": 60 * 10**9, "hour": 3600 * 10**9}
_SHORT_UNITS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SHORT_UNITS |= {"hr": 3600 * 10**9, "d": _DAY, "w": 7 * _DAY, "wk": 7 * _DAY}


def _text(value: str, given: str | None) -> Value:
    try:
        match given:
            case "byte":
                return base64.b64decode(value, validate=True)
            case "date":
                return timestamp_of(f"{value}T00:00:00Z")
            case "date-time":
                return timestamp_of(value.upper().replace(" ", "T"))
            case "duration":
                return _duration(value)
    except (ValueError, binascii.Error):
        return value  # the schema rejects it
    return value


def _duration(text: str) -> Duration:
    try:
        return duration_of(text)
    except ValueError:
        total = 0
        for number, unit in _WORDS.findall(text):
            lower = unit.lower()
            length = _SHORT_UNITS.get(lower)
            if length is None:
                long = {**_LONG_UNITS, "day": _DAY, "week": 7 * _DAY}
                length = next((size for name, size in long.items() if lower.startswith(name)), 0)
            total += int(number) * length
        return Duration(total)
