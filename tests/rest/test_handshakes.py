"""TLS handshakes that are cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.errors import ClosedError
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

pytestmark = pytest.mark.real_time


@asynccontextmanager
async def during_handshake() -> AsyncIterator[tuple[RESTClient, trio.Nursery, trio.SocketStream, list[Exception]]]:
    """A client that sends a request, and waits for a reply to its ClientHello that never comes."""
    failures: list[Exception] = []

    async def send_request() -> None:
        try:
            await client.request(Request(method="GET", path="/version"))
        except ClosedError as error:
            failures.append(error)

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    config = ClientConfig(server=f"https://127.0.0.1:{listener.socket.getsockname()[1]}")
    client = RESTClient(config)
    async with listener, client, trio.open_nursery() as nursery:
        nursery.start_soon(send_request)
        async with await listener.accept() as connection:
            assert await connection.receive_some(), "the ClientHello"
            yield client, nursery, connection, failures


async def ends(connection: trio.SocketStream) -> None:
    with trio.fail_after(5):
        while await connection.receive_some():
            pass


async def test_cancellation_during_a_handshake_leaves_no_socket() -> None:
    async with during_handshake() as (_, nursery, connection, _):
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await ends(connection)


async def test_closing_a_client_does_not_wait_for_a_handshake() -> None:
    async with during_handshake() as (client, _, connection, failures):
        await client.aclose()

        await ends(connection)
    assert "the client was closed" in str(failures[0])
