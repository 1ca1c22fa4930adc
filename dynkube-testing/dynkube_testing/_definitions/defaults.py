"""Validation of the defaults in a schema against the schema itself.

Defaults inside ``additionalProperties`` are not checked, as in the real server. CEL rules are not applied to defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import shown
from dynkube_testing._definitions.structural import EMBEDDED
from dynkube_testing._schemas.embedded import embedded_causes
from dynkube_testing._schemas.findings import NO_FIELD
from dynkube_testing._schemas.structural import META_FIELDS, Node, Structural
from dynkube_testing._schemas.validation import schema_causes


@dataclass(frozen=True, slots=True)
class _Resource:
    """The resource that contains the value of a schema.

    Attributes:
        node: The schema of the resource.
        surround: Function that returns a whole resource that contains a given value of the schema.
        in_metadata: Whether the schema describes metadata of the resource.
    """

    node: Node
    surround: Callable[[Any], JSONObject]
    in_metadata: bool = False

    def below(self, key: str, *, in_metadata: bool) -> _Resource:
        return replace(self, surround=lambda value: self.surround({key: value}), in_metadata=in_metadata)

    def items(self) -> _Resource:
        return replace(self, surround=lambda value: self.surround([value]))


def default_causes(schema: JSONObject, field: str) -> list[StatusCause]:
    """Return the causes for invalid defaults in the structural schema of a resource."""
    root = Structural({**schema, EMBEDDED: True}).root
    return [*_causes(root, field, _whole(root))]


def _whole(node: Node) -> _Resource:
    return _Resource(node, lambda value: {"apiVersion": "validation/v1", "kind": "Validation", **value})


def _causes(node: Node, field: str, resource: _Resource) -> Iterator[StatusCause]:
    if node.embedded:
        resource = _whole(node)
    if node.has_default:
        at = f"{field}.default"
        yield from _metadata_causes(node, at, resource) if resource.in_metadata else _value_causes(node, at)
    if node.items is not None:
        yield from _causes(node.items, f"{field}.items", resource.items())
    for name, child in node.properties.items():
        in_metadata = resource.in_metadata or (node.embedded and name in META_FIELDS)
        below = resource.below(name, in_metadata=in_metadata)
        yield from _causes(child, f"{field}.properties[{name}]", below)


def _value_causes(node: Node, field: str) -> Iterator[StatusCause]:
    value = node.default
    if _has_unknown(value, node):
        yield _bad_value(field, value, "must not have unknown fields")
    of_objects = [*embedded_causes(value, node, field)]
    yield from of_objects or _schema_causes(value, node, field)


def _metadata_causes(node: Node, field: str, resource: _Resource) -> Iterator[StatusCause]:
    whole = [*embedded_causes(resource.surround(node.default), resource.node)]
    if whole:
        texts = [f"{cause.field.removeprefix('.')}: {cause.message}" for cause in whole]
        message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        yield _bad_value(field, node.default, f"must result in valid metadata: {message}")
    else:
        yield from _schema_causes(node.default, node, field)


def _bad_value(field: str, value: Any, detail: str) -> StatusCause:
    # Unlike in ``causes.bad_value``, keys in the value are sorted.
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def _schema_causes(value: Any, node: Node, field: str) -> Iterator[StatusCause]:
    for cause in schema_causes(value, node):
        inside = "" if cause.field == NO_FIELD else f".{cause.field}"
        yield StatusCause(f"{field}{inside}", cause.reason, cause.message)


def _has_unknown(value: Any, node: Node | None) -> bool:
    """Return whether pruning would remove a field of ``value``."""
    if isinstance(value, list):
        return any(_has_unknown(item, node.items if node is not None else None) for item in value)
    if not isinstance(value, dict):
        return False
    if node is None:
        return bool(value)
    for name, content in value.items():
        child = node.properties.get(name)
        if node.embedded and name in META_FIELDS:
            continue
        if child is None and not node.allows_additional:
            if not node.preserves:
                return True
        elif _has_unknown(content, child or node.additional):
            return True
    return False
