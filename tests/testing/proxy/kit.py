"""Helpers for tests of the proxy: upstream servers, and a client that works with bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from dynkube_testing._asgi import ASGIApp
from dynkube_testing._wire.endpoint import Endpoint
from dynkube_testing._wire.tcp import serve_tcp

TIMEOUT = 20
WATCH = "/api/v1/configmaps?watch=true"


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@asynccontextmanager
async def serving(app: ASGIApp, *, tls: bool = False) -> AsyncIterator[Endpoint]:
    """Serve an ASGI application on TCP."""
    async with (
        trio.open_nursery() as nursery,
        serve_tcp(app, nursery, host="127.0.0.1", port=0, tls=tls, token=None) as endpoint,
    ):
        yield endpoint


class Connection:
    """A connection on which a test reads and writes bytes."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.received = b""

    async def get(self, target: str) -> None:
        """Send a request without a body."""
        await self.stream.send_all(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    async def read_until(self, text: bytes) -> bytes:
        """Read until ``text`` was received; return all data since the last call."""
        with trio.fail_after(TIMEOUT):
            while text not in self.received:
                data = await self.stream.receive_some()
                assert data, f"the connection ended after {self.received!r}"
                self.received += data
        data, self.received = self.received, b""
        return data

    async def read_to_end(self) -> bytes:
        """Return all data until the server closes the connection; raise if it is reset."""
        with trio.fail_after(TIMEOUT):
            while data := await self.stream.receive_some():
                self.received += data
        return self.received


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Connection]:
    """Connect to a server without TLS."""
    host, _, port = endpoint.url.removeprefix("http://").rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        yield Connection(stream)
