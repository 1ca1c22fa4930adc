"""``RESTClient``: the HTTP client of one API server."""

from __future__ import annotations

import random as random_module
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx2
import trio

from dynkube._bound import Bound
from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized
from dynkube.config import ClientConfig
from dynkube.config._exec import plugin_calls
from dynkube.config._insecure import warn_if_insecure
from dynkube.errors import DeadlineExceeded, DynkubeError
from dynkube.rest._answers import check_body, failure_in
from dynkube.rest._attempts import Attempts, Counters
from dynkube.rest._connections import injected, peer_of, pools_over_sockets, proxy_of
from dynkube.rest._headers import default_user_agent
from dynkube.rest._messages import Answer, Limits, Request, check_seconds
from dynkube.rest._pools import PoolKeeper
from dynkube.rest._retry import Retries
from dynkube.rest._sender import Call, Sender
from dynkube.rest._statistics import RESTStatistics
from dynkube.rest._stream import ByteStream, Exchange
from dynkube.rest._warnings import WarningLog
from dynkube.telemetry import Observers
from dynkube.telemetry._observers import NO_OBSERVERS

if TYPE_CHECKING:
    from dynkube.rest._websocket import WebSocket


class RESTClient(Bound):
    """Sends requests to one API server as one user.

    One instance serves all tasks of one trio run. The constructor does no I/O; connections are opened when needed.
    Short requests and streams have separate pools, so a thousand watches delay no request. Use it as an async context
    manager, or call :meth:`aclose`.

    Args:
        config: address, TLS and credentials of the server.
        transport: replaces the connection pools, and is closed with the client. For tests.
        http2: offer HTTP/2. Off by default: HTTP/1.1 moves three times the bytes per CPU second, and a lost connection
            ends one stream instead of all.
        user_agent: replaces ``dynkube/VERSION (python/3.x; os)``.
        timeout: default deadline of a request in seconds, including all retries (client-go's discovery: 32).
        random: source of jitter.
        now: the wall clock, timezone-aware; used only for dates in ``Retry-After``.
        on_warning: called with each warning of the server; must not block. By default each distinct warning is logged
            once; :meth:`statistics` counts them all.
        limits: limits on sizes, counts and rates.
        observers: hooks called for each attempt.
        compression: accept compressed responses (gzip), except of watches.

    Warns:
        InsecureTLSWarning: the server's certificate is not verified, or credentials go to another machine without TLS.

    Raises:
        InvalidInput: ``timeout`` is not a positive number.
        ConfigError: the package needed for ``http2`` or a SOCKS proxy is not installed, or the environment has an
            invalid proxy.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        http2: bool = False,
        user_agent: str | None = None,
        timeout: float = 32.0,
        random: random_module.Random | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_warning: Callable[[str], None] | None = None,
        limits: Limits | None = None,
        observers: Observers = NO_OBSERVERS,
        compression: bool = False,
    ) -> None:
        check_seconds("timeout", timeout)
        if transport is None:
            warn_if_insecure(config)
        self._config = config
        self._timeout = timeout
        self._limits = limits or Limits()
        self._random = random or random_module.Random()
        proxy_url = proxy_of(config) if transport is None else None
        self._pools = PoolKeeper(
            pools_over_sockets(config, self._limits, proxy_url=proxy_url, http2=http2)
            if transport is None
            else injected(transport)
        )
        self._renewable = transport is None
        self._watches: set[ByteStream] = set()
        self._websockets: set[WebSocket] = set()
        self._counters = Counters()
        self._sender = Sender(
            config,
            self._pools,
            self._limits,
            peer=peer_of(config, proxy_url),
            proxy_url=proxy_url or config.proxy_url,
            user_agent=user_agent or default_user_agent(),
            now=now,
            on_warning=on_warning or WarningLog(),
            attempts=Attempts(urlsplit(config.server).netloc, self._counters, observers),
            compression=compression,
        )

    async def request(self, request: Request) -> Answer:
        """Send a request and wait for the complete response.

        Retries within the deadline: 429 and 5xx with ``Retry-After`` (only 429 and 503 for a request that may change
        something); a GET whose connection was refused, or lost before a response; any request once after a 401, if the
        credential can be refreshed.

        Args:
            request: the request; its ``timeout`` replaces the client's default.

        Returns:
            A complete 2xx response; or a 304 for a request with ``If-None-Match``.

        Raises:
            APIError: the server returned an error response; there is a subclass for each kind
                (:class:`~dynkube.errors.NotFound`, ...).
            ConnectFailed: the connection could not be established.
            ConnectionLost: the connection ended before the response was complete.
            DeadlineExceeded: no complete response arrived in time; the message says what was being waited for.
            ProtocolError: the response does not follow the Kubernetes API, is a redirect, or is too large.
            CredentialError: no credential is available.
            ClosedError: the client is closed.
        """
        timeout = self._timeout if request.timeout is None else request.timeout
        call = self._call(request, timeout, streaming=False, watch=False)
        self._counters.open_requests += 1
        try:
            with self._recorded():
                with call.scope:
                    return await self._complete(call)
                raise self._too_late(call, timeout)
        finally:
            self._counters.open_requests -= 1

    @asynccontextmanager
    async def stream(self, request: Request, *, watch: bool) -> AsyncIterator[ByteStream]:
        """Send a request and stream the response body.

        Waiting for the response head behaves like :meth:`request`: same retries, same exceptions. After that there is
        no deadline: use a cancel scope. Leaving the block closes the connection immediately, unless the body was read
        to its end.

        Args:
            request: its ``timeout`` bounds the wait for the response head (default: ``Limits.stream_opening_timeout``).
            watch: the stream may last for hours: it is never throttled, and its connection comes from an unbounded
                pool.

        Raises:
            APIError: the server returned an error response.
            ConnectFailed: the connection could not be established.
            ConnectionLost: the connection ended before the response head was complete.
            DeadlineExceeded: no response head arrived in time; the message says what was being waited for.
            ProtocolError: the response does not follow the Kubernetes API, or is a redirect.
            CredentialError: no credential is available.
            ClosedError: the client is closed.
        """
        timeout = self._limits.stream_opening_timeout if request.timeout is None else request.timeout
        call = self._call(request, timeout, streaming=watch, watch=watch)
        exchange = await self._opened(call, timeout)
        self._counters.open_streams += 1
        self._counters.open_watches += watch
        stream = ByteStream(exchange, deadline=call.deadline)
        if watch:
            self._watches.add(stream)
        try:
            yield stream
        finally:
            self._watches.discard(stream)
            self._counters.open_streams -= 1
            self._counters.open_watches -= watch
            if exchange.failure is not None:
                self._counters.last_error = sanitized(str(exchange.failure))
            await exchange.aclose()

    @asynccontextmanager
    async def websocket(self, request: Request, subprotocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        """Open a WebSocket, with the credentials, TLS and proxy of all other requests.

        The request is retried only if it was not processed (429 and 503 with ``Retry-After``, and 401 if the credential
        can be refreshed), as it may start a command. Leaving the block closes the connection, after a close frame if
        the WebSocket is still open and the block does not raise.

        Args:
            request: a GET; its ``timeout`` bounds the wait for the response head (default:
                ``Limits.stream_opening_timeout``).
            subprotocols: what is spoken on the WebSocket, the preferred one first.

        Raises:
            APIError: the server refused; no command was started.
            ConnectFailed: the connection could not be established.
            ConnectionLost: the connection ended before the response head was complete.
            DeadlineExceeded: no response head arrived in time; the message says what was being waited for.
            ProtocolError: the server did not switch to a WebSocket, or to none of the subprotocols.
            CredentialError: no credential is available.
            ClosedError: the client is closed.
        """
        from dynkube.rest import _websocket  # wsproto takes 20 ms

        timeout = self._limits.stream_opening_timeout if request.timeout is None else request.timeout
        key = _websocket.new_key(self._random)
        headers = {**request.headers, **_websocket.upgrade_headers(key, subprotocols)}
        call = self._call(replace(request, headers=headers), timeout, streaming=True, watch=False, upgrade=True)
        exchange = await self._opened(call, timeout)
        self._counters.open_streams += 1
        websocket: WebSocket | None = None
        try:
            with self._recorded():
                websocket = _websocket.switched(exchange, key, subprotocols)
            self._websockets.add(websocket)
            async with OwnedNursery() as nursery:
                nursery.start_soon(websocket.keep_alive)
                yield websocket
                await websocket.say_goodbye()
        finally:
            self._counters.open_streams -= 1
            if websocket is not None:
                self._websockets.discard(websocket)
            if exchange.failure is not None:
                self._counters.last_error = sanitized(str(exchange.failure))
            await exchange.aclose()

    @property
    def limits(self) -> Limits:
        """The limits on sizes, counts and rates."""
        return self._limits

    def statistics(self) -> RESTStatistics:
        """Return a snapshot of the client's counters. Thread-safe."""
        counters = self._counters
        connections, idle = self._pools.connections()
        return RESTStatistics(
            requests=counters.requests,
            answers=dict(counters.answers),
            retries=counters.retries,
            refreshes=counters.refreshes,
            throttled=counters.throttled,
            throttled_seconds=counters.throttled_seconds,
            received=counters.received,
            warnings=counters.warnings,
            open_requests=counters.open_requests,
            open_streams=counters.open_streams,
            open_watches=counters.open_watches,
            connections=connections,
            idle_connections=idle,
            plugin_calls=plugin_calls(self._config.credentials),
            last_error=counters.last_error,
        )

    async def renew_connections(self, reason: str) -> None:
        """Replace all connections, as they may be dead.

        To be called after the machine was suspended, or the network changed. Open watches and WebSockets raise
        :class:`~dynkube.errors.ConnectionLost`, and idle connections are closed. Other requests in flight continue
        until their deadlines, as they may have been carried out.

        Args:
            reason: the reason, which is part of the message of ConnectionLost.
        """
        for stream in tuple(self._watches):
            stream.give_up(reason)
        for websocket in tuple(self._websockets):
            websocket.give_up(reason)
        if self._renewable:  # an injected transport cannot be recreated
            await self._pools.renew()

    async def aclose(self) -> None:
        """Close all connections; requests and streams in flight raise ClosedError.

        Idempotent.
        """
        await self._pools.aclose()

    def ends_by(self, error: Exception) -> None:
        """Set the error that is about to close the client.

        It becomes the cause of each ClosedError.
        """
        self._pools.ends_by(error)

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        state = "closed" if self._pools.closed else f"{self._counters.open_streams} open streams"
        return f"<RESTClient {self._config.server}: {state}>"

    async def _opened(self, call: Call, timeout: float) -> Exchange:
        exchange: Exchange | None = None
        with self._recorded():
            with call.scope:
                exchange = await self._sender.open(call)
            if exchange is None:
                raise self._too_late(call, timeout)
        return exchange

    def _call(self, request: Request, timeout: float, *, streaming: bool, watch: bool, upgrade: bool = False) -> Call:
        deadline = trio.current_time() + timeout
        return Call(
            request=request,
            text=f"{request} (watch)" if watch else str(request),
            # The GET of a WebSocket may start a command: it is retried as a POST is.
            retries=Retries(
                "POST" if upgrade else request.method,
                self._limits,
                self._random,
                honor_retry_after=request.honor_retry_after,
            ),
            deadline=deadline,
            scope=trio.CancelScope(deadline=deadline),
            bound=None if watch else self._limits.max_response_bytes,
            default=request.timeout is None,
            streaming=streaming,
            watch=watch,
            upgrade=upgrade,
        )

    async def _complete(self, call: Call) -> Answer:
        exchange = await self._sender.open(call)
        try:
            body = await self._read(exchange, call)
        finally:
            await exchange.aclose()
        check_body(exchange.status, exchange.headers, body, call.request, text=call.text)
        if (failure := failure_in(body, call.request, text=call.text, redact=exchange.redact)) is not None:
            raise failure
        return Answer(exchange.status, exchange.headers, body, exchange.warnings, call.text, exchange.redact)

    async def _read(self, exchange: Exchange, call: Call) -> bytes:
        call.doing = "reading the response"
        chunks: list[bytes] = []
        while chunk := await exchange.read():
            chunks.append(chunk)
        return b"".join(chunks)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        try:
            yield
        except DynkubeError as error:
            self._counters.last_error = sanitized(str(error))
            raise

    def _too_late(self, call: Call, timeout: float) -> DeadlineExceeded:
        # Rounded, as the timeout may be some microseconds less than the caller's value, due to discovery.
        text = f"{call.text}: no complete response within {round(timeout, 3):g} s, while {call.doing}"
        most = self._limits.max_connections
        if not call.streaming and self._pools.is_full(most):  # so the request may have waited for one of them
            text += f"; all {most} connections are in use (Limits.max_connections)"
        if call.last_failure:
            text += f"; the previous attempt failed: {call.last_failure}"
        return DeadlineExceeded(text)
