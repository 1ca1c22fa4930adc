"""Validation of schemas by the rules for structural schemas.

See the design in https://github.com/kubernetes/enhancements/issues/692. A schema has a structure (``type``,
``properties``, ``items``, ``additionalProperties``), which specifies each type once, and value validations inside
``allOf``, ``anyOf``, ``oneOf`` and ``not``. Value validations may only refer to fields and items in the structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed, required
from dynkube_testing._definitions.pattern_checks import pattern_causes

Level: TypeAlias = Literal["root", "item", "field"]

EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
# The types of ``x-kubernetes-int-or-string``, which may also be given in an ``anyOf`` next to it.
INT_OR_STRING_FORMS = ({"type": "integer"}, {"type": "string"})

_JUNCTORS = ("anyOf", "allOf", "oneOf")
_NO_TYPE: Mapping[Level, str] = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_IF_EMBEDDED = f"must be object if {EMBEDDED} is true"
# Unsupported keywords, with their names in the real server's messages.
_UNSUPPORTED: Mapping[str, str] = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
# Keywords allowed in the structure only. In a value validation they "must be ...", followed by the text here.
_ONLY_IN_STRUCTURE: Mapping[str, str] = {
    "type": "empty",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}


def structural_causes(schema: JSONObject, field: str) -> list[StatusCause]:
    """Return the causes if a resource's schema is not structural.

    They are sorted as in the real server.
    """
    causes = [
        *_structure(schema, "root", field),
        *_missing_in_branches(schema, schema, field, field),
        *pattern_causes(schema, field),
    ]
    return sorted(causes, key=lambda cause: f"{cause.field}: {cause.message}")


def unsupported_keyword(schema: JSONObject) -> str:
    """Return why a schema cannot be parsed as a structural schema; ``""`` if it can."""
    for keyword, name in _UNSUPPORTED.items():
        if schema.get(keyword) not in (None, "", {}):
            return f"OpenAPIV3Schema '{name}' is not supported"
    junctors = [branch for junctor in ("allOf", "anyOf", "oneOf") for branch in schema.get(junctor) or ()]
    negated, items = schema.get("not"), schema.get("items")
    if problem := _first_problem([*([negated] if negated is not None else []), *junctors]):
        return problem
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if isinstance(items, list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    below = [items, *schema.get("properties", {}).values(), schema.get("additionalProperties")]
    return _first_problem(part for part in below if isinstance(part, dict))


def _first_problem(schemas: Iterable[JSONObject]) -> str:
    return next((problem for schema in schemas if (problem := unsupported_keyword(schema))), "")


# ── the structure ─────────────────────────────────────────────────────────────────────────────


def _structure(schema: JSONObject, level: Level, field: str) -> Iterator[StatusCause]:
    kind, items = schema.get("type", ""), schema.get("items")
    if kind == "array" and items is None:
        yield required(f"{field}.items", "must be specified")
    if items is not None:
        yield from _structure(items, "item", f"{field}.items")
    for name, below in schema.get("properties", {}).items():
        yield from _structure(below, "field", f"{field}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None and level == "root":
        yield not_allowed(f"{field}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _structure(additional, "field", f"{field}.additionalProperties")
    yield from _extension_causes(schema, field)
    yield from _validations(schema, field, structural=True)
    yield from _type_causes(schema, level, field)
    if schema.get(EMBEDDED) and additional is not None:
        yield not_allowed(f"{field}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    yield from _resource_causes(schema, level, field)


def _extension_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    if schema.get(INT_OR_STRING):
        for other in (PRESERVE, EMBEDDED):
            if schema.get(other):
                yield bad_value(f"{field}.{other}", True, f"must be false if {INT_OR_STRING} is true")


def _type_causes(schema: JSONObject, level: Level, field: str) -> Iterator[StatusCause]:
    kind = schema.get("type", "")
    field = f"{field}.type"
    if schema.get(EMBEDDED) and kind != "object":
        yield bad_value(field, kind, _IF_EMBEDDED) if kind else required(field, _IF_EMBEDDED)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(field, _NO_TYPE[level])
    if level == "root" and kind and kind != "object":
        yield bad_value(field, kind, "must be object at the root")


def _resource_causes(schema: JSONObject, level: Level, field: str) -> Iterator[StatusCause]:
    """Yield a status cause for each error in the schema of a custom resource, or of one that is embedded in it."""
    properties = schema.get("properties", {})
    if level == "root" or schema.get(EMBEDDED):
        for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            if name in properties and properties[name].get("type", "") != kind:
                at = f"{field}.properties[{name}].type"
                yield bad_value(at, properties[name].get("type", ""), f"must be {kind}")
    if level == "root" and "metadata" in properties and not _restricts_names_only(properties["metadata"]):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield not_allowed(f"{field}.properties[metadata]", detail)
    if schema.get(EMBEDDED) and not schema.get(PRESERVE) and not properties:
        detail = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        yield required(f"{field}.properties", detail)


def _restricts_names_only(metadata: JSONObject) -> bool:
    return metadata.keys() <= {"type", "default", "properties"} and metadata.get("properties", {}).keys() <= {
        "name",
        "generateName",
    }


# ── the validations ───────────────────────────────────────────────────────────────────────────


def _validations(schema: JSONObject, field: str, *, structural: bool, skip_any: bool = False) -> Iterator[StatusCause]:
    """Yield the causes in the value validations of ``schema``.

    For ``x-kubernetes-int-or-string``, a structural schema may give the types integer and string in ``anyOf``, or in
    the ``anyOf`` of the first entry of ``allOf``. ``skip_any`` is whether ``schema`` is this entry.
    """
    for junctor in _JUNCTORS:
        if junctor == "anyOf" and (skip_any or (structural and _is_int_or_string(schema))):
            continue
        for index, branch in enumerate(schema.get(junctor, ())):
            excused = structural and junctor == "allOf" and index == 0 and _is_int_or_string(branch)
            yield from _validation(branch, f"{field}.{junctor}[{index}]", skip_any=excused)
    if "not" in schema:
        yield from _validation(schema["not"], f"{field}.not")


def _is_int_or_string(schema: JSONObject) -> bool:
    return bool(schema.get("anyOf") == list(INT_OR_STRING_FORMS))


def _validation(schema: JSONObject, field: str, *, skip_any: bool = False) -> Iterator[StatusCause]:
    yield from _validations(schema, field, structural=False, skip_any=skip_any)
    if "items" in schema:
        yield from _validation(schema["items"], f"{field}.items")
    for name, below in schema.get("properties", {}).items():
        yield from _validation(below, f"{field}.properties[{name}]")
    if schema.get("additionalProperties", False) is not False:
        yield not_allowed(f"{field}.additionalProperties", "must be undefined to be structural")
    for keyword, state in _ONLY_IN_STRUCTURE.items():
        if keyword in schema:
            yield not_allowed(f"{field}.{keyword}", f"must be {state} to be structural")
    if "metadata" in schema.get("properties", {}):
        yield not_allowed(f"{field}.properties[metadata]", "must not be specified in a nested context")


# ── parts of validations that are not in the structure ────────────────────────────────────────


def _missing_structure(
    validation: JSONObject, structure: JSONObject | None, field: str, told_in: str
) -> Iterator[StatusCause]:
    """Yield a cause for each part of ``validation`` that is not in ``structure``.

    ``told_in`` is the path of ``validation``, ``field`` is the path of ``structure``.
    """
    if structure is None:
        yield required(field, f"because it is defined in {told_in}")
        return
    yield from _missing_in_branches(validation, structure, field, told_in)
    parts = [("items", validation.get("items"), structure.get("items"))]
    properties = structure.get("properties", {})
    for name, below in validation.get("properties", {}).items():
        parts.append((f"properties[{name}]", below, properties.get(name)))
    for part, below, counterpart in parts:
        if below is not None:
            yield from _missing_structure(below, counterpart, f"{field}.{part}", f"{told_in}.{part}")


def _missing_in_branches(schema: JSONObject, structure: JSONObject, field: str, told_in: str) -> Iterator[StatusCause]:
    if "not" in schema:
        yield from _missing_structure(schema["not"], structure, field, f"{told_in}.not")
    for junctor in _JUNCTORS:
        for index, branch in enumerate(schema.get(junctor, ())):
            yield from _missing_structure(branch, structure, field, f"{told_in}.{junctor}[{index}]")
