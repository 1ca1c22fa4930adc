"""The OpenAPI v3 document of a group version."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import httpx2
import pytest

from dynkube.meta import GVR
from dynkube_testing import APIServer
from dynkube_testing._kinds.kinds import Kind
from tests.testing.wire.openapi.widgets import CRD

DEPLOYMENTS = "/apis/apps/v1/namespaces/{namespace}/deployments"
WIDGETS = "/apis/acme.example/v1/namespaces/{namespace}/widgets"


async def _document(client: httpx2.AsyncClient, path: str) -> Any:
    return (await client.get(f"/openapi/v3/{path}")).json()


async def _widgets(server: APIServer, client: httpx2.AsyncClient) -> Any:
    server.create(deepcopy(CRD))
    return await _document(client, "apis/acme.example/v1")


def _names(parameters: list[dict[str, Any]]) -> list[str]:
    return [parameter["name"] for parameter in parameters]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/apis/apps/v1/", {"get": "getAppsV1APIResources"}),
        ("/apis/apps/v1/deployments", {"get": "listAppsV1DeploymentForAllNamespaces"}),
        (
            DEPLOYMENTS,
            {
                "get": "listAppsV1NamespacedDeployment",
                "post": "createAppsV1NamespacedDeployment",
                "delete": "deleteAppsV1CollectionNamespacedDeployment",
            },
        ),
        (
            DEPLOYMENTS + "/{name}/scale",
            {
                "get": "readAppsV1NamespacedDeploymentScale",
                "put": "replaceAppsV1NamespacedDeploymentScale",
                "patch": "patchAppsV1NamespacedDeploymentScale",
            },
        ),
    ],
)
async def test_operations_have_the_ids_of_kube_apiserver(
    client: httpx2.AsyncClient, path: str, methods: dict[str, str]
) -> None:
    document = await _document(client, "apis/apps/v1")

    item = document["paths"][path]
    assert {method: item[method]["operationId"] for method in item if method != "parameters"} == methods


@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/policy/v1"])
async def test_every_reference_can_be_resolved_in_the_document(client: httpx2.AsyncClient, path: str) -> None:
    text = (await client.get(f"/openapi/v3/{path}")).text
    document = await _document(client, path)

    assert set(re.findall('"#/components/schemas/([^"]+)"', text)) <= document["components"]["schemas"].keys()
    ids = [
        operation["operationId"]
        for item in document["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids))


async def test_a_built_in_kind_has_strategic_merge_patches_and_merge_keys(client: httpx2.AsyncClient) -> None:
    document = await _document(client, "apis/apps/v1")

    patch = document["paths"][DEPLOYMENTS + "/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    containers = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["x-kubernetes-patch-strategy"], containers["x-kubernetes-patch-merge-key"]) == ("merge", "name")


async def test_patches_have_the_field_validation_parameter(server: APIServer, client: httpx2.AsyncClient) -> None:
    document = await _widgets(server, client)

    item = document["paths"][WIDGETS + "/{name}"]
    assert _names(item["patch"]["parameters"]) == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert _names(item["parameters"]) == ["name", "namespace", "pretty"]
    assert list(item["patch"]["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]


async def test_a_crd_has_paths_and_a_schema(server: APIServer, client: httpx2.AsyncClient) -> None:
    document = await _widgets(server, client)

    collection = [path.removeprefix("/apis/acme.example/v1") for path in document["paths"]]
    below = "/namespaces/{namespace}/widgets"
    assert collection == [below, f"{below}/{{name}}", f"{below}/{{name}}/scale", f"{below}/{{name}}/status", "/widgets"]
    schema = document["components"]["schemas"]["example.acme.v1.Widget"]
    assert schema["description"] == "A widget turns."
    assert schema["properties"]["spec"]["properties"]["colour"] == {
        "type": "string",
        "description": "Of the case.",
        "default": "red",
    }


async def test_requests_and_responses_of_scale_have_the_schema_of_scale(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    document = await _widgets(server, client)

    put = document["paths"][WIDGETS + "/{name}/scale"]["put"]
    reference = {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}
    assert put["requestBody"]["content"]["application/json"]["schema"] == reference
    assert put["responses"]["200"]["content"]["application/json"]["schema"] == reference
    assert put["x-kubernetes-group-version-kind"]["kind"] == "Widget"


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "createCoreV1NamespacedPodEviction"),
        ("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", "createCoreV1NamespacedServiceAccountToken"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "connectCoreV1PostNamespacedPodExec"),
    ],
)
async def test_subresources_that_can_only_be_created_have_a_post_operation(
    client: httpx2.AsyncClient, path: str, operation: str
) -> None:
    document = await _document(client, "api/v1")

    assert document["paths"][path]["post"]["operationId"] == operation


async def test_a_registered_kind_without_a_schema_has_no_properties(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.register(Kind(gvr=GVR("metrics.k8s.io", "v1beta1", "nodes"), kind="NodeMetrics", namespaced=False))

    document = await _document(client, "apis/metrics.k8s.io/v1beta1")

    schema = document["components"]["schemas"]["io.k8s.metrics.v1beta1.NodeMetrics"]
    assert schema["type"] == "object"
    assert "properties" not in schema
