"""Connections that can be stopped on their way: bytes, ends and resets alike wait while the line is down."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress

import trio

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Line:
    """Whether anything gets through, for all connections of a proxy."""

    def __init__(self) -> None:
        self._down = 0
        self._retired = False
        self._up = trio.Event()
        self._unfinished: list[trio.SocketStream] = []

    @property
    def down(self) -> bool:
        """Whether nothing gets through."""
        return self._down > 0 and not self._retired

    def take_down(self) -> None:
        """Let nothing through any more. Each call owes a :meth:`put_up`."""
        self._down += 1

    def put_up(self) -> None:
        """Let everything through again: also the ends of connections that waited."""
        self._down -= 1
        self._announce()

    def retire(self) -> None:
        """Be up for good: who uses it is about to close."""
        self._retired = True
        self._announce()

    async def passage(self) -> None:
        """Wait until something gets through."""
        while self.down:
            await self._up.wait()

    async def close(self, stream: trio.SocketStream) -> None:
        """Close ``stream``; while the line is down its client is not told."""
        if self.down:
            self._unfinished.append(stream)
            await trio.lowlevel.checkpoint()
        else:
            await stream.aclose()

    def _announce(self) -> None:
        if self.down:
            return
        self._up.set()
        self._up = trio.Event()
        streams, self._unfinished = self._unfinished, []
        for stream in streams:
            stream.socket.close()


class LineStream(trio.abc.HalfCloseableStream):
    """One client's connection, as far as the line lets it.

    Args:
        stream: The connection itself.
        line: What has to be up.
        closed: Called once, when this side has closed.
    """

    def __init__(self, stream: trio.SocketStream, line: Line, closed: Callable[[LineStream], None]) -> None:
        self._stream = stream
        self._line = line
        self._closed = closed
        self._arrived: bytes | None = None  # read, but perhaps not yet let through

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket below, for its options."""
        return self._stream.socket

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What the client has sent, once it gets through."""
        await self._line.passage()
        if self._arrived is None:
            self._arrived = bytes(await self._stream.receive_some(max_bytes))
            # The line may have gone down meanwhile. Whoever is cancelled here finds the bytes the next time.
            await self._line.passage()
        data = self._arrived if max_bytes is None else self._arrived[:max_bytes]
        self._arrived = self._arrived[len(data) :] or None
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send to the client, once something gets through."""
        await self._line.passage()
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until there is room for more."""
        await self._line.passage()
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        """End this direction, once that gets through."""
        await self._line.passage()
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close this side. Never waits for the line."""
        self._closed(self)
        await self._line.close(self._stream)

    def drop(self, *, reset: bool) -> None:
        """End the connection under whoever uses it, by an RST or a FIN, whatever the line lets through."""
        self._closed(self)
        drop(self._stream, reset=reset)


class DeafStream(trio.abc.HalfCloseableStream):
    """A connection on which nobody ever answers: for the server it ends when its client has gone."""

    def __init__(self, stream: trio.SocketStream, closed: Callable[[DeafStream], None]) -> None:
        self._stream = stream
        self._closed = closed

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Nothing, once the client has closed its side."""
        while await self._stream.receive_some(max_bytes):
            pass
        return b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Nowhere."""
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """There is room for nothing."""
        await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """Nobody is told."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close this side."""
        self._closed(self)
        await self._stream.aclose()

    def drop(self, *, reset: bool) -> None:
        """End the connection under whoever uses it, by an RST or a FIN."""
        self._closed(self)
        drop(self._stream, reset=reset)


def drop(stream: trio.SocketStream, *, reset: bool) -> None:
    """Close ``stream`` at once, also where somebody waits for it, who gets ``trio.ClosedResourceError``."""
    if stream.socket.fileno() < 0:
        return
    if reset:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    else:
        with suppress(OSError):  # the client was faster
            stream.socket.shutdown(socket.SHUT_WR)  # or what is unread would make a reset of it
    stream.socket.close()
