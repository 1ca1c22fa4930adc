"""The server's end of a WebSocket, on a connection of ``sockets.serving`` or in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import httpx2
import trio
import trio.testing
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event
from wsproto.utilities import generate_accept_token

from tests.rest.sockets import Handler

Play = Callable[["Peer"], Awaitable[None]]


@dataclass
class Peer:
    """The server's end: ``frames`` is wsproto's state of it."""

    stream: trio.abc.Stream
    frames: Connection = field(default_factory=lambda: Connection(ConnectionType.SERVER))

    async def send(self, data: bytes, *, ends: bool = True) -> None:
        await self.write(BytesMessage(data=data, message_finished=ends))

    async def write(self, event: Event) -> None:
        await self.stream.send_all(self.frames.send(event))

    async def close(self) -> None:
        await self.write(CloseConnection(code=1000))

    async def next(self) -> Event | None:
        """Return the next event; ``None`` if the connection has ended."""
        while (event := next(self.frames.events(), None)) is None:
            data = await self.stream.receive_some()
            if not data:
                return None
            self.frames.receive_data(bytes(data))
        return event


def head_of_101(key: str, subprotocol: str) -> bytes:
    accept = generate_accept_token(key.encode()).decode()
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
    ).encode()


def switching(play: Play, *, subprotocol: str = "echo", first: bytes = b"") -> Handler:
    """Return a handler for ``serving`` that switches the connection, and calls ``play``.

    ``first`` is sent together with the head.
    """

    async def handler(stream: trio.abc.Stream, head: bytes) -> None:
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
        key = next(value for name, value in fields.items() if name.lower() == "sec-websocket-key")
        peer = Peer(stream)
        await stream.send_all(head_of_101(key, subprotocol) + (peer.frames.send(BytesMessage(first)) if first else b""))
        await play(peer)
        await stream.aclose()

    return handler


class InMemory(httpx2.AsyncBaseTransport):
    """Switches every request in memory, in virtual time, and calls ``play`` in ``nursery``."""

    def __init__(self, nursery: trio.Nursery, play: Play, **headers: str) -> None:
        self._nursery = nursery
        self._play = play
        self._headers = headers

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        ours, theirs = trio.testing.lockstep_stream_pair()  # what is sent waits until it is read
        self._nursery.start_soon(self._run, Peer(theirs))
        accept = generate_accept_token(request.headers["sec-websocket-key"].encode()).decode()
        headers = {"sec-websocket-accept": accept, "sec-websocket-protocol": "echo", **self._headers}
        return httpx2.Response(101, headers=headers, stream=_Body(ours), extensions={"network_stream": _Network(ours)})

    async def _run(self, peer: Peer) -> None:
        with suppress(trio.BrokenResourceError):  # the client has closed its end
            await self._play(peer)
        await peer.stream.aclose()


class _Network:
    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return bytes(await self._stream.receive_some(max_bytes))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.send_all(buffer)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        await self._stream.aclose()
