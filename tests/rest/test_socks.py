"""Requests through a SOCKS proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpcore2
import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.errors import ConnectFailed
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._tap import TappedStream

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/version")
NO_PASSWORD = b"\x05\x00"
CONNECTED = b"\x05\x00\x00\x01\n\n\x00\x01\x1f\x90"  # from 10.10.0.1, port 8080
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def client_of_proxy(*replies: bytes, hangs_up: bool = True) -> AsyncIterator[tuple[RESTClient, trio.Event]]:
    """A client of a SOCKS proxy that sends these replies; and an event for the end of the connection."""
    pytest.importorskip("socksio", reason="socksio is not installed")
    ended = trio.Event()

    async def serve(stream: trio.SocketStream) -> None:
        for reply in replies:
            await stream.receive_some()
            await stream.send_all(reply)
        if hangs_up:
            await stream.send_eof()
        while await stream.receive_some():
            pass
        ended.set()

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        proxy_url = f"socks5://127.0.0.1:{listener.socket.getsockname()[1]}"
        config = ClientConfig(server="http://api.example", proxy_url=proxy_url)
        async with RESTClient(config, limits=Limits(max_reconnects=0)) as client:
            yield client, ended
        nursery.cancel_scope.cancel()


async def test_the_address_in_a_reply_may_look_like_the_end_of_a_response_head() -> None:
    async with client_of_proxy(NO_PASSWORD, CONNECTED, RESPONSE) as (client, _):
        assert (await client.request(GET)).body == b"{}"


async def test_the_replies_of_a_proxy_are_passed_on_whole_until_the_first_request() -> None:
    tap = TappedStream(httpcore2.AsyncMockStream([NO_PASSWORD, CONNECTED, RESPONSE]), max_head=1000)

    assert await tap.read(100) == NO_PASSWORD
    await tap.write(b"\x05\x01\x00")
    assert await tap.read(100) == CONNECTED
    await tap.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await tap.read(100) == RESPONSE[:-2]


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([], "the SOCKS proxy closed the connection"),
        ([NO_PASSWORD], "the SOCKS proxy closed the connection"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "the SOCKS proxy sent an invalid reply: "),
        ([NO_PASSWORD, CONNECTED[:2]], "the SOCKS proxy sent an invalid reply: "),
    ],
)
async def test_a_proxy_that_does_not_speak_the_protocol_is_a_failed_connection(replies: list[bytes], said: str) -> None:
    async with client_of_proxy(*replies) as (client, _):
        with pytest.raises(ConnectFailed, match=f"through the proxy .*{said}"):
            await client.request(GET)


async def test_a_request_cancelled_while_the_proxy_is_silent_leaves_no_socket() -> None:
    async with client_of_proxy(NO_PASSWORD, hangs_up=False) as (client, ended):
        with trio.move_on_after(0.2):
            await client.request(GET)
        with trio.fail_after(5):
            await ended.wait()
