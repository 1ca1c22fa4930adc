"""Bodies that are received piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

from dynkube.errors import ClosedError, ConnectionLost, Gone
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, chunks, status

GET = Request(method="GET", path="/api/v1/pods")


class Body(httpx2.AsyncByteStream):
    """A body that records when it is closed."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts
        self.closed_at: float | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part

    async def aclose(self) -> None:
        self.closed_at = trio.current_time()


async def test_chunks_come_as_they_arrive(make_client: MakeClient) -> None:
    async def every_second() -> AsyncIterator[bytes]:
        for number in range(3):
            await trio.sleep(1)
            yield b"%d" % number

    client = make_client(Wire(httpx2.Response(200, content=every_second())))

    async with client.stream(GET, watch=True) as stream:
        arrivals = [(trio.current_time(), chunk) async for chunk in stream]

    assert arrivals == [(1, b"0"), (2, b"1"), (3, b"2")]


async def test_an_empty_chunk_is_skipped_and_does_not_end_the_stream(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, content=chunks(b"a", b"", b"b")))

    async with make_client(wire).stream(GET, watch=True) as stream:
        assert [chunk async for chunk in stream] == [b"a", b"b"]
        assert stream.received == 2


async def test_a_stream_has_status_headers_warnings_and_request(make_client: MakeClient) -> None:
    headers = {"Warning": '299 - "old"', "Audit-Id": "7"}
    wire = Wire(httpx2.Response(200, headers=headers))

    async with make_client(wire).stream(GET, watch=True) as stream:
        assert (stream.status, stream.headers["audit-id"], stream.warnings) == (200, "7", ("old",))
        assert stream.request == "GET /api/v1/pods (watch)"


async def test_an_error_response_is_raised_on_entering(make_client: MakeClient) -> None:
    body = Body(status(410, "Expired", "too old")[:20], status(410, "Expired", "too old")[20:])

    with pytest.raises(Gone, match="too old"):
        async with make_client(Wire(httpx2.Response(410, stream=body))).stream(GET, watch=True):
            pytest.fail("entered")

    assert body.closed_at is not None


@pytest.mark.parametrize("failure", [httpx2.ReadError(""), httpx2.RemoteProtocolError("incomplete chunked read")])
async def test_a_truncated_stream_raises_after_the_received_chunks(make_client: MakeClient, failure: Exception) -> None:
    client = make_client(Wire(httpx2.Response(200, content=chunks(b"12", b"345", failure))))

    async with client.stream(GET, watch=True) as stream:
        assert [await anext(stream), await anext(stream)] == [b"12", b"345"]
        with pytest.raises(
            ConnectionLost, match=r"\(watch\): the response of api.example:6443 was truncated after 5 bytes"
        ) as caught:
            await anext(stream)

    assert caught.value.__cause__ is failure
    assert "was truncated after 5 bytes" in client.statistics().last_error


async def test_leaving_the_block_closes_the_body_at_once(make_client: MakeClient) -> None:
    body = Body(b"1", b"2")

    async with make_client(Wire(httpx2.Response(200, stream=body))).stream(GET, watch=True) as stream:
        assert await anext(stream) == b"1"

    assert body.closed_at == 0
    with pytest.raises(ClosedError, match="the stream is closed"):
        await anext(stream)


async def test_a_cancelled_stream_closes_the_body(make_client: MakeClient) -> None:
    class Silent(Body):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            await trio.sleep_forever()
            yield b""

    body = Silent()
    client = make_client(Wire(httpx2.Response(200, stream=body)))

    with trio.move_on_after(5):
        async with client.stream(GET, watch=True) as stream:
            await anext(stream)

    assert body.closed_at == 5
    assert client.statistics().open_streams == 0


async def test_open_streams_are_counted(make_client: MakeClient) -> None:
    client = make_client(Wire(lambda request: httpx2.Response(200, content=b"")))

    async with client.stream(GET, watch=True), client.stream(GET, watch=False):
        assert client.statistics().open_streams == 2

    assert client.statistics().open_streams == 0
    assert client.statistics().requests == 2


async def test_an_exception_in_the_block_is_raised_and_closes_the_body(make_client: MakeClient) -> None:
    body = Body(b"1")

    with pytest.raises(KeyError):
        async with make_client(Wire(httpx2.Response(200, stream=body))).stream(GET, watch=True):
            raise KeyError("mine")

    assert body.closed_at == 0
