"""Reverse proxy in front of an API server, with fault injection."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from socket import socket
from types import TracebackType
from typing import Self

import trio

from dynkube.errors import ClosedError
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._faults.faults import Faults
from dynkube_testing._faults.injection import Injection
from dynkube_testing._faults.outages import Outage
from dynkube_testing._proxy.recording import Recording
from dynkube_testing._proxy.target import Served, endpoint_of
from dynkube_testing._records import Records
from dynkube_testing._wire.app import serve_lifespan
from dynkube_testing._wire.audit import Audit
from dynkube_testing._wire.endpoint import PLACEHOLDER, Endpoint
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.listener import Drop, InterruptibleListener, Refusal
from dynkube_testing._wire.requestinfo import facts_of
from dynkube_testing._wire.tcp import serve_tcp


class FaultProxy(Injection, Records):
    """Reverse proxy that injects faults in front of an API server.

    It has the methods of the embedded server for faults, and some for faults of connections::

        async with ControlPlane() as plane, FaultProxy(plane) as proxy:
            proxy.write_kubeconfig("kubeconfig")
            proxy.end_watches("pods", how="reset")
            with proxy.refuse_connections():
                ...

    Without faults it is transparent: responses are streamed, and if the API server breaks off a response or connection,
    the client's is broken off, too. When a client disconnects, its request to the API server is cancelled at once.

    ``Authorization`` headers are forwarded. Client certificates cannot be forwarded, since the proxy terminates TLS.
    Requests without ``Authorization`` are sent with the client certificate of the upstream endpoint, if it has one.
    Then anyone who can connect to the proxy acts as the user of that certificate. The kubeconfig of a proxy over TLS
    whose upstream has no token has a placeholder, which is not forwarded: kubectl requires a token.

    A proxy can be entered (``async with``) only once. Leaving the block closes all connections on both sides. It uses
    sockets, so it needs the real clock and not ``trio.testing.MockClock``.

    Args:
        upstream: The API server: an ``Endpoint``, or an object with an ``endpoint`` attribute, such as a
            ``ControlPlane`` or a ``ServerThread``.
        url: URL of the API server, instead of ``upstream``.
        ca_pem: With ``url``: the CA certificate of the API server in PEM; default: the CAs of the system.
        token: With ``url``: the bearer token for the proxy's kubeconfig.
        host: Address to listen on.
        port: ``0`` selects a free port.
        tls: Whether to serve HTTPS, with a certificate of a newly created CA; default: as the upstream does. kubectl
            sends tokens over HTTPS only.
        audit_limit: Maximum number of requests kept in :attr:`audit`.
        random: Random generator for faults with a ``chance``; pass a seeded one for reproducible runs.

    Raises:
        InvalidInput: Neither or both of ``upstream`` and ``url`` are given, or the URL is invalid.
    """

    def __init__(
        self,
        upstream: Endpoint | Served | None = None,
        *,
        url: str | None = None,
        ca_pem: bytes | None = None,
        token: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: bool | None = None,
        audit_limit: int = 10_000,
        random: Random | None = None,
    ) -> None:
        self._upstream = endpoint_of(upstream, url=url, ca_pem=ca_pem, token=token)
        self._host, self._port = host, port
        self._tls = self._upstream.url.startswith("https:") if tls is None else tls
        self._audit = Audit(audit_limit)
        self._faults = Faults(Random() if random is None else random)
        self._entered = False
        self._running: tuple[AsyncExitStack, Endpoint, InterruptibleListener] | None = None

    # ── lifetime ──────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            ClosedError: The proxy was entered before.
            InvalidInput: The host or the port is invalid, or a certificate of the upstream cannot be used.
            OSError: The address cannot be listened on.
        """
        if self._entered:
            raise ClosedError("this FaultProxy was entered before; create a new one")
        self._entered = True
        # Imported here because importing them is slow.
        from dynkube_testing._proxy.forward import Forward
        from dynkube_testing._proxy.upstream import Upstream

        listeners: list[InterruptibleListener] = []

        def make_listener(bound: socket) -> InterruptibleListener:
            listeners.append(InterruptibleListener(bound))
            return listeners[0]

        async with AsyncExitStack() as stack:
            upstream = await Upstream.connect(self._upstream)
            stack.push_async_callback(upstream.aclose)
            nursery = await stack.enter_async_context(_background())
            serving = serve_tcp(
                partial(self._serve, Forward(upstream)),
                nursery,
                host=self._host,
                port=self._port,
                tls=self._tls,
                token=self._upstream.token or (PLACEHOLDER if self._tls else None),
                make_listener=make_listener,
            )
            endpoint = await stack.enter_async_context(serving)
            self._running = stack.pop_all(), endpoint, listeners[0]
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        stack, _, _ = self._now()
        self._running = None
        return bool(await stack.__aexit__(exc_type, exc, traceback))

    def _now(self) -> tuple[AsyncExitStack, Endpoint, InterruptibleListener]:
        if self._running is None:
            raise ClosedError("the proxy is not running: use it inside 'async with FaultProxy(...) as proxy:'")
        return self._running

    async def _serve(self, forward: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        if scope["type"] == "lifespan":
            await serve_lifespan(receive, send)
            return
        request = HTTPRequest.from_scope(scope)
        facts = facts_of(request)
        with Recording(self._audit, request, facts, receive, send) as recording:
            await self._faults.serve(facts, forward, scope, recording.receive, recording.send)

    def __repr__(self) -> str:
        where = "not running" if self._running is None else f"at {self.url}"
        return f"<FaultProxy of {self._upstream.url}, {where}>"

    # ── connecting clients ────────────────────────────────────────────────────────────────

    @property
    def endpoint(self) -> Endpoint:
        """URL, CA and credentials for clients of the proxy."""
        return self._now()[1]

    @property
    def url(self) -> str:
        """Base URL of the proxy, like ``https://127.0.0.1:41853``.

        Outages do not change it.
        """
        return self.endpoint.url

    @property
    def ca_pem(self) -> bytes | None:
        """The CA certificate of the proxy in PEM; ``None`` for plain HTTP."""
        return self.endpoint.ca_pem

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """Return a kubeconfig, as a mapping, with the proxy as its only cluster."""
        return self.endpoint.kubeconfig(context=context, namespace=namespace)

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` and return the path.

        The file gets mode 0600 and is replaced atomically. This is blocking file I/O.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return self.endpoint.write_kubeconfig(path, context=context, namespace=namespace)

    # ── faults of connections ─────────────────────────────────────────────────────────────

    def refuse_connections(self, how: Refusal = "refuse") -> Outage:
        """Refuse new connections until the outage is removed.

        Open connections are not affected. If several outages of this method are active, the ``how`` of the oldest one
        applies.

        Args:
            how: ``"refuse"``: connecting fails (connection refused). ``"reset"``: connecting succeeds, and the
                connection is reset at once. ``"silent"``: connecting succeeds, and the connection never gets a
                response, not even after the outage.

        Raises:
            InvalidInput: ``how`` is invalid.
        """
        return self._now()[2].refuse(how)

    def drop_connections(self, how: Drop = "reset") -> int:
        """Close every open connection and return their number.

        Requests in flight on them fail.

        Args:
            how: ``"reset"`` resets the connections (RST), ``"cut"`` closes them (FIN).

        Raises:
            InvalidInput: ``how`` is invalid.
        """
        return self._now()[2].drop(how)

    def black_hole(self) -> Outage:
        """Stop all traffic with clients, as if a cable was unplugged.

        Nothing is read from or written to any connection: no data, no FIN, no RST. The kernel still accepts new
        connections and buffers some data of each, but no request gets a response. When the outage is removed, the
        connections continue: data sent meanwhile arrives, as with TCP retransmissions, and connections that were closed
        meanwhile end.
        """
        return self._now()[2].black_hole()

    @property
    def connections(self) -> int:
        """Number of open client connections, including idle ones."""
        return self._now()[2].connections

    async def wait_connections(self, count: int) -> None:
        """Wait until exactly ``count`` connections are open.

        There is no timeout; use ``trio.fail_after`` if one is needed.
        """
        await self._now()[2].wait_connections(count)


@asynccontextmanager
async def _background() -> AsyncIterator[trio.Nursery]:
    """Open a nursery that is cancelled at the end of the block.

    An exception raised by the block propagates as it is, not wrapped in an exception group.
    """
    raised: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:
                raised = error
                raise
            finally:
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        _, others = group.split(lambda leaf: leaf is raised or isinstance(leaf, trio.Cancelled))
        if raised is not None and others is None:
            raise raised from None
        raise
