"""Connections to ports of a pod: one WebSocket each, in ``v4.channel.k8s.io``.

The channels of a port are 0 for data and 1 for errors; the first two bytes of both are the port. Nothing on them tells
that one side has sent everything: only the end of the WebSocket does.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import trio

from dynkube._server_text import sanitized
from dynkube.errors import ClosedError, InvalidInput, PortUnavailable
from dynkube.meta._arguments import brief
from dynkube.pods._channels import CHUNK, V4, Demultiplexer, framed
from dynkube.pods._streams import check_max_bytes
from dynkube.pods._target import PodTarget

if TYPE_CHECKING:
    from dynkube.rest._websocket import WebSocket

_DATA, _ERRORS = 0, 1
_PORT_BYTES: Final = 2
_MOST_ERROR: Final = 64 << 10
PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9-]{1,15}\Z")
"""The names of ports (IANA_SVC_NAME), which have a letter."""

_LARGEST_PORT: Final = 0xFFFF


class PortStream(trio.abc.Stream):
    """A connection to a port of a pod; from :meth:`Pod.connect`.

    One task receives, and one sends. There is no way to tell the pod that everything was sent but to close it.

    Attributes:
        port: the port.
    """

    def __init__(self, websocket: WebSocket, target: PodTarget, port: int) -> None:
        self.port: int = port
        self._websocket = websocket
        self._target = target
        self._demultiplexer = Demultiplexer()
        self._to_skip = {_DATA: _PORT_BYTES, _ERRORS: _PORT_BYTES}
        self._error = bytearray()
        self._rest = b""
        self._ended = False
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has arrived, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is cancelled, nothing is lost.

        Raises:
            PortUnavailable: nothing listens on the port, or the connection to it has failed; the message says why.
            ConnectionLost: the connection has ended without being closed.
            ClosedError: the stream was closed.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        check_max_bytes(max_bytes)
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise ClosedError(f"{self._target}: the connection to port {self.port} was closed")
        while not self._rest and not self._ended:
            await self._receive()
        data = self._rest[:max_bytes]
        self._rest = self._rest[len(data) :]
        return data

    async def _receive(self) -> None:
        piece = await self._websocket.receive()
        if piece is None:
            self._ended = True
        else:
            channel, data = self._demultiplexer.feed(piece)
            skipped = min(self._to_skip.get(channel, 0), len(data))
            self._to_skip[channel] = self._to_skip.get(channel, 0) - skipped
            if channel == _DATA:
                self._rest = data[skipped:]
            elif channel == _ERRORS:
                self._error += data[skipped:][: _MOST_ERROR - len(self._error)]
        if self._error and (piece is None or piece.ends):
            self._ended = True
            said = sanitized(self._error.decode("utf-8", "replace").strip(), 1000)
            raise PortUnavailable(f"{self._target}: port {self.port} is not available: {said}")

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send data; blocks while the pod does not read.

        If it is cancelled, some of the data may have been sent, and no more can be.

        Raises:
            ConnectionLost: the connection has ended; :meth:`receive_some` may say why.
            ClosedError: the stream was closed, or an earlier call was cancelled.
        """
        view = memoryview(data)
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise ClosedError(f"{self._target}: the connection to port {self.port} was closed")
        for start in range(0, len(view), CHUNK):
            await self._websocket.send(framed(_DATA, view[start : start + CHUNK]))

    async def wait_send_all_might_not_block(self) -> None:
        """Do nothing: :meth:`send_all` may always block."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        self._closed = True
        await self._websocket.say_goodbye()

    def _give_back(self, data: bytes) -> None:
        """Return data again; for callers in other threads, which had given up when it was there."""
        self._rest = data + self._rest


def check_port(port: object, name: str = "port", *, least: int = 1, named: bool = False) -> None:
    """Raise InvalidInput unless it is the number of a port, or with ``named`` a name."""
    if named and isinstance(port, str) and PORT_NAME.match(port):
        return
    if type(port) is not int or not least <= port <= _LARGEST_PORT:
        raise InvalidInput(f"{name} must be an int between {least} and {_LARGEST_PORT}, not {brief(port)}")


@asynccontextmanager
async def open_port(target: PodTarget, port: int, *, timeout: float | None = None) -> AsyncIterator[PortStream]:
    """Connect to a port; leaving the block closes the connection."""
    async with target.websocket("portforward", {"ports": str(port)}, (V4,), timeout=timeout) as websocket:
        yield PortStream(websocket, target, port)
