"""Forms of responses: YAML, streamed lists, warnings, discovery with ETags, and access reviews without RBAC."""

from __future__ import annotations

import json

import httpx2
import yaml

from dynkube.meta import GVR
from dynkube_testing import APIServer
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._wire.negotiate import DISCOVERY_V2

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def test_objects_are_sent_and_received_as_yaml(client: httpx2.AsyncClient) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {colour: 'on'}\n"

    created = await client.post(CONFIGMAPS, content=manifest, headers={"Content-Type": "application/yaml"})
    read = await client.get(f"{CONFIGMAPS}/a", headers={"Accept": "application/yaml"})

    assert (created.status_code, created.headers["content-type"]) == (201, "application/json")
    assert read.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(read.text)["data"] == {"colour": "on"}


async def test_a_long_list_is_streamed_in_pieces(server: APIServer, client: httpx2.AsyncClient) -> None:
    names = [f"c{number:04}" for number in range(1500)]
    for name in names:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y" * 400}})

    async with client.stream("GET", CONFIGMAPS, headers={"Accept-Encoding": "identity"}) as response:
        pieces = [piece async for piece in response.aiter_raw()]

    body = json.loads(b"".join(pieces))
    assert len(pieces) > 1
    assert [item["metadata"]["name"] for item in body["items"]] == names
    assert (body["kind"], body["metadata"]["resourceVersion"]) == ("ConfigMapList", str(server.revision))


async def test_every_response_of_a_deprecated_kind_has_a_warning(server: APIServer, client: httpx2.AsyncClient) -> None:
    warning = 'acme.example/v1 "Widget" is deprecated'
    gvr = GVR("acme.example", "v1", "widgets")
    server.register(Kind(gvr=gvr, kind="Widget", namespaced=False, warning=warning))

    listed = await client.get("/apis/acme.example/v1/widgets")
    async with client.stream("GET", "/apis/acme.example/v1/widgets?watch=1") as watched:
        pass

    expected = r'299 - "acme.example/v1 \"Widget\" is deprecated"'
    assert (listed.headers["warning"], watched.headers["warning"]) == (expected, expected)


async def test_unchanged_discovery_gets_a_304(server: APIServer, client: httpx2.AsyncClient) -> None:
    first = await client.get("/apis", headers={"Accept": DISCOVERY_V2})
    headers = {"Accept": DISCOVERY_V2, "If-None-Match": first.headers["etag"]}
    second = await client.get("/apis", headers=headers)
    server.register(Kind(gvr=GVR("acme.example", "v1", "widgets"), kind="Widget", namespaced=False))
    third = await client.get("/apis", headers=headers)

    assert first.headers["content-type"] == DISCOVERY_V2
    assert (second.status_code, second.content) == (304, b"")
    assert third.status_code == 200
    assert "acme.example" in third.text


async def test_aggregated_discovery_can_be_switched_off() -> None:
    server = APIServer(aggregated_discovery=False)
    async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        response = await client.get("/apis", headers={"Accept": f"{DISCOVERY_V2},application/json"})

    assert response.headers["content-type"] == "application/json"
    assert response.json()["kind"] == "APIGroupList"


async def test_access_reviews_are_allowed_without_rbac(client: httpx2.AsyncClient) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "delete", "resource": "pods"}},
    }
    response = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review)

    assert response.status_code == 201
    assert response.json()["status"]["allowed"] is True
    assert response.json()["spec"] == review["spec"]


async def test_an_access_review_with_a_body_of_another_kind_is_rejected(client: httpx2.AsyncClient) -> None:
    response = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json={"kind": "Pod"})

    assert response.status_code == 400
    assert 'Pod in version "v1" cannot be handled as a SelfSubjectAccessReview' in response.json()["message"]
