"""Bodies in every framing, over real connections."""

from __future__ import annotations

import httpcore2
import pytest
import trio
import trio.testing

from dynkube.config import ClientConfig
from dynkube.errors import ClosedError, ConnectionLost, TransportError
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._tap import TappedStream
from tests.rest.sockets import respond_with, serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/api/v1/pods")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def client_of(url: str) -> RESTClient:
    return RESTClient(ClientConfig(server=url))


async def test_renewing_connections_closes_those_that_are_idle() -> None:
    async with serving(respond_with(CHUNKED + b"0\r\n\r\n")) as server, client_of(server.url()) as client:
        await client.request(GET)
        before = client.statistics()

        await client.renew_connections("the network has changed")

        after = client.statistics()
        assert (before.connections, before.idle_connections) == (1, 1)
        assert (after.connections, after.idle_connections) == (0, 0)


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ([CHUNKED, b"5\r\nhello\r\n", b"0\r\n\r\n"], b"hello"),
        ([CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"], b"hello"),
        ([CHUNKED + b"5\r\nhel", b"lo\r", b"\n3;x=1\r\n wo\r\n0\r\nTrailer: 1\r\n", b"\r\n"], b"hello wo"),
        ([CHUNKED + b"0\r\n\r\n"], b""),
        ([bytes([byte]) for byte in CHUNKED + b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED + b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", CHUNKED, b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n" + b"1\r\na\r\n0\r\n\r\n"], b"a"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\n"], b"\r\n\r\n"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"], b""),
    ],
)
async def test_a_body_is_read_in_any_pieces_and_its_connection_is_reused(pieces: list[bytes], body: bytes) -> None:
    async with serving(respond_with(*pieces)) as server, client_of(server.url()) as client:
        responses = [(await client.request(GET)).body for _ in range(3)]

        assert responses == [body] * 3
        assert server.connections == 1


async def test_a_head_request_has_no_body_whatever_its_headers_say() -> None:
    async with serving(respond_with(CHUNKED)) as server, client_of(server.url()) as client:
        responses = [(await client.request(Request(method="HEAD", path="/api"))).body for _ in range(2)]

        assert responses == [b"", b""]
        assert server.connections == 1


async def test_events_received_together_are_returned_together() -> None:
    event = b'{"type":"ADDED"}\n'
    wire = CHUNKED + (b"%x\r\n%s\r\n" % (len(event), event)) * 500

    async with (
        serving(respond_with(wire)) as server,
        client_of(server.url()) as client,
        client.stream(GET, watch=True) as stream,
    ):
        received = []
        while stream.received < 500 * len(event):
            received.append(await anext(stream))

    assert b"".join(received) == event * 500
    assert len(received) < 10


@pytest.mark.parametrize(
    ("pieces", "received"),
    [
        ([CHUNKED, b"5\r\nhel"], b"hel"),
        ([CHUNKED, b"5\r\nhello\r\n"], b"hello"),
        ([CHUNKED, b"5\r\nhello\r\n0\r\n"], b"hello"),
        ([CHUNKED, b"5\r\nhello\r\nnonsense\r\n"], b"hello"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"], b"hello"),
    ],
)
async def test_a_connection_that_ends_or_fails_within_a_body_is_an_error(pieces: list[bytes], received: bytes) -> None:
    async def cutting(stream: trio.abc.Stream, head: bytes) -> None:
        await respond_with(*pieces)(stream, head)
        await stream.aclose()

    async with serving(cutting) as server, client_of(server.url()) as client:
        with pytest.raises(TransportError, match=f"127.0.0.1:{server.port} .* after {len(received)} bytes: ") as caught:
            await client.request(GET)

    assert isinstance(caught.value, ConnectionLost) != (b"nonsense" in pieces[-1])


@pytest.mark.parametrize(
    "pieces", [[CHUNKED, b"5\r\nhello\r\n"], [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"hello"]]
)
async def test_leaving_a_stream_before_its_end_closes_its_connection_at_once(pieces: list[bytes]) -> None:
    async with serving(respond_with(*pieces)) as server, client_of(server.url()) as client:
        async with client.stream(GET, watch=True) as stream:
            assert await anext(stream) == b"hello"
            assert not server.closed.is_set()

        with trio.fail_after(5):
            await server.closed.wait()


async def test_cancelling_a_waiting_stream_closes_its_connection_at_once() -> None:
    async with serving(respond_with(CHUNKED)) as server, client_of(server.url()) as client:
        with trio.move_on_after(0.05):
            async with client.stream(GET, watch=True) as stream:
                await anext(stream)

        with trio.fail_after(5):
            await server.closed.wait()


async def test_closing_the_client_ends_a_waiting_stream(nursery: trio.Nursery) -> None:
    async with serving(respond_with(CHUNKED)) as server:
        client = client_of(server.url())
        async with client.stream(GET, watch=True) as stream:
            nursery.start_soon(client.aclose)

            with pytest.raises(ClosedError, match=r"\(watch\): the client was closed while the stream was open"):
                await anext(stream)


async def test_a_stale_connection_is_replaced_without_an_error() -> None:
    async def once(stream: trio.abc.Stream, head: bytes) -> None:
        await respond_with(CHUNKED + b"1\r\na\r\n0\r\n\r\n")(stream, head)
        await stream.aclose()

    async with serving(once) as server, client_of(server.url()) as client:
        for _ in range(3):
            assert (await client.request(GET)).body == b"a"

        assert server.connections == 3


async def test_streams_do_not_use_the_connections_of_requests() -> None:
    from contextlib import AsyncExitStack

    from dynkube.rest import Limits

    async def either(stream: trio.abc.Stream, head: bytes) -> None:
        await stream.send_all(CHUNKED if b"watch" in head else CHUNKED + b"0\r\n\r\n")

    async with serving(either) as server, AsyncExitStack() as open_streams:
        client = RESTClient(ClientConfig(server=server.url()), limits=Limits(max_connections=1))
        await open_streams.enter_async_context(client)
        for _ in range(5):
            request = Request(method="GET", path="/api/v1/pods", params={"watch": "1"})
            await open_streams.enter_async_context(client.stream(request, watch=True))

        await client.request(GET)

        assert server.connections == 6


async def test_by_default_a_hundred_requests_have_connections_and_further_ones_wait() -> None:
    async def silent(stream: trio.abc.Stream, head: bytes) -> None:
        await trio.sleep_forever()

    async with serving(silent) as server, client_of(server.url()) as client, trio.open_nursery() as nursery:
        for _ in range(105):
            nursery.start_soon(client.request, GET)
        await trio.testing.wait_all_tasks_blocked()

        assert (client.statistics().connections, client.statistics().open_requests) == (100, 105)
        nursery.cancel_scope.cancel()


async def test_the_end_of_a_head_is_found_wherever_it_is_split_and_the_body_stays_out_of_the_parser() -> None:
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    for cut in range(1, len(head)):
        tap = TappedStream(httpcore2.AsyncMockStream([head[:cut], head[cut:] + b"body", b"more"]), max_head=1000)
        await tap.write(b"GET / HTTP/1.1\r\n\r\n")
        read = b""
        while not tap.at_body:
            read += await tap.read(65536)

        assert read == head
        assert await tap.read_body() + await tap.read_body() == b"bodymore"
