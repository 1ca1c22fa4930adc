"""An ASGI server for HTTP/1.1 on trio streams, with h11 as the parser.

General ASGI servers give each request its own tasks, timers and queues. This takes several times as long as the
processing of a request by this package (numbers in benchmarks/README.md). Here the application runs in the connection's
task, and headers and body are sent in one write. HTTP/2 and trailers are not supported, since API clients do not use
them. An extension allows tests to break off a response in ways that ASGI cannot express
(:data:`~dynkube_testing._asgi.BREAK`).
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
from collections import deque
from email.utils import formatdate
from http import HTTPStatus
from typing import NoReturn, TypeAlias
from urllib.parse import unquote

import h11
import trio

from dynkube_testing._asgi import BREAK, THREADS, UPGRADE, ASGIApp, Message, Scope

_logger = logging.getLogger("dynkube_testing.tcp")

Stream: TypeAlias = "trio.abc.HalfCloseableStream | trio.SSLStream[trio.abc.HalfCloseableStream]"

_MAX_HEAD = 256 * 1024  # of request line and headers; selectors and continue tokens make request lines long
_IDLE_SECONDS = 300  # then an idle connection is closed; clients keep idle connections for a long time
_READ = 64 * 1024
_MAX_PIPELINED = 1024 * 1024
# A response may start before the request was read completely, for example 401, 403, 404, 405, 413 or an injected fault.
# Up to this many remaining bytes are read first, so that the connection can be reused. Go's net/http has the same limit
# (maxPostHandlerReadBytes).
_MAX_DRAINED = 256 * 1024
_DRAIN_SECONDS = 2
# If more bytes remain, the response has "Connection: close", and data that still arrives is discarded for a while.
# Otherwise the kernel would send a reset, and the client could lose a response that it has not read yet. The numbers
# are those of nginx (lingering_timeout, lingering_time).
_LINGER_IDLE_SECONDS = 5
_LINGER_SECONDS = 30
_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


async def serve_http(
    app: ASGIApp,
    listener: trio.abc.Listener[trio.abc.HalfCloseableStream],
    *,
    tls: ssl.SSLContext | None = None,
    task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED,
) -> NoReturn:
    """Accept connections and serve ``app`` on each, until cancelled.

    Cancellation closes all connections at once.
    """

    async def serve(socket: trio.abc.HalfCloseableStream) -> None:
        stream: Stream = socket
        if tls is not None:
            stream = trio.SSLStream(socket, tls, server_side=True, https_compatible=True)
        try:
            await _Connection(app, stream).run()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has disconnected, or does not speak TLS
        except Exception:
            _logger.exception("a connection failed")  # a bug, which affects this connection only
        finally:
            await trio.aclose_forcefully(stream)

    await trio.serve_listeners(serve, [listener], task_status=task_status)


class _Connection:
    """A client's connection, on which requests are served one after the other."""

    def __init__(self, app: ASGIApp, stream: Stream) -> None:
        self.stream = stream
        self.http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        self._app = app

    async def run(self) -> None:
        """Serve requests until the client closes the connection, or it cannot be reused."""
        try:
            while (request := await self._next_request()) is not None:
                exchange = _Exchange(self, request)
                if not await exchange.run(self._app):
                    if exchange.upgraded:
                        break
                    if exchange.malformed is None:
                        return
                    raise exchange.malformed
                if not self._reusable():
                    break
                self.http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self._refuse(error)
        await self._linger()

    async def next_event(self) -> object:
        """Return the next h11 event from the client.

        Raises:
            h11.RemoteProtocolError: The client has sent malformed HTTP.
        """
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(bytes(await self.stream.receive_some(_READ)))
        return event

    async def _next_request(self) -> h11.Request | None:
        with trio.move_on_after(_IDLE_SECONDS):
            event = await self.next_event()
            return event if isinstance(event, h11.Request) else None
        return None

    def _reusable(self) -> bool:
        """Return whether another request can follow on this connection.

        This is so if request and response are complete, and neither has "Connection: close".
        """
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    async def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Send an error response to malformed HTTP.

        Does nothing if a response has started already, or the connection is closed.
        """
        if self.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        text = f"{error}\n".encode()
        headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text))), ("Connection", "close")]
        answer = h11.Response(status_code=error.error_status_hint, headers=headers, reason=b"Bad Request")
        await self.stream.send_all(_encoded(self.http, answer, h11.Data(data=text), h11.EndOfMessage()))

    async def _linger(self) -> None:
        """Close the sending side, and wait until the client closes its side.

        Closing both sides at once could send a reset, and the client could lose the response.
        """
        below = self.stream.transport_stream if isinstance(self.stream, trio.SSLStream) else self.stream
        await below.send_eof()
        with trio.move_on_after(_LINGER_SECONDS):
            while True:
                with trio.move_on_after(_LINGER_IDLE_SECONDS) as idle:
                    if not await below.receive_some(_READ):
                        return
                if idle.cancelled_caught:
                    return


class _Exchange:
    """One request and its response, with ``receive`` and ``send`` for ASGI."""

    def __init__(self, connection: _Connection, request: h11.Request) -> None:
        self._connection = connection
        self._http = connection.http
        self._stream = connection.stream
        self._request = request
        self.malformed: h11.RemoteProtocolError | None = None  # the error if the body is malformed
        self._received = False  # whether the application has received the whole body, or all that will arrive
        self._reading = trio.Lock()  # held while the body is being read
        self._read = 0  # bytes of the body read so far
        self._drained: deque[h11.Data | h11.EndOfMessage] = deque()  # read before the application called receive()
        self._gone = False
        self._unsent: list[h11.Event] = []
        self._ended = False
        self._switched = trio.Event()

    async def run(self, app: ASGIApp) -> bool:
        """Run ``app``, and return whether its response is complete.

        If it is not, the connection must be closed.
        """
        try:
            await app(self._scope(), self._receive, self._send)
        except Exception:
            if not self._ended:
                _logger.exception("%s %s failed", self._request.method.decode(), self._request.target.decode())
        return self._ended and not self._gone

    def _scope(self) -> Scope:
        target, _, query = _origin_form(self._request.target).partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self._request.http_version.decode("ascii"),
            "method": self._request.method.decode("ascii"),
            "scheme": "https" if isinstance(self._stream, trio.SSLStream) else "http",
            "path": unquote(target.decode("ascii")),
            "raw_path": target,
            "query_string": query,
            "root_path": "",
            "headers": list(self._request.headers),
            "client": None,
            "server": None,
            "extensions": {BREAK: {}, THREADS: {}, UPGRADE: {"stream": self._other_protocol}},
        }

    @property
    def upgraded(self) -> bool:
        """Whether the connection was switched to another protocol."""
        return self._switched.is_set()

    async def _other_protocol(self) -> trio.abc.Stream:
        """Wait until the connection was switched to another protocol, and return it (:data:`UPGRADE`)."""
        await self._switched.wait()
        return trio.StapledStream(self._stream, _Preceded(self._http.trailing_data[0], self._stream))

    async def _switch(self, headers: list[tuple[bytes, bytes]]) -> None:
        await self._write(h11.InformationalResponse(status_code=101, headers=headers, reason=_REASONS[101]))
        self._switched.set()

    async def _receive(self) -> Message:
        if self._received:
            await self._client_going()
            return {"type": "http.disconnect"}
        event = await self._next_of_body()
        if self.malformed is not None:
            self._gone = True
        if isinstance(event, h11.Data):
            return {"type": "http.request", "body": bytes(event.data), "more_body": True}
        self._received = True
        if isinstance(event, h11.EndOfMessage):
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def _next_of_body(self) -> object:
        async with self._reading:
            if self._drained:
                return self._drained.popleft()
            if self._http.they_are_waiting_for_100_continue:
                await self._write(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
            return await self._read_on()

    async def _drain(self) -> bool:
        """Read the rest of the request body, unless it is too long or slow.

        Returns whether all of it was read, so that another request can follow on this connection.
        """
        try:
            while not self._has_all():
                if (event := self._http.next_event()) is h11.NEED_DATA:
                    break
                self._keep(event)
        except h11.RemoteProtocolError as error:
            self.malformed = error
        if self._has_all():
            return True
        if self.malformed is not None or self._http.they_are_waiting_for_100_continue or self._reading.locked():
            return False  # the client waits for "100 Continue", or the application is reading
        if self._announced() - self._read > _MAX_DRAINED:
            return False
        async with self._reading:
            with trio.move_on_after(_DRAIN_SECONDS):
                before = self._read
                while not self._has_all() and self._read - before <= _MAX_DRAINED:
                    piece = await self._read_on()
                    if piece is None:
                        break
                    self._keep(piece)
        return self._has_all()

    def _has_all(self) -> bool:
        """Return whether the whole request was read from the connection."""
        return self._http.their_state not in {h11.SEND_BODY, h11.ERROR}

    def _keep(self, event: object) -> None:
        """Keep a piece of the body for the application, which may read it later."""
        if isinstance(event, h11.Data | h11.EndOfMessage):
            self._drained.append(event)

    async def _read_on(self) -> object:
        """Return the next h11 event of the request; ``None`` on a recorded error."""
        try:
            event = await self._connection.next_event()
        except h11.RemoteProtocolError as error:
            self.malformed = error
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._gone = True
        else:
            self._read += len(event.data) if isinstance(event, h11.Data) else 0
            return event
        return None

    def _announced(self) -> int:
        """Return the value of the Content-Length header; 0 without one."""
        return next((int(value) for name, value in self._request.headers if name == b"content-length"), 0)

    async def _client_going(self) -> None:
        """Wait until the client closes its side.

        Data that it sends before that belongs to its next request, and is given to the parser.
        """
        waiting = 0
        try:
            while waiting < _MAX_PIPELINED and (data := await self._stream.receive_some(_READ)):
                self._http.receive_data(bytes(data))
                waiting += len(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        self._gone = True

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            status: int = message["status"]
            headers = list(message.get("headers", ()))
            if status == HTTPStatus.SWITCHING_PROTOCOLS:
                await self._switch(headers)
                return
            if not any(name == b"date" for name, _ in headers):  # FaultProxy forwards the Date of the real server
                headers.append((b"date", formatdate(usegmt=True).encode()))
            if not await self._drain():
                headers = [field for field in headers if field[0] != b"connection"] + [(b"connection", b"close")]
            # Buffered until the first piece of the body, so that both are sent in one write.
            self._unsent.append(h11.Response(status_code=status, headers=headers, reason=_REASONS.get(status, b"")))
            return
        if message["type"] == BREAK:
            await self._break(message["how"], message.get("body", b""))
            return
        events, self._unsent = self._unsent, []
        if (body := message.get("body", b"")) and self._request.method != b"HEAD":
            events.append(h11.Data(data=body))
        if not message.get("more_body", False):
            events.append(h11.EndOfMessage())
            self._ended = True
        await self._write(*events)

    async def _break(self, how: str, body: bytes) -> None:
        """Break off the response, by a reset or inside a chunk (:data:`BREAK`).

        The connection is closed when the application returns.
        """
        if how == "reset":
            _reset_on_close(self._stream)
            return
        # Announce a longer chunk than is sent. This assumes chunked encoding: a response without Content-Length.
        announced = b"%x\r\n" % (2 * len(body) + 1)
        events, self._unsent = self._unsent, []
        await self._write(*events, end=announced + body)

    async def _write(self, *events: h11.Event, end: bytes = b"") -> None:
        """Write events, then the raw bytes ``end``.

        Nothing is sent if the client has disconnected. The application learns that from ``receive``, not here.
        """
        data = _encoded(self._http, *events) + end
        if self._gone:
            await trio.lowlevel.checkpoint()
            return
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._gone = True


class _Preceded(trio.abc.ReceiveStream):
    """A stream of which some bytes were received already."""

    def __init__(self, first: bytes, rest: trio.abc.ReceiveStream) -> None:
        self._first = first
        self._rest = rest

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        if not self._first:
            return await self._rest.receive_some(max_bytes)
        await trio.lowlevel.checkpoint()
        data, self._first = self._first[:max_bytes], self._first[max_bytes:] if max_bytes else b""
        return data

    async def aclose(self) -> None:
        await self._rest.aclose()


def _encoded(http: h11.Connection, *events: h11.Event) -> bytes:
    return b"".join([http.send(event) or b"" for event in events])


def _reset_on_close(stream: Stream) -> None:
    """Make the kernel send RST instead of FIN on close, by setting SO_LINGER to zero."""
    connection = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
    below = getattr(connection, "socket", None)  # None if the stream does not use TCP
    if below is not None:
        below.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _origin_form(target: bytes) -> bytes:
    """Return a request target without scheme and authority.

    Clients may send ``GET http://host/path``, and servers must accept it (RFC 9112, 3.2.2).
    """
    scheme, _, rest = target.partition(b"://")
    return b"/" + rest.partition(b"/")[2] if scheme.lower() in {b"http", b"https"} else target
