"""ASGI 3 types, headers, and four private extensions offered by this package's servers."""

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
#: A server that supports it has this name in ``scope["extensions"]``. The application may send a message of this type
#: instead of any regular message, and no message after it. The message has two keys. With ``how="reset"`` the
#: connection is reset (RST), and ``body`` is empty. With ``how="mid-chunk"`` an HTTP chunk is started, its first bytes
#: are ``body``, and the connection is closed (FIN) before the announced chunk size is reached.
BREAK = "dynkube_testing.break"

#: Extension: continue to process a request after its client has disconnected, as real servers do.
#:
#: A server that would otherwise cancel such a request has this name in ``scope["extensions"]``. Its value is a mapping
#: with a function under ``"ask"``. Once the application has called that function, the request is processed even if the
#: client disconnects before the response starts.
OUTLIVE = "dynkube_testing.outlive"

#: Extension: the application may do slow work in worker threads.
#:
#: A server with this name in ``scope["extensions"]`` runs on the real clock. Under a virtual clock threads must not be
#: used: the clock would jump ahead while all tasks wait for a thread.
THREADS = "dynkube_testing.threads"


#: Extension: switch the connection to another protocol.
#:
#: A server with this name in ``scope["extensions"]`` accepts the status 101 in ``http.response.start``; no message may
#: follow. Its value is a mapping with an async function under ``"stream"``, which waits until the response was sent and
#: returns the connection, a ``trio.abc.Stream``. It is closed when the application returns.
UPGRADE = "dynkube_testing.upgrade"


def outlive_client(scope: Scope) -> None:
    """Keep the server from cancelling the request if its client disconnects early.

    "Early" means before the response starts (:data:`OUTLIVE`). Without the extension this does nothing.
    """
    if extension := (scope.get("extensions") or {}).get(OUTLIVE):
        extension["ask"]()


def offers_break(scope: Scope) -> bool:
    """Return whether the server supports :data:`BREAK`."""
    return BREAK in (scope.get("extensions") or {})


def offers_threads(scope: Scope) -> bool:
    """Return whether slow work may be done in worker threads (:data:`THREADS`)."""
    return THREADS in (scope.get("extensions") or {})


async def wait_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects, discarding request data received meanwhile."""
    while (await receive())["type"] != "http.disconnect":
        pass


def without_header(message: MutableMapping[str, Any], name: bytes) -> MutableMapping[str, Any]:
    """Return ``message`` without the headers named ``name`` (lower case)."""
    return {**message, "headers": [(key, value) for key, value in message["headers"] if key.lower() != name]}


def header(message: MutableMapping[str, Any], name: bytes) -> str:
    """Return the first header named ``name`` (lower case), or ``""``."""
    found = (bytes(value).decode("latin-1") for key, value in message["headers"] if key.lower() == name)
    return next(found, "")
