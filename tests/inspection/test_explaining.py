"""Explanations: how they look, older servers, schemas that contain themselves, and bad input."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dynkube import GVK, Client
from dynkube.errors import InvalidInput, NoMatch, ProtocolError
from dynkube.inspection._schemas import Schemas
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import crd


def described() -> dict[str, Any]:
    """A CRD with a schema."""
    definition = crd()
    colour = {"type": "string", "description": "The colour.", "enum": ["green", ""]}
    spec = {"type": "object", "required": ["colour"], "properties": {"colour": colour, "size": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return definition


async def test_an_explanation_prints_a_table(client: Client, server: APIServer) -> None:
    server.create(described())

    text = str(await client.explain("widgets.spec"))

    assert text.splitlines() == [
        "no description",
        "FIELD   TYPE               DESCRIPTION",
        'colour  string   required  The colour. (one of green, "")',
        "size    integer",
    ]


async def test_a_recursive_explanation_prints_a_tree(client: Client, server: APIServer) -> None:
    server.create(described())

    text = str(await client.explain("widgets", recursive=True))

    assert [line.split()[:3] for line in text.splitlines()[-3:]] == [
        ["└─", "spec", "Object"],
        ["├─", "colour", "string"],
        ["└─", "size", "integer"],
    ]


async def test_a_server_without_openapi_v3_explains_custom_resources_by_their_crd(
    client: Client, server: APIServer
) -> None:
    server.create(described())
    server.fail(path_prefix="/openapi/v3", status=404)

    found = await client.explain("widgets.example.com.spec.colour")
    assert (found.type, found.description, found.enum) == ("string", "The colour.", ("green", ""))
    with pytest.raises(NoMatch, match=r"deployments\.v1\.apps cannot be explained: .* before Kubernetes 1\.24"):
        await client.explain("deploy")


async def test_a_version_may_be_chosen(client: Client) -> None:
    assert (await client.explain("hpa.spec", api_version="autoscaling/v1")).resource.gvr.version == "v1"
    assert (await client.explain("hpa.spec")).resource.gvr.version == "v2"
    assert (await client.explain("cm", api_version="v1")).type == "ConfigMap"


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("deploy.spec.templat", InvalidInput, r"Deployment\.spec has no field 'templat': did you mean template"),
        ("deploy.spec.replicas.x", InvalidInput, r"Deployment\.spec\.replicas has no field 'x': it has no fields"),
        ("deploy..spec", InvalidInput, r"cannot explain 'deploy\.\.spec': pass a resource and fields"),
        ("", InvalidInput, "cannot explain ''"),
        ("nothing.spec", NoMatch, "nothing"),
    ],
)
async def test_what_does_not_exist_is_an_error(client: Client, what: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        await client.explain(what)


async def test_a_document_that_is_none_is_an_error(client: Client, server: APIServer) -> None:
    server.inject(Refuse(200, body=b"[]", content_type="application/json"), path_prefix="/openapi/v3/apis/apps/v1")

    with pytest.raises(ProtocolError, match="/openapi/v3/apis/apps/v1"):
        await client.explain("deploy")


async def test_a_group_may_be_given(client: Client, server: APIServer) -> None:
    for group in ("a.example.com", "b.example.com"):
        server.create(crd(group=group))

    for what in ("widgets.b.example.com", "widgets.v1.b.example.com.metadata.name", "widget.b.example.com.kind"):
        assert (await client.explain(what)).resource.gvr.group == "b.example.com"


def test_a_schema_that_contains_itself_ends() -> None:
    reference = {"$ref": "#/components/schemas/io.example.Node"}
    node = {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Node"}],
        "properties": {"left": reference, "more": {"type": "array", "items": {"allOf": [reference]}}},
    }
    schemas = Schemas({"io.example.Node": msgspec.Raw(msgspec.json.encode(node))})

    root = schemas.of_kind(GVK("example.com", "v1", "Node"))

    assert root is not None
    fields = schemas.fields(root, recursive=True)
    assert [(each.name, each.type) for each in fields] == [("left", "Node"), ("more", "[]Node")]
    assert schemas.follow(root, "right") is None
