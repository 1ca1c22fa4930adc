"""The Accept header selects the form and the media type of a response."""

from __future__ import annotations

import httpx2
import pytest

from tests.contract.cluster import TABLE, Cluster
from tests.contract.objects import config

JSON, YAML = "application/json", "application/yaml"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
# Real servers list further types; the embedded one does not write protobuf.
ACCEPTED = "application/json, application/yaml"


async def get_as(cluster: Cluster, accept: str | None, resource: str = "configmaps", **params: str) -> httpx2.Response:
    headers = {} if accept is None else {"Accept": accept}
    name = "a" if resource == "configmaps" else "w"
    return await cluster.http.get(cluster.path(resource, name), params=params, headers=headers)


@pytest.fixture
async def one(cluster: Cluster) -> Cluster:
    await cluster.create("configmaps", config())
    return cluster


@pytest.mark.parametrize(
    ("accept", "content_type", "kind"),
    [
        ("", JSON, "ConfigMap"),
        ("*/*", JSON, "ConfigMap"),
        ("application/json", JSON, "ConfigMap"),
        ("application/json; charset=utf-8", JSON, "ConfigMap"),
        ("application/json;stream=watch", JSON, "ConfigMap"),
        ("application/json;q=0", JSON, "ConfigMap"),
        ("application/json;as=", JSON, "ConfigMap"),
        ("application/yaml", YAML, "ConfigMap"),
        ("application/json;q=0.5, application/yaml", YAML, "ConfigMap"),
        ("*/*, application/yaml", YAML, "ConfigMap"),
        ("application/yaml;q=0.1, */*", JSON, "ConfigMap"),
        ("text/html, */*;q=0.1", JSON, "ConfigMap"),
        (f"{TABLE},application/json", JSON, "Table"),
        (f"application/json,{TABLE}", JSON, "ConfigMap"),
        (f"{TABLE};q=0.5,application/yaml", YAML, "ConfigMap"),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", YAML, "Table"),
        ("*/*;as=Table;v=v1beta1;g=meta.k8s.io", JSON, "Table"),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", JSON, "ConfigMap"),
        (f"{METADATA},application/json", JSON, "PartialObjectMetadata"),
    ],
)
async def test_the_first_supported_form_is_chosen(one: Cluster, accept: str, content_type: str, kind: str) -> None:
    response = await get_as(one, accept)

    assert (response.status_code, response.headers["content-type"]) == (200, content_type)
    assert response.json()["kind"] == kind if content_type == JSON else f"kind: {kind}\n" in response.text


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Foo;v=v1;g=meta.k8s.io",
        "application/json;as=Table",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;stream=foo",
    ],
)
async def test_an_unknown_form_is_a_406(one: Cluster, accept: str) -> None:
    response = await get_as(one, accept)

    assert (response.status_code, response.headers["content-type"]) == (406, JSON)
    assert response.json()["reason"] == "NotAcceptable"
    assert response.json()["message"].startswith(f"only the following media types are accepted: {ACCEPTED}")


@pytest.mark.parametrize("accept", ["text/html", "application/*", "APPLICATION/JSON", "application/cbor"])
async def test_built_in_resources_require_an_exact_media_type(one: Cluster, accept: str) -> None:
    response = await get_as(one, accept)

    available = f"\n\nAvailable representations: {ACCEPTED}" if one.version >= (1, 22) else ""
    assert response.status_code == 406
    assert response.json()["message"].startswith(f"406: Not Acceptable{available}")


async def test_custom_resources_support_wildcards(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    found = await get_as(cluster, "application/*", "widgets")
    response = await get_as(cluster, "text/html", "widgets")

    assert (found.status_code, found.headers["content-type"]) == (200, JSON)
    assert response.json()["message"].startswith(f"only the following media types are accepted: {ACCEPTED}")


async def test_custom_resources_are_never_protobuf(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    alone, or_json = await get_as(cluster, PROTOBUF, "widgets"), await get_as(cluster, f"{PROTOBUF},{JSON}", "widgets")

    assert alone.status_code == 406
    assert (or_json.status_code, or_json.headers["content-type"]) == (200, JSON)


async def test_a_watch_as_yaml_is_a_406(cluster: Cluster) -> None:
    await cluster.create_crd()
    params = {"watch": "1", "timeoutSeconds": "1"}
    response = await cluster.http.get(cluster.path("widgets"), params=params, headers={"Accept": YAML})

    assert response.status_code == 406
    assert "only the following media types are accepted: application/json;stream=watch" in response.text


@pytest.mark.parametrize(
    ("accept", "params", "agent", "indented"),
    [
        (JSON, {}, "me", False),
        (JSON, {"pretty": "true"}, "me", True),
        (JSON, {"pretty": "1"}, "me", True),
        (JSON, {"pretty": "yes"}, "me", False),
        (JSON, {"pretty": ""}, "me", False),
        ("application/json;pretty=1", {}, "me", True),
        (JSON, {}, "curl/8.1", True),
        (JSON, {}, "Mozilla/5.0", True),
        (JSON, {"pretty": "false"}, "curl/8.1", False),
    ],
)
async def test_json_is_indented_for_browsers_and_curl_or_by_the_parameter_pretty(
    one: Cluster, accept: str, params: dict[str, str], agent: str, indented: bool
) -> None:
    headers = {"Accept": accept, "User-Agent": agent}
    response = await one.http.get(one.path("configmaps", "a"), params=params, headers=headers)

    assert response.text.startswith("{\n  ") is indented


@pytest.mark.parametrize("accept", [TABLE, "text/html", METADATA])
async def test_an_error_response_is_json_if_its_form_is_not_supported(one: Cluster, accept: str) -> None:
    response = await one.http.get(one.path("configmaps", "none"), headers={"Accept": accept})

    assert response.headers["content-type"] == JSON
    assert response.json()["kind"] == "Status"


async def test_an_error_response_can_be_yaml(one: Cluster) -> None:
    response = await one.http.get(one.path("configmaps", "none"), headers={"Accept": YAML})

    assert (response.status_code, response.headers["content-type"]) == (404, YAML)
    assert "kind: Status\n" in response.text
