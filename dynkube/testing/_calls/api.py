"""The boundary between the engine (objects, history, semantics) and the wire (HTTP, content types, discovery).

The wire turns a request into a :class:`Call`, hands it to ``Engine.handle`` or ``Engine.open_watch``, and writes
what comes back: a :class:`Result` holding a :class:`Document`, or batches of :class:`WatchEvent`. Whatever the
engine refuses it raises as an :class:`~dynkube.errors.APIError` whose status a real API server would have sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from dynkube.errors import APIError
from dynkube.testing._calls.users import ADMIN, User
from dynkube.testing._kinds.kinds import Kind

# Decoded JSON whose shape nobody has checked yet. Any, because each access would otherwise need a cast that
# proves nothing: validation happens at run time, against the kind.
JSONObject: TypeAlias = dict[str, Any]

Verb: TypeAlias = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A patch that could not be decoded: a real server reads patches only when it has found the object.

    Attributes:
        error: What to say of it then.
    """

    error: APIError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a resource, after routing and decoding.

    Attributes:
        verb: What to do. A GET with ``watch=true`` has the verb ``watch`` and goes to ``Engine.open_watch``.
        kind: The served kind, as the registry has it now.
        namespace: From the path; ``""`` for cluster-scoped kinds and for all namespaces.
        name: From the path; ``""`` for collections. (``fieldSelector=metadata.name=x`` stays in ``params``.)
        subresource: Like ``"status"`` or ``"scale"``; ``""`` for the object itself.
        old_watch: Whether the watch was asked for by its path, ``/api/v1/watch/...``; then it may have a ``name``.
        params: The query, first value of each name. Values are text as sent.
        size: Bytes of the body as sent, as far as it was sent at all.
        body: The decoded body: an object, a list for a JSON patch, ``None`` where there was none. Not changed,
            and not kept.
        warnings: Collects what the caller is told besides the answer, be it a refusal or not.
        repeated: What the text of the body had twice, or no patch has: ``duplicate field "spec.a"``.
        content_type: Media type of the body without parameters; decides the kind of patch.
        user: Who asks.
        user_agent: As sent; names the field manager where ``fieldManager`` is not given.
    """

    verb: Verb
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
    size: int = 0
    body: object = None
    repeated: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list, compare=False)
    content_type: str = "application/json"
    user: User = ADMIN
    user_agent: str = ""


class Document(Protocol):
    """Something to send: as encoded JSON (cheap, for stored objects and lists of them), or decoded.

    ``items`` are the objects of a list, ``None`` for anything that is not a list.
    """

    @property
    def json(self) -> bytes:
        """Encoded, without a newline at the end."""
        ...

    @property
    def data(self) -> JSONObject:
        """Decoded afresh on each access, so that the caller may change what it gets."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The answer to a call that succeeded."""

    document: Document
    status: int = 200
    warnings: tuple[str, ...] = ()


EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(Protocol):
    """One event of a watch."""

    @property
    def type(self) -> EventType:
        """What happened, as the watcher's selector saw it."""
        ...

    @property
    def object(self) -> Document:
        """The object, the bookmark or the Status."""
        ...

    @property
    def line(self) -> bytes:
        """The whole event encoded, with its newline."""
        ...


class WatchStream(Protocol):
    """An open watch. Iterate it from one task, and close it when the client has gone or the iteration has ended.

    ``async for batch in stream`` gives non-empty tuples of events, all that are there at that moment (bounded),
    so that one write to the socket can carry many lines. The iteration ends where the server ends the response
    properly (timeout, kind no longer served).
    """

    def __aiter__(self) -> AsyncIterator[tuple[WatchEvent, ...]]: ...

    def close(self) -> None:
        """Forget the watch. Plain, idempotent; the iteration, if it still waits, ends."""
        ...
