"""An open WebSocket: frames of RFC 6455, by wsproto, on the connection of a request that was switched.

The session of ``httpx2.websockets`` is not used: it joins a message's parts before it passes them on, reads as many
bytes at once as a message may have, and wraps errors in groups. Here each part is passed on when the reader asks for
it, so a slow reader slows the server down, and no message is too long.
"""

from __future__ import annotations

import random as random_module
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, NoReturn

import httpcore2
import trio
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError, generate_accept_token

from dynkube._bound import Bound
from dynkube._server_text import sanitized
from dynkube.errors import ClosedError, ConnectionLost, DynkubeError, ProtocolError
from dynkube.rest._answers import SWITCHING_PROTOCOLS
from dynkube.rest._failures import FAILURES, harmless_cause
from dynkube.rest._stream import Exchange
from dynkube.rest._transport import RAISED, mapped

_READ_BYTES: Final = 64 << 10
_GOODBYE_SECONDS: Final = 1.0
_PING_SECONDS: Final = 30.0  # load balancers end connections that are idle for a minute


class Piece(NamedTuple):
    """A part of a message, as it has arrived.

    Attributes:
        data: the bytes; may be empty.
        begins: whether it is the first part of its message.
        ends: whether it is the last part of its message.
    """

    data: bytes
    begins: bool
    ends: bool


