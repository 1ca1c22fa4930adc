"""Fields that are there twice in the text of a body."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.testing.engine.cluster import definition

JSON = '{"metadata":{"name":"a","name":"a"},"data":{"k":"v","k":"w","l":"\\":"}}'
YAML = "metadata:\n  name: a\ndata:\n  k: v\n  k: w\n  l: b\n  l: c\n"
YAML_TROUBLE = """yaml: unmarshal errors:
  line 5: key "k" already set in map
  line 7: key "l" already set in map"""
PATH = "/api/v1/namespaces/default/configmaps"


async def send(client: httpx2.AsyncClient, method: str, path: str, body: str, kind: str, mode: str) -> httpx2.Response:
    params = {"fieldValidation": mode, "fieldManager": "me"}
    return await client.request(method, path, params=params, content=body, headers={"Content-Type": kind})


def warnings(response: httpx2.Response) -> list[str]:
    texts = response.headers.get_list("warning")
    return [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for text in texts]


async def test_the_last_one_counts_and_each_is_told(client: httpx2.AsyncClient) -> None:
    response = await send(client, "POST", PATH, JSON, "application/json", "Warn")

    assert response.json()["data"] == {"k": "w", "l": '":'}
    assert warnings(response) == ['duplicate field "metadata.name"', 'duplicate field "data.k"']


async def test_yaml_is_told_by_lines(client: httpx2.AsyncClient) -> None:
    response = await send(client, "POST", PATH, YAML, "application/yaml", "Warn")

    assert response.json()["data"] == {"k": "w", "l": "c"}
    assert warnings(response) == ['line 5: key "k" already set in map', 'line 7: key "l" already set in map']


async def test_nothing_is_told_where_it_is_to_be_ignored(client: httpx2.AsyncClient) -> None:
    response = await send(client, "POST", PATH, JSON, "application/json", "Ignore")

    assert (response.status_code, warnings(response)) == (201, [])


@pytest.mark.parametrize(
    ("kind", "body", "words"),
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
async def test_strict_validation_refuses_them(client: httpx2.AsyncClient, kind: str, body: str, words: str) -> None:
    response = await send(client, "POST", PATH, body, kind, "Strict")

    assert response.status_code == 400
    assert response.json()["message"] == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {words}'


@pytest.mark.parametrize(
    ("kind", "body", "told"),
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
async def test_patches_are_read_so_too(client: httpx2.AsyncClient, kind: str, body: str, told: list[str]) -> None:
    await client.post(PATH, json={"metadata": {"name": "a"}, "data": {"k": "v"}})

    response = await send(client, "PATCH", f"{PATH}/a", body, f"application/{kind}", "Warn")

    assert response.status_code == 200
    assert warnings(response) == told


async def test_a_strict_apply_has_words_of_its_own(client: httpx2.AsyncClient) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: a\n  x: b\n"

    response = await send(client, "PATCH", f"{PATH}/a", body, "application/apply-patch+yaml", "Strict")

    text = 'yaml: unmarshal errors:\n  line 6: key "x" already set in map'
    assert response.json()["message"] == f"error strict decoding YAML: error converting YAML to JSON: {text}"


async def test_a_definition_with_a_field_twice_is_told_of(client: httpx2.AsyncClient) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body: Any = httpx2.Request("POST", path, json=definition()).content.decode()
    body = body.replace('"scope":"Namespaced"', '"scope":"Cluster","scope":"Namespaced"')

    response = await send(client, "POST", path, body, "application/json", "Warn")

    assert (response.status_code, warnings(response)) == (201, ['duplicate field "spec.scope"'])
