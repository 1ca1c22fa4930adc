"""The server's side of a WebSocket (RFC 6455), with wsproto as the parser of frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import trio
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError, RemoteProtocolError, generate_accept_token

from dynkube_testing._calls import refuse
from dynkube_testing._wire.http import HTTPRequest

_READ: Final = 64 * 1024
_MAX_MESSAGE: Final = 4 << 20  # bytes; clients send at most 32 KiB or 64 KiB in one message
_CLOSE_SECONDS: Final = 5.0  # to wait for the client's part of the closing handshake


class WebSocket:
    """An open WebSocket. Messages are received in one task; they may be sent from several.

    Args:
        stream: The connection after the response 101.
    """

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._frames = Connection(ConnectionType.SERVER)
        self._sending = trio.Lock()
        self._message = bytearray()
        self._messages: deque[bytes] = deque()  # received and not returned yet
        self._ended = False

    async def receive(self) -> bytes | None:
        """Return the next message; text is encoded as UTF-8. ``None`` when the client has closed the WebSocket.

        Pings are answered meanwhile. Malformed frames and messages over 4 MiB end the WebSocket.
        """
        while not self._messages:
            if self._ended:
                return None
            try:
                data = await self._stream.receive_some(_READ)
                self._frames.receive_data(bytes(data) or None)
                for event in self._frames.events():
                    await self._handle(event)
            except RemoteProtocolError as error:
                await self._send_event(error.event_hint or CloseConnection(code=CloseReason.PROTOCOL_ERROR))
                self._ended = True
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._ended = True
        return self._messages.popleft()

    async def send(self, message: bytes) -> None:
        """Send a binary message. Does nothing if the client has closed the WebSocket."""
        await self._send_event(BytesMessage(data=message))

    async def aclose(self) -> None:
        """Close the WebSocket, and wait for the client to do so for a few seconds."""
        await self._send_event(CloseConnection(code=CloseReason.NORMAL_CLOSURE))
        with trio.move_on_after(_CLOSE_SECONDS):
            while await self.receive() is not None:
                pass

    async def _handle(self, event: Event) -> None:
        match event:
            case Ping():
                await self._send_event(event.response())
            case CloseConnection():
                await self._send_event(event.response())
                self._ended = True
            case BytesMessage() | TextMessage():
                data = event.data
                self._message += data.encode() if isinstance(data, str) else data
                if len(self._message) > _MAX_MESSAGE:
                    await self._send_event(CloseConnection(code=CloseReason.MESSAGE_TOO_BIG))
                    self._ended = True
                elif event.message_finished:
                    self._messages.append(bytes(self._message))
                    self._message.clear()

    async def _send_event(self, event: Event) -> None:
        async with self._sending:
            # If the client has closed the WebSocket, receive() reports that.
            with suppress(LocalProtocolError, trio.BrokenResourceError, trio.ClosedResourceError):
                await self._stream.send_all(self._frames.send(event))


class MessageStream(trio.abc.Stream):
    """A WebSocket as a stream: the boundaries of messages have no meaning."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._rest = b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes."""
        await self._websocket.send(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        """Do nothing: ``send_all`` may always block."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the next bytes; ``b""`` when the client has closed the WebSocket."""
        while not self._rest:
            message = await self._websocket.receive()
            if message is None:
                return b""
            self._rest = message
        data, self._rest = self._rest[:max_bytes], self._rest[len(self._rest[:max_bytes]) :]
        return data

    async def aclose(self) -> None:
        """Close the WebSocket."""
        await self._websocket.aclose()


def handshake(request: HTTPRequest, protocols: Sequence[str]) -> tuple[str, list[tuple[bytes, bytes]]]:
    """Check the request for a WebSocket; returns the subprotocol, and the headers of the response 101.

    Args:
        request: The request.
        protocols: The supported subprotocols, of which the client must offer one; its first one is used.

    Raises:
        BadRequest: The request is not one for a WebSocket of version 13, or offers no supported subprotocol.
    """
    headers = request.headers
    if not request.requests_upgrade("websocket"):
        raise refuse.bad_request("Upgrade request required: this needs a WebSocket")
    key, version = headers.get("sec-websocket-key", ""), headers.get("sec-websocket-version", "")
    if not key or version != "13":
        raise refuse.bad_request("the header Sec-WebSocket-Key is missing, or Sec-WebSocket-Version is not 13")
    offered = [each.strip() for each in headers.get("sec-websocket-protocol", "").split(",")]
    chosen = next((each for each in offered if each in protocols), None)
    if chosen is None:
        raise refuse.bad_request(
            f"none of the offered subprotocols {', '.join(offered)} is supported; supported are {', '.join(protocols)}"
        )
    return chosen, [
        (b"upgrade", b"websocket"),
        (b"sec-websocket-accept", generate_accept_token(key.encode("latin-1"))),
        (b"sec-websocket-protocol", chosen.encode()),
    ]