class WebSocket(Bound):
    """An open WebSocket; from :meth:`RESTClient.websocket`. One task receives, any number may send.

    The task of :meth:`keep_alive` answers pings, so that cancelling a receive never ends a frame in the middle.

    Attributes:
        subprotocol: the one that the server has chosen.
        request: the request line, for messages.
    """

    def __init__(self, exchange: Exchange, stream: httpcore2.AsyncNetworkStream, subprotocol: str) -> None:
        self.subprotocol: str = subprotocol
        self.request: str = exchange.text
        self._exchange = exchange
        self._stream = stream
        self._frames = Connection(ConnectionType.CLIENT)
        self._events: Iterator[Event] = iter(())
        self._at_start = True
        self._closed = False  # by the server
        self._sending = trio.Lock()
        self._torn = False  # a frame was sent in part
        self._pong: Pong | None = None  # to the latest ping; only that one needs an answer
        self._pinged = trio.Event()
        self._given_up = ""  # why
        self._waits: set[trio.CancelScope] = set()

    async def receive(self) -> Piece | None:
        """Return the next part of a message; ``None`` when the server has closed the WebSocket.

        If it is cancelled, nothing is lost, and messages can still be sent.

        Raises:
            ConnectionLost: the connection ended before the WebSocket was closed.
            ProtocolError: the server sent no valid frames.
            ClosedError: the client was closed.
        """
        await trio.lowlevel.checkpoint()
        while not self._closed:
            match next(self._events, None):
                case None:
                    await self._read()
                case BytesMessage() | TextMessage() as message:
                    data = message.data
                    begins, self._at_start = self._at_start, message.message_finished
                    return Piece(data.encode() if isinstance(data, str) else bytes(data), begins, self._at_start)
                case Ping() as ping:
                    self._pong = ping.response()
                    self._pinged.set()
                    await trio.lowlevel.checkpoint()
                case CloseConnection() as close:
                    await self._end(close)
                case _:
                    await trio.lowlevel.checkpoint()
        return None

    async def send(self, data: bytes) -> None:
        """Send a binary message; blocks while the server does not read.

        If it is cancelled, the WebSocket cannot be sent to any more.

        Raises:
            ConnectionLost: the connection has ended, or the server has closed the WebSocket.
            ClosedError: the client was closed, or an earlier call was cancelled.
        """
        await self._send(BytesMessage(data=data))

    async def keep_alive(self) -> None:
        """Answer pings, and send one now and then: something between client and server may close idle connections.

        A task of its own, as answering in the task that receives would be a deadlock with a server that reads only once
        it has sent everything. Returns when nothing can be sent any more, which the reader notices.
        """
        with suppress(DynkubeError):
            while True:
                with trio.move_on_after(_PING_SECONDS):
                    await self._pinged.wait()
                async with self._sending:
                    pong, self._pong, self._pinged = self._pong, None, trio.Event()
                    await self._write(pong or Ping())

    async def say_goodbye(self) -> None:
        """Send a close frame if the WebSocket is open; gives up after a second."""
        if self._torn or self._frames.state is not ConnectionState.OPEN:
            await trio.lowlevel.checkpoint()
            return
        with trio.move_on_after(_GOODBYE_SECONDS):
            try:
                await self._send(CloseConnection(code=CloseReason.NORMAL_CLOSURE))
            except DynkubeError:
                self._exchange.failure = None  # the connection has ended already

    def give_up(self, reason: str) -> None:
        """Give up the WebSocket: what waits for it raises ConnectionLost."""
        self._given_up = reason
        for wait in self._waits:
            wait.cancel()

    async def _read(self) -> None:
        with self._translated():
            data = await self._stream.read(_READ_BYTES)
        if not data:
            self._fail(ConnectionLost(f"{self.request}: {self._exchange.peer} ended the connection without closing it"))
        self._exchange.count(len(data))
        self._frames.receive_data(data)
        self._events = self._frames.events()

    async def _send(self, event: Event) -> None:
        async with self._sending:
            await self._write(event)

    async def _write(self, event: Event) -> None:
        if self._torn:
            raise ClosedError(f"{self.request}: an earlier send was cancelled or has failed, so no more can be sent")
        try:
            data = self._frames.send(event)
        except LocalProtocolError:
            raise ConnectionLost(f"{self.request}: {self._exchange.peer} has closed the WebSocket") from None
        self._torn = True
        with self._translated():
            await self._stream.write(data)
        self._torn = False

    async def _end(self, close: CloseConnection) -> None:
        if self._frames.state is ConnectionState.OPEN:  # wsproto's way to report frames that it cannot parse
            self._fail(ProtocolError(f"{self.request}: invalid WebSocket frames: {sanitized(close.reason or '', 200)}"))
        self._closed = True
        if self._frames.state is ConnectionState.REMOTE_CLOSING:
            # Not for longer: a message that a server does not read any more may be in the way.
            with trio.move_on_after(_GOODBYE_SECONDS):
                try:
                    await self._send(close.response())
                except DynkubeError:
                    self._exchange.failure = None  # the server has closed its end, so it need not wait for the answer

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise errors of the connection as those of dynkube, and let :meth:`give_up` end the block."""
        failure: Exception | None = None
        handled = sys.exception()
        with trio.CancelScope() as wait:
            self._waits.add(wait)
            try:
                self._check_trusted()
                yield
            except (*RAISED, *FAILURES) as exc:
                failure = mapped(exc) if isinstance(exc, RAISED) else exc
            finally:
                self._waits.discard(wait)
        self._check_trusted()
        if failure is None:
            return
        # Raised outside the except block, so that the transport's exception does not become its context.
        exchange, cause = self._exchange, harmless_cause(failure, self._exchange.redact)
        if exchange.pools.closed:
            raise ClosedError(f"{self.request}: the client was closed while the WebSocket was open") from cause
        raise exchange.fail(failure, handled) from cause

    def _check_trusted(self) -> None:
        if self._given_up:
            self._fail(ConnectionLost(f"{self.request}: given up: {self._given_up}"))

    def _fail(self, error: DynkubeError) -> NoReturn:
        if self._exchange.pools.closed:
            raise ClosedError(f"{self.request}: the client was closed while the WebSocket was open")
        self._exchange.failure = error
        raise error

    def __repr__(self) -> str:
        return f"<WebSocket {self.request}: {self._exchange.received} bytes received>"


def new_key(random: random_module.Random) -> str:
    """Return a key by which the server shows that it has understood the request."""
    return b64encode(random.randbytes(16)).decode()


def upgrade_headers(key: str, subprotocols: Sequence[str]) -> Mapping[str, str]:
    """Return the headers that ask for a WebSocket."""
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": ", ".join(subprotocols),
    }


def switched(exchange: Exchange, key: str, subprotocols: Sequence[str]) -> WebSocket:
    """Return the WebSocket that a response has begun.

    Raises:
        ProtocolError: the response is not 101, does not answer the key, or names a subprotocol that was not offered.
    """
    headers, text = exchange.headers, exchange.text
    if exchange.status != SWITCHING_PROTOCOLS:
        raise ProtocolError(
            f"{text}: HTTP {exchange.status} instead of a WebSocket: a proxy or load balancer before the API server "
            "may not pass on upgrades of a connection"
        )
    stream = exchange.network_stream
    if stream is None:
        raise ProtocolError(f"{text}: the transport of this client cannot switch protocols")
    answer, chosen = headers.get("sec-websocket-accept", ""), headers.get("sec-websocket-protocol", "")
    if answer.encode("utf-8", "replace") != generate_accept_token(key.encode()):
        raise ProtocolError(f"{text}: the response is not that of a WebSocket: Sec-WebSocket-Accept is wrong")
    if chosen not in subprotocols:
        raise ProtocolError(
            f"{text}: the server chose the subprotocol {sanitized(chosen, 100)!r}; offered: {', '.join(subprotocols)}"
        )
    return WebSocket(exchange, stream, chosen)
