"""Errors for unknown paths, unsupported methods and too large bodies."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster

STATUS = "the server could not find the requested resource"
PAGE = "404 page not found\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/unicorns", STATUS),
        ("/api/v2/pods", STATUS),
        ("/apis/apps/v1/unicorns", STATUS),
        ("/apis/apps/v9/deployments", STATUS),
        ("/apis/example.com/v1/things", PAGE),
        ("/apis/{group}/v1/gadgets", PAGE),
        ("/apis/{group}/v9/widgets", PAGE),
        ("/api/v1/pods/b", STATUS),  # a pod has a namespace
        ("/api/v1/namespaces/a/nodes", STATUS),  # a node has none
        ("/apis/{group}/v1/widgets/w", PAGE),
        ("/api/v1/namespaces/a/pods/b/nonsense", STATUS),
        ("/api/v1/Pods", STATUS),
        ("/apis/none", PAGE),
        ("/apis/none/v1", PAGE),
        ("/apis/apps/v9", STATUS),
        ("/api/v2", STATUS),
    ],
)
async def test_an_unknown_path_of_an_api_is_a_404(cluster: Cluster, path: str, message: str) -> None:
    await cluster.create_crd()

    response = await cluster.call("GET", path.format(group=cluster.group))

    assert response.code == 404
    if message == PAGE:
        assert (response.body, response.headers["content-type"]) == (PAGE, "text/plain; charset=utf-8")
    else:
        assert (response.body["kind"], response.body["message"], response.body["reason"]) == (
            "Status",
            message,
            "NotFound",
        )
        assert response.body["metadata"] == {}


@pytest.mark.parametrize("path", ["/nowhere", "/favicon.ico"])
async def test_an_unknown_path_outside_of_the_apis_is_a_404(cluster: Cluster, path: str) -> None:
    response = await cluster.call("GET", path)

    assert response.code == 404
    if cluster.version > (1, 20):
        assert (response.body, response.headers["content-type"]) == (PAGE, "text/plain; charset=utf-8")
    else:
        assert "/healthz" in response.body["paths"], "old servers list all paths"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/pods"),
        ("PUT", "/api/v1/namespaces/{namespace}/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces/{namespace}/pods/b/status"),
        ("POST", "/api/v1/namespaces/{namespace}/status"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("GET", "/api/v1/namespaces/{namespace}/bindings"),
        ("DELETE", "/api/v1/namespaces"),
    ],
)
async def test_an_unsupported_method_is_a_405(cluster: Cluster, method: str, path: str) -> None:
    response = await cluster.call(method, path.format(namespace=cluster.namespace))

    assert (response.code, response.body["reason"]) == (405, "MethodNotAllowed")
    assert response.body["message"] == "the server does not allow this method on the requested resource"


async def test_an_unknown_path_is_a_403_without_permission(cluster: Cluster) -> None:
    unprivileged = cluster.acting_as("nobody")

    for path in ("/api/v1/unicorns", "/apis/none/v1/things", "/nowhere"):
        response = await unprivileged.call("GET", path)
        assert (response.code, response.body["reason"]) == (403, "Forbidden")


async def test_a_body_over_three_megabytes_is_a_413(cluster: Cluster) -> None:
    limit = 3 * 1024 * 1024

    response = await cluster.call("POST", cluster.path("configmaps"), body=" " * (limit + 1))

    assert (response.code, response.body["reason"]) == (413, "RequestEntityTooLarge")
    assert response.body["message"] == f"Request entity too large: limit is {limit}"
