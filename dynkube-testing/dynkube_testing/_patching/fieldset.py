"""Sets of field paths, and their encoding in ``managedFields`` (FieldsV1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.elements import PREFIXES, Path

FieldSet: TypeAlias = frozenset[Path]

# Fields that never have an owner: they identify the object, or are set by the server.
NOT_OWNED: FieldSet = frozenset(
    {("f:apiVersion",), ("f:kind",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "creationTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    }
)


def owned(fields: Iterable[Path]) -> FieldSet:
    """Return ``fields`` without those that never have an owner (:data:`NOT_OWNED`)."""
    return frozenset(
        path for path in fields if path != ("f:metadata",) and path[:1] not in NOT_OWNED and path[:2] not in NOT_OWNED
    )


def excluding(fields: FieldSet, roots: Iterable[Path]) -> FieldSet:
    """Return ``fields`` without the paths in ``roots`` and all paths below them."""
    for root in roots:
        fields = frozenset(path for path in fields if path[: len(root)] != root)
    return fields


def says(encoded: JSONObject, path: Path) -> bool:
    """Return whether the FieldsV1 ``encoded`` has ``path``, without decoding it all."""
    node: object = encoded
    for element in path:
        node = node.get(element) if isinstance(node, dict) else None
    return isinstance(node, dict) and (not node or "." in node)


def without_roots(encoded: JSONObject, roots: Iterable[Path]) -> JSONObject:
    """Return FieldsV1 without the paths in ``roots`` and all paths below them."""
    for root in roots:
        encoded = _without(encoded, root)
    return encoded


def _without(encoded: JSONObject, root: Path) -> JSONObject:
    first, *rest = root
    if first not in encoded:
        return encoded
    left = {element: child for element, child in encoded.items() if element != first}
    if not rest:
        return left
    below = _without(encoded[first], tuple(rest))
    return {**left, first: below} if below else left


def to_fields_v1(fields: Iterable[Path]) -> JSONObject:
    """Encode ``fields`` in the nested form of ``managedFields[].fieldsV1``."""
    root: JSONObject = {}
    for path in fields:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _compact(root[element]) for element in sorted(root)}


def _compact(node: JSONObject) -> JSONObject:
    """Sort a node and remove redundant dots.

    A dot means that the path of the node is in the set. It is redundant in a node without children, which is ``{}``.
    """
    if len(node) == 1 and "." in node:
        return {}
    return {element: {} if element == "." else _compact(node[element]) for element in sorted(node)}


def from_fields_v1(encoded: JSONObject) -> FieldSet:
    """Decode ``managedFields[].fieldsV1``."""
    return frozenset(_unfold(encoded, ()))


def is_fields_v1(encoded: object) -> bool:
    """Return whether a value is valid FieldsV1."""
    return isinstance(encoded, dict) and all(
        (element == "." or element[:2] in PREFIXES) and is_fields_v1(child) for element, child in encoded.items()
    )


def _unfold(node: JSONObject, path: Path) -> Iterator[Path]:
    if path and (not node or "." in node):
        yield path
    for element, child in node.items():
        if element != "." and isinstance(child, dict):
            yield from _unfold(child, (*path, element))
