"""What happens to the requests of the processes: each is recorded, and some are hit by a fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec
import trio

from dynkube_testing import Cut, Disconnect, Effect, Hang, Refuse, RequestFacts
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send
from tests.controllers.model.history import AUTHOR, SENT, TARGET, run_of
from tests.controllers.model.oracle import Oracle

WRITES: Final = ("create", "update", "patch", "delete")


class Recorded:
    """Tells the oracle of each write before any fault, and remembers when it was sent."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        run = run_of(AUTHOR.get())
        if run is not None and request.verb in WRITES and request.resource is not None:
            SENT.set(trio.current_time())
            TARGET.set((request.resource.resource, request.namespace, request.name))
            self._oracle.arrived(run, request.resource.resource, request.verb, request.name)
        await app(scope, receive, send)


class Unanswered:
    """Carries a request out, and then closes the connection, or never responds."""

    def __init__(self, how: str) -> None:
        self._how = how

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Drop the response."""

        async def drop(message: Message) -> None:
            await trio.lowlevel.checkpoint()

        await app(scope, receive, drop)
        if self._how == "hangs":
            await Hang().apply(request, app, scope, receive, send)
        if self._how == "504":
            await Refuse(504).apply(request, app, scope, receive, send)


class Slow:
    """Carries a request out later, unless its client has given up by then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait, and pass the request on."""
        await trio.sleep(self._seconds)
        await app(scope, receive, send)


_FINALIZERS: Final = re.compile(rb'"finalizers":\[[^]]*\]')


class WithoutFinalizers:
    """Stores no finalizers, as with a mutating webhook that removes them."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Change the body of the request."""

        async def stripped() -> Message:
            message = await receive()
            body = message.get("body", b"")
            with suppress(msgspec.DecodeError):
                if body and (msgspec.json.decode(body).get("metadata") or {}).get("finalizers"):
                    message = {**message, "body": _FINALIZERS.sub(b'"finalizers":[]', body)}
            return message

        await app(scope, stripped, send)


EFFECTS: Final[Mapping[str, Callable[[], Effect]]] = {
    "403": lambda: Refuse(403),
    "404 HTML": lambda: Refuse(404, body="<html>404 not found</html>"),
    "409": lambda: Refuse(409),
    "429": lambda: Refuse(429, retry_after=2),
    "500": lambda: Refuse(500),
    "503": lambda: Refuse(503),
    "reset": lambda: Disconnect("reset"),
    "hang": Hang,
    "slow": lambda: Slow(0.7),
    "unanswered, closed": lambda: Unanswered("closed"),
    "unanswered, hangs": lambda: Unanswered("hangs"),
    "unanswered, 504": lambda: Unanswered("504"),
    "cut watch": lambda: Cut("reset", after_lines=1),
}
