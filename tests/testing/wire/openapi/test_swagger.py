"""OpenAPI v2: one document for all kinds, as JSON and as protobuf, which client-go requests."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import httpx2
import pytest

from dynkube_testing import APIServer
from tests.testing.wire.openapi.widgets import CRD

ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
GIVEN = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


async def _document(client: httpx2.AsyncClient) -> Any:
    return (await client.get("/openapi/v2")).json()


def _keywords(schema: Any) -> set[str]:
    parts = [*schema.get("properties", {}).values()]
    parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return set(schema).union(*map(_keywords, parts))


async def test_every_reference_can_be_resolved(client: httpx2.AsyncClient) -> None:
    text = (await client.get("/openapi/v2")).text
    document = await _document(client)

    assert set(re.findall('"#/definitions/([^"]+)"', text)) <= document["definitions"].keys()
    assert set(re.findall('"#/parameters/([^"]+)"', text)) <= document["parameters"].keys()
    assert '$ref":"#/components' not in text


async def test_definitions_have_only_keywords_of_version_2(client: httpx2.AsyncClient) -> None:
    document = await _document(client)

    used = set().union(*map(_keywords, document["definitions"].values()))
    assert {"type", "$ref", "properties", "x-kubernetes-patch-merge-key"} <= used
    assert not used & {"default", "nullable", "allOf", "anyOf", "oneOf"}
    assert document["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {
        "type": "string",
        "format": "int-or-string",
    }


async def test_patches_have_their_kind_and_the_parameter_that_kubectl_looks_for(client: httpx2.AsyncClient) -> None:
    document = await _document(client)

    item = document["paths"]["/api/v1/namespaces/{name}"]
    assert {"$ref": "#/parameters/fieldValidation"} in item["patch"]["parameters"]
    assert item["patch"]["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Namespace"}
    assert item["patch"]["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"},
    }
    assert item["parameters"][0]["in"] == "path"


async def test_definitions_and_paths_of_custom_resources_come_and_go(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    before = await _document(client)
    server.create(deepcopy(CRD))
    with_widgets = await _document(client)
    server.delete("crd", "widgets.acme.example")
    after = await _document(client)

    assert with_widgets["definitions"].keys() - before["definitions"].keys() == {
        "example.acme.v1.Widget",
        "example.acme.v1.WidgetList",
    }
    assert "/apis/acme.example/v1/widgets" in with_widgets["paths"]
    assert after == before


async def test_the_document_is_revalidated_by_its_etag(server: APIServer, client: httpx2.AsyncClient) -> None:
    first = await client.get("/openapi/v2")
    tag = {"If-None-Match": first.headers["etag"]}
    again = await client.get("/openapi/v2", headers=tag)
    server.create(deepcopy(CRD))
    changed = await client.get("/openapi/v2", headers=tag)

    assert (again.status_code, again.content) == (304, b"")
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (ASKED, GIVEN),
        (GIVEN, GIVEN),
        (f"application/json;q=0.5, {ASKED}", GIVEN),
    ],
)
async def test_the_media_type_is_the_one_that_the_client_prefers(
    client: httpx2.AsyncClient, accept: str, content_type: str
) -> None:
    response = await client.get("/openapi/v2", headers={"Accept": accept})

    assert (response.status_code, response.headers["content-type"]) == (200, content_type)


async def test_other_media_types_are_a_406(client: httpx2.AsyncClient) -> None:
    response = await client.get("/openapi/v2", headers={"Accept": "application/yaml"})

    assert (response.status_code, response.content) == (406, b"")


async def test_json_and_protobuf_have_the_same_names(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(deepcopy(CRD))

    document = await _document(client)
    encoded = (await client.get("/openapi/v2", headers={"Accept": ASKED})).content

    for name in (*document["definitions"], *document["paths"], *document["parameters"]):
        assert b"\x0a" + bytes([len(name)]) + name.encode() in encoded or len(name) > 127
