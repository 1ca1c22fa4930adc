"""Validation of ``x-kubernetes-list-type``, ``-list-map-keys`` and ``-map-type``."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed, not_supported, required
from dynkube_testing._definitions.internal_form import bad_struct
from dynkube_testing._definitions.shapes import fields_of

LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"

_IN_SET = f"must be atomic as item of a list with {LIST_TYPE}=set"
_IN_KEYS = f"this property is in {MAP_KEYS}, so it"


def list_and_map_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield the causes for an invalid list or map type in ``schema``."""
    list_type, keys = schema.get(LIST_TYPE), schema.get(MAP_KEYS, [])
    yield from _type_causes(schema, field, MAP_TYPE, "object", ["atomic", "granular"])
    if list_type == "set" and schema.get("type") == "array":
        yield from _set_item_causes(schema, field)
    yield from _type_causes(schema, field, LIST_TYPE, "array", ["atomic", "set", "map"])
    if keys and list_type is None:
        yield required(f"{field}.{LIST_TYPE}", f"must be map if {MAP_KEYS} is non-empty")
    elif keys and list_type != "map":
        yield bad_value(f"{field}.{LIST_TYPE}", list_type, f"must be map if {MAP_KEYS} is non-empty")
    if list_type == "map":
        yield from _map_causes(schema, keys, field)
    if list_type in {"set", "map"} and isinstance(schema.get("items"), dict):
        yield from _null_causes(schema["items"], list_type, keys, field)


def _type_causes(
    schema: JSONObject, field: str, keyword: str, kind: str, supported: list[str]
) -> Iterator[StatusCause]:
    value, actual = schema.get(keyword), schema.get("type", "")
    if value is None:
        return
    if actual != kind:
        detail = f"must be {kind} if {keyword} is specified"
        yield bad_value(f"{field}.type", actual, detail) if actual else required(f"{field}.type", detail)
    if value not in supported:
        yield not_supported(f"{field}.{keyword}", value, supported)


def _set_item_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    list_type = items.get(LIST_TYPE)
    if items.get("type") == "array" and list_type not in {None, "atomic"}:
        yield bad_value(f"{field}.items.{LIST_TYPE}", list_type, _IN_SET)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        # The real server's message has the list type instead of the map type.
        yield bad_value(f"{field}.items.{MAP_TYPE}", list_type, _IN_SET)


def _map_causes(schema: JSONObject, keys: list[str], field: str) -> Iterator[StatusCause]:
    items = schema.get("items")
    if not keys:
        yield required(f"{field}.{MAP_KEYS}", f"must not be empty if {LIST_TYPE} is map")
    if items is None:
        yield required(f"{field}.items", f"must have a schema if {LIST_TYPE} is map")
    elif isinstance(items, list):
        shape = fields_of("JSONSchemaProps")["items"].shape
        yield bad_struct(f"{field}.items", shape, items, f"must only have a single schema if {LIST_TYPE} is map")
    elif items.get("type") != "object":
        detail = f"must be object if parent array's {LIST_TYPE} is map"
        yield bad_value(f"{field}.items.type", items.get("type", ""), detail)
    else:
        yield from _key_causes(items.get("properties", {}), keys, field)


def _key_causes(properties: JSONObject, keys: list[str], field: str) -> Iterator[StatusCause]:
    for index, key in enumerate(keys):
        if key not in properties:
            yield bad_value(f"{field}.{MAP_KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in {"array", "object"}:
            detail = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            # The real server's message has the type of the items instead of the type of the key.
            yield bad_value(f"{field}.items.properties[{key}].type", "object", detail)
        if key in keys[:index]:
            yield bad_value(f"{field}.{MAP_KEYS}", keys, "must not contain duplicate entries")


def _null_causes(items: JSONObject, list_type: str, keys: list[str], field: str) -> Iterator[StatusCause]:
    """Yield causes for nullable items of sets and maps, and for optional key fields."""
    if items.get("nullable"):
        yield not_allowed(f"{field}.items.nullable", f"cannot be nullable when {LIST_TYPE} is {list_type}")
    properties = items.get("properties", {})
    for key in keys if list_type == "map" else ():
        if key not in properties:
            continue
        at = f"{field}.items.properties[{key}]"
        if key not in items.get("required", ()) and properties[key].get("default") is None:
            yield required(f"{at}.default", f"{_IN_KEYS} must have a default or be a required property")
        if properties[key].get("nullable"):
            yield not_allowed(f"{at}.nullable", f"{_IN_KEYS} cannot be nullable")
