"""Repeated fields in a body (``fieldValidation``)."""

from __future__ import annotations

import json

import pytest

from tests.contract.cluster import Cluster, Response
from tests.contract.objects import CRDS, config

pytestmark = pytest.mark.since("1.25", "there were no warnings")

JSON = '{"metadata":{"name":"a","name":"a"},"data":{"k":"v","k":"w","l":"\\":"}}'
YAML = "metadata:\n  name: a\ndata:\n  k: v\n  k: w\n  l: b\n  l: c\n"
YAML_TROUBLE = """yaml: unmarshal errors:
  line 5: key "k" already set in map
  line 7: key "l" already set in map"""


async def send(cluster: Cluster, method: str, path: str, body: str, kind: str, mode: str) -> Response:
    params = {"fieldValidation": mode, "fieldManager": "me"}
    return await cluster.call(method, path, params=params, body=body, content_type=kind)


async def test_the_last_field_wins_and_each_repetition_causes_a_warning(cluster: Cluster) -> None:
    response = await send(cluster, "POST", cluster.path("configmaps"), JSON, "application/json", "Warn")

    assert response.body["data"] == {"k": "w", "l": '":'}
    assert response.warnings == ['duplicate field "metadata.name"', 'duplicate field "data.k"']


async def test_warnings_about_yaml_have_line_numbers(cluster: Cluster) -> None:
    response = await send(cluster, "POST", cluster.path("configmaps"), YAML, "application/yaml", "Warn")

    assert response.body["data"] == {"k": "w", "l": "c"}
    assert response.warnings == ['line 5: key "k" already set in map', 'line 7: key "l" already set in map']


async def test_with_ignore_there_are_no_warnings(cluster: Cluster) -> None:
    response = await send(cluster, "POST", cluster.path("configmaps"), JSON, "application/json", "Ignore")

    assert (response.code, response.warnings) == (201, [])


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            "application/json",
            JSON,
            'strict decoding error: duplicate field "metadata.name", duplicate field "data.k"',
        ),
        (
            "application/yaml",
            YAML,
            f"strict decoding error: {YAML_TROUBLE}",
        ),
    ],
)
async def test_repeated_fields_are_an_error_with_strict_validation(
    cluster: Cluster, kind: str, body: str, message: str
) -> None:
    response = await send(cluster, "POST", cluster.path("configmaps"), body, kind, "Strict")

    assert response.code == 400
    assert response.body["message"] == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {message}'


@pytest.mark.parametrize(
    ("kind", "body", "warnings"),
    [
        ("merge-patch+json", '{"data":{"k":"a","k":"b"}}', ['duplicate field "data.k"']),
        (
            "json-patch+json",
            '[{"op":"add","op":"add","path":"/data/k","value":"b"}]',
            ['json patch duplicate field "[0].op"'],
        ),
        (
            "apply-patch+yaml",
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"a","x":"b"}}',
            ['line 1: key "x" already set in map'],
        ),
    ],
)
async def test_repeated_fields_in_patches_cause_warnings(
    cluster: Cluster, kind: str, body: str, warnings: list[str]
) -> None:
    await cluster.create("configmaps", config())

    response = await send(cluster, "PATCH", cluster.path("configmaps", "a"), body, f"application/{kind}", "Warn")

    assert response.code == 200
    assert response.warnings == warnings


async def test_a_strict_apply_has_a_different_message(cluster: Cluster) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: a\n  x: b\n"

    response = await send(
        cluster, "PATCH", cluster.path("configmaps", "a"), body, "application/apply-patch+yaml", "Strict"
    )

    text = 'yaml: unmarshal errors:\n  line 6: key "x" already set in map'
    assert response.body["message"] == f"error strict decoding YAML: error converting YAML to JSON: {text}"


async def test_a_repeated_field_of_a_crd_causes_a_warning(cluster: Cluster) -> None:
    body = json.dumps(cluster.crd(), separators=(",", ":"))
    body = body.replace('"scope":"Namespaced"', '"scope":"Cluster","scope":"Namespaced"')

    response = await send(cluster, "POST", cluster.path(CRDS), body, "application/json", "Warn")

    assert (response.code, response.warnings) == (201, ['duplicate field "spec.scope"'])
