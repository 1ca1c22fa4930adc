"""What all effects have in common, and those that do not look into the answer: delays, drips, no answer at all.

An effect is a small immutable value that says what happens to one request and its answer. Effects stand between the
server and the client like layers of ASGI middleware, the oldest outermost, and know nothing of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import trio

from dynkube.errors import InvalidInput
from dynkube.testing._asgi import (
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
from dynkube.testing._faults.facts import RequestFacts

# Slow bodies come in about so many pieces a second; fewer where they are slower than that.
_DRIPS_PER_SECOND = 10


class Effect(Protocol):
    """What happens to one request and its answer; implement it for faults of your own."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, by ``app`` or without it.

        It is called once for each request that the fault strikes, and often several times at once. Returning before the
        answer is complete drops the connection, as in any ASGI application; cancellation means that client or server
        have gone.

        Args:
            request: What it asks for.
            app: Everything behind this effect: younger faults, then the server.
            scope: ASGI's, of this request; copy it before you change it.
            receive: ASGI's: the request's body, and then whether the client has gone.
            send: ASGI's: the answer, to older faults and then to the client.
        """
        ...


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is worked on only after ``seconds``: a slow server, or a slow way to it.

    It is worked on then whether or not the client still waits, as a real server does with what has arrived: a write
    that its client gave up is carried out.

    Raises:
        InvalidInput: ``seconds`` is negative or no number.
    """

    seconds: float

    def __post_init__(self) -> None:
        check_seconds("seconds", self.seconds)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait, then go on."""
        if request.verb != "watch":  # nobody would hear it
            outlive_client(scope)
        await trio.sleep(self.seconds)
        await app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Hang:
    """The request is taken and never answered; the connection stays open until the client closes it."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for the client to give up."""
        await wait_disconnect(receive)


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The request is taken, and the connection ends without an answer: properly (FIN), or by a ``"reset"`` (RST).

    An ASGI server that cannot reset connections ends them properly.

    Raises:
        InvalidInput: ``how`` is neither.
    """

    how: Literal["clean", "reset"] = "clean"

    def __post_init__(self) -> None:
        if self.how not in {"clean", "reset"}:
            raise InvalidInput(f"how is {self.how!r}; give 'clean' or 'reset'")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the request, then end the connection."""
        # Closing a socket that has unread input resets the connection, whatever was meant.
        while (await receive()).get("more_body", False):
            pass
        if self.how == "reset" and offers_break(scope):
            await send({"type": BREAK, "how": "reset"})


@dataclass(frozen=True, slots=True)
class Drip:
    """The body comes slowly: so many bytes a second, a few at a time. Status and headers come at once.

    Raises:
        InvalidInput: ``bytes_per_second`` is not positive.
    """

    bytes_per_second: float

    def __post_init__(self) -> None:
        if not (self.bytes_per_second > 0 and math.isfinite(self.bytes_per_second)):
            raise InvalidInput(f"bytes_per_second is {self.bytes_per_second}; give a positive number")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the answer on, piece by piece."""
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


def check_seconds(name: str, value: float) -> None:
    """Refuse what is no time to wait.

    Raises:
        InvalidInput: ``value`` is negative or no number; the message begins with ``name``.
    """
    if not value >= 0:
        raise InvalidInput(f"{name} is {value}; give 0 or a positive number of seconds")
