"""Validation of each part of a schema: keywords, types, defaults, rules.

These checks are in addition to those of the structure (see :mod:`structural`). They apply to all parts, including parts
inside ``allOf``, ``anyOf``, ``oneOf`` and ``not``, and include the list and map types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed, not_supported
from dynkube_testing._definitions.list_types import list_and_map_causes
from dynkube_testing._definitions.structural import EMBEDDED, PRESERVE
from dynkube_testing._definitions.validation_rules import rule_causes

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})
_FORBIDDEN = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEnvironment:
    """The context of a part of a CRD's schema.

    Attributes:
        in_metadata: Whether the part is in the schema of the metadata, apiVersion or kind of a resource, which may be
            embedded.
        no_defaults: Why the part must not have a default; ``""`` if it may have one.
    """

    in_metadata: bool = False
    no_defaults: str = ""


def schema_causes(
    schema: JSONObject, field: str, around: RuleEnvironment | None = None, *, root: bool = True
) -> list[StatusCause]:
    """Return the causes for an invalid ``schema`` and all parts of it."""
    around = around or RuleEnvironment()
    causes = [*_keyword_causes(schema, field, around)]
    for part, below, surroundings in _parts(schema, around, root):
        causes += schema_causes(below, f"{field}.{part}", surroundings, root=False)
    causes += _own_causes(schema, field)
    return causes


def _keyword_causes(schema: JSONObject, field: str, around: RuleEnvironment) -> Iterator[StatusCause]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{field}.type", kind, _TYPES)
    if schema.get("default") is not None and around.no_defaults:
        yield not_allowed(f"{field}.default", f"must not be set {around.no_defaults}")
    for keyword in _FORBIDDEN:
        if keyword in schema:
            yield not_allowed(f"{field}.{keyword}", f"{keyword} is not supported")
    if kind == "null":
        yield not_allowed(f"{field}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield not_allowed(f"{field}.items", "items must be a schema object and not an array")
    if around.in_metadata and schema.get(EMBEDDED):
        yield not_allowed(f"{field}.{EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield not_allowed(f"{field}.uniqueItems", detail)
    if "properties" in schema and schema.get("additionalProperties", True) is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield not_allowed(f"{field}.additionalProperties", detail)


def _parts(
    schema: JSONObject, around: RuleEnvironment, root: bool
) -> Iterator[tuple[str, JSONObject, RuleEnvironment]]:
    """Yield the path, schema and context of each part directly inside ``schema``.

    Parts are in the real server's order.
    """
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata"
        yield "additionalProperties", additional, replace(around, no_defaults=reason) if around.in_metadata else around
    for name, below in schema.get("properties", {}).items():
        inside = around
        if name in _META_FIELDS and (root or schema.get(EMBEDDED)):
            inside = replace(
                around, in_metadata=True, no_defaults=f"in top-level {name}" if root else around.no_defaults
            )
        yield f"properties[{name}]", below, inside
    if "not" in schema:
        yield "not", schema["not"], around
    for junctor in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(schema.get(junctor, ())):
            yield f"{junctor}[{index}]", branch, around
    for name, below in schema.get("definitions", {}).items():
        yield f"definitions[{name}]", below, around
    items = schema.get("items")
    for index, below in enumerate(items if isinstance(items, list) else ()):
        yield f"items[{index}]", below, around
    if isinstance(items, dict):
        yield "items", items, around
    for name, below in schema.get("dependencies", {}).items():
        if isinstance(below, dict):
            yield f"dependencies[{name}]", below, around


def _own_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield the causes that the real server reports after those of the parts."""
    if schema.get(PRESERVE) is False:
        yield bad_value(f"{field}.{PRESERVE}", False, "must be true or undefined")
    yield from list_and_map_causes(schema, field)
    yield from rule_causes(schema, field)
