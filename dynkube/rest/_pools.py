"""The connection pools of a client, replaced when the client certificate changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

import httpx2
import trio

from dynkube._guard import repr_of
from dynkube.config import ClientCertificate
from dynkube.errors import ClosedError


class Pools:
    """Two pools for one client certificate: for requests and for streams.

    Short requests never wait behind long-lived streams.

    Args:
        short: transport for requests.
        long: transport for streams; may be the same.
        upgradable: transport for connections that are switched to another protocol, which HTTP/2 has no way for;
            ``None`` for that of streams.

    Attributes:
        closed: whether the connections were closed; requests that still use one fail.
    """

    __slots__ = ("_retired", "_users", "closed", "long", "short", "upgradable")

    def __init__(
        self,
        short: httpx2.AsyncBaseTransport,
        long: httpx2.AsyncBaseTransport,
        upgradable: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.short: httpx2.AsyncBaseTransport = short
        self.long: httpx2.AsyncBaseTransport = long
        self.upgradable: httpx2.AsyncBaseTransport = upgradable or long
        self._users = 0
        self._retired = False
        self.closed: bool = False

    @property
    def transports(self) -> set[httpx2.AsyncBaseTransport]:
        """The transports, each once."""
        return {self.short, self.long, self.upgradable}

    @property
    def in_use(self) -> bool:
        """Whether the pools have users."""
        return self._users > 0

    def use(self) -> None:
        """Count a user, which must call :meth:`release`."""
        self._users += 1

    async def release(self) -> None:
        """Remove a user. Retired pools are closed when their last user is removed."""
        self._users -= 1
        if self._retired and not self._users:
            await self.aclose()

    async def retire(self) -> None:
        """Close the pools now, or when their last user is removed."""
        self._retired = True
        if not self._users:
            await self.aclose()

    async def aclose(self) -> None:
        """Close all connections, even in use.

        Shielded from cancellation: it does not wait for the server.
        """
        self.closed = True
        with trio.CancelScope(shield=True):
            for transport in self.transports:
                await transport.aclose()


@runtime_checkable
class Counted(Protocol):
    """A transport that can count its connections."""

    def connections(self) -> tuple[int, int]:
        """Return the number of connections, and how many of them are idle."""
        ...


def _counted(transport: httpx2.AsyncBaseTransport) -> tuple[int, int]:
    return transport.connections() if isinstance(transport, Counted) else (0, 0)


class PoolKeeper:
    """Provides the pools for the current client certificate.

    After a change of the certificate new pools are created, since a certificate is presented once per connection.
    Requests and streams in flight continue on the old pools, which are closed when their last user is removed.

    Args:
        make: creates pools; may block, so it is async. Called again when the certificate changes.
    """

    def __init__(self, make: Callable[[ClientCertificate | None], Awaitable[Pools]]) -> None:
        self._make = make
        self._lock = trio.Lock()
        self._current: Pools | None = None
        self._certificate: ClientCertificate | None = None
        self._retired: set[Pools] = set()
        self._closed = False
        self._ended_by: Exception | None = None

    def ends_by(self, error: Exception) -> None:
        """Set the error that is about to close the pools; each ClosedError mentions it."""
        self._ended_by = error

    def closed_error(self, text: str, otherwise: Exception | None = None) -> ClosedError:
        """Return the ClosedError for closed pools.

        Its cause is the error of :meth:`ends_by`, or else ``otherwise``.
        """
        why = f" ({repr_of(self._ended_by)})" if self._ended_by is not None else ""
        error = ClosedError(f"{text}{why}")
        error.__cause__ = self._ended_by or otherwise
        return error

    @property
    def closed(self) -> bool:
        """Whether :meth:`aclose` was called."""
        return self._closed

    def connections(self) -> tuple[int, int]:
        """Return the number of connections, and how many of them are idle. Thread-safe."""
        current = self._current
        pools = {*tuple(self._retired), *([] if current is None else [current])}
        counts = [_counted(transport) for held in pools for transport in held.transports]
        return sum(count for count, _ in counts), sum(idle for _, idle in counts)

    def is_full(self, most: int) -> bool:
        """Whether the pool for requests has ``most`` connections, none of which is idle."""
        count, idle = (0, 0) if self._current is None else _counted(self._current.short)
        return count >= most and not idle

    async def acquire(self, certificate: ClientCertificate | None) -> Pools:
        """Return the pools for ``certificate``, with the caller counted as a user.

        The caller must call :meth:`Pools.release`.

        Raises:
            ClosedError: after :meth:`aclose`.
            ConfigError: no TLS context can be created from the certificate and the CA.
        """
        async with self._lock:
            self._check_open()
            if self._current is not None and certificate != self._certificate:
                await self._retire_current()
            if self._current is None:
                made = await self._make(certificate)
                if self._closed:  # closed while the pools were being created
                    await made.aclose()
                    self._check_open()
                self._current = made
                self._certificate = certificate
            self._current.use()
            return self._current

    async def forget(self, pools: Pools) -> None:
        """Replace ``pools`` for the next user, because verification with their CA failed."""
        if pools is self._current:
            await self._retire_current()

    async def renew(self) -> None:
        """Replace the pools for the next user.

        The current pools are closed when their last user is removed.
        """
        if self._current is not None:
            await self._retire_current()

    async def aclose(self) -> None:
        """Close all pools, even in use. Later calls of :meth:`acquire` raise ClosedError."""
        self._closed = True
        remaining = [*self._retired, *([self._current] if self._current is not None else [])]
        self._current = None
        self._retired.clear()
        for pools in remaining:
            await pools.aclose()

    async def _retire_current(self) -> None:
        assert self._current is not None
        retired, self._current = self._current, None
        self._retired = {pools for pools in self._retired if pools.in_use} | {retired}
        await retired.retire()

    def _check_open(self) -> None:
        if self._closed:
            raise self.closed_error("the client is closed, or its with block was exited: connect again")
