"""Without faults, the proxy forwards requests and responses unchanged."""

from __future__ import annotations

import json
import ssl
from datetime import UTC, datetime
from random import Random

import httpx2
import pytest

from dynkube_testing import APIServer, Endpoint, FaultProxy
from dynkube_testing._asgi import Receive, Scope, Send
from dynkube_testing._wire.http import read_body
from tests.testing.proxy.kit import WATCH, configmap, connected, serving

pytestmark = pytest.mark.real_time

PATH = "/api/v1/namespaces/default/configmaps"
# Headers that differ per response or per connection.
_VARYING = {"date", "audit-id", "transfer-encoding"}


@pytest.mark.parametrize(
    ("method", "target", "headers", "body"),
    [
        ("GET", PATH, {}, None),
        ("GET", f"{PATH}?labelSelector=a%3Db%2Cc&limit=1", {}, None),
        ("GET", f"{PATH}/a%2Fb", {}, None),
        ("GET", f"{PATH}/none", {}, None),
        ("GET", PATH, {"Accept": "application/yaml"}, None),
        ("GET", "/openapi/v2", {"Accept-Encoding": "gzip"}, None),
        ("HEAD", "/version", {}, None),
        ("POST", PATH, {"Content-Type": "application/json"}, configmap("new", text="ä")),
        ("POST", PATH, {"Content-Type": "application/json"}, {"kind": "Nonsense"}),
        ("DELETE", f"{PATH}/a", {}, None),
        ("OPTIONS", PATH, {}, None),
    ],
)
async def test_a_response_is_the_same_with_and_without_the_proxy(
    method: str, target: str, headers: dict[str, str], body: object
) -> None:
    responses = []
    for through_proxy in (False, True):
        async with _replica() as server, server.serve() as upstream, FaultProxy(upstream) as proxy:
            server.create(configmap("a"))
            url = (proxy if through_proxy else upstream).url + target
            async with httpx2.AsyncClient() as client:
                responses.append(await client.request(method, url, headers=headers, json=body))

    direct, passed = responses
    assert (passed.status_code, passed.content) == (direct.status_code, direct.content)
    assert _fields(passed) == _fields(direct)


def _replica() -> APIServer:
    """Return a server whose random numbers and clock are always the same."""
    return APIServer(random=Random(7), now=lambda: datetime(2030, 1, 1, tzinfo=UTC))


def _fields(response: httpx2.Response) -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in response.headers.multi_items() if name not in _VARYING)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the headers of the request, its path and the size of its body."""
    body = await read_body(receive, 100_000_000)
    fields = {name.decode(): value.decode() for name, value in scope["headers"]}
    text = json.dumps({"fields": fields, "target": scope["raw_path"].decode(), "body": len(body)}).encode()
    headers = [(b"keep-alive", b"timeout=5"), (b"x-hop", b"1"), (b"x-end", b"1"), (b"connection", b"x-hop")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def test_hop_by_hop_headers_are_not_forwarded() -> None:
    hop = {"Connection": "keep-alive, X-Mine", "X-Mine": "1", "TE": "trailers", "Upgrade": "websocket"}
    async with serving(echo) as upstream, FaultProxy(upstream) as proxy, httpx2.AsyncClient() as client:
        response = await client.get(proxy.url, headers={**hop, "X-Theirs": "1", "Authorization": "Bearer secret"})

    fields = response.json()["fields"]
    assert fields.keys() & {"connection", "x-mine", "te", "upgrade", "transfer-encoding", "content-length"} == set()
    assert (fields["x-theirs"], fields["authorization"]) == ("1", "Bearer secret")
    assert fields["host"] == upstream.url.removeprefix("http://")
    assert response.headers.keys() & {"keep-alive", "x-hop", "x-end"} == {"x-end"}
    assert len(response.headers.get_list("date")) == 1


async def test_the_url_of_the_server_may_have_a_path() -> None:
    async with (
        serving(echo) as upstream,
        FaultProxy(url=f"{upstream.url}/k8s/clusters/c1/") as proxy,
        httpx2.AsyncClient() as client,
    ):
        response = await client.get(f"{proxy.url}/api")

    assert response.json()["target"] == "/k8s/clusters/c1/api"


async def test_request_bodies_are_forwarded_up_to_a_limit() -> None:
    async with serving(echo) as upstream, FaultProxy(upstream) as proxy, httpx2.AsyncClient() as client:
        passed = await client.post(proxy.url, content=bytes(16 * 1024 * 1024))
        response = await client.post(proxy.url, content=bytes(16 * 1024 * 1024 + 1))

    assert passed.json()["body"] == 16 * 1024 * 1024
    assert (response.status_code, response.json()["reason"]) == (413, "RequestEntityTooLarge")


async def test_events_of_a_watch_are_forwarded_at_once(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        head = await connection.read_until(b"\r\n\r\n")
        for name in ("one", "two"):
            server.create(configmap(name))
            event = await connection.read_until(b"\n\r\n")

            assert json.loads(event.split(b"\r\n")[1])["object"]["metadata"]["name"] == name
    assert head.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(("upstream_tls", "tls"), [(True, None), (True, False), (False, True)])
async def test_tls_ends_at_the_proxy(server: APIServer, upstream_tls: bool, tls: bool | None) -> None:
    async with (
        server.serve(tls=upstream_tls, token="secret") as upstream,
        FaultProxy(upstream, tls=tls) as proxy,
    ):
        trust = ssl.create_default_context(cadata=proxy.ca_pem.decode()) if proxy.ca_pem else True
        headers = {"Authorization": f"Bearer {proxy.endpoint.token}"}
        async with httpx2.AsyncClient(base_url=proxy.url, verify=trust) as client:
            responses = [await client.get(PATH), await client.get(PATH, headers=headers)]

    assert [response.status_code for response in responses] == [401, 200]


async def test_over_tls_the_kubeconfig_has_a_token_that_is_not_forwarded(server: APIServer) -> None:
    async with server.serve() as upstream, FaultProxy(upstream, tls=True) as proxy:
        assert proxy.ca_pem is not None
        trust = ssl.create_default_context(cadata=proxy.ca_pem.decode())
        async with httpx2.AsyncClient(base_url=proxy.url, verify=trust) as client:
            for token in (proxy.endpoint.token, "mine"):
                await client.get(PATH, headers={"Authorization": f"Bearer {token}"})

    assert ["authorization" in request.headers for request in server.requests] == [False, True]


async def test_only_the_given_certificate_authority_is_trusted(server: APIServer) -> None:
    async with (
        server.serve(tls=True) as one,
        server.serve(tls=True) as other,
        FaultProxy(url=one.url, ca_pem=other.ca_pem, tls=False) as proxy,
        httpx2.AsyncClient() as client,
    ):
        with pytest.raises(httpx2.RemoteProtocolError, match="disconnected"):
            await client.get(proxy.url)

    assert server.audit == []


async def test_a_control_plane_can_be_passed_as_the_upstream(upstream: Endpoint) -> None:
    class Plane:
        endpoint = upstream

    async with FaultProxy(Plane()) as proxy, httpx2.AsyncClient() as client:
        assert (await client.get(f"{proxy.url}/version")).status_code == 200
