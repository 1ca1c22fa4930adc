"""What the wire refuses, it refuses with the Status of a real server, and goes on."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import yaml

from dynkube.testing import APIServer
from dynkube.testing._calls.api import MERGE_PATCH
from dynkube.testing._wire.bodies import MAX_BODY

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def _status(response: httpx2.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert body["code"] == response.status_code
    return body


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2",
        "/apis/apps/v2",
        "/api/v1/unicorns",
    ],
)
async def test_what_an_api_does_not_have_is_a_404(client: httpx2.AsyncClient, path: str) -> None:
    status = _status(await client.get(path))

    assert (status["code"], status["reason"]) == (404, "NotFound")
    assert status["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/apis/unknown.example",
        "/apis/unknown.example/v1",
        "/apis/unknown.example/v1/things",
        "/metrics",
    ],
)
async def test_a_path_of_no_api_is_a_404_in_plain_text(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert (answer.status_code, answer.text) == (404, "404 page not found\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", CONFIGMAPS), ("POST", "/api/v1/configmaps"), ("POST", "/version"), ("DELETE", "/api")]
)
async def test_a_method_that_a_path_does_not_take_is_a_405(client: httpx2.AsyncClient, method: str, path: str) -> None:
    status = _status(await client.request(method, path))

    assert (status["code"], status["reason"]) == (405, "MethodNotAllowed")
    assert status["message"] == "the server does not allow this method on the requested resource"


async def test_a_form_that_cannot_be_produced_is_a_406(client: httpx2.AsyncClient) -> None:
    status = _status(await client.get(CONFIGMAPS, headers={"Accept": "text/html"}))

    assert (status["code"], status["reason"]) == (406, "NotAcceptable")


async def test_a_watch_has_no_yaml_form_and_says_so_in_yaml(client: httpx2.AsyncClient) -> None:
    answer = await client.get(CONFIGMAPS, params={"watch": "1"}, headers={"Accept": "application/yaml"})

    status = yaml.safe_load(answer.text)
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/yaml")
    assert (status["code"], status["reason"]) == (406, "NotAcceptable")


async def test_a_content_type_that_is_not_understood_is_a_415(client: httpx2.AsyncClient) -> None:
    status = _status(await client.post(CONFIGMAPS, content=b"x", headers={"Content-Type": "text/plain"}))

    assert (status["code"], status["reason"]) == (415, "UnsupportedMediaType")


async def test_a_malformed_body_is_a_400_with_its_position(client: httpx2.AsyncClient) -> None:
    status = _status(await client.post(CONFIGMAPS, content=b'{"kind":\n oops'))

    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert "line 2, column 2" in status["message"]


async def test_a_body_over_the_limit_is_a_413(client: httpx2.AsyncClient) -> None:
    status = _status(await client.post(CONFIGMAPS, content=b" " * (MAX_BODY + 1)))

    assert (status["code"], status["reason"]) == (413, "RequestEntityTooLarge")
    assert status["message"] == f"Request entity too large: limit is {MAX_BODY}"


async def test_what_the_engine_refuses_has_its_details(client: httpx2.AsyncClient) -> None:
    status = _status(await client.get(f"{CONFIGMAPS}/missing"))

    assert (status["code"], status["reason"]) == (404, "NotFound")
    assert status["message"] == 'configmaps "missing" not found'
    assert status["details"] == {"name": "missing", "kind": "configmaps"}


async def test_a_group_version_out_of_order_is_a_503(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.set_available("apps/v1", False)

    for path in ("/apis/apps/v1", "/apis/apps/v1/deployments"):
        answer = await client.get(path)
        assert (answer.status_code, answer.text) == (503, "service unavailable\n")
    server.set_available("apps/v1", True)
    assert (await client.get("/apis/apps/v1/deployments")).status_code == 200


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic c2VjcmV0", "secret"])
async def test_a_caller_without_the_token_is_a_401(header: str | None) -> None:
    async with APIServer(token="secret") as server:
        client = httpx2.AsyncClient(transport=server.transport(), base_url=server.url)
        async with client:
            response = await client.get(CONFIGMAPS, headers={"Authorization": header} if header else {})
            welcome = await client.get(CONFIGMAPS, headers={"Authorization": "Bearer secret"})
            public = await client.get("/readyz")

    assert (_status(response)["reason"], response.status_code) == ("Unauthorized", 401)
    assert (welcome.status_code, public.status_code) == (200, 200)


async def test_the_server_goes_on_after_each_refusal(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    await client.patch(f"{CONFIGMAPS}/a", content=b"{", headers={"Content-Type": MERGE_PATCH})
    answer = await client.patch(f"{CONFIGMAPS}/a", content=b'{"data":{"x":"1"}}', headers={"Content-Type": MERGE_PATCH})

    assert answer.status_code == 200
    assert answer.json()["data"] == {"x": "1"}
