"""Error responses that only the embedded server has: unavailable group versions, the token, watches as YAML."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import yaml

from dynkube_testing import APIServer
from dynkube_testing._calls.api import MERGE_PATCH

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def _status(response: httpx2.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert body["code"] == response.status_code
    return body


async def test_a_watch_as_yaml_is_a_406_in_yaml(client: httpx2.AsyncClient) -> None:
    response = await client.get(CONFIGMAPS, params={"watch": "1"}, headers={"Accept": "application/yaml"})

    status = yaml.safe_load(response.text)
    assert (response.status_code, response.headers["content-type"]) == (406, "application/yaml")
    assert (status["code"], status["reason"]) == (406, "NotAcceptable")


async def test_an_unavailable_group_version_is_a_503(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.set_available("apps/v1", False)

    for path in ("/apis/apps/v1", "/apis/apps/v1/deployments"):
        response = await client.get(path)
        assert (response.status_code, response.text) == (503, "service unavailable\n")
    server.set_available("apps/v1", True)
    assert (await client.get("/apis/apps/v1/deployments")).status_code == 200


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic c2VjcmV0", "secret"])
async def test_a_request_without_the_token_is_a_401(header: str | None) -> None:
    async with APIServer(token="secret") as server:
        client = httpx2.AsyncClient(transport=server.transport(), base_url=server.url)
        async with client:
            response = await client.get(CONFIGMAPS, headers={"Authorization": header} if header else {})
            welcome = await client.get(CONFIGMAPS, headers={"Authorization": "Bearer secret"})
            public = await client.get("/readyz")

    assert (_status(response)["reason"], response.status_code) == ("Unauthorized", 401)
    assert (welcome.status_code, public.status_code) == (200, 200)


async def test_the_server_continues_after_an_error_response(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    await client.patch(f"{CONFIGMAPS}/a", content=b"{", headers={"Content-Type": MERGE_PATCH})
    response = await client.patch(
        f"{CONFIGMAPS}/a", content=b'{"data":{"x":"1"}}', headers={"Content-Type": MERGE_PATCH}
    )

    assert response.status_code == 200
    assert response.json()["data"] == {"x": "1"}
