"""ASGI 3 as this package speaks it: the shapes, and the three extensions that its own servers offer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

# The shapes are ASGI 3's own: https://asgi.readthedocs.io/en/stable/specs/www.html
Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Breaking a connection as no application should: what ASGI has no words for, and faults need.
#:
#: A server that has this name among ``scope["extensions"]`` takes a message of this type, at any time, in place of what
#: would come next, and nothing after it. ``how`` is ``"reset"``: the connection is reset (RST), and ``body`` is empty;
#: or ``"mid-chunk"``: a chunk of the answer begins, its first bytes are ``body``, and the connection ends (FIN) where
#: more were announced.
BREAK = "dynkube.testing.break"

#: Working on a request whose client has gone, as servers do with what has arrived.
#:
#: A server that would end such a request at once has this name among ``scope["extensions"]``, with a function under
#: ``"ask"``: after a call of it the request goes on all the same, if its client goes before the answer has begun.
OUTLIVE = "dynkube.testing.outlive"

#: Slow work may be done in worker threads.
#:
#: A server that has this name among ``scope["extensions"]`` runs on the real clock; a virtual clock would jump ahead
#: while all tasks wait for a thread.
THREADS = "dynkube.testing.threads"


def outlive_client(scope: Scope) -> None:
    """Have the request worked on also when its client gives up before the answer begins."""
    if extension := (scope.get("extensions") or {}).get(OUTLIVE):
        extension["ask"]()


def offers_break(scope: Scope) -> bool:
    """Whether the server takes :data:`BREAK`."""
    return BREAK in (scope.get("extensions") or {})


def offers_threads(scope: Scope) -> bool:
    """Whether slow work may be done in worker threads (:data:`THREADS`)."""
    return THREADS in (scope.get("extensions") or {})


async def wait_disconnect(receive: Receive) -> None:
    """Return when the client has gone; what it still sends is read and dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
