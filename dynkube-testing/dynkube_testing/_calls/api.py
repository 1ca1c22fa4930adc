"""The boundary between the engine and the HTTP layer.

The HTTP layer decodes a request into a :class:`Call`, passes it to ``Engine.handle`` or ``Engine.open_watch``, and
encodes the result: a :class:`Result` with a :class:`Document`, or batches of :class:`WatchEvent`. The engine raises
error responses as :class:`~dynkube.errors.APIError`, with the Status that kube-apiserver would send.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from dynkube.errors import APIError
from dynkube_testing._calls.options import UNREAD, WriteOptions
from dynkube_testing._calls.users import ADMIN, User
from dynkube_testing._calls.webhook_calls import WebhookAnswers
from dynkube_testing._kinds.kinds import Kind

# Decoded JSON that may not be validated yet. The values are Any, because otherwise each access would need a cast that
# checks nothing: objects are validated at run time, against their kind.
JSONObject: TypeAlias = dict[str, Any]

Verb: TypeAlias = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A malformed patch, as the body of a call.

    Its error is raised only after the object has been found, because kube-apiserver decodes patches only then.

    Attributes:
        error: The error to raise.
    """

    error: APIError


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a resource, after routing and decoding.

    Attributes:
        verb: The Kubernetes verb. A GET with ``watch=true`` has the verb ``watch`` and goes to ``Engine.open_watch``.
        kind: The kind as it is served now.
        namespace: Namespace in the path; ``""`` for cluster-scoped kinds and for all namespaces.
        name: Object name in the path; ``""`` for collections, even with ``fieldSelector=metadata.name=x``.
        subresource: Like ``"status"`` or ``"scale"``; ``""`` for the object itself.
        old_watch: Whether it is a watch with the deprecated path ``/api/v1/watch/...``, which may have a ``name``.
        params: Query parameters as unparsed strings; the first value of each name.
        options: The options of a create, update or patch: ``params``, validated by :meth:`with_options`.
        size: Size of the encoded body in bytes; 0 without a body.
        body: The decoded body: an object, a list for a JSON patch, or ``None``. The engine neither modifies nor keeps
            it.
        warnings: Warnings for the client, which the engine appends. They are sent with success and error responses.
        repeated: Messages about duplicate fields in the body and unknown fields in a JSON patch, like
            ``duplicate field "spec.a"``.
        content_type: Media type of the body without parameters; for a patch, its type.
        user: The user who makes the request.
        user_agent: The User-Agent header; the default for ``fieldManager`` is derived from it.
        webhooks: The answers of webhooks so far; ``None`` if no webhooks are called.
    """

    verb: Verb
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
    options: WriteOptions = UNREAD
    size: int = 0
    body: object = None
    repeated: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list, compare=False)
    content_type: str = "application/json"
    user: User = ADMIN
    user_agent: str = ""
    webhooks: WebhookAnswers | None = field(default=None, compare=False)

    def with_options(self) -> Call:
        """Return a create, update or patch with its options, unless they have been read already.

        Raises:
            Invalid: A parameter has an invalid value, an apply has no ``fieldManager``, or ``force`` is given for
                another patch than an apply.
        """
        if self.options is not UNREAD:
            return self
        applies = self.content_type == APPLY_PATCH
        options = WriteOptions.read(self.params, self.verb, applies=applies, user_agent=self.user_agent)
        return replace(self, options=options)


class Document(Protocol):
    """A response body, available as encoded JSON or decoded.

    Encoded JSON is cheap for stored objects and lists of them.
    """

    @property
    def json(self) -> bytes:
        """The encoded JSON, without a newline at the end."""
        ...

    @property
    def data(self) -> JSONObject:
        """The decoded document.

        Each access returns a new one, which the caller may modify.
        """
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
        """The event type.

        It is ADDED or DELETED for an object that starts or stops to match the selectors.
        """
        ...

    @property
    def object(self) -> Document:
        """The object; of a BOOKMARK one with only a resourceVersion, of an ERROR a Status."""
        ...

    @property
    def line(self) -> bytes:
        """The encoded event with a newline at the end."""
        ...


class WatchStream(Protocol):
    """An open watch. Iterate over it in one task, and close it afterwards.

    ``async for batch in stream`` yields non-empty tuples of the events that are available, up to a maximum number, so
    that one write to the socket can send many events. The iteration ends when the server ends the watch, for example by
    its timeout or because the kind is no longer served.
    """

    def __aiter__(self) -> AsyncIterator[tuple[WatchEvent, ...]]: ...

    def close(self) -> None:
        """Close the watch, and end an iteration that waits for events. Idempotent."""
        ...
