"""``selectableFields`` of CRDs, and warnings about unknown fields and formats."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest
from tests.contract.cluster import MERGE, Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS, structural, version

SINCE = pytest.mark.since("1.31", "there was no selectableFields")
WARNED = pytest.mark.since("1.25", "there were no warnings")


async def _selectable(cluster: Cluster) -> None:
    schema = structural(s={"type": "string"}, i={"type": "integer"}, b={"type": "boolean"})
    selectable = [{"jsonPath": f".spec.{name}"} for name in "sib"]
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema, selectableFields=selectable)]))


@SINCE
async def test_strings_integers_and_booleans_can_be_selected(cluster: Cluster) -> None:
    await _selectable(cluster)
    for name, spec in (("full", {"s": "x", "i": 3, "b": True}), ("empty", {"s": "", "i": -1}), ("none", {})):
        await cluster.create("widgets", cluster.widget(name, spec=spec))
    expected = {
        "spec.s=x": ["full"],
        "spec.s=": ["empty", "none"],
        "spec.i=3": ["full"],
        "spec.i=-1": ["empty"],
        "spec.i!=3": ["empty", "none"],
        "spec.b=true": ["full"],
        "spec.b=false": [],
        "spec.i=3,metadata.name=full": ["full"],
    }

    found = {selector: await cluster.names("widgets", fieldSelector=selector) for selector in expected}

    assert found == expected


@SINCE
async def test_a_watch_with_a_field_selector_adds_and_deletes_an_object_as_it_changes(cluster: Cluster) -> None:
    await _selectable(cluster)

    async with cluster.watch("widgets", fieldSelector="spec.b=true") as events:
        await cluster.create("widgets", cluster.widget(spec={"b": False}))
        await cluster.patch("widgets", "w", {"spec": {"b": True}})
        await cluster.patch("widgets", "w", {"spec": {"b": None}})
        assert types_and_names(await events.take(2)) == [("ADDED", "w"), ("DELETED", "w")]


@SINCE
async def test_a_selector_with_another_field_is_an_error(cluster: Cluster) -> None:
    await _selectable(cluster)

    for selector in ("spec.zz=1", ".spec.s=x", "spec=x"):
        with pytest.raises(BadRequest, match="field label not supported"):
            await cluster.list_of("widgets", fieldSelector=selector)


@SINCE
async def test_a_field_that_is_no_longer_selectable_is_an_error(cluster: Cluster) -> None:
    await _selectable(cluster)
    await cluster.create("widgets", cluster.widget(spec={"s": "x"}))

    async with cluster.watch("widgets") as events:
        await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": [version(schema=structural())]}})
        await events.rest()

    with pytest.raises(BadRequest, match=r"field label not supported: spec\.s"):
        await cluster.list_of("widgets", fieldSelector="spec.s=x")


@WARNED
async def test_an_unknown_format_warns_once_and_on_update_only_if_it_is_new(cluster: Cluster) -> None:
    schema = structural(
        a={"type": "string", "format": "color"},
        b={"type": "array", "items": {"type": "string", "format": "color"}},
        c={"type": "integer", "format": "uuid"},
        d={"type": "string", "format": "date-time"},
    )
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))
    name, path = f"widgets.{cluster.group}", cluster.path(CRDS)
    other = {**cluster.crd("gadgets", "Gadget", versions=[version(schema=schema)])}

    created = await cluster.call("POST", path, body=other, params={"dryRun": "All"})
    more = structural(a={"type": "string", "format": "color"}, e={"type": "number", "format": "money"})
    patch = {"spec": {"versions": [version(schema=more)]}}
    edited = await cluster.call("PATCH", f"{path}/{name}", body=patch, content_type=MERGE)

    assert sorted(created.warnings) == ['unrecognized format "color"', 'unrecognized format "uuid"']
    assert edited.warnings == ['unrecognized format "money"']


@WARNED
async def test_each_unknown_field_is_dropped_with_a_warning(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "colour": "red"}}}}
    body = {**cluster.crd(versions=[version(schema=schema, foo=1)], flavour="x"), "bar": 2}

    response = await cluster.call("POST", cluster.path(CRDS), body=body, params={"dryRun": "All"})

    assert sorted(response.warnings) == [
        'unknown field "bar"',
        'unknown field "spec.flavour"',
        'unknown field "spec.versions[0].foo"',
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.colour"',
    ]
    assert "bar" not in response.body
    stored = response.body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert stored["properties"] == {"a": {"type": "string"}}


@WARNED
async def test_unknown_fields_are_an_error_with_strict_validation(cluster: Cluster) -> None:
    body = cluster.crd(flavour="x")

    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec.flavour"'):
        await cluster.create(CRDS, body, params={"fieldValidation": "Strict"})


async def test_null_labels_and_annotations_become_empty_strings(cluster: Cluster) -> None:
    body = cluster.crd()
    body["metadata"] |= {"labels": {"a": None}, "annotations": {"b": None}}

    metadata = (await cluster.create(CRDS, body, params={"dryRun": "All"}))["metadata"]

    assert (metadata["labels"], metadata["annotations"]) == ({"a": ""}, {"b": ""})
