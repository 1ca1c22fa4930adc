"""ASGI 3 types, and three private extensions offered by this package's servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

# Defined by ASGI 3: https://asgi.readthedocs.io/en/stable/specs/www.html
Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Extension: break the connection in ways that ASGI cannot express; used by faults.
#:
#: A server with this name in ``scope["extensions"]`` accepts a message of this type at any time instead of the next
#: regular message, and no message after it. ``how`` is ``"reset"``: the connection is reset (RST), and ``body`` is
#: empty; or ``"mid-chunk"``: an HTTP chunk is started, its first bytes are ``body``, and the connection is closed (FIN)
#: before the announced chunk size is reached.
BREAK = "dynkube.testing.break"

#: Extension: continue to process a request after its client has disconnected, as real servers do.
#:
#: A server that would otherwise cancel such a request has this name in ``scope["extensions"]``, with a function under
#: ``"ask"``. After a call of it the request is processed even if the client disconnects before the response starts.
OUTLIVE = "dynkube.testing.outlive"

#: Extension: slow work may be done in worker threads.
#:
#: A server with this name in ``scope["extensions"]`` runs on the real clock; a virtual clock would jump ahead while all
#: tasks wait for a thread.
THREADS = "dynkube.testing.threads"


def outlive_client(scope: Scope) -> None:
    """Process the request even if its client disconnects before the response starts."""
    if extension := (scope.get("extensions") or {}).get(OUTLIVE):
        extension["ask"]()


def offers_break(scope: Scope) -> bool:
    """Whether the server supports :data:`BREAK`."""
    return BREAK in (scope.get("extensions") or {})


def offers_threads(scope: Scope) -> bool:
    """Whether slow work may be done in worker threads (:data:`THREADS`)."""
    return THREADS in (scope.get("extensions") or {})


async def wait_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects, discarding request data received meanwhile."""
    while (await receive())["type"] != "http.disconnect":
        pass
