"""What observers are told: small frozen records, made only where somebody observes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dynkube.meta import GVR


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestInfo:
    """One attempt of one request, as it is about to be sent.

    The same object comes with the attempt's end, and no other is equal to it: a key for what is kept in between.

    Attributes:
        method: ``GET``, ``POST``, ...
        url: what is asked, with the query; holds no credential.
        template: the path with ``{namespace}`` and ``{name}`` in place of names: few different values, for metrics.
        verb: as RBAC and the audit log call it: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``,
            ``delete``, ``deletecollection``; the method in lower case where the path is no resource's.
        gvr: the resource; ``None`` for discovery, ``/version`` and the like.
        subresource: ``"status"``, ``"scale"``, ...; ``""`` for the object itself.
        namespace: ``""`` if the path has none.
        name: ``""`` if the path has none.
        host: ``host:port`` of the API server, as its URL has them.
        attempt: 1, and more for repetitions.
        body_bytes: how much is sent.
        throttled: seconds waited for a turn before it (``Limits.qps``); ``None`` if nothing throttles.
    """

    method: str
    url: str
    template: str
    verb: str
    gvr: GVR | None
    subresource: str
    namespace: str
    name: str
    host: str
    attempt: int
    body_bytes: int
    throttled: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """How an attempt ended.

    Attributes:
        code: the HTTP status; ``None`` if no answer began.
        seconds: from sending until the answer was read, or, of a watch, until it began.
        received: bytes of the body; 0 for a watch that was opened.
        error: what it raised, which may be ``trio.Cancelled``; ``None`` if the answer was a good one. An attempt
            that failed may be repeated: then another one begins.
    """

    code: int | None
    seconds: float
    received: int
    error: BaseException | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What an informer follows: one resource, in one namespace or in all, narrowed by selectors.

    Attributes:
        gvr: the resource.
        namespace: ``None`` for all.
        label_selector: ``""`` for all.
        field_selector: ``""`` for all.
    """

    gvr: GVR
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""

    def __str__(self) -> str:
        parts = [str(self.gvr)]
        if self.namespace is not None:
            parts.append(f"in namespace {self.namespace}")
        if narrowed := ", ".join(filter(None, (self.label_selector, self.field_selector))):
            parts.append(f"with {narrowed}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorOutcome:
    """How a list or a watch of an informer ended.

    Attributes:
        items: objects listed, or events received with bookmarks.
        seconds: from the request on; a list has all its pages, a watch its whole life.
        resource_version: the last one seen.
        error: what ended it; ``None`` for a complete list, and a watch that the server ended as agreed.
    """

    items: int
    seconds: float
    resource_version: str
    error: BaseException | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """An informer's new state.

    Attributes:
        phase: as :class:`~dynkube.Phase` has it: ``"LIVE"``, ``"ABSENT"``, ...
        reason: one CamelCase word.
        message: the same for people; may be empty.
        previous: the phase before.
    """

    phase: str
    reason: str
    message: str
    previous: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRun:
    """One call of a handler.

    Attributes:
        handler: its name.
        event: ``"Added"``, ``"Updated"`` or ``"Deleted"``.
        seconds: until it returned, waits included.
        error: what it raised, or ``None``.
    """

    handler: str
    event: Literal["Added", "Updated", "Deleted"]
    seconds: float
    error: BaseException | None
