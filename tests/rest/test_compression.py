"""Compressed responses: requested by choice, decompressed in pieces, and limited in ratio and size."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import AsyncIterator

import httpx2
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import APIError, ClosedError, ProtocolError
from dynkube.rest import Limits
from dynkube.rest._gzip import GzipBody
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, status

MB = 1 << 20
GET = Request(method="GET", path="/api/v1/pods")
GZIP = {"Content-Encoding": "gzip", "Content-Type": "application/json"}


async def in_parts(body: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def compressed(body: bytes, code: int = 200) -> Wire:
    return Wire(lambda request: httpx2.Response(code, headers=GZIP, content=in_parts(gzip.compress(body))))


async def test_a_response_is_decompressed_and_its_size_on_the_wire_is_counted(make_client: MakeClient) -> None:
    body = b'{"items":[' + b'{"kind":"Pod"},' * 100_000 + b"]}"
    client = make_client(compressed(body), compression=True)

    answer = await client.request(GET)

    assert answer.body == body
    assert "content-encoding" not in answer.headers
    assert client.statistics().received < len(body) / 50


async def test_gzip_is_accepted_by_choice_and_never_for_watches(make_client: MakeClient) -> None:
    wire = Wire(lambda request: httpx2.Response(200, content=b"{}"))
    client = make_client(wire, compression=True)
    await client.request(GET)
    async with client.stream(GET, watch=True), client.stream(GET, watch=False):
        pass
    await make_client(wire).request(GET)

    encodings = [request.headers["accept-encoding"] for request in wire.requests]
    assert encodings == ["gzip", "identity", "gzip", "identity"]


async def test_an_error_response_may_be_compressed(make_client: MakeClient) -> None:
    wire = compressed(status(403, "Forbidden", "pods is forbidden"), code=403)

    with pytest.raises(APIError, match="pods is forbidden"):
        await make_client(wire, compression=True).request(GET)


@pytest.mark.parametrize(("code", "length"), [(204, None), (200, "0"), (304, None)])
async def test_a_response_without_a_body_may_name_a_coding(
    make_client: MakeClient, code: int, length: str | None
) -> None:
    headers = GZIP | ({"Content-Length": length} if length else {})
    wire = Wire(httpx2.Response(code, headers=headers, content=in_parts(b"")))
    conditional = Request(method="GET", path="/apis", headers={"If-None-Match": "x"})

    answer = await make_client(wire, compression=True).request(conditional)

    assert (answer.status, answer.body) == (code, b"")


async def test_a_stream_that_was_left_returns_no_more_pieces(make_client: MakeClient) -> None:
    body = random.Random(3).randbytes(1000) * 2000
    wire = Wire(httpx2.Response(200, headers=GZIP, content=in_parts(gzip.compress(body), MB)))
    async with make_client(wire, compression=True).stream(GET, watch=False) as stream:
        assert await anext(stream)

    with pytest.raises(ClosedError):
        await anext(stream)


async def test_another_coding_is_refused(make_client: MakeClient) -> None:
    wire = Wire(lambda request: httpx2.Response(200, headers={"Content-Encoding": "br"}, content=b"..."))

    with pytest.raises(ProtocolError, match=r"compressed \(br\), which was not requested"):
        await make_client(wire, compression=True).request(GET)


@pytest.mark.parametrize("code", [200, 500])
async def test_a_bomb_is_refused_before_it_is_in_memory(make_client: MakeClient, code: int) -> None:
    client = make_client(compressed(b" " * (64 * MB), code), compression=True)

    with pytest.raises((ProtocolError, APIError)) as caught:
        await client.request(GET)

    if code == 200:
        assert "expands to more than 400 times its size" in str(caught.value)


async def test_the_size_limit_applies_to_what_is_decompressed(make_client: MakeClient) -> None:
    body = b'{"kind":"Pod"},' * 100_000
    client = make_client(compressed(body), compression=True, limits=Limits(max_response_bytes=MB))

    with pytest.raises(ProtocolError, match=r"larger than 1048576 bytes \(Limits\.max_response_bytes\)"):
        await client.request(GET)


PACKED = gzip.compress(b"{}", mtime=0)
BROKEN = {
    "cut short": (PACKED[:-3], "is incomplete, after 2 bytes decompressed"),
    "with bytes after its end": (PACKED + b"more", "has bytes after its end"),
    "of two members": (PACKED * 2, "has bytes after its end"),
    "with a wrong checksum": (PACKED[:-8] + b"12345678", "is not valid gzip: .*incorrect data check"),
    "zlib": (zlib.compress(b"{}"), "is not valid gzip"),
    "plain": (b"{}", "is not valid gzip"),
    "empty": (b"", "is incomplete, after 0 bytes"),
}


@pytest.mark.parametrize(("body", "message"), BROKEN.values(), ids=BROKEN.keys())
async def test_what_is_not_one_gzip_body_is_refused(make_client: MakeClient, body: bytes, message: str) -> None:
    for size in (1, 1000):
        wire = Wire(httpx2.Response(200, headers=GZIP, content=in_parts(body, size)))
        with pytest.raises(ProtocolError, match=f"GET /api/v1/pods: the compressed response {message}"):
            await make_client(wire, compression=True).request(GET)


async def test_pieces_of_one_chunk_leave_time_for_other_tasks(make_client: MakeClient) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    body = random.Random(3).randbytes(1000) * 20_000
    wire = Wire(httpx2.Response(200, headers=GZIP, content=in_parts(gzip.compress(body), MB)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        async with make_client(wire, compression=True).stream(GET, watch=False) as stream:
            sizes = [len(chunk) async for chunk in stream]
        nursery.cancel_scope.cancel()

    assert (sum(sizes), max(sizes)) == (len(body), 256 << 10)
    assert turns >= len(sizes) - 1


@given(st.binary(max_size=200).map(lambda part: part * 4000), st.integers(1, 5000), st.sampled_from([1, 6, 9]))
def test_any_body_in_any_parts_is_decompressed(body: bytes, size: int, level: int) -> None:
    packed, decoder = gzip.compress(body, level), GzipBody()
    pieces: list[bytes] = []
    for start in range(0, len(packed), size):
        decoder.feed(packed[start : start + size])
        while piece := decoder.take():
            pieces.append(piece)
    decoder.check_complete()

    assert b"".join(pieces) == body
    assert decoder.size == len(body)
