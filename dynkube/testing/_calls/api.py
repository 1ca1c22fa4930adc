"""The boundary between the engine and the HTTP layer.

The HTTP layer decodes a request into a :class:`Call`, passes it to ``Engine.handle`` or ``Engine.open_watch``, and
encodes the result: a :class:`Result` with a :class:`Document`, or batches of :class:`WatchEvent`. The engine raises
error responses as :class:`~dynkube.errors.APIError`, with the Status that kube-apiserver would send.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from dynkube.errors import APIError
from dynkube.testing._calls.users import ADMIN, User
from dynkube.testing._kinds.kinds import Kind

# Decoded JSON that is not validated yet. Any, because otherwise each access would need a cast that checks nothing:
# validation happens at run time, against the kind.
JSONObject: TypeAlias = dict[str, Any]

Verb: TypeAlias = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A patch that could not be decoded.

    The error is reported later, since kube-apiserver decodes a patch only after it has found the object.

    Attributes:
        error: The error to report then.
    """

    error: APIError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a resource, after routing and decoding.

    Attributes:
        verb: The Kubernetes verb. A GET with ``watch=true`` has the verb ``watch`` and goes to ``Engine.open_watch``.
        kind: The kind, as it is in the registry now.
        namespace: From the path; ``""`` for cluster-scoped kinds and for all namespaces.
        name: From the path; ``""`` for collections. (``fieldSelector=metadata.name=x`` stays in ``params``.)
        subresource: Like ``"status"`` or ``"scale"``; ``""`` for the object itself.
        old_watch: Whether it is a deprecated watch by path, ``/api/v1/watch/...``; it may have a ``name``.
        params: Query parameters as unparsed strings; the first value of each name.
        size: Size of the body in bytes, as far as it was sent.
        body: The decoded body: an object, a list for a JSON patch, or ``None``. The engine neither modifies nor keeps
            it.
        warnings: Collects warnings for the client, which are sent with success and error responses.
        repeated: Duplicate fields of the body, or unknown fields of a patch: ``duplicate field "spec.a"``.
        content_type: Media type of the body without parameters; determines the patch type.
        user: The user who makes the request.
        user_agent: The User-Agent header; the default for ``fieldManager`` is derived from it.
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
    """A response body, available as encoded JSON or decoded.

    Encoded JSON is cheap for stored objects and lists of them. ``items`` are the objects of a list, ``None`` for
    anything that is not a list.
    """

    @property
    def json(self) -> bytes:
        """Return the JSON, without a newline at the end."""
        ...

    @property
    def data(self) -> JSONObject:
        """The decoded document; a new one on each access, which the caller may modify."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a successful call."""

    document: Document
    status: int = 200
    warnings: tuple[str, ...] = ()


EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class WatchEvent(Protocol):
    """One event of a watch."""

    @property
    def type(self) -> EventType:
        """The event type, relative to the watch's selectors."""
        ...

    @property
    def object(self) -> Document:
        """The object, the bookmark or the Status."""
        ...

    @property
    def line(self) -> bytes:
        """Return the encoded event, with its newline."""
        ...


class WatchStream(Protocol):
    """An open watch. Iterate it from one task, and close it afterwards.

    ``async for batch in stream`` yields non-empty tuples with all events available at the time (bounded), so that one
    write to the socket can send many lines. The iteration ends when the server ends the response (timeout, kind no
    longer served).
    """

    def __aiter__(self) -> AsyncIterator[tuple[WatchEvent, ...]]: ...

    def close(self) -> None:
        """Close the watch, and end a waiting iteration. Synchronous and idempotent."""
        ...
