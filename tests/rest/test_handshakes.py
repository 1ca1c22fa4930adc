"""TLS handshakes that somebody gives up on."""

from __future__ import annotations

import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.rest import Request, RESTClient

pytestmark = pytest.mark.real_time


async def test_whoever_is_cancelled_in_a_handshake_leaves_no_socket() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    config = ClientConfig(server=f"https://127.0.0.1:{listener.socket.getsockname()[1]}")
    client = RESTClient(config)
    async with listener, client, trio.open_nursery() as nursery:
        nursery.start_soon(client.request, Request(method="GET", path="/version"))
        connection = await listener.accept()
        assert await connection.receive_some(), "the client's hello, which is never answered"

        nursery.cancel_scope.cancel()

    async with connection:
        with trio.fail_after(5):
            while await connection.receive_some():
                pass
