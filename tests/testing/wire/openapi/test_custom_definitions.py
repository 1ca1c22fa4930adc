"""Schemas of CRDs in OpenAPI v2 and v3."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube_testing._wire.openapi.custom import definition, list_definition
from tests.testing.wire.openapi.widgets import kind_of, widget

STRING = {"type": "string"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
ALTERNATIVES = [{"type": "integer"}, {"type": "string"}]

# A field of a schema, and the field that kube-apiserver 1.36 publishes for it in version 3 and in version 2.
FIELDS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (STRING, STRING, STRING),
    ({**STRING, "default": "a", "enum": ["a"]}, {**STRING, "default": "a", "enum": ["a"]}, {**STRING, "enum": ["a"]}),
    ({**STRING, "nullable": True, "maxLength": 5}, {**STRING, "nullable": True, "maxLength": 5}, {"maxLength": 5}),
    (
        {"type": "object", "nullable": True, "properties": {"a": STRING}},
        {"type": "object", "nullable": True, "properties": {"a": STRING}},
        {},
    ),
    (
        {"type": "object", "required": ["a", "b"], "properties": {"a": {**STRING, "nullable": True}, "b": STRING}},
        {"type": "object", "required": ["a", "b"], "properties": {"a": {**STRING, "nullable": True}, "b": STRING}},
        {"type": "object", "required": ["b"], "properties": {"a": {}, "b": STRING}},
    ),
    ({"type": "object", **PRESERVE}, {"type": "object", **PRESERVE}, PRESERVE),
    (
        {"type": "object", "properties": {"a": STRING}, **PRESERVE},
        {"type": "object", "properties": {"a": STRING}, **PRESERVE},
        PRESERVE,
    ),
    ({"type": "array", **PRESERVE}, {"type": "array", **PRESERVE}, PRESERVE),
    (
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": ALTERNATIVES},
        {"x-kubernetes-int-or-string": True},
    ),
    (
        {"type": "object", "properties": {"a": STRING}, "oneOf": [{"required": ["a"]}], "not": {"required": ["b"]}},
        {"type": "object", "properties": {"a": STRING}, "oneOf": [{"required": ["a"]}], "not": {"required": ["b"]}},
        {"type": "object", "properties": {"a": STRING}},
    ),
    (
        {"type": "object", "additionalProperties": {**STRING, "nullable": True}},
        {"type": "object", "additionalProperties": {**STRING, "nullable": True}},
        {"type": "object", "additionalProperties": {}},
    ),
    (
        {"type": "array", "items": {**STRING, "default": "z"}, "x-kubernetes-list-type": "atomic"},
        {"type": "array", "items": {**STRING, "default": "z"}, "x-kubernetes-list-type": "atomic"},
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "atomic"},
    ),
    (
        {**STRING, "uniqueItems": False, "title": "T", "x-kubernetes-validations": [{"rule": "true"}]},
        {**STRING, "title": "T", "x-kubernetes-validations": [{"rule": "true"}]},
        {**STRING, "title": "T", "x-kubernetes-validations": [{"rule": "true"}]},
    ),
]


@pytest.mark.parametrize(("field", "v3", "v2"), FIELDS)
def test_a_field_is_published_as_in_kube_apiserver(
    field: dict[str, Any], v3: dict[str, Any], v2: dict[str, Any]
) -> None:
    kind = widget(field)

    assert definition(kind)["properties"]["spec"] == v3
    assert definition(kind, v2=True)["properties"]["spec"] == v2


@pytest.mark.parametrize(
    ("v2", "metadata"),
    [
        (False, {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}),
        (True, {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}),
    ],
)
def test_standard_fields_replace_those_of_the_schema(v2: bool, metadata: dict[str, Any]) -> None:
    kind = kind_of({"type": "object", "properties": {"metadata": {"type": "object"}, "kind": {"type": "string"}}})

    published = definition(kind, v2=v2)

    assert list(published["properties"]) == ["metadata", "kind", "apiVersion"]
    assert {key: value for key, value in published["properties"]["metadata"].items() if key != "description"} == (
        metadata
    )


def test_embedded_objects_have_the_standard_fields_unless_they_preserve_unknown_fields_in_v2() -> None:
    closed, open_ended = widget(EMBEDDED), widget({**EMBEDDED, **PRESERVE})

    for kind, v2 in ((closed, False), (closed, True), (open_ended, False)):
        spec = definition(kind, v2=v2)["properties"]["spec"]
        assert list(spec["properties"]) == ["apiVersion", "kind", "metadata"]
        assert spec["required"] == ["kind", "apiVersion"]
    assert definition(open_ended, v2=True)["properties"]["spec"] == {
        "x-kubernetes-embedded-resource": True,
        **PRESERVE,
    }


@pytest.mark.parametrize("schema", [None, {"type": "object", **PRESERVE}])
def test_an_object_that_preserves_unknown_fields_has_no_properties_in_v2(schema: dict[str, Any] | None) -> None:
    published = definition(kind_of(schema), v2=True)

    assert published.keys() == {"type", "x-kubernetes-group-version-kind"}


def test_selectable_fields_are_published_for_the_kind_and_its_list() -> None:
    kind = kind_of({"type": "object"}, selectable_fields=("spec.colour",))

    expected = [{"fieldPath": "spec.colour"}]
    assert definition(kind)["x-kubernetes-selectable-fields"] == expected
    assert list_definition(kind)["x-kubernetes-selectable-fields"] == expected


def test_a_list_has_items_of_its_kind() -> None:
    published = list_definition(kind_of(None))

    assert published["description"] == "WidgetList is a list of Widget"
    assert published["required"] == ["items"]
    assert published["properties"]["items"]["items"] == {"$ref": "#/components/schemas/example.acme.v1.Widget"}
    assert published["x-kubernetes-group-version-kind"] == [
        {"group": "acme.example", "version": "v1", "kind": "WidgetList"}
    ]


def test_the_schema_of_the_crd_is_not_modified() -> None:
    field = {"x-kubernetes-int-or-string": True}
    kind = widget(field)

    definition(kind)
    definition(kind, v2=True)

    assert field == {"x-kubernetes-int-or-string": True}
