"""WebSockets of the embedded server: fragments, pings, closing, and input that is malformed or too large."""

from __future__ import annotations

import pytest
import trio
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

from dynkube_testing._containers.pipes import open_stream_pair
from dynkube_testing._wire.websocket import WebSocket


class Client:
    """The client's side of a WebSocket, frame by frame."""

    def __init__(self) -> None:
        self.stream, server = open_stream_pair()
        self.server = WebSocket(server)
        self._frames = Connection(ConnectionType.CLIENT)

    async def send(self, *events: Event) -> None:
        """Send frames."""
        for event in events:
            await self.stream.send_all(self._frames.send(event))

    async def receive(self) -> Event:
        """Return the next frame of the server."""
        while True:
            for event in self._frames.events():
                return event
            self._frames.receive_data(bytes(await self.stream.receive_some()) or None)


@pytest.fixture
async def client() -> Client:
    return Client()


async def test_messages_may_be_text_and_in_fragments(client: Client) -> None:
    await client.send(
        BytesMessage(data=b"a", message_finished=False), BytesMessage(data=b"b"), TextMessage(data="\u00e9")
    )

    assert [await client.server.receive(), await client.server.receive()] == [b"ab", "\u00e9".encode()]


async def test_a_ping_is_answered_while_messages_are_received(client: Client) -> None:
    await client.send(Ping(payload=b"x"), BytesMessage(data=b"a"))
    await client.server.receive()

    assert await client.receive() == Pong(payload=b"x")


async def test_closing_waits_for_the_client(client: Client) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.server.aclose)
        close = await client.receive()
        assert isinstance(close, CloseConnection)
        await client.send(close.response())

    await client.server.send(b"late")  # is dropped


async def test_closing_does_not_wait_for_long(client: Client) -> None:
    began = trio.current_time()

    await client.server.aclose()

    assert trio.current_time() - began == 5


async def test_a_client_that_disconnects_has_closed(client: Client) -> None:
    await client.stream.aclose()

    assert await client.server.receive() is None
    await client.server.send(b"late")


@pytest.mark.parametrize(
    ("sent", "code"),
    [(b"\xff\xff\xff\xff", 1002), (b"\x82\x01x", 1002)],  # reserved bits; a frame without a mask
)
async def test_malformed_frames_end_the_websocket(client: Client, sent: bytes, code: int) -> None:
    await client.stream.send_all(sent)

    assert await client.server.receive() is None
    close = await client.receive()
    assert isinstance(close, CloseConnection)
    assert close.code == code


async def test_a_message_that_is_too_large_ends_the_websocket(client: Client) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send, *[BytesMessage(data=bytes(1 << 20), message_finished=False)] * 5)

        assert await client.server.receive() is None
        nursery.cancel_scope.cancel()
    close = await client.receive()
    assert isinstance(close, CloseConnection)
    assert close.code == 1009
