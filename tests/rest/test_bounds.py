"""Responses are limited; each limit is a setting, and the error names it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.errors import APIError, DeadlineExceeded, ProtocolError
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import serving
from tests.rest.wire import MakeClient, Wire, chunks

GET = Request(method="GET", path="/api/v1/pods")
MB = 1 << 20


async def endless(piece: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    while True:
        await trio.sleep(pause)
        yield piece


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "11"}])
async def test_a_list_over_the_limit_is_aborted_with_the_name_of_the_setting(
    make_client: MakeClient, headers: dict[str, str]
) -> None:
    wire = Wire(lambda request: httpx2.Response(200, headers=headers, content=chunks(b"12345", b"67890", b"1")))

    async with make_client(wire, limits=Limits(max_response_bytes=10)).stream(GET, watch=False) as stream:
        with pytest.raises(
            ProtocolError, match=r"larger than 10 bytes \(Limits\.max_response_bytes\).*connect\(limits"
        ):
            [_ async for _ in stream]


async def test_a_watch_has_no_total_limit(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, content=chunks(*[b"12345"] * 10)))

    async with make_client(wire, limits=Limits(max_response_bytes=10)).stream(GET, watch=True) as stream:
        assert sum([len(chunk) async for chunk in stream]) == 50


async def test_an_endless_response_is_ended_by_its_size(make_client: MakeClient) -> None:
    wire = Wire(lambda request: httpx2.Response(200, content=endless(b"x" * MB)))

    with pytest.raises(ProtocolError, match="max_response_bytes"):
        await make_client(wire, limits=Limits(max_response_bytes=16 * MB)).request(GET)


async def test_an_endless_slow_response_is_ended_by_the_deadline(make_client: MakeClient) -> None:
    wire = Wire(lambda request: httpx2.Response(200, content=endless(b"x", pause=1)))

    with pytest.raises(DeadlineExceeded, match="within 32 s, while reading the response"):
        await make_client(wire).request(GET)

    assert trio.current_time() == 32


async def test_an_endless_error_body_is_cut_and_the_status_is_raised(make_client: MakeClient) -> None:
    wire = Wire(lambda request: httpx2.Response(403, content=endless(b"no " * MB)))

    with pytest.raises(APIError, match="403 Forbidden: no no") as caught:
        await make_client(wire).request(GET)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("code", [200, 500])
async def test_compressed_bodies_that_were_not_requested_are_refused(make_client: MakeClient, code: int) -> None:
    bomb = gzip.compress(b"0" * (64 * MB))
    wire = Wire(httpx2.Response(code, headers={"Content-Encoding": "gzip"}, content=chunks(bomb)))

    with pytest.raises((ProtocolError, APIError), match=r"compressed \(gzip\)") as caught:
        await make_client(wire).request(GET)

    assert wire.requests[0].headers["accept-encoding"] == "identity"
    assert len(str(caught.value)) < 400


HEADS = {
    "one field": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 5000,
    "many fields": b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 1000,
    "interim responses": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
}


@pytest.mark.real_time
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
async def test_a_head_over_the_limit_is_aborted_with_the_name_of_the_setting(head: bytes) -> None:
    async def handler(stream: trio.abc.Stream, request: bytes) -> None:
        while True:  # until the client closes the connection
            await stream.send_all(head)

    limits = Limits(max_header_bytes=4096)
    async with serving(handler) as server, RESTClient(ClientConfig(server=server.url()), limits=limits) as client:
        with pytest.raises(ProtocolError, match=r"larger than 4096 bytes \(Limits\.max_header_bytes\)"):
            await client.request(GET)
        await server.closed.wait()


@pytest.mark.real_time
async def test_a_head_of_fifty_kilobytes_is_accepted() -> None:
    async def handler(stream: trio.abc.Stream, request: bytes) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: " + b"x" * 50_000 + b"\r\n\r\n{}")

    async with serving(handler) as server, RESTClient(ClientConfig(server=server.url())) as client:
        for _ in range(3):  # the limit applies to each response
            assert (await client.request(GET)).body == b"{}"
