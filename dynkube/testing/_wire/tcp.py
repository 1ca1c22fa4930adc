"""The embedded server on loopback TCP or TLS, for clients that cannot be handed a transport.

A client that goes away ends its watch at once, because the application listens for ``http.disconnect``.
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
from dynkube.testing._asgi import ASGIApp
from dynkube.testing._wire.endpoint import Endpoint

Listener = trio.abc.Listener[trio.abc.HalfCloseableStream]

# The kernel gives up on a client that takes nothing for this time, so that its watches do not stay for ever where its
# machine has vanished. Linux only; elsewhere TCP keeps trying for longer.
_STUCK_CLIENT_SECONDS = 20
_BACKLOG = 1024


def listen(bound: socket.socket) -> trio.SocketListener:
    """Let clients in at a bound socket, which belongs to the listener from here on.

    Raises:
        OSError: Somebody else listens there by now.
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
    door: Callable[[socket.socket], Listener] = listen,
) -> AsyncIterator[Endpoint]:
    """Listen and serve ``app`` inside the block, in a task of ``nursery``; leaving closes every connection.

    Args:
        app: What answers.
        nursery: Where its connections are tasks.
        host: The address to listen on.
        port: ``0`` takes any free one.
        tls: Whether to serve HTTPS, with a certificate of a fresh authority.
        token: What the endpoint says that clients have to bring.
        door: Makes the listener from a bound socket, for who wants a word in who gets in.

    Raises:
        ImportError: The ``serve`` extra is not installed.
        InvalidInput: The host or the port is none.
        OSError: The address cannot be listened on.
    """
    from dynkube.testing._wire.http1 import serve_http  # only here: clients in the process need no HTTP

    authority = _authority(host) if tls else None
    bound = bind(host, port)
    url = f"{'https' if tls else 'http'}://{_location(host, bound.getsockname()[1])}"
    serving = _Task()
    context = authority.context if authority else None
    await nursery.start(serving.run, partial(serve_http, app, door(bound), tls=context))
    try:
        yield Endpoint(url=url, ca_pem=authority.ca_pem if authority else None, token=token)
    finally:
        await serving.stop()


class _Task:
    """A task in somebody else's nursery that can be ended alone."""

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
        """Cancel it and wait until it has ended, also where the caller is cancelled."""
        self._scope.cancel()
        with trio.CancelScope(shield=True):
            await self._ended.wait()


@dataclass(frozen=True, slots=True)
class _Authority:
    ca_pem: bytes
    context: ssl.SSLContext


def _authority(host: str) -> _Authority:
    """A fresh certificate authority, and a server's context with a certificate of its for ``host``."""
    try:
        import trustme
    except ImportError as error:
        raise ImportError("serving over TLS needs the 'serve' extra: pip install 'dynkube[serve]'") from error
    authority = trustme.CA(organization_name="dynkube.testing")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        certificate = authority.issue_cert(*dict.fromkeys((host, "localhost", "127.0.0.1", "::1")))
    except UnicodeError as error:
        raise InvalidInput(f"host {host!r} cannot be in a certificate: {error}") from None
    certificate.configure_cert(context)
    return _Authority(authority.cert_pem.bytes(), context)


def bind(host: str, port: int) -> socket.socket:
    """A socket that has the address; it refuses connections until it listens.

    Raises:
        InvalidInput: The host or the port is none.
        OSError: The address cannot be listened on.
    """
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port {port} is not between 0 and 65535 (0 takes any free one)")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (socket.gaierror, UnicodeError) as error:  # the latter where it cannot be the name of any host
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"host {host!r} is not an address of this machine: {why}") from None
    try:
        if sys.platform != "win32":  # there it would let two servers share one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit both.
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
