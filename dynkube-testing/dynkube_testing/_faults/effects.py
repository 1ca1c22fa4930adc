"""The Effect protocol, and the effects that do not change the response's content.

An effect is a small immutable object that describes what happens to one request and its response. The effects on one
request are nested like ASGI middleware, with the server inside and the oldest effect outermost. They are independent of
each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._asgi import (
    BREAK,
    ASGIApp,
    Message,
    Receive,
    Scope,
    Send,
    offers_break,
    outlive_client,
    wait_disconnect,
)
from dynkube_testing._faults.endings import check_how
from dynkube_testing._faults.facts import RequestFacts

# Drip sends this many body pieces per second, or one byte at a time if the rate is lower than this.
_DRIPS_PER_SECOND = 10


class Effect(Protocol):
    """What happens to one request and its response; implement it for custom faults."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request, by calling ``app`` or without it.

        This is called for each request to which the fault applies, concurrently if the requests are concurrent. It is
        cancelled when the client disconnects or the server stops. If it returns before the response is complete, the
        connection is closed, as for any ASGI application.

        Args:
            request: The request's method, path, verb, resource and so on.
            app: The next inner ASGI application: the newer effects, then the server.
            scope: ASGI scope of the request; copy it before changing it.
            receive: ASGI receive: the request's body, then the disconnect of the client.
            send: ASGI send: passes the response to the older effects, then to the client.
        """
        ...


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay the request by ``seconds`` before the server processes it.

    As with a real server, a request other than a watch is processed even if the client has disconnected by then. So a
    write takes effect although its client has given up.

    Raises:
        InvalidInput: ``seconds`` is negative or NaN.
    """

    seconds: float

    def __post_init__(self) -> None:
        check_seconds("seconds", self.seconds)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait, then call ``app``."""
        if request.verb != "watch":  # a watch without a client has no effect
            outlive_client(scope)
        await trio.sleep(self.seconds)
        await app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Hang:
    """Accept the request and never respond.

    The connection stays open until the client closes it.
    """

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait until the client disconnects."""
        await wait_disconnect(receive)


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Accept the request, then close the connection without a response.

    ``how`` is ``"clean"`` (FIN) or ``"reset"`` (RST). An ASGI server that cannot reset connections closes them cleanly.

    Raises:
        InvalidInput: ``how`` is invalid.
    """

    how: Literal["clean", "reset"] = "clean"

    def __post_init__(self) -> None:
        check_how(self.how, Literal["clean", "reset"])

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the request, then close or reset the connection."""
        # Closing a socket with unread input resets the connection, so read the whole request first.
        while (await receive()).get("more_body", False):
            pass
        if self.how == "reset" and offers_break(scope):
            await send({"type": BREAK, "how": "reset"})


@dataclass(frozen=True, slots=True)
class Drip:
    """Send the body slowly, in small pieces, at ``bytes_per_second``.

    Status and headers are sent without delay.

    Raises:
        InvalidInput: ``bytes_per_second`` is not positive.
    """

    bytes_per_second: float

    def __post_init__(self) -> None:
        if not (self.bytes_per_second > 0 and math.isfinite(self.bytes_per_second)):
            raise InvalidInput(f"bytes_per_second is {self.bytes_per_second}: pass a positive number")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the response piece by piece."""
        size = max(1, int(self.bytes_per_second / _DRIPS_PER_SECOND))

        async def drip(message: Message) -> None:
            body: bytes = message.get("body", b"")
            if message["type"] != "http.response.body" or not body:
                await send(message)
                return
            for offset in range(0, len(body), size):
                piece = body[offset : offset + size]
                await trio.sleep(len(piece) / self.bytes_per_second)
                last = offset + size >= len(body)
                await send({**message, "body": piece, "more_body": message.get("more_body", False) or not last})

        await app(scope, receive, drip)


@dataclass(frozen=True, slots=True)
class Lag:
    """Send each piece of the body ``seconds`` after the server has written it; in order, and at the server's pace.

    On watches, this is an API server whose watch cache lags behind. Status and headers are sent without delay.

    Raises:
        InvalidInput: ``seconds`` is negative or NaN.
    """

    seconds: float

    def __post_init__(self) -> None:
        check_seconds("seconds", self.seconds)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the response later."""
        written, due = trio.open_memory_channel[tuple[float, Message]](math.inf)

        async def hold(message: Message) -> None:
            delay = self.seconds if message["type"] == "http.response.body" else 0.0
            await written.send((trio.current_time() + delay, message))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(_forward, due, send)
            async with written:
                await app(scope, receive, hold)


async def _forward(due: trio.MemoryReceiveChannel[tuple[float, Message]], send: Send) -> None:
    async for at, message in due:
        await trio.sleep_until(at)
        await send(message)


def check_seconds(name: str, value: float) -> None:
    """Check that ``value`` is a number of seconds >= 0.

    Raises:
        InvalidInput: ``value`` is negative or NaN; the message begins with ``name``.
    """
    if not value >= 0:
        raise InvalidInput(f"{name} is {value}: pass 0 or a positive number of seconds")
