"""HTTP/1.1 as bytes: the requests that the server accepts, and its responses."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio

from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._wire.http import ClientGone, read_body
from dynkube_testing._wire.http1 import serve_http

pytestmark = pytest.mark.real_time

GET = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the path and the body."""
    try:
        body = scope["raw_path"] + b" " + await read_body(receive, 10_000_000)
    except ClientGone:
        return
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_413(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond 413 without reading the body."""
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"no"})


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond in two pieces; for ``/cut``, end after the first one."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    if scope["path"] != "/cut":
        await send({"type": "http.response.body", "body": b"two"})


@asynccontextmanager
async def connected(app: ASGIApp) -> AsyncIterator[trio.SocketStream]:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        await nursery.start(serve_http, app, listener)
        async with await trio.open_tcp_stream("127.0.0.1", port) as client:
            yield client
        nursery.cancel_scope.cancel()


async def read_until(client: trio.SocketStream, end: bytes) -> bytes:
    received = b""
    with trio.fail_after(30):
        while not received.endswith(end):
            data = await client.receive_some()
            assert data, f"the connection ended after {received!r}"
            received += data
    return received


async def read_to_end(client: trio.SocketStream) -> bytes:
    with trio.fail_after(30):
        return b"".join([bytes(data) async for data in client])


async def test_requests_may_be_sequential_or_pipelined() -> None:
    async with connected(echo) as client:
        await client.send_all(GET % b"one")
        first = await read_until(client, b"/one ")
        await client.send_all(GET % b"two" + GET % b"three")
        others = await read_until(client, b"/three ")

    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"/two " in others


async def test_a_body_may_come_in_pieces_after_100_continue() -> None:
    async with connected(echo) as client:
        await client.send_all(POST % (6, b"Expect: 100-continue\r\n"))
        continued = await read_until(client, b"\r\n\r\n")
        await client.send_all(b"abc")
        await client.send_all(b"def")
        response = await read_until(client, b"abcdef")

    assert continued == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.endswith(b"/p abcdef")


async def test_head_has_no_body() -> None:
    async with connected(echo) as client:
        await client.send_all(b"HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n" + GET % b"next")
        responses = await read_until(client, b"/next ")

    assert b"content-length: 3\r\n" in responses
    assert b"/h " not in responses


async def test_responses_without_a_length_are_chunked_and_incomplete_ones_have_no_last_chunk() -> None:
    async with connected(stream) as client:
        await client.send_all(GET % b"whole")
        complete = await read_until(client, b"0\r\n\r\n")
        await client.send_all(GET % b"cut")
        cut = await read_to_end(client)

    assert complete.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    assert cut.endswith(b"\r\n\r\n3\r\none\r\n")


@pytest.mark.parametrize("size", [100, 5_000_000])
async def test_an_error_response_arrives_although_the_body_was_not_read(size: int) -> None:
    async with connected(respond_413) as client:
        await client.send_all(POST % (size, b"") + b"x" * size)
        response = await read_to_end(client) if size > 100 else await read_until(client, b"no")

    assert response.startswith(b"HTTP/1.1 413 ")
    assert response.endswith(b"\r\n\r\nno")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no Host
        (b"GET /" + b"x" * 300_000, b"431"),
    ],
)
async def test_invalid_requests_get_an_error_and_the_connection_is_closed(sent: bytes, status: bytes) -> None:
    async with connected(echo) as client:
        await client.send_all(sent)
        response = await read_to_end(client)

    assert response.startswith(b"HTTP/1.1 " + status)


async def test_an_invalid_body_is_a_400() -> None:
    async with connected(echo) as client:
        await client.send_all(b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
        response = await read_to_end(client)

    assert response.startswith(b"HTTP/1.1 400 ")


async def test_the_request_target_may_be_an_absolute_url() -> None:
    async with connected(echo) as client:
        await client.send_all(b"GET http://x:1/a/b?c HTTP/1.1\r\nHost: x\r\n\r\n")
        response = await read_until(client, b" ")

    assert response.endswith(b"\r\n\r\n/a/b ")


async def test_a_client_that_disconnects_within_its_body_raises_client_gone(caplog: pytest.LogCaptureFixture) -> None:
    ended = trio.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(ClientGone):
            await read_body(receive, 1000)
        ended.set()

    async with connected(waiting) as client:
        await client.send_all(POST % (6, b"") + b"abc")
        await client.aclose()
        with trio.fail_after(30):
            await ended.wait()

    assert not caplog.records


async def test_a_client_that_does_not_read_does_not_block_the_shutdown() -> None:
    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})

    with trio.fail_after(30):
        async with connected(endless) as client:
            await client.send_all(GET % b"")
            await client.receive_some(1)


@pytest.mark.parametrize("seed", range(20))
async def test_random_bytes_cause_no_log_records(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    random = Random(seed)
    requests = [
        GET % b"x",
        POST % (9, b"") + b"abc",
        POST % (3, b"Transfer-Encoding: chunked\r\n") + b"3\r\nabc\r\nx\r\n",
    ]
    async with connected(echo) as client:
        garbage = bytearray(random.choice(requests) * 2)
        for _ in range(random.randrange(8)):
            garbage[random.randrange(len(garbage))] = random.randrange(256)
        await client.send_all(garbage)
        await client.send_eof()
        await read_to_end(client)

    assert not caplog.records


async def test_an_exception_in_the_application_is_logged_and_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def defect(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("a defect")

    with caplog.at_level(logging.ERROR):
        async with connected(defect) as client:
            await client.send_all(GET % b"it")
            response = await read_to_end(client)

    assert response == b""
    assert caplog.messages == ["GET /it failed"]
