"""Faults on real TCP connections."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
import trio

from dynkube_testing import APIServer, Cut, Disconnect, Drip, Ending, Endpoint, Hang, Refuse
from tests.contract.objects import config

pytestmark = pytest.mark.real_time

CONFIGS = "/api/v1/configmaps"
WATCH = f"{CONFIGS}?watch=true"
ENDS: dict[Ending, object] = {
    "clean": None,
    "cut": httpx2.RemoteProtocolError,
    "reset": httpx2.ReadError,
    "mid-line": httpx2.RemoteProtocolError,
    "mid-chunk": httpx2.RemoteProtocolError,
}


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[httpx2.AsyncClient]:
    trust = ssl.create_default_context(cadata=endpoint.ca_pem.decode()) if endpoint.ca_pem else True
    async with httpx2.AsyncClient(base_url=endpoint.url, verify=trust, timeout=30) as client:
        yield client


async def read_all(response: httpx2.Response) -> tuple[bytes, object]:
    """Return the body, and the type of the error that ended it or ``None``."""
    data = b""
    try:
        async for chunk in response.aiter_raw():
            data += chunk
    except httpx2.TransportError as error:
        return data, type(error)
    return data, None


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("how", ENDS)
async def test_an_open_watch_is_ended(server: APIServer, how: Ending, tls: bool) -> None:
    async with server.serve(tls=tls) as endpoint, connected(endpoint) as client:
        async with client.stream("GET", WATCH) as response:
            await server.wait_open_watches(1)
            server.end_watches(how=how)
            data, end = await read_all(response)

        again = await client.get(CONFIGS)

    assert end == ENDS[how] or (tls and how != "clean" and end is not None), "the type of the error differs with TLS"
    assert bool(data) == (how in {"mid-line", "mid-chunk"})
    assert again.status_code == 200


@pytest.mark.parametrize("how", ENDS)
async def test_a_list_can_be_cut_after_some_bytes(server: APIServer, how: Ending) -> None:
    server.inject(Cut(how, after_bytes=20))

    async with server.serve() as endpoint, connected(endpoint) as client, client.stream("GET", CONFIGS) as response:
        data, end = await read_all(response)

    assert (len(data), end) == (20, ENDS[how])


async def raw(endpoint: Endpoint, path: str) -> bytes:
    """Send a request, and return all bytes until the connection ends."""
    host, port = re.findall(r"[\d.]+", endpoint.url)
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return b"".join([bytes(piece) async for piece in stream])


async def test_a_cut_in_mid_chunk_sends_less_than_the_announced_size(server: APIServer) -> None:
    server.create(config("a"))
    server.inject(Cut("mid-chunk", after_lines=0), verb="watch")

    async with server.serve() as endpoint:
        head, _, body = (await raw(endpoint, WATCH)).partition(b"\r\n\r\n")

    size, _, piece = body.partition(b"\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    assert piece.startswith(b'{"type":"ADDED"')
    assert 0 < len(piece) < int(size, 16)


@pytest.mark.parametrize("status", [204, 304])
async def test_refuse_sends_204_and_304_without_a_body(server: APIServer, status: int) -> None:
    server.inject(Refuse(status))

    async with server.serve() as endpoint, connected(endpoint) as client:
        responses = [await client.get(CONFIGS) for _ in range(2)]  # the second one needs an intact connection

    assert [(response.status_code, response.content) for response in responses] == [(status, b"")] * 2


@pytest.mark.parametrize(("how", "ends"), [("clean", b""), ("reset", trio.BrokenResourceError)])
async def test_disconnect_ends_the_connection_without_a_response(server: APIServer, how: Ending, ends: object) -> None:
    server.inject(Disconnect("reset" if how == "reset" else "clean"))

    async with server.serve() as endpoint:
        try:
            seen: object = await raw(endpoint, CONFIGS)
        except trio.BrokenResourceError as error:
            seen = type(error)

    assert seen == ends


async def test_a_silent_watch_sends_nothing_until_it_is_ended(server: APIServer) -> None:
    async with server.serve() as endpoint, connected(endpoint) as client, client.stream("GET", WATCH) as silent:
        await server.wait_open_watches(1)
        server.end_watches(how="silent")

        server.create(config("a"))
        assert len((await client.get(CONFIGS)).json()["items"]) == 1
        assert len(server.open_watches) == 1
        server.end_watches(how="cut")

        assert await read_all(silent) == (b"", httpx2.RemoteProtocolError)


async def test_silent_and_hanging_requests_end_when_the_client_gives_up(server: APIServer) -> None:
    server.inject(Hang(), verb="list")
    server.inject(Cut("silent"), verb="watch")

    async with server.serve() as endpoint, connected(endpoint) as client:
        for path in (CONFIGS, WATCH):
            with pytest.raises(httpx2.ReadTimeout):
                await client.get(path, timeout=httpx2.Timeout(None, read=0.1))
        await server.wait_open_watches(0)

    assert server.audit[-1].status == 200


async def test_drip_sends_the_body_in_pieces(server: APIServer) -> None:
    server.inject(Drip(200))

    async with server.serve() as endpoint, connected(endpoint) as client, client.stream("GET", CONFIGS) as response:
        pieces = [chunk async for chunk in response.aiter_raw()]

    assert len(pieces) > 1
    assert b"".join(pieces).startswith(b'{"kind":"ConfigMapList"')
