"""A network backend for httpcore2 that tracks sockets while they are opened.

httpcore2's pool knows a connection once it is ready. Before that, a TLS handshake that is cancelled leaves its socket
to the garbage collector, and closing the pool leaves connecting tasks waiting for a server that may never respond. Both
are handled here, for the connections of the client and of the fault proxy.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable

import httpcore2
import trio


def _as_it_is(stream: httpcore2.AsyncNetworkStream) -> httpcore2.AsyncNetworkStream:
    return stream


class SocketBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections until it is closed.

    Args:
        wrap: wraps each connection.
        options: options of each socket, also of one to a proxy, for which httpcore2's pool passes none.
    """

    def __init__(
        self,
        wrap: Callable[[httpcore2.AsyncNetworkStream], httpcore2.AsyncNetworkStream] = _as_it_is,
        options: Iterable[httpcore2.SOCKET_OPTION] = (),
    ) -> None:
        inner: object = httpcore2.TrioBackend()
        # Type checkers also see the replacement class for environments without trio.
        assert isinstance(inner, httpcore2.AsyncNetworkBackend)
        self._inner = inner
        self._wrap = wrap
        self._options = tuple(options)
        self._opening: set[trio.CancelScope] = set()
        self._closed = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect, within ``timeout`` seconds.

        Raises:
            httpcore2.ConnectError: The connection failed, or the backend was closed.
            httpcore2.ConnectTimeout: The timeout expired.
        """
        options = (*self._options, *(socket_options or ()))
        stream = await self.own(
            lambda: self._inner.connect_tcp(
                host, port, timeout=timeout, local_address=local_address, socket_options=options
            )
        )
        return self._wrap(stream)

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._inner.sleep(seconds)

    def close(self) -> None:
        """Refuse new connections, and cancel those being opened.

        Established connections belong to the pool.
        """
        self._closed = True
        for scope in self._opening:
            scope.cancel()

    async def own(self, open_stream: Callable[[], Awaitable[httpcore2.AsyncNetworkStream]]) -> SocketStream:
        """Return the result of ``open_stream``, unless :meth:`close` is called first.

        Raises:
            httpcore2.ConnectError: The backend is closed, or was closed meanwhile.
        """
        if self._closed:
            raise httpcore2.ConnectError("the connection pool is closed")
        with trio.CancelScope() as scope:
            self._opening.add(scope)
            try:
                stream = SocketStream(await open_stream(), self)
            finally:
                self._opening.discard(scope)
            if not self._closed:
                return stream
            with trio.CancelScope(shield=True):  # it was established when the scope was cancelled
                await stream.aclose()
        raise httpcore2.ConnectError("the connection pool was closed while connecting")


class SocketStream(httpcore2.AsyncNetworkStream):
    """A connection that is closed if its TLS handshake is cancelled."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, backend: SocketBackend) -> None:
        self._inner = inner
        self._backend = backend

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return between 1 and ``max_bytes`` bytes; ``b""`` at the end."""
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all bytes."""
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Start TLS.

        Raises:
            httpcore2.ConnectError: The handshake failed, or the backend was closed.
            httpcore2.ConnectTimeout: The timeout expired.
        """

        async def handshake() -> httpcore2.AsyncNetworkStream:
            try:
                return await self._inner.start_tls(ssl_context, server_hostname, timeout)
            except trio.Cancelled:
                # httpcore2 closes the socket on errors only.
                with trio.CancelScope(shield=True):
                    await self._inner.aclose()
                raise

        return await self._backend.own(handshake)

    def get_extra_info(self, info: str) -> object:
        """Return information about the connection, as httpcore2 defines it."""
        return self._inner.get_extra_info(info)
