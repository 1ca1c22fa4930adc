"""Headers of responses, and unsupported methods."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import config, version


@pytest.mark.parametrize(
    "path", ["{configmaps}", "{configmaps}/a", "{configmaps}/none", "/version", "/nowhere", "/api"]
)
async def test_responses_must_not_be_cached(cluster: Cluster, path: str) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.http.get(path.format(configmaps=cluster.path("configmaps")))

    assert response.headers["cache-control"] == "no-cache, private"


@pytest.mark.since("1.25", "responses had no Audit-ID")
async def test_a_response_has_the_audit_id_of_its_request(cluster: Cluster) -> None:
    first, second = await cluster.http.get("/version"), await cluster.http.get("/nowhere")
    named = await cluster.http.get("/version", headers={"Audit-ID": "mine"})

    assert len({first.headers["audit-id"], second.headers["audit-id"]}) == 2
    assert named.headers["audit-id"] == "mine"


async def test_small_responses_have_a_content_length(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.http.get(cluster.path("configmaps", "a"))

    assert int(response.headers["content-length"]) == len(response.content)


async def test_a_watch_has_no_content_length_and_is_json(cluster: Cluster) -> None:
    params = {"watch": "1", "timeoutSeconds": "1"}

    response = await cluster.http.get(cluster.path("configmaps"), params=params)

    assert "content-length" not in response.headers
    assert response.headers["content-type"] == "application/json"


async def test_head_of_a_custom_resource_has_no_body(cluster: Cluster) -> None:
    await cluster.create_crd()

    listed = await cluster.http.head(cluster.path("widgets"))
    missing = await cluster.http.head(cluster.path("widgets", "none"))

    assert (listed.status_code, listed.content) == (200, b"")
    assert (missing.status_code, missing.content) == (404, b"")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "FOO", "PUT", "PATCH"])
async def test_other_methods_on_a_built_in_collection_are_a_405(cluster: Cluster, method: str) -> None:
    response = await cluster.call(method, cluster.path("configmaps"), headers={"Accept": "application/json"})

    assert response.code == 405
    if method != "HEAD":
        assert response.body["reason"] == "MethodNotAllowed"
        assert response.body["message"] == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "FOO", "POST"])
async def test_other_methods_on_a_built_in_object_are_a_405(cluster: Cluster, method: str) -> None:
    await cluster.create("configmaps", config())

    assert (await cluster.call(method, cluster.path("configmaps", "a"))).code == 405


@pytest.mark.parametrize("method", ["OPTIONS", "FOO"])
@pytest.mark.parametrize("name", ["", "w"])
async def test_other_methods_on_a_custom_resource_are_a_405_with_another_message(
    cluster: Cluster, method: str, name: str
) -> None:
    await cluster.create_crd()

    response = await cluster.call(method, cluster.path("widgets", name))

    assert (response.code, response.body["reason"]) == (405, "MethodNotAllowed")
    assert response.body["message"] == f' is not supported on resources of kind "widgets.{cluster.group}"'


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_writing_to_a_collection_of_custom_resources_without_a_name_is_a_400(
    cluster: Cluster, method: str
) -> None:
    await cluster.create_crd()
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"

    response = await cluster.call(method, cluster.path("widgets"), body=cluster.widget(), content_type=content_type)

    assert (response.code, response.body["message"]) == (400, "name must be provided")


async def test_a_post_to_the_path_of_a_custom_resource_creates_the_object_of_the_body(cluster: Cluster) -> None:
    await cluster.create_crd()

    created = await cluster.request("POST", cluster.path("widgets", "elsewhere"), body=cluster.widget("here"))

    assert created["metadata"]["name"] == "here"


async def test_each_response_of_a_deprecated_version_has_a_warning(cluster: Cluster) -> None:
    old = version(deprecated=True, deprecationWarning="use v2, it is better")
    await cluster.create_crd(cluster.crd(versions=[old]))

    responses = [
        await cluster.call("GET", cluster.path("widgets")),
        await cluster.call("GET", cluster.path("widgets", "none")),
        await cluster.call("POST", cluster.path("widgets"), body=cluster.widget()),
    ]

    assert {response.headers["warning"] for response in responses} == {'299 - "use v2, it is better"'}


@pytest.mark.since("1.33", "Endpoints were not deprecated yet")
async def test_responses_of_a_deprecated_built_in_kind_have_a_warning(cluster: Cluster) -> None:
    response = await cluster.call("GET", cluster.path("endpoints"))

    warning = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    assert response.headers["warning"] == warning
    assert "warning" not in (await cluster.call("GET", cluster.path("configmaps"))).headers
