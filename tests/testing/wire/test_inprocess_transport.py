"""The in-process transport: streaming, back-pressure, cancellation and errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
import trio
import trio.testing

from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send
from dynkube_testing._wire.transport import InProcessTransport


@asynccontextmanager
async def client_of(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    async with trio.open_nursery() as nursery:

        def spawn(task: Callable[[], Awaitable[None]], /) -> None:
            nursery.start_soon(task)

        transport = InProcessTransport(app, spawn)
        async with httpx2.AsyncClient(transport=transport, base_url="http://embedded", timeout=None) as client:
            yield client
        nursery.cancel_scope.cancel()


async def start(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-here", b"yes")]})


def body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def test_chunks_arrive_when_they_are_sent() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        for second in range(3):
            await trio.sleep(10)
            await send(body(b"%d" % second))
        await send(body(b"", more=False))

    begin = trio.current_time()
    async with client_of(app) as client, client.stream("GET", "/") as response:
        seen = [(chunk, trio.current_time() - begin) async for chunk in response.aiter_raw()]

    assert seen == [(b"0", 10.0), (b"1", 20.0), (b"2", 30.0)]


async def test_the_response_is_returned_before_its_body() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        await trio.sleep_forever()

    async with client_of(app) as client, client.stream("GET", "/") as response:
        assert (response.status_code, response.headers["x-here"]) == (200, "yes")


async def test_the_request_reaches_the_application_as_it_was_sent() -> None:
    seen: dict[str, object] = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.update(scope, body=(await receive())["body"])
        await start(send)
        await send(body(b"", more=False))

    async with client_of(app) as client:
        await client.post("/a%2Fb/c?x=1&y=%20", content=b"hello", headers={"X-Case": "Kept"})

    assert (seen["method"], seen["path"], seen["raw_path"]) == ("POST", "/a/b/c", b"/a%2Fb/c")
    assert (seen["query_string"], seen["body"]) == (b"x=1&y=%20", b"hello")
    assert (b"x-case", b"Kept") in seen["headers"]  # type: ignore[operator]  # values of the scope have type object


async def test_an_application_waits_for_a_slow_reader() -> None:
    sent = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        await start(send)
        for _ in range(1000):
            await send(body(b"x"))
            sent += 1
        await send(body(b"", more=False))

    async with client_of(app) as client, client.stream("GET", "/") as response:
        await trio.testing.wait_all_tasks_blocked()
        ahead = sent
        total = len(await response.aread())

    assert ahead < 50
    assert total == 1000


async def test_closing_the_response_waits_for_the_end_of_the_task() -> None:
    ended = False

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ended
        try:
            await start(send)
            await trio.sleep_forever()
        finally:
            ended = True

    async with client_of(app) as client:
        async with client.stream("GET", "/"):
            assert not ended

        assert ended


async def test_cancelling_the_request_ends_the_task() -> None:
    ended = False

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ended
        try:
            await trio.sleep_forever()
        finally:
            ended = True

    async with client_of(app) as client:
        with trio.move_on_after(5) as scope:
            await client.get("/")

        assert scope.cancelled_caught
        assert ended


async def test_closing_the_client_ends_every_task() -> None:
    ended = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ended
        try:
            await start(send)
            await trio.sleep_forever()
        finally:
            ended += 1

    async with client_of(app) as client:
        for _ in range(3):
            await client.send(client.build_request("GET", "/"), stream=True)
        await client.aclose()

        assert ended == 3


async def test_an_incomplete_response_is_a_protocol_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        await send(body(b"half"))

    async with client_of(app) as client, client.stream("GET", "/") as response:
        chunks = response.aiter_raw()
        received = await anext(chunks)

        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete"):
            await anext(chunks)

    assert received == b"half"


async def test_a_missing_response_is_a_protocol_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.lowlevel.checkpoint()

    async with client_of(app) as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
            await client.get("/")


@pytest.mark.parametrize("started", [False, True])
async def test_an_exception_in_the_application_is_raised_in_the_caller(started: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if started:
            await start(send)
            await send(body(b"{}", more=False))
        raise ZeroDivisionError("a defect")

    async with client_of(app) as client:
        with pytest.raises(ZeroDivisionError, match="a defect"):
            await client.get("/")


@pytest.mark.parametrize("started", [False, True])
async def test_the_read_timeout_counts_from_the_last_chunk(started: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if started:
            await start(send)
            await trio.sleep(4)
            await send(body(b"x"))
        await trio.sleep_forever()

    begin = trio.current_time()
    async with client_of(app) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get("/", timeout=httpx2.Timeout(None, read=5))

    assert trio.current_time() - begin == (9 if started else 5)


async def test_a_stopped_server_is_a_connect_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("never called")

    def reject(task: Callable[[], Awaitable[None]], /) -> None:
        raise httpx2.ConnectError("not running")

    async with httpx2.AsyncClient(transport=InProcessTransport(app, reject), base_url="http://embedded") as client:
        with pytest.raises(httpx2.ConnectError, match="not running"):
            await client.get("/")


async def test_open_responses_fail_when_the_server_ends() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        await trio.sleep_forever()

    async with trio.open_nursery() as server:
        transport = InProcessTransport(app, server.start_soon)
        client = httpx2.AsyncClient(transport=transport, base_url="http://embedded")
        async with client, client.stream("GET", "/") as response:
            server.cancel_scope.cancel()

            with trio.CancelScope(shield=True), pytest.raises(httpx2.RemoteProtocolError):
                await response.aread()
