"""OpenAPI definitions of custom resources, from the schemas of their CRDs.

Version 3 contains the whole schema. Version 2 supports neither alternatives nor null, and kubectl treats an object with
properties as closed: what it would misunderstand is omitted there, by the rules of kube-apiserver
(``ToStructuralOpenAPIV2`` in apiextensions-apiserver).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dynkube_testing._definitions.structural import EMBEDDED, INT_OR_STRING, INT_OR_STRING_FORMS, PRESERVE
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._wire.openapi.naming import META, V2_PREFIX, V3_PREFIX, name_of

# A schema as decoded JSON; it was validated when the CRD was created or updated.
Schema: TypeAlias = dict[str, Any]

_API_VERSION = "Group and version of the form that the object is written in, like 'apps/v1'."
_KIND = "What the object is, in CamelCase. It never changes."
_METADATA = "Name, namespace, labels and everything else that all objects have."
_LIST_METADATA = "The version of the list, and where to go on if this is only a part of it."

_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf", "not"})
_NOT_IN_V2 = _ALTERNATIVES | {"nullable", "default"}


def definition(kind: Kind, *, v2: bool = False) -> Schema:
    """Return the OpenAPI definition of a custom kind."""
    schema = kind.schema
    if schema is None or (v2 and schema.get(PRESERVE)):
        # The definition has no properties. If it had any, clients would reject all other fields.
        published: Schema = {"type": "object"}
    else:
        published = _v2(schema) if v2 else _v3(schema)
        published["properties"] = {**published.get("properties", {}), **_object_fields(V2_PREFIX if v2 else V3_PREFIX)}
    return published | _about(kind, kind.kind)


def list_definition(kind: Kind, *, v2: bool = False) -> Schema:
    """Return the OpenAPI definition of the list of a custom kind."""
    prefix = V2_PREFIX if v2 else V3_PREFIX
    items = {"description": f"List of {kind.gvr.resource}.", "type": "array", "items": {"$ref": prefix + name_of(kind)}}
    fields = {**_object_fields(prefix), "metadata": _refer(f"{prefix}{META}.ListMeta", _LIST_METADATA), "items": items}
    return {
        "description": f"{kind.list_kind} is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": fields,
    } | _about(kind, kind.list_kind)


def _about(kind: Kind, name: str) -> Schema:
    gvk = {"group": kind.gvr.group, "version": kind.gvr.version, "kind": name}
    about: Schema = {"x-kubernetes-group-version-kind": [gvk]}
    if kind.selectable_fields:
        about["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in kind.selectable_fields]
    return about


def _object_fields(prefix: str) -> Schema:
    return {
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": _refer(f"{prefix}{META}.ObjectMeta", _METADATA),
    }


def _refer(target: str, description: str) -> Schema:
    # OpenAPI v3 does not allow other keys beside $ref.
    if target.startswith(V3_PREFIX):
        return {"description": description, "allOf": [{"$ref": target}]}
    return {"description": description, "$ref": target}


# ── version 3 ─────────────────────────────────────────────────────────────────────────────────


def _v3(schema: Mapping[str, Any]) -> Schema:
    published = _with_parts(schema, _v3)
    if published.get(INT_OR_STRING) and not _ALTERNATIVES & published.keys():
        published["anyOf"] = list(INT_OR_STRING_FORMS)
    return _with_embedded_fields(published, V3_PREFIX)


# ── version 2 ─────────────────────────────────────────────────────────────────────────────────


def _v2(schema: Mapping[str, Any]) -> Schema:
    published = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    open_ended = published.get(PRESERVE, False)
    if schema.get("nullable") or open_ended:
        for key in ("items", "properties"):
            published.pop(key, None)
    if schema.get("nullable") or (open_ended and published.get("type") == "object"):
        published.pop("type", None)
    if published.get("type") == "array" and "items" not in published:
        del published["type"]
    _require_non_nullable(published)
    published = _with_parts(published, _v2)
    return published if open_ended else _with_embedded_fields(published, V2_PREFIX)


def _require_non_nullable(schema: Schema) -> None:
    values = schema.get("additionalProperties")
    nullable = {name for name, part in schema.get("properties", {}).items() if part.get("nullable")}
    required = [name for name in schema.get("required", ()) if name not in nullable]
    if not required or (isinstance(values, dict) and values.get("nullable")):
        schema.pop("required", None)
    else:
        schema["required"] = required


# ── both ──────────────────────────────────────────────────────────────────────────────────────


def _with_parts(schema: Mapping[str, Any], publish: Callable[[Mapping[str, Any]], Schema]) -> Schema:
    """Return a copy of ``schema`` with ``publish`` applied to its nested schemas.

    These are the schemas of fields, items and values.
    """
    published = {key: value for key, value in schema.items() if (key, value) != ("uniqueItems", False)}
    if "properties" in schema:
        published["properties"] = {name: publish(part) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            published[key] = publish(schema[key])
    return published


def _with_embedded_fields(schema: Schema, prefix: str) -> Schema:
    if not schema.get(EMBEDDED):
        return schema
    required = schema.get("required", [])
    return {
        **schema,
        "required": [*required, *(name for name in ("kind", "apiVersion") if name not in required)],
        "properties": {**schema.get("properties", {}), **_object_fields(prefix)},
    }
