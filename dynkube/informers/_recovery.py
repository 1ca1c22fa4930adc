"""What a reflector does after each kind of failure: a table, without I/O or time."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from dynkube.errors import (
    APIError,
    BadRequest,
    DynkubeError,
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


class Step(enum.Enum):
    """What a reflector is doing."""

    STREAM = "stream"
    """Receiving the initial objects over a watch (KEP-3157), then watching on the same stream."""
    LIST = "list"
    """Listing all objects."""
    WATCH = "watch"
    """Following changes from the last version seen."""


class StreamSilent(TransportError):
    """Neither an event nor a bookmark came for too long: the connection is taken for dead.

    ``certain`` is ``False`` where the resource has never sent a bookmark, and may just be quiet.
    """

    def __init__(self, message: str, *, certain: bool = True) -> None:
        super().__init__(message)
        self.certain = certain


class StreamCutShort(TransportError):
    """The server ended a watch at once and without any news, or ends one after the other within seconds.

    The first is often an expired version in disguise: kubernetes/kubernetes#104171, fabric8io/kubernetes-client#7896.
    """


class HistoryWentBack(TransportError):
    """The server tells of a version before one that it told of: restored from a backup, or one of several that lags."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How to go on after a failure.

    Attributes:
        step: what to do next.
        consistent: list the most recent state, whole, instead of what a cache may have.
        immediate: without waiting.
        stop_streaming: the server cannot stream lists; do not try again.
        missing: the resource itself seems not to be served.
    """

    step: Step
    consistent: bool = False
    immediate: bool = False
    stop_streaming: bool = False
    missing: bool = False


_WHOLE: Final = Recovery(Step.LIST, consistent=True)


def recover(step: Step, exc: DynkubeError, streak: int) -> Recovery:
    """The recovery from ``exc`` during ``step``; ``streak`` failures came before it without a success."""
    first = streak == 0
    if isinstance(exc, Gone):
        # A watch's version expired: the watch cache can list from the last one. A list's: ask etcd.
        return Recovery(Step.LIST, consistent=step is not Step.WATCH or not first, immediate=first)
    if isinstance(exc, ServerTimeout) and _version_too_large(exc):
        return Recovery(Step.LIST, consistent=True, immediate=first)
    if isinstance(exc, NotFound):
        return Recovery(Step.STREAM if step is Step.STREAM else Step.LIST, missing=True)
    if step is Step.STREAM and isinstance(exc, BadRequest | Invalid | StreamSilent):
        return Recovery(Step.LIST, immediate=True, stop_streaming=True)
    if isinstance(exc, Forbidden | Unauthorized | MethodNotAllowed):
        # If only watching is refused, listing at the backoff's pace keeps the cache near the truth. A stream is a
        # watch, and whether the resource can be listed is not known yet.
        return Recovery(Step.LIST, immediate=step is Step.STREAM and first)
    if isinstance(exc, HistoryWentBack):
        return Recovery(Step.LIST, consistent=True, immediate=first)
    if isinstance(exc, StreamSilent):
        # Silent again: a server whose history is behind ours is silent until it has caught up, so ask what there is.
        return Recovery(Step.WATCH, immediate=first) if first or not exc.certain else _WHOLE
    if isinstance(exc, StreamCutShort):
        return Recovery(step) if first else _WHOLE
    if isinstance(exc, UnreadableEvent):
        return _WHOLE  # it came whole, and would come again
    if isinstance(exc, TransportError):
        # What cuts or holds back every stream (a proxy, mostly) may still let lists through.
        return Recovery(Step.LIST if step is Step.STREAM and streak >= 2 else step)
    return Recovery(step if streak < 2 else Step.LIST)


def _version_too_large(exc: APIError) -> bool:
    return any(cause.reason == "ResourceVersionTooLarge" for cause in exc.causes) or (
        "Too large resource version" in exc.status.message
    )


def reason_of(exc: DynkubeError) -> str:
    """One CamelCase word for a failure: the server's reason, or the kind of trouble."""
    return exc.reason if isinstance(exc, APIError) and exc.reason else type(exc).__name__
