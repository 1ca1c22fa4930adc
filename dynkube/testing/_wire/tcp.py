"""The embedded server on loopback TCP or TLS, for clients that cannot be handed a transport.

The application is plain ASGI; anycorn (the ``serve`` extra) speaks HTTP/1.1 for it on trio. A client that goes away
ends its watch at once, because the application listens for ``http.disconnect``.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import trio

from dynkube.errors import InvalidInput
from dynkube.testing._wire.http import ASGIApp
from dynkube.testing._wire.kubeconfig import build_kubeconfig, write_private

if TYPE_CHECKING:
    import anycorn

_logger = logging.getLogger("dynkube.testing.tcp")

# anycorn does not let go of a write that its client never reads, not even when it is cancelled. The kernel gives
# up on such a client after this time, so that nothing waits for it for ever. Linux only; elsewhere TCP keeps trying.
_STUCK_CLIENT_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a served embedded API server is, and what a client needs to reach it.

    Attributes:
        url: Like ``http://127.0.0.1:41853``.
        ca_pem: The certificate authority to trust; ``None`` over plain HTTP.
        token: The bearer token to bring; ``None`` where everybody is let in.
    """

    url: str
    ca_pem: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """A kubeconfig with this server as its only cluster, decoded."""
        return build_kubeconfig(self.url, ca_pem=self.ca_pem, token=self.token, context=context, namespace=namespace)

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` (mode 0600, replaced as a whole) and return the path.

        Plain function; blocks on the file system for a moment.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return write_private(path, self.kubeconfig(context=context, namespace=namespace))


@asynccontextmanager
async def serve_tcp(
    app: ASGIApp, nursery: trio.Nursery, *, host: str, port: int, tls: bool, token: str | None
) -> AsyncIterator[Endpoint]:
    """Listen and serve ``app`` inside the block, in a task of ``nursery``; leaving closes every connection.

    Raises:
        ImportError: The ``serve`` extra is not installed.
        InvalidInput: The host or the port is none.
        OSError: The address cannot be listened on.
    """
    anycorn = _require_anycorn()
    with _certificate(host) if tls else nullcontext() as certificate:
        listener = _listen(host, port)
        url = f"{'https' if tls else 'http'}://{_authority(host, listener.getsockname()[1])}"
        config = _configure(anycorn.Config(), certificate)
        config.bind = [f"fd://{listener.detach()}"]
        serving = _Task()
        await nursery.start(serving.run, partial(anycorn.serve, app, config, mode="asgi"))
    try:
        yield Endpoint(url=url, ca_pem=certificate.ca_pem if certificate else None, token=token)
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


def _require_anycorn() -> ModuleType:
    try:
        import anycorn
    except ImportError as error:
        raise ImportError(
            "serving over TCP needs the 'serve' extra: pip install 'dynkube[serve]' "
            "(clients in the same process work without it: see APIServer.transport)"
        ) from error
    return anycorn


def _configure(config: anycorn.Config, certificate: _Certificate | None) -> anycorn.Config:
    """Set what matters to API clients, who hold connections for long and send many requests over each."""
    config.keep_alive_timeout = 300
    config.keep_alive_max_requests = sys.maxsize
    config.h11_max_incomplete_size = 256 * 1024  # selectors and continue tokens make long request lines
    config.alpn_protocols = ["http/1.1"]
    config.accesslog = None
    config.errorlog = _logger
    config.include_server_header = False
    if certificate is not None:
        config.certfile, config.keyfile = certificate.chain_file, certificate.key_file
    return config


@dataclass(frozen=True, slots=True)
class _Certificate:
    ca_pem: bytes
    chain_file: str
    key_file: str


@contextmanager
def _certificate(host: str) -> Iterator[_Certificate]:
    """A fresh authority and a certificate of its for ``host``, in files (0700 directory) inside the block."""
    try:
        import trustme
    except ImportError as error:
        raise ImportError("serving over TLS needs the 'serve' extra: pip install 'dynkube[serve]'") from error
    authority = trustme.CA(organization_name="dynkube embedded API server")
    issued = authority.issue_cert(*dict.fromkeys((host, "localhost", "127.0.0.1", "::1")))
    with tempfile.TemporaryDirectory(prefix="dynkube-tls-") as directory:
        chain, key = Path(directory, "chain.pem"), Path(directory, "key.pem")
        chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        yield _Certificate(authority.cert_pem.bytes(), str(chain), str(key))


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port {port} is not between 0 and 65535 (0 takes any free one)")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except socket.gaierror as error:
        raise InvalidInput(f"host {host!r} is not an address of this machine: {error.strerror}") from None
    try:
        if sys.platform != "win32":  # there it would let two servers share one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit both.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_CLIENT_SECONDS * 1000)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"cannot listen on {_authority(host, port)}: {error.strerror}") from error
    return listener


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
