"""Type errors of server-side apply: undeclared fields, values of the wrong type.

Apply is stricter than other writes, even without field validation, because ownership can only be tracked for fields of
a known type. Messages are those of structured-merge-diff. It visits the fields of an object in random order, and stops
at the first one that is not declared; here such a field comes after the others, so that no other error is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynkube_testing._calls.gotext import compact, go_source, go_text, quoted
from dynkube_testing._kinds.schemas import KEY_DEFAULTS
from dynkube_testing._schemas.scalars import json_type
from dynkube_testing._schemas.structural import META_FIELDS, Node


def typed_errors(
    node: Node, value: Any, path: str = "", *, root: bool = False, repeats: bool = False, preserves: bool = False
) -> Iterator[str]:
    """Yield an error message for each part of ``value`` that does not fit the schema.

    Args:
        node: The schema.
        value: The applied value.
        path: The path of ``value``, beginning with a dot.
        root: Whether ``value`` is a whole custom resource, whose metadata is not in the schema.
        repeats: Whether items of a list may have duplicate keys or values, as is allowed in live objects.
        preserves: Whether a schema around ``value`` preserves unknown fields. Unknown fields are then allowed in
            ``value``, although they are not preserved there.
    """
    preserves = preserves or node.preserves
    kind = node.types[0] if len(node.types) == 1 else ""
    if value is None:
        return
    if kind == "object" or (not kind and isinstance(value, dict)):
        if not isinstance(value, dict):
            yield f"{path}: expected map, got &{{{go_text(value)}}}"
            return
        yield from _object_errors(node, value, path, root=root, repeats=repeats, preserves=preserves)
    elif kind == "array":
        if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{go_text(value)}}}"
            return
        yield from _list_errors(node, value, path, repeats=repeats, preserves=preserves)
    elif kind and (error := _scalar_error(kind, value)):
        yield f"{path}: {error}"


def apply_failure(errors: list[str], place: str, gvk: str) -> str:
    """Return the error message for an applied object with type ``errors``."""
    return f"failed to create typed patch object ({place}; {gvk}): {listed_errors(errors)}"


def listed_errors(errors: list[str]) -> str:
    """Return ``errors`` as one text; several are listed one per line."""
    return errors[0] if len(errors) == 1 else "errors:\n  " + "\n  ".join(errors)


def _object_errors(
    node: Node, value: dict[str, Any], path: str, *, root: bool, repeats: bool, preserves: bool
) -> Iterator[str]:
    known = META_FIELDS if root or node.embedded else frozenset()
    free = preserves or node.allows_additional or not (node.properties or node.types)
    for name in sorted(value.keys() - known):
        child = node.properties.get(name, node.additional)
        if child is not None:
            yield from typed_errors(child, value[name], f"{path}.{name}", repeats=repeats, preserves=preserves)
    if unknown := value.keys() - known - node.properties.keys() if not free else ():
        yield f"{path}.{min(unknown)}: field not declared in schema"


def _list_errors(node: Node, value: list[Any], path: str, *, repeats: bool, preserves: bool) -> Iterator[str]:
    items, seen = node.items, set[str]()
    for index, item in enumerate(value):
        key = str(index)
        if node.list_type in {"map", "set"}:
            if problem := _item_problem(node, item):
                yield f"{path}: element {index}: {problem}"
                return
            key = _item_key(node, item)
            if key in seen and not repeats:
                yield f"{path}: duplicate entries for key [{key}]"
            seen.add(key)
        if items is not None:
            yield from typed_errors(items, item, f"{path}[{key}]", repeats=repeats, preserves=preserves)


def _item_problem(node: Node, item: object) -> str:
    """Return why an item of a set or map list cannot be identified; ``""`` if it can."""
    if node.list_type == "set":
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        return "not supported: associative list with lists as elements" if isinstance(item, list) else ""
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    if not _keys_of(node, item):
        keys = " ".join(quoted(key) for key in node.map_keys)
        return (
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return ""


def _item_key(node: Node, item: Any) -> str:
    if node.list_type == "set":
        return f"={compact(item)}"
    keys = _keys_of(node, item)
    return ",".join(f"{key}={compact(keys[key])}" for key in sorted(keys))


def _keys_of(node: Node, item: dict[str, Any]) -> dict[str, Any]:
    """Return the key fields of an item with their values, which may be defaults."""
    keys = dict(node.source.get(KEY_DEFAULTS) or {})
    for key in node.map_keys:
        field = node.items.properties.get(key) if node.items is not None else None
        if key in item:
            keys[key] = item[key]
        elif field is not None and field.has_default:
            keys[key] = field.source["default"]
    return keys


def _scalar_error(kind: str, value: object) -> str:
    found = json_type(value)
    if kind in {"integer", "number"}:
        names = {"boolean": "bool", "object": "map", "array": "list"}
        return (
            "" if found in {"integer", "number"} else f"expected numeric (int or float), got {names.get(found, found)}"
        )
    if kind == "boolean":
        return "" if found == "boolean" else f"expected boolean, got &{{{go_text(value)}}}"
    return "" if found == kind else f"expected {kind}, got &value.valueUnstructured{{Value:{go_source(value)}}}"
