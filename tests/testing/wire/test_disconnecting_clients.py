"""Clients that disconnect leave no open watch, no request in flight and no error in the log."""

from __future__ import annotations

import logging
import socket

import httpx2
import pytest
import trio

from dynkube_testing import APIServer
from dynkube_testing._asgi import Message, Receive, Scope, Send
from dynkube_testing._wire.tcp import serve_tcp

PATH = "/api/v1/namespaces/default/configmaps"


def _connect(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)))


class Noticed:
    """The application of a server; sets ``begun`` and ``ended`` when a request begins and ends."""

    def __init__(self, server: APIServer) -> None:
        self._server = server
        self.begun, self.ended = trio.Event(), trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.begun.set()
        await self._server.app(scope, receive, send)
        if scope["type"] == "http":
            self.ended.set()


@pytest.mark.real_time
async def test_a_client_that_disconnects_within_its_body_ends_its_request(caplog: pytest.LogCaptureFixture) -> None:
    async with APIServer(max_inflight=1) as server, trio.open_nursery() as nursery:
        app = Noticed(server)
        async with serve_tcp(app, nursery, host="127.0.0.1", port=0, tls=False, token=None) as endpoint:
            with _connect(endpoint.url) as connection:
                head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
                await trio.to_thread.run_sync(connection.sendall, head.encode() + b'{"half')
                await app.begun.wait()
            await app.ended.wait()
            async with httpx2.AsyncClient(base_url=endpoint.url) as client:
                response = await client.get(PATH)

    assert response.status_code == 200, "the request no longer counts towards max_inflight"
    assert server.audit[0].status is None
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.real_time
async def test_a_client_that_disconnects_ends_its_watch(server: APIServer, caplog: pytest.LogCaptureFixture) -> None:
    async with server.serve() as endpoint:
        with _connect(endpoint.url) as connection:
            head = f"GET {PATH}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            await trio.to_thread.run_sync(connection.sendall, head.encode())
            await server.wait_open_watches(1)
        await server.wait_open_watches(0)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_truncated_body_gets_no_response(server: APIServer) -> None:
    sent: list[object] = []
    scope = {"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": []}
    part: Message = {"type": "http.request", "body": b"{", "more_body": True}
    messages = iter((part, {"type": "http.disconnect"}))

    async def receive() -> Message:
        await trio.lowlevel.checkpoint()
        return next(messages)

    async def send(message: object) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await server.app(scope, receive, send)

    assert sent == []
    assert (server.audit[0].status, server.audit[0].finished is not None) == (None, True)
