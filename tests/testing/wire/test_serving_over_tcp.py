"""Any ASGI application on loopback TCP and TLS, and the endpoint's kubeconfig."""

from __future__ import annotations

import re
import socket
import ssl
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube.meta._yaml.loading import load_document
from dynkube_testing import APIServer
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._wire.app import serve_lifespan
from dynkube_testing._wire.endpoint import Endpoint
from dynkube_testing._wire.tcp import serve_tcp


@asynccontextmanager
async def serving(
    app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0, tls: bool = False
) -> AsyncIterator[Endpoint]:
    async with trio.open_nursery() as nursery:
        async with serve_tcp(app, nursery, host=host, port=port, tls=tls, token=None) as endpoint:
            yield endpoint
        assert not nursery.child_tasks


async def _greet(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await serve_lifespan(receive, send)
    else:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"hello"})


class Stream:
    """An application that streams until the client disconnects, which sets ``noticed``."""

    def __init__(self) -> None:
        self.noticed = trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await serve_lifespan(receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.noticed.set()
        return None


@pytest.mark.real_time
@pytest.mark.parametrize("tls", [False, True])
async def test_a_connection_may_be_used_for_over_a_thousand_requests(tls: bool) -> None:
    async with serving(_greet, tls=tls) as endpoint:
        trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if endpoint.ca_pem else True
        connections, texts = set(), set()
        async with httpx2.AsyncClient(base_url=endpoint.url, verify=trust) as client:
            for _ in range(1050):
                response = await client.get("/")
                texts.add(response.text)
                connections.add(response.extensions["network_stream"].get_extra_info("client_addr"))

    assert texts == {"hello"}
    assert len(connections) == 1
    assert endpoint.url.startswith("https://127.0.0.1:" if tls else "http://127.0.0.1:")


@pytest.mark.real_time
async def test_the_application_notices_that_the_client_disconnects() -> None:
    app = Stream()
    async with serving(app) as endpoint:
        async with httpx2.AsyncClient(base_url=endpoint.url) as client, client.stream("GET", "/"):
            assert not app.noticed.is_set()

        await app.noticed.wait()


@pytest.mark.real_time
async def test_leaving_the_block_closes_open_connections() -> None:
    async with httpx2.AsyncClient() as client:
        async with serving(Stream()) as endpoint:
            response = await client.send(client.build_request("GET", endpoint.url), stream=True)

        with pytest.raises(httpx2.RemoteProtocolError):
            await response.aread()
        with pytest.raises(httpx2.ConnectError):
            await client.get(endpoint.url)


@pytest.mark.real_time
async def test_the_error_for_a_port_in_use_names_it() -> None:
    async with trio.open_nursery() as nursery:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            attempt = serve_tcp(_greet, nursery, host="127.0.0.1", port=port, tls=False, token=None)

            with pytest.raises(OSError, match=rf"cannot listen on 127.0.0.1:{port}: Address already in use"):
                await attempt.__aenter__()


@pytest.mark.real_time
@pytest.mark.parametrize(("host", "port", "message"), [("127.0.0.1", 70000, "port 70000"), ("no.invalid", 0, "host")])
async def test_an_invalid_address_is_rejected(host: str, port: int, message: str) -> None:
    async with trio.open_nursery() as nursery:
        attempt = serve_tcp(_greet, nursery, host=host, port=port, tls=False, token=None)

        with pytest.raises(InvalidInput, match=message):
            await attempt.__aenter__()


def test_the_kubeconfig_has_server_certificate_and_token(tmp_path: Path) -> None:
    endpoint = Endpoint(url="https://127.0.0.1:1", ca_pem=b"PEM", token="secret")

    path = endpoint.write_kubeconfig(tmp_path / "config", namespace="shop")

    config = load_document(path.read_bytes())
    assert config == endpoint.kubeconfig(namespace="shop")
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": "UEVN",
    }
    assert config["users"][0]["user"] == {"token": "secret"}


def test_a_public_file_is_replaced_by_a_private_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.touch(0o644)

    Endpoint(url="http://127.0.0.1:1").write_kubeconfig(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_secrets_of_an_endpoint_are_not_in_its_repr() -> None:
    assert "secret" not in repr(Endpoint(url="http://127.0.0.1:1", token="secret"))


@pytest.mark.real_time
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("host", ["..", "", "a b", "a" * 70])
async def test_an_invalid_host_is_rejected_by_name(host: str, tls: bool) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"host {host!r} ")):
        async with APIServer() as server, server.serve(host=host, tls=tls):
            pass


@pytest.mark.real_time
async def test_large_requests_over_tcp_are_computed_in_a_thread() -> None:
    threads: set[int] = set()

    def now() -> datetime:
        threads.add(threading.get_ident())
        return datetime.now(UTC)

    async with APIServer(now=now) as server, server.serve() as endpoint:
        for transport, url in ((server.transport(), server.url), (None, endpoint.url)):
            threads.clear()
            async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=60) as client:
                config = {"metadata": {"generateName": "a"}, "data": {"text": "x" * 20_000}}
                response = await client.post("/api/v1/namespaces/default/configmaps", json=config)
            assert response.status_code == 201
            assert (threads == {threading.get_ident()}) is (transport is not None)
