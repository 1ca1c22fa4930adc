"""Connections that can be interrupted.

They share a *line*, a simulated network. While it is down, data and the ends of connections are held back.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress

import trio

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Line:
    """The simulated network of all connections of a proxy or listener.

    It is up, or down and holds back all data.
    """

    def __init__(self) -> None:
        self._down = 0
        self._retired = False
        self._up = trio.Event()
        self._unfinished: list[trio.SocketStream] = []

    @property
    def down(self) -> bool:
        """Whether all data is held back."""
        return self._down > 0 and not self._retired

    def take_down(self) -> None:
        """Hold back all data, until :meth:`put_up` is called as often as this method."""
        self._down += 1

    def put_up(self) -> None:
        """Undo one :meth:`take_down`.

        If it was the last one, the data and the ends of connections that were held back are released.
        """
        self._down -= 1
        self._announce()

    def retire(self) -> None:
        """Put the line up permanently, when its listener or proxy closes."""
        self._retired = True
        self._announce()

    async def passage(self) -> None:
        """Wait until the line is up."""
        while self.down:
            await self._up.wait()

    async def close(self, stream: trio.SocketStream) -> None:
        """Close ``stream``.

        While the line is down this is delayed, so that the client does not notice.
        """
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
    """A client's connection whose data is held back while the line is down.

    Args:
        stream: The underlying connection.
        line: The line that controls it.
        closed: Called with this stream when it is closed.
    """

    def __init__(self, stream: trio.SocketStream, line: Line, closed: Callable[[LineStream], None]) -> None:
        self._stream = stream
        self._line = line
        self._closed = closed
        self._arrived: bytes | None = None  # received, but perhaps still held back by the line

    @property
    def socket(self) -> trio.socket.SocketType:
        """The underlying socket, for its options."""
        return self._stream.socket

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return data from the client, once the line is up."""
        await self._line.passage()
        if self._arrived is None:
            self._arrived = bytes(await self._stream.receive_some(max_bytes))
            # The line may be down by now. If cancelled here, the next call returns the bytes.
            await self._line.passage()
        data = self._arrived if max_bytes is None else self._arrived[:max_bytes]
        self._arrived = self._arrived[len(data) :] or None
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send data to the client, once the line is up."""
        await self._line.passage()
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until the line is up and the stream has room for more."""
        await self._line.passage()
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        """Send EOF, once the line is up."""
        await self._line.passage()
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close the server's end of the connection, also while the line is down.

        The client is notified once the line is up.
        """
        self._closed(self)
        await self._line.close(self._stream)

    def drop(self, *, reset: bool) -> None:
        """Close the connection by RST or FIN, even if it is in use or the line is down."""
        self._closed(self)
        drop(self._stream, reset=reset)


class UnansweredStream(trio.abc.HalfCloseableStream):
    """A connection that never gets a response; for the server it ends when the client disconnects."""

    def __init__(self, stream: trio.SocketStream, closed: Callable[[UnansweredStream], None]) -> None:
        self._stream = stream
        self._closed = closed

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return ``b""`` once the client has closed its side; discard everything before."""
        while await self._stream.receive_some(max_bytes):
            pass
        return b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Discard ``data``."""
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Return at once: everything sent is discarded."""
        await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """Do nothing: the client does not notice."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close this side."""
        self._closed(self)
        await self._stream.aclose()

    def drop(self, *, reset: bool) -> None:
        """Close the connection by RST or FIN while it is in use."""
        self._closed(self)
        drop(self._stream, reset=reset)


def drop(stream: trio.SocketStream, *, reset: bool) -> None:
    """Close ``stream`` at once, by RST or FIN.

    Tasks that are sending or receiving on it get ``trio.ClosedResourceError``.
    """
    if stream.socket.fileno() < 0:
        return
    if reset:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    else:
        with suppress(OSError):  # the client has disconnected already
            stream.socket.shutdown(socket.SHUT_WR)  # else unread data would turn the close into a reset
    stream.socket.close()
