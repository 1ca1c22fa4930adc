"""Options of the sockets to the API server."""

from __future__ import annotations

import socket
import sys

import httpx2
import pytest

from dynkube.rest._transport import PoolTransport, _socket_options
from tests.rest.sockets import respond_with, serving

OK = respond_with(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name these options differently")
def test_a_peer_that_vanished_is_noticed_within_a_minute_as_with_go() -> None:
    options = {(level, option): value for level, option, value in _socket_options()}

    assert options[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    idle, every, count = (
        options[socket.IPPROTO_TCP, option]
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + every * count == 60
    assert (idle, every) == (30, 10)


@pytest.mark.real_time
@pytest.mark.parametrize("through_proxy", [False, True], ids=["direct", "through a proxy"])
async def test_every_connection_is_probed_while_it_is_silent(through_proxy: bool) -> None:
    async with serving(OK) as server:
        proxy_url = server.url() if through_proxy else None
        transport = PoolTransport(ssl_context=None, proxy_url=proxy_url, max_connections=1, keepalive=1, http2=False)
        async with transport:
            response = await transport.handle_async_request(httpx2.Request("GET", server.url()))
            opened = response.extensions["network_stream"].get_extra_info("socket")
            assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            await response.aclose()
