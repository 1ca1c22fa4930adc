"""A TCP listener that can simulate network outages."""

from __future__ import annotations

import socket
from typing import Literal, TypeAlias

import trio

from dynkube_testing._faults.endings import check_how
from dynkube_testing._faults.outages import Outage
from dynkube_testing._wire.streams import Line, LineStream, UnansweredStream, drop
from dynkube_testing._wire.tcp import bind, listen

#: What a new connection meets: connection refused, a reset after the handshake, or an open connection without any
#: response.
Refusal: TypeAlias = Literal["refuse", "reset", "silent"]

#: How a connection ends: by FIN, or by RST.
Drop: TypeAlias = Literal["cut", "reset"]


class InterruptibleListener(trio.abc.Listener[trio.abc.HalfCloseableStream]):
    """A listener that can be closed for a while.

    Args:
        bound: A bound socket, which the listener takes over.
    """

    def __init__(self, bound: socket.socket) -> None:
        self._host, self._port, *_ = bound.getsockname()
        self._shut: socket.socket | None = None  # bound and not listening: keeps the port, and refuses connections
        self._listener: trio.SocketListener | None = listen(bound)
        self._refusals: dict[Outage, Refusal] = {}
        self._changed = trio.Event()
        self._line = Line()
        self._streams: set[LineStream | UnansweredStream] = set()
        self._counted = trio.Event()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the listener is closed for good."""
        return self._closed

    @property
    def connections(self) -> int:
        """Number of open connections, including those that get no response."""
        return len(self._streams)

    async def wait_connections(self, count: int) -> None:
        """Wait until exactly ``count`` connections are open."""
        await trio.lowlevel.checkpoint()
        while len(self._streams) != count:
            await self._counted.wait()

    # ── outages ───────────────────────────────────────────────────────────────────────────

    def refuse(self, how: Refusal) -> Outage:
        """Refuse new connections.

        Raises:
            InvalidInput: ``how`` is not a known way to refuse.
        """
        check_how(how, Refusal)
        outage = Outage(f"refuse_connections({how!r})", self._admit)
        self._refusals[outage] = how
        self._apply()
        return outage

    def black_hole(self) -> Outage:
        """Stop all data on every connection."""
        self._line.take_down()
        return Outage("black_hole()", lambda _: self._line.put_up())

    def drop(self, how: Drop) -> int:
        """End every connection and return their number.

        Raises:
            InvalidInput: ``how`` is not a known way to end a connection.
        """
        check_how(how, Drop)
        streams = tuple(self._streams)
        for stream in streams:
            stream.drop(reset=how == "reset")
        return len(streams)

    def _admit(self, outage: Outage) -> None:
        del self._refusals[outage]
        if not self._closed:
            self._apply()

    @property
    def _refusal(self) -> Refusal | None:
        """How new connections are refused; if there are several outages, the oldest decides."""
        return next(iter(self._refusals.values()), None)

    def _apply(self) -> None:
        if self._refusal == "refuse":
            if self._listener is not None:
                self._listener.socket.close()
                self._listener = None
                self._shut = bind(self._host, self._port)
        elif self._shut is not None:
            self._listener, self._shut = listen(self._shut), None
        self._changed.set()
        self._changed = trio.Event()

    # ── what trio's server asks ───────────────────────────────────────────────────────────

    async def accept(self) -> trio.abc.HalfCloseableStream:
        """Accept the next connection that is not refused."""
        while True:
            if self._closed:
                raise trio.ClosedResourceError
            if self._listener is None:
                await self._changed.wait()
                continue
            try:
                stream = await self._listener.accept()
            except trio.ClosedResourceError:
                continue  # an outage began, or the listener was closed for good
            match self._refusal:
                case None:
                    return self._entered(LineStream(stream, self._line, self._left))
                case "silent":
                    return self._entered(UnansweredStream(stream, self._left))
                case "reset" | "refuse":  # "refuse" began after the kernel accepted this connection
                    drop(stream, reset=True)

    def _entered(self, stream: LineStream | UnansweredStream) -> LineStream | UnansweredStream:
        self._streams.add(stream)
        self._count()
        return stream

    def _left(self, stream: LineStream | UnansweredStream) -> None:
        self._streams.discard(stream)
        self._count()

    def _count(self) -> None:
        self._counted.set()
        self._counted = trio.Event()

    async def aclose(self) -> None:
        """Stop accepting connections; open ones stay open."""
        self._closed = True
        self._line.retire()
        if self._shut is not None:
            self._shut.close()
        if self._listener is not None:
            await self._listener.aclose()
        self._changed.set()
        await trio.lowlevel.checkpoint()
