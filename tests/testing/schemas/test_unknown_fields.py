"""Fields that no schema knows: dropped and told, as ``fieldValidation`` says, in kube-apiserver's words."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import BadRequest, InternalError, Invalid
from dynkube.testing import APIServer
from dynkube.testing._calls.api import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, JSONObject
from tests.testing.engine.cluster import Cluster, config, definition, version, widget
from tests.testing.schemas.kit import ANYTHING, INTEGER, STRING, fields, serving

LIST = {"type": "array", "items": fields(x=STRING)}
EMBEDDED = {**fields(spec=fields(a=INTEGER)), "x-kubernetes-embedded-resource": True}


@pytest.mark.parametrize(
    ("schema", "written", "kept", "unknown"),
    [
        (fields(a=STRING), {"a": "x", "b": 1}, {"a": "x"}, ["spec.f.b"]),
        (LIST, [{"x": "1", "y": 2}, {}], [{"x": "1"}, {}], ["spec.f[0].y"]),
        (
            {**fields(a=fields(b=STRING)), **ANYTHING},
            {"c": {"d": 1}, "a": {"z": 1}},
            {"c": {"d": 1}, "a": {}},
            ["spec.f.a.z"],
        ),
        ({"type": "object", "additionalProperties": fields(x=STRING)}, {"k": {"y": 1}}, {"k": {}}, ["spec.f.k.y"]),
        ({"type": "object"}, {"a": {"b": 1}}, {}, ["spec.f.a"]),
        ({"type": "array", "items": ANYTHING}, [{"a": {"b": 1}}], [{"a": {"b": 1}}], []),
        (
            EMBEDDED,
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "x": 1}, "spec": {"b": 1}, "data": 1},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}},
            ["spec.f.data", "spec.f.spec.b", "spec.f.metadata.x"],
        ),
    ],
)
def test_what_the_schema_does_not_know_is_dropped_with_a_warning_for_each(
    schema: JSONObject, written: object, kept: object, unknown: list[str]
) -> None:
    cluster = serving(schema)

    result = cluster.engine.handle(cluster.request("create", "widgets", body=widget(spec={"f": written})))

    assert result.document.data["spec"]["f"] == kept
    assert list(result.warnings) == [f'unknown field "{path}"' for path in unknown]


def test_unknown_fields_of_the_metadata_and_of_the_top_are_told_too() -> None:
    cluster = serving(STRING)
    body = widget(more=1, spec={"f": "x", "g": 1})
    body["metadata"]["zork"] = 1

    result = cluster.engine.handle(cluster.request("create", "widgets", body=body))

    assert result.warnings == ('unknown field "metadata.zork"', 'unknown field "more"', 'unknown field "spec.g"')
    assert "more" not in result.document.data
    assert "zork" not in result.document.data["metadata"]


def test_nobody_is_told_where_field_validation_is_to_ignore_them() -> None:
    cluster = serving(STRING)
    request = cluster.request("create", "widgets", body=widget(spec={"g": 1}), params={"fieldValidation": "Ignore"})

    result = cluster.engine.handle(request)

    assert (result.document.data["spec"], result.warnings) == ({}, ())


def test_strict_validation_refuses_all_of_them_at_once() -> None:
    cluster = serving(STRING)

    with pytest.raises(BadRequest) as caught:
        cluster.create("widgets", widget(spec={"g": 1}, more=1), params={"fieldValidation": "Strict"})

    assert caught.value.status.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "more", '
        'unknown field "spec.g"'
    )


def test_built_in_kinds_are_read_by_their_own_schemas(cluster: Cluster) -> None:
    containers = [{"name": "c", "image": "i", "fooo": 1}]
    body = {"metadata": {"name": "p", "zork": 1}, "spec": {"containers": containers}}

    result = cluster.engine.handle(cluster.request("create", "pods", body=body))

    told = ["metadata.zork", "spec.containers[0].fooo"]
    assert list(result.warnings) == [f'unknown field "{path}"' for path in told]
    assert "fooo" not in result.document.data["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("content_type", "patch", "shown"),
    [
        (MERGE_PATCH, {"spec": 1}, '"spec\\":1'),
        (JSON_PATCH, [{"op": "add", "path": "/spec", "value": 1}], '"spec\\":1'),
        (STRATEGIC_PATCH, {"spec": 1, "data": {"a": None}}, "map[data:map[a:<nil>] spec:1]"),
    ],
)
def test_a_strict_patch_shows_what_it_would_have_come_to(
    cluster: Cluster, content_type: str, patch: object, shown: str
) -> None:
    cluster.create("configmaps", config())

    with pytest.raises(Invalid) as caught:
        cluster.patch("configmaps", "a", patch, content_type, params={"fieldValidation": "Strict"})

    assert caught.value.status.message.endswith('strict decoding error: unknown field "spec"')
    assert shown in caught.value.status.message
    assert [cause.field for cause in caught.value.status.causes] == ["patch"]


def test_a_patch_with_unknown_fields_is_carried_out_without_them() -> None:
    cluster = serving(STRING)
    cluster.create("widgets", widget(spec={"f": "x"}))
    request = cluster.request("patch", "widgets", "w", body={"spec": {"g": 1}}, content_type=MERGE_PATCH)

    result = cluster.engine.handle(request)

    assert (result.document.data["spec"], result.warnings) == ({"f": "x"}, ('unknown field "spec.g"',))


@pytest.mark.parametrize(
    ("schema", "applied", "trouble"),
    [
        (fields(a=STRING), {"b": 1}, ".spec.f.b: field not declared in schema"),
        (INTEGER, "x", ".spec.f: expected numeric (int or float), got string"),
        (STRING, True, ".spec.f: expected string, got &value.valueUnstructured{Value:true}"),
        (
            STRING,
            {"a": 1},
            '.spec.f: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":1}}',
        ),
        (fields(a=STRING), "x", ".spec.f: expected map, got &{x}"),
        (LIST, {"a": [1]}, ".spec.f: expected list, got &{map[a:[1]]}"),
        (
            LIST,
            [{"y": 1}, "x"],
            "errors:\n  .spec.f[0].y: field not declared in schema\n  .spec.f[1]: expected map, got &{x}",
        ),
        ({"type": "boolean"}, "x", ".spec.f: expected boolean, got &{x}"),
    ],
)
def test_an_apply_must_fit_the_schema_whatever_the_field_validation(
    schema: JSONObject, applied: object, trouble: str
) -> None:
    cluster = serving(schema)

    with pytest.raises(InternalError) as caught:
        cluster.apply("widgets", widget(spec={"f": applied}), "me")

    prefix = "failed to create typed patch object (/w; example.com/v1, Kind=Widget): "
    assert caught.value.status.message == prefix + trouble


async def test_who_is_refused_is_told_too(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(definition(versions=[version(schema={"openAPIV3Schema": fields(f=INTEGER)})]))

    answer = await client.post("/apis/example.com/v1/namespaces/default/widgets", json=widget(f="text", g=1))

    assert answer.status_code == 422
    assert answer.headers["warning"] == '299 - "unknown field \\"g\\""'
