"""An httpx2 transport over one httpcore2 connection pool.

httpx2's own transport does not suit a long-lived client of one server: it accepts no network backend (see ``_tap``),
and a stream closed before its end leaves a suspended async generator to the garbage collector, which trio reports.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import MappingProxyType

import httpcore2
import httpx2
import trio

from dynkube._sockets import SocketBackend
from dynkube.rest._chunked import ChunkDecoder
from dynkube.rest._tap import TappedStream
from dynkube.rest._tunnels import TunnelPool

_ERRORS: Mapping[type[Exception], type[httpx2.TransportError]] = MappingProxyType(
    {
        httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
        httpcore2.ReadTimeout: httpx2.ReadTimeout,
        httpcore2.WriteTimeout: httpx2.WriteTimeout,
        httpcore2.PoolTimeout: httpx2.PoolTimeout,
        httpcore2.ConnectError: httpx2.ConnectError,
        httpcore2.ReadError: httpx2.ReadError,
        httpcore2.WriteError: httpx2.WriteError,
        httpcore2.ProxyError: httpx2.ProxyError,
        httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
        httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
        httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
    }
)
_FAILURES: tuple[type[Exception], ...] = tuple(_ERRORS)
RAISED: tuple[type[Exception], ...] = (*_FAILURES, ValueError)  # for an HTTP/2 :status that is not a number
"""What httpcore2 raises."""

# TCP notices a peer that vanished in about a minute, as with Go's dialer.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class PoolTransport(httpx2.AsyncBaseTransport):
    """A pool of connections to one server.

    Args:
        ssl_context: for TLS to the server; ``None`` if its URL is plain HTTP.
        proxy_url: the proxy, or ``None``; may contain user and password.
        max_connections: ``None`` for no limit.
        keepalive: seconds an idle connection is kept.
        http2: offer HTTP/2.
        max_head: maximum bytes of a response's status and headers (HTTP/1.1; HTTP/2 has its own limit of 64 KiB).
    """

    def __init__(
        self,
        *,
        ssl_context: ssl.SSLContext | None,
        proxy_url: str | None,
        max_connections: int | None,
        keepalive: float,
        http2: bool,
        max_head: int = 64 << 10,
    ) -> None:
        self._max_head = max_head
        self._sockets = SocketBackend(self._tapped, _socket_options())
        self._opening: dict[trio.lowlevel.Task, TappedStream] = {}  # through a SOCKS proxy, by the task that connects
        self._through_socks = (proxy_url or "").startswith("socks")
        # A tunnel is for TLS only: a plain request is forwarded by the proxy.
        tunneled = ssl_context is not None and (proxy_url or "").startswith("http")
        make = TunnelPool if tunneled else httpcore2.AsyncConnectionPool
        self._pool = make(
            ssl_context=ssl_context,
            proxy=None if proxy_url is None else _proxy(proxy_url),
            max_connections=max_connections,
            keepalive_expiry=keepalive,
            http2=http2,
            network_backend=self._sockets,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return as soon as the response head has arrived."""
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        message = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            response = await self._pool.handle_async_request(message)
        except RAISED as exc:
            raise mapped(exc) from exc
        except Exception as exc:
            if not self._through_socks:
                raise
            # httpcore2 passes on the errors of socksio as they are, and those of its own assertions about replies.
            raise httpx2.ProxyError(f"the SOCKS proxy sent an invalid reply: {exc}") from exc
        finally:
            if self._through_socks:
                await self._close_unopened()
        tap = _tap_of(response, request.method)
        body = _ParsedBody(response) if tap is None else _TappedBody(response, tap)
        return httpx2.Response(response.status, headers=response.headers, stream=body, extensions=response.extensions)

    def _tapped(self, stream: httpcore2.AsyncNetworkStream) -> TappedStream:
        tap = TappedStream(stream, max_head=self._max_head)
        if self._through_socks:
            self._opening[trio.lowlevel.current_task()] = tap
        return tap

    async def _close_unopened(self) -> None:
        """Close the connection that this task has tried to open through a SOCKS proxy, which httpcore2 does not."""
        tap = self._opening.pop(trio.lowlevel.current_task(), None)
        if tap is not None and not tap.requested:
            with trio.CancelScope(shield=True):
                await tap.aclose()

    def connections(self) -> tuple[int, int]:
        """Return the number of connections, and how many of them are idle. Thread-safe."""
        connections = self._pool.connections
        return len(connections), sum(connection.is_idle() for connection in connections)

    async def aclose(self) -> None:
        """Close all connections, also those in use and those being opened."""
        self._sockets.close()
        await self._pool.aclose()


