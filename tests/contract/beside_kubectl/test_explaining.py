"""``explain`` has the fields, types and texts that ``kubectl explain`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
import trio

from dynkube import Client
from dynkube.errors import InvalidInput
from dynkube.inspection import SchemaField
from tests.contract.beside_kubectl.conftest import CRD, Kubectl
from tests.contract.cluster import Cluster
from tests.contract.objects import version

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(240),
    pytest.mark.since("1.24", "OpenAPI v3 came with 1.24; kubectl explains older servers by OpenAPI v2"),
]

FIELD = re.compile(r"^( +)(\S+)\t<(\S+)>( -required-)?$", re.MULTILINE)
SCHEMA = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What is wanted.",
            "required": ["colour"],
            "properties": {
                "colour": {"type": "string", "description": "The colour.", "enum": ["green", "", "blue"]},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


def flat(fields: Sequence[SchemaField], depth: int = 1) -> Iterator[tuple[int, str, str, bool]]:
    """Yield the fields as kubectl prints them, depth-first."""
    for field in fields:
        yield depth, field.name, field.type, field.required
        yield from flat(field.fields, depth + 1)


def printed(text: str) -> list[tuple[int, str, str, bool]]:
    found = FIELD.findall(text)
    return [(len(indent) // 2, name, kind, bool(required)) for indent, name, kind, required in found]


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize(
    "what",
    [
        *("deploy", "deployments.spec", "pods.spec.containers", "pods.spec.volumes", "service.spec.ports.targetPort"),
        *(
            "cm.data",
            "sts.metadata.labels",
            "networkpolicies.networking.k8s.io.spec.ingress",
            "crd.spec.versions.schema",
        ),
    ],
)
async def test_fields_of_built_in_kinds_are_those_of_kubectl(
    client: Client, kubectl: Kubectl, what: str, recursive: bool
) -> None:
    ours = await client.explain(what, recursive=recursive)

    theirs = await kubectl.run("explain", what, *(["--recursive"] if recursive else []))
    assert list(flat(ours.fields)) == printed(theirs)
    if ours.path:
        assert f"FIELD: {ours.path[-1]} <{ours.type}>" in theirs
    described = theirs.partition("DESCRIPTION:\n")[2].partition("FIELDS:\n")[0]
    assert words(ours.description or "<empty>") == words(described)


async def published(client: Client, group: str) -> None:
    """Wait for the schemas of ``group``, which kubectl requires: a server publishes them later than the resources."""
    with trio.fail_after(60):
        while f'"apis/{group}/v1"' not in (await client.raw("GET", "/openapi/v3")).body.decode():  # noqa: ASYNC110  # no event
            await trio.sleep(0.2)


@pytest.fixture
async def widgets(cluster: Cluster, client: Client) -> str:
    await cluster.create_crd(cluster.crd(versions=[version(schema={"openAPIV3Schema": SCHEMA})]))
    await published(client, cluster.group)
    return f"widgets.{cluster.group}"


@pytest.mark.parametrize("path", ["", ".spec", ".spec.parts", ".spec.tags", ".spec.colour"])
async def test_fields_of_custom_kinds_are_those_of_kubectl(
    client: Client, kubectl: Kubectl, widgets: str, path: str
) -> None:
    ours = await client.explain(widgets + path)
    theirs = await kubectl.run("explain", widgets + path)

    assert list(flat(ours.fields)) == printed(theirs)
    for field in ours.fields:
        assert field.description in " ".join(theirs.split())


async def test_a_field_that_does_not_exist_is_an_error_with_similar_ones(
    client: Client, kubectl: Kubectl, widgets: str
) -> None:
    await kubectl.run("explain", f"{widgets}.spec.color", code=1)
    with pytest.raises(InvalidInput, match=r"Widget\.spec has no field 'color': did you mean colour\?"):
        await client.explain(f"{widgets}.spec.color")


@pytest.mark.skipif(not CRD.exists(), reason="the CRDs of the Gateway API are not there")
@pytest.mark.usefixtures("routes")
async def test_fields_of_the_gateway_api_are_those_of_kubectl(client: Client, kubectl: Kubectl) -> None:
    await published(client, "gateway.networking.k8s.io")
    ours = await client.explain("httproutes.spec", recursive=True)

    theirs = await kubectl.run("explain", "httproutes.spec", "--recursive")
    assert list(flat(ours.fields)) == printed(theirs)
    assert len(printed(theirs)) > 100
