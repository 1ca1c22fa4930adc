"""Connections through a tunnel of an HTTP proxy, closed if they cannot be opened.

httpcore2 opens them in two steps. If the second one fails, which is TLS to the server behind the proxy, the connection
to the proxy stays in its pool as one that is in use, and counts against the limit: after as many failures no request
would get a connection any more.
"""

from __future__ import annotations

import httpcore2
import trio


class TunnelPool(httpcore2.AsyncConnectionPool):
    """A pool of connections through an HTTP proxy."""

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        """Return a connection, not opened yet."""
        return _Tunnel(super().create_connection(origin))


class _Tunnel(httpcore2.AsyncConnectionInterface):
    """A connection that is closed if its first request fails before it is open."""

    def __init__(self, inner: httpcore2.AsyncConnectionInterface) -> None:
        self._inner = inner
        self._opened = False

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except BaseException:
            # With HTTP/2 the connection may be open, and go on with the requests of others.
            if not self._opened and not self._inner.is_available():
                with trio.CancelScope(shield=True):
                    await self._inner.aclose()
            raise
        self._opened = True
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    def info(self) -> str:
        return self._inner.info()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return self._inner.can_handle_request(origin)

    def is_connected(self) -> bool:
        return self._inner.is_connected()

    def is_available(self) -> bool:
        return self._inner.is_available()

    def has_expired(self) -> bool:
        return self._inner.has_expired()

    def is_idle(self) -> bool:
        return self._inner.is_idle()

    def can_multiplex(self) -> bool:
        return self._inner.can_multiplex()

    def is_closed(self) -> bool:
        return self._inner.is_closed()
