"""What a reflector does after each kind of failure: a table, without I/O or time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dynkube._server_text import word
from dynkube.errors import (
    APIError,
    BadRequest,
    DynkubeError,
    EndlessList,
    Forbidden,
    Gone,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ServerTimeout,
    TransportError,
    Unauthorized,
    UnreadableEvent,
)
from dynkube.informers._transitions import (
    Confirming,
    HistoryWentBack,
    Listing,
    ReflectorState,
    StreamCutShort,
    Streaming,
    StreamSilent,
    Watching,
)


@dataclass(frozen=True, slots=True)
class Recovery:
    """How to go on after a failure.

    Attributes:
        state: what to do next.
        immediate: without waiting.
        stop_streaming: the server cannot stream lists; do not try again.
        missing: the resource itself seems not to be served.
    """

    state: ReflectorState
    immediate: bool = False
    stop_streaming: bool = False
    missing: bool = False


MOST_RECENT: Final = Listing("", whole=True)
"""What etcd has, in one response: no cache that lags behind, and no page that expires."""


def recover(state: ReflectorState, exc: DynkubeError, streak: int) -> Recovery:
    """The recovery from ``exc`` in ``state``; ``streak`` failures came before it without a success."""
    first = streak == 0
    same = state.again() if isinstance(state, Streaming) else state.listing if isinstance(state, Listing) else state
    if isinstance(exc, Gone):
        # A watch's version expired: the watch cache can list from the last one. A list's: ask etcd.
        expired = isinstance(state, Watching) and first
        return Recovery(state.listing if expired else MOST_RECENT, immediate=first)
    if isinstance(exc, ServerTimeout) and _version_too_large(exc):
        return Recovery(MOST_RECENT, immediate=first)
    if isinstance(exc, NotFound):
        return Recovery(same if isinstance(state, Streaming) else state.listing, missing=True)
    if isinstance(state, Streaming) and isinstance(exc, BadRequest | Invalid | StreamSilent):
        return Recovery(state.listing, immediate=True, stop_streaming=True)
    if isinstance(state, Confirming) and isinstance(exc, Forbidden | MethodNotAllowed):
        return Recovery(state.watching)  # it can be watched and not be listed: nothing more can be found out
    if isinstance(exc, Forbidden | Unauthorized | MethodNotAllowed):
        # If only watching is forbidden, listing at the backoff's pace keeps the cache close to the server. A stream is
        # a watch, and whether the resource can be listed is not known yet.
        return Recovery(state.listing, immediate=isinstance(state, Streaming) and first)
    if isinstance(exc, HistoryWentBack):
        return Recovery(MOST_RECENT, immediate=first)
    if isinstance(exc, StreamSilent):
        return _after_silence(state, exc, first)
    if isinstance(exc, StreamCutShort):
        return Recovery(same if first else MOST_RECENT)
    if isinstance(exc, UnreadableEvent | EndlessList):  # it came whole, and would come again
        # Where pages do not end, one response may do; and the other way round.
        other = state.listing if isinstance(state, Listing) and state.whole else MOST_RECENT
        return Recovery(other, immediate=first and isinstance(exc, EndlessList))
    if isinstance(exc, TransportError):
        # What cuts or holds back every stream (a proxy, mostly) may still let lists through.
        return Recovery(state.listing if isinstance(state, Streaming) and streak >= 2 else same)
    return Recovery(same if streak < 2 else state.listing)


def _after_silence(state: ReflectorState, exc: StreamSilent, first: bool) -> Recovery:
    if isinstance(state, Watching) and not exc.certain:
        return Recovery(Confirming(state.resource_version), immediate=first)
    # Silent again: a server whose revisions are behind ours is silent until it has caught up.
    return Recovery(state, immediate=True) if first else Recovery(MOST_RECENT)


def _version_too_large(exc: APIError) -> bool:
    return any(cause.reason == "ResourceVersionTooLarge" for cause in exc.causes) or (
        "Too large resource version" in exc.status.message
    )


def reason_of(exc: DynkubeError) -> str:
    """One CamelCase word for a failure: the server's reason, or the error's class."""
    return word(exc.reason) if isinstance(exc, APIError) and exc.reason else type(exc).__name__
