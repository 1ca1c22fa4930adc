"""A definition with one field ``spec.f`` of a given schema, on an engine."""

from __future__ import annotations

from typing import Any, TypeAlias

from dynkube.errors import Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version, widget

# Field, reason and message.
Cause: TypeAlias = tuple[str, str, str]

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(required: list[str] | None = None, /, **properties: JSONObject) -> JSONObject:
    """The schema of an object with fields."""
    schema: JSONObject = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def serving(schema: JSONObject, **more: Any) -> Cluster:
    """A cluster with widgets whose ``spec.f`` has ``schema``."""
    cluster = Cluster()
    whole = fields(spec=fields(f=schema))
    cluster.create(CRDS, definition(versions=[version(schema={"openAPIV3Schema": whole}, **more)]))
    return cluster


def reschema(cluster: Cluster, schema: JSONObject) -> None:
    """Edit the definition: ``spec.f`` has another ``schema`` from now on."""
    found = cluster.get(CRDS, "widgets.example.com")
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": fields(spec=fields(f=schema))}
    cluster.update(CRDS, found)


def stored(cluster: Cluster, value: Any) -> Any:
    """``spec.f`` of a widget created with ``value`` there; ``None`` where it is not there."""
    return cluster.create("widgets", widget(spec={"f": value}))["spec"].get("f")


def causes(cluster: Cluster, value: Any) -> list[Cause]:
    """Why a widget with ``value`` as its ``spec.f`` is refused: field, reason and message of each cause."""
    try:
        cluster.create("widgets", widget(spec={"f": value}))
    except Invalid as error:
        return [(cause.field, cause.reason, cause.message) for cause in error.status.causes]
    raise AssertionError(f"{value!r} was accepted")
