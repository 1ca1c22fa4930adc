"""Requests and streams over HTTP/2, if it is enabled."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from pathlib import Path

import hypercorn.trio
import pytest
import trio
import trustme
from hypercorn.config import Config
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from dynkube.config import ClientConfig, TLSSettings
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

pytestmark = pytest.mark.real_time


async def version(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Respond with the HTTP version; to a watch in two pieces."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = scope["http_version"].encode()
    await send({"type": "http.response.body", "body": body, "more_body": scope["path"] == "/watch"})
    if scope["path"] == "/watch":
        await send({"type": "http.response.body", "body": b"more", "more_body": False})


@pytest.fixture
async def config(tmp_path: Path) -> AsyncIterator[ClientConfig]:
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost")
    leaf.private_key_pem.write_to_path(tmp_path / "key.pem")
    leaf.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    settings = Config()
    settings.bind = ["127.0.0.1:0"]
    settings.certfile, settings.keyfile = str(tmp_path / "chain.pem"), str(tmp_path / "key.pem")
    settings.alpn_protocols = ["h2", "http/1.1"]
    settings.errorlog = None
    async with trio.open_nursery() as nursery:
        binds = await nursery.start(
            functools.partial(hypercorn.trio.serve, version, settings, shutdown_trigger=trio.sleep_forever)
        )
        port = binds[0].rpartition(":")[2]
        tls = TLSSettings(ca_data=authority.cert_pem.bytes())
        yield ClientConfig(server=f"https://localhost:{port}", tls=tls)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("http2", "spoken"), [(True, b"2"), (False, b"1.1")])
async def test_http2_is_used_if_and_only_if_enabled(config: ClientConfig, http2: bool, spoken: bytes) -> None:
    async with RESTClient(config, http2=http2) as client:
        bodies = [(await client.request(Request(method="GET", path="/"))).body for _ in range(2)]
        async with client.stream(Request(method="GET", path="/watch"), watch=True) as stream:
            streamed = b"".join([chunk async for chunk in stream])

    assert bodies == [spoken, spoken]
    assert streamed == spoken + b"more"
