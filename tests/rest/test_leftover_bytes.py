"""Bytes after the end of a response: their connection is not reused."""

from __future__ import annotations

import socket
import ssl

import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.errors import ProtocolError
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import Handler, respond_with, serving

pytestmark = pytest.mark.real_time

FORGED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
RESPONSES = {
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright", "GET"),
    "chunks": (CHUNKED + b"5\r\nright\r\n0\r\n\r\n", "GET"),
    "chunks and trailers": (CHUNKED + b"5\r\nright\r\n0\r\nA: b\r\n\r\n", "GET"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "GET"),
    "an empty body": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET"),
    "no body by its method": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"),
    "an error response": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nright", "GET"),
}


async def bodies_of_two(client: RESTClient, method: str, *, pause: float = 0) -> list[str]:
    bodies = []
    for _ in range(2):
        await trio.sleep(pause)
        try:
            bodies.append((await client.request(Request(method=method, path="/api/v1/pods"))).body.decode())
        except Exception as error:  # the message is compared
            bodies.append(str(error))
    return bodies


@pytest.mark.parametrize(("response", "method"), RESPONSES.values(), ids=RESPONSES.keys())
async def test_extra_bytes_in_the_same_segment_are_not_taken_for_the_next_response(
    response: bytes, method: str
) -> None:
    async with (
        serving(respond_with(response + FORGED)) as server,
        RESTClient(ClientConfig(server=server.url())) as client,
    ):
        bodies = await bodies_of_two(client, method)

    assert "forged" not in str(bodies)
    assert server.connections == 2


async def test_a_request_that_must_not_be_repeated_is_sent_on_another_connection() -> None:
    response = respond_with(RESPONSES["a length"][0] + FORGED)
    async with serving(response) as server, RESTClient(ClientConfig(server=server.url())) as client:
        assert await bodies_of_two(client, "POST") == ["right", "right"]

    assert server.connections == 2


@pytest.mark.parametrize(("response", "method"), RESPONSES.values(), ids=RESPONSES.keys())
async def test_bytes_on_an_idle_connection_are_not_taken_for_the_next_response(response: bytes, method: str) -> None:
    async with (
        serving(respond_with(response, FORGED)) as server,
        RESTClient(ClientConfig(server=server.url())) as client,
    ):
        bodies = await bodies_of_two(client, method, pause=0.05)

    assert "forged" not in str(bodies)
    assert server.connections == 2


async def test_a_pending_tls_record_is_not_taken_for_the_next_response() -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    tls = TLSSettings(ca_data=authority.cert_pem.bytes())
    async with (
        serving(in_one_segment(RESPONSES["a length"][0], FORGED), tls=context) as server,
        RESTClient(ClientConfig(server=server.url("https", "localhost"), tls=tls)) as client,
    ):
        assert await bodies_of_two(client, "GET") == ["right", "right"]

    assert server.connections == 2


def in_one_segment(*records: bytes) -> Handler:
    """Return a handler that sends TLS records such that the client receives them together."""

    async def handler(stream: trio.abc.Stream, head: bytes) -> None:
        assert isinstance(stream, trio.SSLStream)
        for corked in (1, 0):
            stream.transport_stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, corked)
            for record in records if corked else ():
                await stream.send_all(record)

    return handler


async def test_endless_trailers_are_an_error() -> None:
    endless = respond_with(CHUNKED + b"5\r\nright\r\n0\r\n", *[b"A: b\r\n" * 1000] * 3)
    async with (
        serving(endless) as server,
        RESTClient(ClientConfig(server=server.url()), limits=Limits(max_header_bytes=8000)) as client,
    ):
        with pytest.raises(ProtocolError, match=r"larger than 8000 bytes \(Limits.max_header_bytes\)"):
            await client.request(Request(method="GET", path="/api/v1/pods"))
