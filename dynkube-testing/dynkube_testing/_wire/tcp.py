"""Serve the embedded server on TCP or TLS.

This is for clients that cannot use an in-process transport.

When a client disconnects, its watch ends at once, because the application waits for ``http.disconnect``.
"""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._asgi import ASGIApp
from dynkube_testing._wire.endpoint import Endpoint

Listener = trio.abc.Listener[trio.abc.HalfCloseableStream]

# The kernel closes a connection whose client acknowledges no data for this time, so that watches end even if the
# client's machine is gone. Linux only; other systems retry for longer.
_STUCK_CLIENT_SECONDS = 20
_BACKLOG = 1024


def listen(bound: socket.socket) -> trio.SocketListener:
    """Listen on a bound socket, and return the listener.

    Closing the listener closes the socket.

    Raises:
        OSError: Another socket listens on the address meanwhile.
    """
    try:
        bound.listen(_BACKLOG)
    except OSError as error:
        host, port, *_ = bound.getsockname()
        bound.close()
        raise _cannot_listen(error, host, port) from error
    return trio.SocketListener(trio.socket.from_stdlib_socket(bound))


@asynccontextmanager
async def serve_tcp(
    app: ASGIApp,
    nursery: trio.Nursery,
    *,
    host: str,
    port: int,
    tls: bool,
    token: str | None,
    make_listener: Callable[[socket.socket], Listener] = listen,
) -> AsyncIterator[Endpoint]:
    """Serve ``app`` over TCP inside the block, in a task of ``nursery``.

    Leaving the block closes every connection.

    Args:
        app: The ASGI application.
        nursery: The nursery for the task that accepts and serves connections.
        host: The address to listen on.
        port: The port to listen on; ``0`` for any free port.
        tls: Whether to serve HTTPS, with a certificate of a newly created CA.
        token: The bearer token to put into the endpoint.
        make_listener: Function that creates the listener from a bound socket. Pass another one to control which
            connections are accepted.

    Raises:
        InvalidInput: The host or the port is invalid.
        OSError: Cannot listen on the address.
    """
    from dynkube_testing._wire.http1 import serve_http  # imported here because in-process clients do not need it

    authority = _authority(host) if tls else None
    bound = bind(host, port)
    url = f"{'https' if tls else 'http'}://{_location(host, bound.getsockname()[1])}"
    serving = _Task()
    context = authority.context if authority else None
    await nursery.start(serving.run, partial(serve_http, app, make_listener(bound), tls=context))
    try:
        yield Endpoint(url=url, ca_pem=authority.ca_pem if authority else None, token=token)
    finally:
        await serving.stop()


class _Task:
    """A task in another nursery that can be cancelled without cancelling the nursery."""

    def __init__(self) -> None:
        self._scope = trio.CancelScope()
        self._ended = trio.Event()

    async def run(self, start: Callable[..., Awaitable[None]], *, task_status: trio.TaskStatus[object]) -> None:
        try:
            with self._scope:
                await start(task_status=task_status)
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended, even if the caller is cancelled."""
        self._scope.cancel()
        with trio.CancelScope(shield=True):
            await self._ended.wait()


@dataclass(frozen=True, slots=True)
class _Authority:
    ca_pem: bytes
    context: ssl.SSLContext


def _authority(host: str) -> _Authority:
    """Create a CA, and a TLS context for a server with a certificate for ``host``."""
    import trustme  # imported here because it takes 50 ms

    authority = trustme.CA(organization_name="dynkube_testing")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        certificate = authority.issue_cert(*dict.fromkeys((host, "localhost", "127.0.0.1", "::1")))
    except UnicodeError as error:
        raise InvalidInput(f"host {host!r} cannot be in a certificate: {error}") from None
    certificate.configure_cert(context)
    return _Authority(authority.cert_pem.bytes(), context)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address and does not listen yet.

    Connections are refused until it listens.

    Raises:
        InvalidInput: The host or the port is invalid.
        OSError: Cannot listen on the address.
    """
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port {port} is not between 0 and 65535 (0 picks a free one)")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (socket.gaierror, UnicodeError) as error:  # UnicodeError: not a valid host name
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"host {host!r} is not an address of this machine: {why}") from None
    try:
        if sys.platform != "win32":  # on Windows SO_REUSEADDR would let two servers share one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit the following two options.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_CLIENT_SECONDS * 1000)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _cannot_listen(error, host, port) from error
    return bound


def _cannot_listen(error: OSError, host: str, port: int) -> OSError:
    return OSError(error.errno, f"cannot listen on {_location(host, port)}: {error.strerror}")


def _location(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
