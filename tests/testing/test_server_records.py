"""The server records requests and open watches."""

from __future__ import annotations

import json
import ssl

import httpx2
import pytest
import trio

from dynkube_testing import APIServer

WATCH = "/api/v1/namespaces/default/configmaps?watch=true"


async def test_requests_are_recorded_in_order_with_their_parameters(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    await client.get("/version", headers={"User-Agent": "me/1.0"})
    await client.get("/api/v1/namespaces/shop/pods/a", params={"pretty": "1"})

    first, second = server.requests
    assert (first.method, first.path, first.user_agent, first.status, first.resource) == (
        "GET", "/version", "me/1.0", 200, None,
    )  # fmt: skip
    assert (second.verb, str(second.resource), second.namespace, second.name) == ("get", "pods.v1", "shop", "a")
    assert (dict(second.params), second.status) == ({"pretty": "1"}, 404)


async def test_forgotten_requests_are_not_listed(server: APIServer, client: httpx2.AsyncClient) -> None:
    await client.get("/version")
    server.forget_requests()
    await client.get("/readyz")

    assert [record.path for record in server.requests] == ["/readyz"]


async def test_only_the_latest_requests_are_kept() -> None:
    server = APIServer(audit_limit=2)
    async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        for path in ("/healthz", "/livez", "/readyz"):
            await client.get(path)

    assert [record.path for record in server.requests] == ["/livez", "/readyz"]


async def test_credentials_are_redacted(server: APIServer, client: httpx2.AsyncClient) -> None:
    for value in ("Bearer secret", "secret"):
        await client.get("/version", headers={"Authorization": value})

    assert [request.headers["authorization"] for request in server.requests] == ["Bearer <redacted>", "<redacted>"]


async def test_a_watch_is_open_until_the_client_closes_it(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", WATCH, headers={"User-Agent": "me/1.0"}):
        (watch,) = server.open_watches
        assert (str(watch.resource), watch.namespace, watch.user_agent) == ("configmaps.v1", "default", "me/1.0")

    assert server.open_watches == ()


async def test_a_watch_is_open_until_the_server_ends_it(server: APIServer, client: httpx2.AsyncClient) -> None:
    begin = trio.current_time()
    async with client.stream("GET", f"{WATCH}&timeoutSeconds=7") as response:
        await response.aread()

        assert server.open_watches == ()

    assert trio.current_time() - begin == 7


async def test_a_watch_with_an_error_response_is_never_open(server: APIServer, client: httpx2.AsyncClient) -> None:
    response = await client.get(f"{WATCH}&limit=nonsense")

    assert response.status_code == 400
    assert server.open_watches == ()


async def test_events_arrive_until_the_server_ends_the_watch(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", f"{WATCH}&timeoutSeconds=1") as response:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        server.delete("configmaps", "a")
        events = [json.loads(line) async for line in response.aiter_lines()]

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"),
        ("DELETED", "a"),
    ]


@pytest.mark.real_time
@pytest.mark.parametrize("tls", [False, True])
async def test_over_tcp_a_vanished_client_ends_its_watch(server: APIServer, tls: bool) -> None:
    async with server.serve(tls=tls) as endpoint:
        trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if endpoint.ca_pem else True
        async with httpx2.AsyncClient(base_url=endpoint.url, verify=trust) as client:
            async with client.stream("GET", WATCH):
                assert len(server.open_watches) == 1

            await server.wait_open_watches(0)