class _ParsedBody(httpx2.AsyncByteStream):
    """The chunks of a body from the parser.

    Can be closed at any point without leaving a generator behind.
    """

    def __init__(self, response: httpcore2.Response) -> None:
        assert not isinstance(response.stream, bytes)
        self._response = response
        self._chunks = aiter(response.stream)  # type: ignore[arg-type]  # typed for the sync half as well

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except RAISED as exc:
            raise mapped(exc) from exc

    async def aclose(self) -> None:
        if isinstance(self._chunks, AsyncGenerator):
            await self._chunks.aclose()
        await self._response.aclose()


class _TappedBody(_ParsedBody):
    """A chunked body read from the connection directly.

    Its end goes through the parser.
    """

    def __init__(self, response: httpcore2.Response, tap: TappedStream) -> None:
        super().__init__(response)
        self._tap = tap
        self._decoder = ChunkDecoder()

    async def __anext__(self) -> bytes:
        while self._decoder.rest is None:
            if payload := await self._read():
                return payload
        while True:  # the parser sees an empty body, and the connection can be reused
            await super().__anext__()

    async def _read(self) -> bytes:
        if self._decoder.fault:
            raise httpx2.RemoteProtocolError(self._decoder.fault)
        try:
            data = await self._tap.read_body()
        except _FAILURES as exc:
            raise mapped(exc) from exc
        if not data:
            raise httpx2.RemoteProtocolError("the connection ended before the end of the body")
        payload = self._decoder.feed(data)
        if self._decoder.rest is not None:
            self._tap.give_back(self._decoder.rest)
        return payload


def _tap_of(response: httpcore2.Response, method: str) -> TappedStream | None:
    """Return the connection to read a chunked body from, past the parser.

    The parser must not have read from the body yet. Otherwise returns ``None``, after setting the size of the body on
    the connection.
    """
    stream = response.extensions.get("network_stream")
    if not isinstance(stream, TappedStream) or not stream.at_body:
        return None
    if method == "HEAD" or response.status in {204, 304}:  # no body, whatever the headers are: the parser reads none
        return None
    fields = [(name.lower(), value.strip().lower()) for name, value in response.headers]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if codings:  # takes precedence over a length
        return stream if codings == [b"chunked"] else None
    # h11 has validated that it is one number; without it the body ends with the connection.
    for name, value in fields:
        if name == b"content-length":
            stream.expect(int(value))
    return None


def mapped(exc: Exception) -> httpx2.TransportError:
    """Return one of :data:`RAISED` as httpx2's error."""
    if isinstance(exc, ValueError):
        return httpx2.RemoteProtocolError(f"not a valid HTTP/2 response: {exc}")
    if isinstance(exc, httpcore2.LocalProtocolError) and exc.args and type(exc.args[0]).__module__ == "h2.exceptions":
        # httpcore2 treats all errors of h2 as errors of the request; requests are validated before, responses are not.
        return httpx2.RemoteProtocolError(f"not HTTP/2: {exc} ({type(exc.args[0]).__name__})")
    return _ERRORS[type(exc)](str(exc))


def _proxy(url: str) -> httpcore2.Proxy:
    parsed = httpx2.Proxy(url)  # splits user and password off the URL
    target = httpcore2.URL(
        scheme=parsed.url.raw_scheme, host=parsed.url.raw_host, port=parsed.url.port, target=parsed.url.raw_path
    )
    return httpcore2.Proxy(target, auth=parsed.raw_auth)


def _socket_options() -> list[tuple[int, int, int]]:
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in _KEEPALIVE.items():
        if number := getattr(socket, name, None):  # not available on every platform
            options.append((socket.IPPROTO_TCP, number, value))
    return options
