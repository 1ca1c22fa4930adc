"""Unknown fields: ignored, dropped with a warning, or an error, depending on ``fieldValidation``."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError, BadRequest, Invalid
from tests.contract.cluster import APPLY, JSON, MERGE, STRATEGIC, Cluster
from tests.contract.objects import JSONObject, config, pod
from tests.contract.schemas.kit import ANYTHING, INTEGER, STRING, Fields, fields, serve

WARNED = pytest.mark.since("1.25", "there were no warnings")
LIST = {"type": "array", "items": fields(x=STRING)}
EMBEDDED = {**fields(spec=fields(a=INTEGER)), "x-kubernetes-embedded-resource": True}
# A schema, the value written, the value kept, and the unknown fields in warnings.
PRUNED: list[tuple[JSONObject, Any, Any, list[str]]] = [
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
]
# A schema, the value applied, and the error.
APPLIED: list[tuple[JSONObject, Any, str]] = [
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
]
SCHEMAS = [case[0] for case in [*PRUNED, *APPLIED]]


@pytest.mark.parametrize(("schema", "written", "expected", "unknown"), PRUNED)
async def test_each_unknown_field_is_dropped_with_a_warning(
    widgets: Fields, schema: JSONObject, written: object, expected: object, unknown: list[str]
) -> None:
    response = await widgets.response(schema, written)

    assert next(iter(response.body["spec"].values())) == expected
    warnings = [text.replace(next(iter(response.body["spec"])), "f") for text in response.warnings]
    assert warnings == ([f'unknown field "{path}"' for path in unknown] if widgets.cluster.version >= (1, 25) else [])


async def test_unknown_fields_at_the_top_and_in_metadata_cause_warnings(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    body = cluster.widget(more=1, spec={"f": "x", "g": 1})
    body["metadata"] |= {"zork": 1, "none": None, "uid": None}

    response = await cluster.call("POST", cluster.path("widgets"), body=body)

    assert "more" not in response.body
    assert not response.body["metadata"].keys() & {"zork", "none"}
    unknown = ["metadata.none", "metadata.zork", "more", "spec.g"]
    warnings = [f'unknown field "{path}"' for path in unknown]
    assert response.warnings == (warnings if cluster.version >= (1, 25) else [])


@WARNED
async def test_with_ignore_there_are_no_warnings(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    body, params = cluster.widget(spec={"g": 1}), {"fieldValidation": "Ignore"}

    response = await cluster.call("POST", cluster.path("widgets"), body=body, params=params)

    assert (response.code, response.body["spec"], response.warnings) == (201, {}, [])


@WARNED
async def test_strict_validation_reports_all_unknown_fields_in_one_error(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    body = cluster.widget(spec={"g": 1}, more=1)

    with pytest.raises(BadRequest) as caught:
        await cluster.create("widgets", body, params={"fieldValidation": "Strict"})

    assert caught.value.status.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "more", '
        'unknown field "spec.g"'
    )


@WARNED
async def test_unknown_fields_of_built_in_kinds_cause_warnings(cluster: Cluster) -> None:
    body = pod(containers=[{"name": "c", "image": "i", "fooo": 1}])
    body["metadata"]["zork"] = 1

    response = await cluster.call("POST", cluster.path("pods"), body=body, params={"dryRun": "All"})

    assert response.warnings == ['unknown field "metadata.zork"', 'unknown field "spec.containers[0].fooo"']
    assert "fooo" not in response.body["spec"]["containers"][0]


@WARNED
@pytest.mark.parametrize(
    ("content_type", "patch", "shown"),
    [
        (MERGE, {"spec": 1}, '"spec\\":1'),
        (JSON, [{"op": "add", "path": "/spec", "value": 1}], '"spec\\":1'),
        (STRATEGIC, {"spec": 1, "data": {"a": None}}, "map[data:map[a:<nil>] spec:1]"),
    ],
)
async def test_the_error_of_a_strict_patch_has_the_patched_object(
    cluster: Cluster, content_type: str, patch: object, shown: str
) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(Invalid) as caught:
        await cluster.patch("configmaps", "a", patch, content_type, params={"fieldValidation": "Strict"})

    assert caught.value.status.message.endswith('strict decoding error: unknown field "spec"')
    assert shown in caught.value.status.message
    assert [cause.field for cause in caught.value.causes] == ["patch"]


async def test_unknown_fields_of_a_patch_are_dropped_with_a_warning(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    await cluster.create("widgets", cluster.widget(spec={"f": "x"}))

    response = await cluster.call("PATCH", cluster.path("widgets", "w"), body={"spec": {"g": 1}}, content_type=MERGE)

    assert response.body["spec"] == {"f": "x"}
    assert response.warnings == (['unknown field "spec.g"'] if cluster.version >= (1, 25) else [])


@pytest.mark.parametrize(("schema", "applied", "expected"), APPLIED)
async def test_an_apply_that_violates_the_schema_is_an_error(
    widgets: Fields, schema: JSONObject, applied: object, expected: str
) -> None:
    cluster, body = widgets.cluster, widgets.widget(schema, applied)

    with pytest.raises(APIError) as caught:
        await cluster.apply("widgets", body, "me")

    message = (caught.value.status.message or "").replace(next(iter(body["spec"])), "f")
    subject = f"(/w; {cluster.group}/v1, Kind=Widget)"
    if cluster.version >= (1, 25):
        assert caught.value.status.code == 500
        assert message == f"failed to create typed patch object {subject}: {expected}"
    else:
        assert message.startswith(f"failed to create typed patch object: {expected.partition(' ')[0]}")


@WARNED
async def test_an_invalid_object_causes_warnings_too(cluster: Cluster) -> None:
    await serve(cluster, INTEGER)

    body = cluster.widget(spec={"f": "text", "g": 1})
    response = await cluster.call("POST", cluster.path("widgets"), body=body)

    assert response.code == 422
    assert response.warnings == ['unknown field "spec.g"']


async def test_an_apply_reports_all_type_errors_up_to_an_undeclared_field(cluster: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1, "b": [2]}, "extra": 1}

    response = await cluster.call(
        "PATCH", cluster.path("configmaps", "x"), body=body, content_type=APPLY, params={"fieldManager": "test"}
    )

    lines = [line.strip() for line in response.body["message"].splitlines()]
    undeclared = ".extra: field not declared in schema"
    # A real server visits the fields in random order, and stops at the one that is not declared.
    assert (response.code, lines[-1].endswith(undeclared)) == (500, True)
    assert sorted(lines[1:-1]) in (
        [],
        [
            ".data.a: expected string, got &value.valueUnstructured{Value:1}",
            ".data.b: expected string, got &value.valueUnstructured{Value:[]interface {}{2}}",
        ],
    )
