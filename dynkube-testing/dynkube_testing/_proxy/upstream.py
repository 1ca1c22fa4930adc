"""Connections to the API server behind a proxy."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import httpcore2
import trio

from dynkube._sockets import SocketBackend
from dynkube.errors import InvalidInput
from dynkube_testing._wire.endpoint import Endpoint

# Idle connections are closed after this time. It is shorter than the idle timeouts of API servers, so that no request
# is sent on a connection that the server is closing.
_IDLE_SECONDS = 20


class Upstream:
    """Connection pools to one API server; close them with :meth:`aclose`.

    A request without an Authorization header is sent with the client certificate of the endpoint, if it has one, since
    a proxy that terminates TLS cannot forward the client's certificate. A request with an Authorization header is sent
    without the certificate, since a server that gets both ignores the header.
    """

    def __init__(self, endpoint: Endpoint, contexts: tuple[ssl.SSLContext | None, ssl.SSLContext | None]) -> None:
        parts = urlsplit(endpoint.url)
        self._scheme = parts.scheme.encode()
        self._host = (parts.hostname or "").encode("idna")
        self._port = parts.port
        self._prefix = parts.path.rstrip("/").encode("ascii")
        self.authority: bytes = parts.netloc.encode("idna")
        """The value of the Host header in requests to the upstream."""
        self._sockets = SocketBackend()
        self._own, self._bare = (self._pool(context) for context in contexts)

    @classmethod
    async def connect(cls, endpoint: Endpoint) -> Upstream:
        """Load the certificates and create the pools; no connection is made yet.

        Raises:
            InvalidInput: A certificate or key of the endpoint is invalid.
        """
        if not endpoint.url.startswith("https:"):
            await trio.lowlevel.checkpoint()
            return cls(endpoint, (None, None))
        return cls(endpoint, await trio.to_thread.run_sync(_contexts, endpoint))

    async def send(
        self, method: bytes, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> httpcore2.Response:
        """Send a request, and return the response once its headers have arrived.

        The caller must close the response.

        Raises:
            Exception: One of :data:`FAILURES`.
        """
        url = httpcore2.URL(scheme=self._scheme, host=self._host, port=self._port, target=self._prefix + target)
        brings_own = any(name.lower() == b"authorization" for name, _ in headers)
        pool = self._bare if brings_own else self._own
        return await pool.handle_async_request(httpcore2.Request(method, url, headers=headers, content=body))

    async def aclose(self) -> None:
        """Close all connections at once, including those that are being established.

        This is not interrupted by cancellation.
        """
        self._sockets.close()
        with trio.CancelScope(shield=True):
            await self._own.aclose()
            await self._bare.aclose()

    def _pool(self, context: ssl.SSLContext | None) -> httpcore2.AsyncConnectionPool:
        return httpcore2.AsyncConnectionPool(
            ssl_context=context, max_connections=None, keepalive_expiry=_IDLE_SECONDS, network_backend=self._sockets
        )


#: Exceptions if the connection to the upstream cannot be established, or fails before the response is complete.
FAILURES = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)


def _contexts(endpoint: Endpoint) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return TLS contexts with and without the client certificate.

    This is blocking file I/O.
    """
    return _context(endpoint, certified=True), _context(endpoint, certified=False)


def _context(endpoint: Endpoint, *, certified: bool) -> ssl.SSLContext:
    try:
        authorities = None if endpoint.ca_pem is None else endpoint.ca_pem.decode("ascii")
        context = ssl.create_default_context(cadata=authorities)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"ca_pem contains no PEM certificates: {error}") from None
    context.set_alpn_protocols(["http/1.1"])
    if certified and endpoint.certificate_pem is not None:
        with TemporaryDirectory() as folder:  # mode 0700; the ssl module loads certificates from files only
            pem = Path(folder) / "client.pem"
            pem.write_bytes(endpoint.certificate_pem + b"\n" + (endpoint.key_pem or b""))
            try:
                context.load_cert_chain(pem)
            except ssl.SSLError as error:
                raise InvalidInput(f"certificate_pem and key_pem of the upstream do not match: {error}") from None
    return context
