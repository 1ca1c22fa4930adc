"""An httpx2 transport that runs an ASGI application in the same trio loop.

``httpx2.ASGITransport`` collects the whole response before it returns the first byte, so it does not support watches.
This transport returns each chunk when the application sends it. It uses no threads or sockets, so it works with trio's
virtual time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NoReturn, Protocol, TypeAlias

import httpx2
import trio

from dynkube_testing._asgi import BREAK, OUTLIVE, UPGRADE, ASGIApp, Message, Scope
from dynkube_testing._containers.pipes import PipeReader, PipeWriter, open_stream_pair

# Maximum number of chunks that are buffered between application and client, like the send buffer of a socket. It is
# small, so that the application soon waits if the client stops reading.
_CHUNKS_UNDER_WAY = 16


_MemoryStream: TypeAlias = "trio.StapledStream[PipeWriter, PipeReader]"


class Spawn(Protocol):
    """A function that starts a task in the server's nursery.

    It raises ``httpx2.ConnectError`` if the server has stopped, as for a client of a stopped real server.
    """

    def __call__(self, task: Callable[[], Awaitable[None]], /) -> None: ...


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Runs ``app`` for each request, in one task of the server per request.

    - The response is returned as soon as the application has started it. Its body is streamed in chunks; an application
      that is a few chunks ahead of its reader waits.
    - Closing the response cancels the application's task and waits for its end. Closing the transport does this for all
      open responses. A task that has requested to continue without its client
      (:data:`~dynkube_testing._asgi.OUTLIVE`) and has not started its response is not cancelled.
    - If the application returns before its response is complete, the reader gets ``httpx2.RemoteProtocolError``, as if
      the connection had been closed. If the application resets the connection
      (:data:`~dynkube_testing._asgi.BREAK`), the reader gets ``httpx2.ReadError``. An exception of the application is
      raised to the reader unchanged, since it is a bug and not a response.
    - The ``read`` timeout of the request is applied, on trio's clock.
    """

    def __init__(self, app: ASGIApp, spawn: Spawn) -> None:
        self._app = app
        self._spawn = spawn
        self._open: set[_Exchange] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request`` to the application and return when its response has started."""
        exchange = _Exchange(request, await request.aread(), self._open.discard)
        self._spawn(lambda: exchange.run(self._app))
        self._open.add(exchange)
        try:
            status, headers = await exchange.started()
        except BaseException:
            await exchange.aclose()
            raise
        extensions: dict[str, object] = {"http_version": b"HTTP/1.1"}
        if status == HTTPStatus.SWITCHING_PROTOCOLS:
            extensions["network_stream"] = exchange.network_stream()
        return httpx2.Response(status, headers=headers, stream=exchange, request=request, extensions=extensions)

    async def aclose(self) -> None:
        """Close all open responses."""
        for exchange in tuple(self._open):
            await exchange.aclose()


class _NetworkStream:
    """The client's end of a connection after a response 101, with the methods of httpcore2's network streams."""

    def __init__(self, stream: _MemoryStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes; ``b""`` at the end."""
        import httpcore2  # takes 50 ms, and only upgraded connections need it

        try:
            with trio.fail_after(_seconds(timeout)):
                return bytes(await self._stream.receive_some(max_bytes))
        except trio.TooSlowError as error:
            raise httpcore2.ReadTimeout(error) from error
        except trio.ClosedResourceError as error:
            raise httpcore2.ReadError(error) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write bytes; blocks while the server does not read."""
        import httpcore2  # as above

        try:
            with trio.fail_after(_seconds(timeout)):
                await self._stream.send_all(buffer)
        except trio.TooSlowError as error:
            raise httpcore2.WriteTimeout(error) from error
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore2.WriteError(error) from error

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> object:
        """Return ``None``: there is no socket."""
        return None


class _Exchange(httpx2.AsyncByteStream):
    """One request and its response, shared by the application's task and the reader."""

    def __init__(self, request: httpx2.Request, body: bytes, forget: Callable[[_Exchange], None]) -> None:
        self._request = request
        self._body: bytes | None = body
        self._forget = forget
        timeouts: Mapping[str, float | None] = request.extensions.get("timeout") or {}
        self._read_timeout = timeouts.get("read")
        self._chunks_in, self._chunks = trio.open_memory_channel[bytes](_CHUNKS_UNDER_WAY)
        self._start: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._answering = trio.Event()
        self._closed = trio.Event()
        self._finished = trio.Event()
        self._complete = False
        self._reset = False
        self._outlives = False
        self._failure: Exception | None = None
        self._upgraded: tuple[_MemoryStream, _MemoryStream] | None = None  # the server's end and the client's
        self._task = trio.CancelScope()

    # ── the application's side ────────────────────────────────────────────────────────────

    async def run(self, app: ASGIApp) -> None:
        """Run the application. If it raises an exception, the reader gets it."""
        try:
            with self._task:
                await app(self._scope(), self._receive, self._send)
        except Exception as error:  # noqa: BLE001 - raised to the reader, which sent the request
            self._failure = error
        finally:
            self._chunks_in.close()
            if self._upgraded is not None:
                self._upgraded[0].send_stream.close()
            self._finished.set()
            self._answering.set()
            self._forget(self)

    def _scope(self) -> Scope:
        url = self._request.url
        path, _, _ = url.raw_path.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": path,
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "client": ("127.0.0.1", 0),
            "server": (url.host, url.port),
            "extensions": {BREAK: {}, OUTLIVE: {"ask": self._outlive}, UPGRADE: {"stream": self._switched}},
        }

    async def _switched(self) -> trio.abc.Stream:
        """Return the server's end of a connection that was switched to another protocol (:data:`UPGRADE`)."""
        await self._answering.wait()
        assert self._upgraded is not None, "the application has sent 101"
        return self._upgraded[0]

    def _outlive(self) -> None:
        self._outlives = True

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            await trio.lowlevel.checkpoint()
            return {"type": "http.request", "body": body, "more_body": False}
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        match message["type"]:
            case "http.response.start":
                self._start = message["status"], list(message.get("headers", ()))
                if message["status"] == HTTPStatus.SWITCHING_PROTOCOLS:
                    self._upgraded = open_stream_pair()
                self._answering.set()
                await trio.lowlevel.checkpoint()
            case "http.response.body":
                await self._send_body(message.get("body", b""))
                if not message.get("more_body", False):
                    self._complete = True
                    self._chunks_in.close()
            case other if other == BREAK:
                # On TCP this is an incomplete HTTP chunk and a closed connection. In-process there is no chunked
                # encoding, so only the data is sent.
                await self._send_body(message.get("body", b""))
                self._reset = message["how"] == "reset"

    async def _send_body(self, data: bytes) -> None:
        if not data or self._request.method == "HEAD":
            await trio.lowlevel.checkpoint()
            return
        try:
            await self._chunks_in.send(data)
        except trio.BrokenResourceError:
            await trio.lowlevel.checkpoint()  # the reader has closed the response and usually cancelled this task

    # ── the reader's side ─────────────────────────────────────────────────────────────────

    async def started(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Wait for the start of the response, and return its status and headers."""
        with trio.move_on_after(_seconds(self._read_timeout)) as deadline:
            await self._answering.wait()
        if self._start is not None:
            return self._start
        if deadline.cancelled_caught:
            self._time_out()
        self._raise_failure()
        self._raise_reset()
        raise httpx2.RemoteProtocolError("Server disconnected without sending a response.", request=self._request)

    def network_stream(self) -> _NetworkStream:
        """Return the client's end of the connection after a response 101."""
        assert self._upgraded is not None
        return _NetworkStream(self._upgraded[1])

    def __aiter__(self) -> AsyncIterator[bytes]:
        # Not an async generator, which would have to be closed if the reader stops early.
        return self

    async def __anext__(self) -> bytes:
        """Return the next chunk."""
        with trio.move_on_after(_seconds(self._read_timeout)) as deadline:
            try:
                return await self._chunks.receive()
            except trio.EndOfChannel:
                # The application may still fail after the last chunk: wait until its task has ended.
                await self._finished.wait()
            except trio.ClosedResourceError:
                raise httpx2.StreamClosed from None
        if deadline.cancelled_caught:
            self._time_out()
        self._raise_failure()
        self._raise_reset()
        if not self._complete:
            raise httpx2.RemoteProtocolError(
                "peer closed connection without sending complete message body (incomplete chunked read)",
                request=self._request,
            )
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the response: cancel the application's task and wait for its end.

        The task is left running if it has requested that (:data:`OUTLIVE`) and has not started its response.
        """
        self._closed.set()
        self._chunks.close()
        if self._outlives and self._start is None:
            return
        self._task.cancel()
        with trio.CancelScope(shield=True):
            await self._finished.wait()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _raise_reset(self) -> None:
        if self._reset:
            raise httpx2.ReadError("connection reset by peer", request=self._request)

    def _time_out(self) -> NoReturn:
        raise httpx2.ReadTimeout(f"no data for {self._read_timeout} s", request=self._request)


def _seconds(timeout: float | None) -> float:
    return float("inf") if timeout is None else timeout
