"""The client: names of resources, raw requests, the server's version."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.client._client import APIClient
from dynkube.errors import InvalidInput, NoMatch, NotFound
from dynkube.meta import GVK, GVR
from tests.client.wire import ScriptedServer, connect, error_response, ok, pod


@pytest.mark.parametrize(
    "name", ["pods", "pod", "Pod", "pods.v1", "v1/pods", GVR("", "v1", "pods"), GVK("", "v1", "Pod")]
)
async def test_a_resource_may_be_named_as_in_kubectl(name: str | GVR | GVK) -> None:
    server = ScriptedServer(ok(pod("a")))
    client = connect(server)

    resource = client.resource(name)
    before = server.discoveries
    await resource.get("a")

    assert before == 0
    assert (await resource.resolve()).gvr == GVR("", "v1", "pods")


def test_a_string_that_cannot_be_a_name_is_rejected_at_once() -> None:
    with pytest.raises(InvalidInput, match="resource"):
        connect(ScriptedServer()).resource("a b")


async def test_a_resource_that_is_not_served_raises_when_it_is_used() -> None:
    resource = connect(ScriptedServer()).resource("gadgets.v1.example.com")

    with pytest.raises(NoMatch, match="gadgets"):
        await resource.list()


async def test_a_raw_request_returns_status_and_body() -> None:
    server = ScriptedServer(httpx2.Response(200, text="two lines\nof log"))

    response = await connect(server).raw("GET", "/api/v1/namespaces/shop/pods/a/log", params={"tailLines": "2"})

    assert (response.status, response.body) == (200, b"two lines\nof log")
    assert dict(server.requests[0].url.params) == {"tailLines": "2"}


async def test_a_raw_request_sends_data_as_json_and_bytes_unchanged() -> None:
    server = ScriptedServer(ok({}), ok({}))
    client = connect(server)

    await client.raw("POST", "/a", body={"x": [1]})
    await client.raw("PUT", "/a", body=b"raw", content_type="text/plain")

    assert [request.content for request in server.requests] == [b'{"x":[1]}', b"raw"]
    assert server.requests[1].headers["content-type"] == "text/plain"


async def test_a_raw_request_raises_error_responses() -> None:
    with pytest.raises(NotFound):
        await connect(ScriptedServer(error_response(404, "NotFound"))).raw("GET", "/nothing")


async def test_server_version_returns_the_version() -> None:
    server = ScriptedServer(ok({"major": "1", "minor": "34", "gitVersion": "v1.34.1"}))

    version = await connect(server).server_version()

    assert str(version) == "v1.34.1"


def test_the_settings_of_a_client_can_be_read() -> None:
    client = connect(ScriptedServer(), namespace="shop")

    assert (client.namespace, client.field_manager) == ("shop", "tester")
    assert client.rest is not None
    assert client.mapper.loaded is None
    assert "shop" in repr(client)
    assert "pods" in repr(client.resource("pods"))


def test_an_invalid_field_manager_is_rejected() -> None:
    client = connect(ScriptedServer())

    with pytest.raises(InvalidInput, match="field_manager"):
        APIClient(client.rest, client.mapper, field_manager="")
