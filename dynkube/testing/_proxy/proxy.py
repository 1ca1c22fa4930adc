"""A proxy in front of any API server, which fails on order."""

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
from dynkube.testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube.testing._faults.faults import Faults
from dynkube.testing._faults.injection import Injection
from dynkube.testing._faults.outages import Outage
from dynkube.testing._proxy.recording import Recording
from dynkube.testing._proxy.target import Served, endpoint_of
from dynkube.testing._records import Records
from dynkube.testing._wire.app import serve_lifespan
from dynkube.testing._wire.audit import Audit
from dynkube.testing._wire.door import Door, Drop, Refusal
from dynkube.testing._wire.endpoint import Endpoint
from dynkube.testing._wire.http import HTTPRequest
from dynkube.testing._wire.requestinfo import facts_of
from dynkube.testing._wire.tcp import serve_tcp


class FaultProxy(Injection, Records):
    """A proxy on the loopback in front of an API server, with the faults of the embedded one and some below HTTP.

    ::

        async with ControlPlane() as plane, FaultProxy(plane) as proxy:
            proxy.write_kubeconfig("kubeconfig")
            proxy.end_watches("pods", how="reset")
            with proxy.refuse_connections():
                ...

    Without faults it changes nothing: each answer is passed on piece by piece, and an answer or a connection that the
    API server breaks off is broken off here too. A client that goes away ends its request behind the proxy at once.

    What clients bring as ``Authorization`` is passed on. A client certificate cannot be, since TLS ends here: requests
    without ``Authorization`` go with that of the upstream, if it has one, so whoever reaches the proxy is that user.

    Enter it once. Leaving the block closes every connection, on both sides. It belongs to the real clock, like all
    sockets: not to ``trio.testing.MockClock``. Needs the ``serve`` extra.

    Args:
        upstream: The API server: an ``Endpoint``, or what has one: a ``ControlPlane``, a ``ServerThread``.
        url: Its address, in place of ``upstream``.
        ca_pem: The authority of its certificate, with ``url``; the system's unless given.
        token: What the kubeconfig of the proxy is to say, with ``url``.
        host: The address to listen on.
        port: ``0`` takes any free port.
        tls: Whether to serve HTTPS, with a certificate of a fresh authority; as the upstream does unless given.
            kubectl sends tokens over HTTPS only.
        audit_limit: How many requests are remembered in :attr:`audit`.
        random: What decides where a fault strikes by chance; seed one for equal runs.

    Raises:
        InvalidInput: The upstream is named in no way or in two, or its URL is none.
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
        self._running: tuple[AsyncExitStack, Endpoint, Door] | None = None

    # ── lifetime ──────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            ClosedError: It was entered before.
            ImportError: The ``serve`` extra is not installed.
            InvalidInput: The host or the port is none, or a certificate of the upstream cannot be used.
            OSError: The address cannot be listened on.
        """
        if self._entered:
            raise ClosedError("this FaultProxy was entered before; make a new one")
        self._entered = True
        # Only here, as they take long to import.
        from dynkube.testing._proxy.forward import Forward
        from dynkube.testing._proxy.upstream import Upstream

        doors: list[Door] = []

        def door(bound: socket) -> Door:
            doors.append(Door(bound))
            return doors[0]

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
                token=self._upstream.token,
                door=door,
            )
            endpoint = await stack.enter_async_context(serving)
            self._running = stack.pop_all(), endpoint, doors[0]
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        stack, _, _ = self._now()
        self._running = None
        return bool(await stack.__aexit__(exc_type, exc, traceback))

    def _now(self) -> tuple[AsyncExitStack, Endpoint, Door]:
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

    # ── how clients reach it ──────────────────────────────────────────────────────────────

    @property
    def endpoint(self) -> Endpoint:
        """Where the proxy is, and what its clients need."""
        return self._now()[1]

    @property
    def url(self) -> str:
        """Its address, like ``https://127.0.0.1:41853``; the same also after an outage."""
        return self.endpoint.url

    @property
    def ca_pem(self) -> bytes | None:
        """The certificate authority to trust; ``None`` over plain HTTP."""
        return self.endpoint.ca_pem

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """A kubeconfig with the proxy as its only cluster, decoded."""
        return self.endpoint.kubeconfig(context=context, namespace=namespace)

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` (mode 0600, replaced as a whole) and return the path.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return self.endpoint.write_kubeconfig(path, context=context, namespace=namespace)

    # ── trouble below HTTP ────────────────────────────────────────────────────────────────

    def refuse_connections(self, how: Refusal = "refuse") -> Outage:
        """Keep new connections out until the outage is removed; those that are open go on.

        Of several at once the oldest decides.

        Args:
            how: ``"refuse"``: nobody listens, so connecting fails; ``"reset"``: connecting works, and the connection is
                reset at once; ``"silent"``: connecting works, and nobody ever answers, also after the outage.

        Raises:
            InvalidInput: ``how`` is none of these.
        """
        return self._now()[2].refuse(how)

    def drop_connections(self, how: Drop = "reset") -> int:
        """End every open connection, whatever happens on it; how many there were.

        Args:
            how: ``"reset"`` resets them (RST), ``"cut"`` ends them (FIN).

        Raises:
            InvalidInput: ``how`` is neither.
        """
        return self._now()[2].drop(how)

    def black_hole(self) -> Outage:
        """Let nothing through until the outage is removed, as where a cable was pulled: no byte, no FIN, no RST.

        Nothing is read from any connection and nothing written. The kernel still takes new connections and some
        bytes of each, but nobody answers. Afterwards all goes on where it stood: what was sent meanwhile arrives, as
        with TCP's retransmissions, and connections whose other side has gone end.
        """
        return self._now()[2].black_hole()

    @property
    def connections(self) -> int:
        """How many connections of clients are open, idle ones included."""
        return self._now()[2].connections

    async def wait_connections(self, count: int) -> None:
        """Return when exactly ``count`` connections are open. Put a timeout of yours around it."""
        await self._now()[2].wait_connections(count)


@asynccontextmanager
async def _background() -> AsyncIterator[trio.Nursery]:
    """A nursery whose tasks end with the block; what the block raises comes out as it was raised."""
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
