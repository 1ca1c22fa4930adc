"""What a definition makes selectable, and what its author is warned of."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, seen, version, widget


def _typed(**properties: JSONObject) -> JSONObject:
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def _selectable(cluster: Cluster) -> None:
    schema = _typed(s={"type": "string"}, i={"type": "integer"}, b={"type": "boolean"})
    selectable = [{"jsonPath": f".spec.{name}"} for name in "sib"]
    cluster.create(CRDS, definition(versions=[version(schema=schema, selectableFields=selectable)]))


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.s=x", ["full"]),
        ("spec.s=", ["empty", "none"]),
        ("spec.i=3", ["full"]),
        ("spec.i=-1", ["empty"]),
        ("spec.i!=3", ["empty", "none"]),
        ("spec.b=true", ["full"]),
        ("spec.b=false", []),
        ("spec.i=3,metadata.name=full", ["full"]),
    ],
)
def test_texts_numbers_and_flags_can_be_selected(cluster: Cluster, selector: str, names: list[str]) -> None:
    _selectable(cluster)
    for name, spec in (("full", {"s": "x", "i": 3, "b": True}), ("empty", {"s": "", "i": -1}), ("none", {})):
        cluster.create("widgets", widget(name, spec=spec))

    assert cluster.names("widgets", fieldSelector=selector) == names


async def test_a_watch_shows_an_object_when_it_comes_to_match_and_when_it_no_longer_does(cluster: Cluster) -> None:
    _selectable(cluster)
    stream = cluster.watch("widgets", fieldSelector="spec.b=true")

    cluster.create("widgets", widget(spec={"b": False}))
    cluster.patch("widgets", "w", {"spec": {"b": True}})
    cluster.patch("widgets", "w", {"spec": {"b": None}})

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "w"), ("DELETED", "w")]


@pytest.mark.parametrize("selector", ["spec.zz=1", ".spec.s=x", "spec=x"])
def test_other_fields_are_no_labels(cluster: Cluster, selector: str) -> None:
    _selectable(cluster)

    with pytest.raises(BadRequest, match="field label not supported"):
        cluster.list_of("widgets", fieldSelector=selector)


def test_unknown_formats_are_told_once_and_on_update_only_if_they_are_new(cluster: Cluster) -> None:
    schema = _typed(
        a={"type": "string", "format": "color"},
        b={"type": "array", "items": {"type": "string", "format": "color"}},
        c={"type": "integer", "format": "uuid"},
        d={"type": "string", "format": "date-time"},
    )

    created = cluster.engine.handle(cluster.request("create", CRDS, body=definition(versions=[version(schema=schema)])))

    assert created.warnings == ('unrecognized format "color"', 'unrecognized format "uuid"')
    more = _typed(a={"type": "string", "format": "color"}, e={"type": "number", "format": "money"})
    patch = {"spec": {"versions": [version(schema=more)]}}
    call = cluster.request(
        "patch", CRDS, "widgets.example.com", body=patch, content_type="application/merge-patch+json"
    )
    assert cluster.engine.handle(call).warnings == ('unrecognized format "money"',)


FIELDS = {"foo": 1, "served": True, "storage": True, "name": "v1"}


def test_unknown_fields_are_dropped_with_a_warning_each(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "colour": "red"}}}}
    body = {**definition(versions=[{**FIELDS, "schema": schema}], flavour="x"), "bar": 2}

    created = cluster.engine.handle(cluster.request("create", CRDS, body=body))

    assert sorted(created.warnings) == [
        'unknown field "bar"',
        'unknown field "spec.flavour"',
        'unknown field "spec.versions[0].foo"',
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.colour"',
    ]
    stored = created.document.data
    assert "bar" not in stored
    assert stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] == {"a": {"type": "string"}}


def test_unknown_fields_are_refused_where_that_is_asked_for(cluster: Cluster) -> None:
    body = definition(flavour="x")

    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec.flavour"'):
        cluster.create(CRDS, body, params={"fieldValidation": "Strict"})


def test_nulls_among_labels_and_annotations_are_empty_texts(cluster: Cluster) -> None:
    body = definition()
    body["metadata"] |= {"labels": {"a": None}, "annotations": {"b": None}}

    metadata = cluster.create(CRDS, body)["metadata"]

    assert (metadata["labels"], metadata["annotations"]) == ({"a": ""}, {"b": ""})
