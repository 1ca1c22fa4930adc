"""Decides how a reflector continues after each kind of failure; no I/O or time."""

from __future__ import annotations

import math
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
from dynkube.informers._reflector.transitions import (
    Confirming,
    Listing,
    ReflectorState,
    ResourceVersionRegressed,
    StreamCutShort,
    Streaming,
    StreamSilent,
    Watching,
)


@dataclass(frozen=True, slots=True)
class Recovery:
    """How to continue after a failure.

    Attributes:
        state: the next state.
        immediate: whether to retry without waiting.
        stop_streaming: whether to stop trying streaming lists.
        missing: whether the resource itself seems not to be served.
        forbidden: whether the objects may not be listed. Not if only watching them is forbidden.
        known: whether it is no news: a list was refused before, and it was tried whether a streaming list works.
        asked: when the list or watch that failed was begun, so that its failure is no news of anything later.
    """

    state: ReflectorState
    immediate: bool = False
    stop_streaming: bool = False
    missing: bool = False
    forbidden: bool = False
    known: bool = False
    asked: float = -math.inf


MOST_RECENT: Final = Listing("", whole=True)
"""List from etcd in one response: avoids watch caches that lag behind, and pages that expire."""


def recover(state: ReflectorState, exc: DynkubeError, streak: int) -> Recovery:
    """Return the recovery from ``exc`` in ``state``, after ``streak`` other failures."""
    first = streak == 0
    same = state.again() if isinstance(state, Streaming) else state.listing if isinstance(state, Listing) else state
    if isinstance(exc, Gone):
        # If the version of a watch expired, list from the watch cache, not older than that version. If the version of a
        # list expired, list from etcd.
        expired = isinstance(state, Watching) and first
        return Recovery(state.listing if expired else MOST_RECENT, immediate=first)
    if isinstance(exc, ServerTimeout) and _version_too_large(exc):
        return Recovery(MOST_RECENT, immediate=first)
    if isinstance(exc, NotFound):
        return Recovery(same if isinstance(state, Streaming) else state.listing, missing=True)
    if isinstance(state, Streaming) and isinstance(exc, BadRequest | Invalid | StreamSilent):
        return Recovery(state.listing, immediate=True, stop_streaming=True)
    if isinstance(state, Confirming) and isinstance(exc, Forbidden | MethodNotAllowed):
        return Recovery(state.watching)  # the resource can be watched but not listed, so the version stays unconfirmed
    if isinstance(exc, Forbidden | Unauthorized | MethodNotAllowed):
        return _after_refusal(state, exc, first)
    if isinstance(exc, ResourceVersionRegressed):
        return Recovery(MOST_RECENT, immediate=first)
    if isinstance(exc, StreamSilent):
        return _after_silence(state, exc, first)
    if isinstance(exc, StreamCutShort):
        return Recovery(same if first else MOST_RECENT)
    if isinstance(exc, UnreadableEvent | EndlessList):  # a retry would get the same
        # If a list in pages failed, one response may work, and vice versa.
        other = state.listing if isinstance(state, Listing) and state.whole else MOST_RECENT
        return Recovery(other, immediate=first and isinstance(exc, EndlessList))
    if isinstance(exc, TransportError):
        # Lists may work even if a proxy cuts or buffers streams.
        return Recovery(state.listing if isinstance(state, Streaming) and streak >= 2 else same)
    return Recovery(same if streak < 2 else state.listing)


def _after_refusal(state: ReflectorState, exc: Forbidden | Unauthorized | MethodNotAllowed, first: bool) -> Recovery:
    # If only watching is forbidden, repeated lists with backoff keep the cache nearly up to date. After a streaming
    # list, which is a watch, it is not known yet whether the resource can be listed, so list at once. If only listing
    # is forbidden, a streaming list works.
    if isinstance(exc, Forbidden) and isinstance(state, Listing):
        return Recovery(Streaming(state.listing), forbidden=True)
    streaming = isinstance(state, Streaming)
    known = streaming and not first and isinstance(exc, Forbidden)  # so is the list before or after it
    return Recovery(state.listing, immediate=streaming and first, known=known)


def _after_silence(state: ReflectorState, exc: StreamSilent, first: bool) -> Recovery:
    if isinstance(state, Watching) and not exc.certain:
        return Recovery(Confirming(state.resource_version), immediate=first)
    # After the second silence, list: a server that has not reached the resourceVersion of a watch is silent until then.
    return Recovery(state, immediate=True) if first else Recovery(MOST_RECENT)


def _version_too_large(exc: APIError) -> bool:
    return any(cause.reason == "ResourceVersionTooLarge" for cause in exc.causes) or (
        "Too large resource version" in exc.status.message
    )


def reason_of(exc: DynkubeError) -> str:
    """Return the server's reason for an error, else the name of its class."""
    return word(exc.reason) if isinstance(exc, APIError) and exc.reason else type(exc).__name__
