"""Response documents: objects, lists and watch events.

They are encoded by joining stored bytes, and decoded only on demand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dynkube.errors import APIError, Status
from dynkube_testing._calls.api import EventType, JSONObject
from dynkube_testing._calls.refuse import ContinueExpired, Undetailed
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.versions import Version


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A stored object, in the API version of ``kind``."""

    kind: Kind
    version: Version

    @property
    def json(self) -> bytes:
        """The encoded document."""
        return self.version.encode(self.kind)

    @property
    def data(self) -> JSONObject:
        """The decoded document, a new one on each access."""
        return self.version.decode(self.kind)


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A document that is not a stored object or list, given as decoded JSON."""

    content: Mapping[str, object]

    @property
    def json(self) -> bytes:
        """The encoded document."""
        return msgspec.json.encode(self.content)

    @property
    def data(self) -> JSONObject:
        """The decoded document, a new one on each access."""
        decoded: JSONObject = msgspec.json.decode(self.json)
        return decoded


@dataclass(frozen=True, slots=True)
class NoDocument:
    """The document of a response without a body."""

    @property
    def json(self) -> bytes:
        """Empty."""
        return b""

    @property
    def data(self) -> JSONObject:
        """Empty."""
        return {}


@dataclass(frozen=True, slots=True)
class ListDocument:
    """A list of stored objects, or a chunk of it.

    Attributes:
        kind: The kind of the items, in the requested API version.
        revision: The resourceVersion of the whole list.
        versions: The items.
        continue_token: The token to get the next chunk; ``""`` for the last one.
        remaining: Number of items after this chunk; ``None`` if it is unknown or there are none.
    """

    kind: Kind
    revision: int
    versions: Sequence[Version]
    continue_token: str = ""
    remaining: int | None = None

    @property
    def json(self) -> bytes:
        """The encoded list."""
        metadata: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continue_token or self.kind.crd_uid is not None:  # as in a real server, always for custom resources
            metadata["continue"] = self.continue_token
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        head = {"kind": self.kind.list_kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        items = b",".join([version.encode_item(self.kind) for version in self.versions])
        return b'%b,"items":[%b]}' % (msgspec.json.encode(head)[:-1], items)

    @property
    def data(self) -> JSONObject:
        """The decoded list, a new one on each access."""
        decoded: JSONObject = msgspec.json.decode(self.json)
        return decoded


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a watch."""

    type: EventType
    object: StoredDocument | PlainDocument

    @property
    def line(self) -> bytes:
        """The encoded event with a newline at the end."""
        return b'{"type":"%b","object":%b}\n' % (self.type.encode(), self.object.json)


def bookmark(kind: Kind, revision: int, *, initial_events_end: bool = False) -> Event:
    """Return a bookmark at ``revision``.

    With ``initial_events_end=True`` it is the bookmark that ends the initial events (KEP-3157).
    """
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial_events_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return Event("BOOKMARK", PlainDocument({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))


def error_event(error: APIError) -> Event:
    """Return an ERROR event with ``error`` as its Status."""
    return Event("ERROR", PlainDocument(status_object(error)))


def status_object(error: APIError) -> JSONObject:
    """Return the Status object for ``error``, as kube-apiserver would send it."""
    status = error.status
    body: JSONObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {"continue": error.continue_token}
        if isinstance(error, ContinueExpired) and error.continue_token
        else {},
        "status": "Failure",
        "message": status.message,
        "reason": status.reason,
        "details": _details(status),
        "code": status.code,
    }
    has_details = status.reason in _DETAILED or isinstance(error, Undetailed)
    kept = {"metadata", "details"} if has_details else {"metadata"}
    return {key: value for key, value in body.items() if value or key in kept}


# A Status with one of these reasons always has details, even if they are empty, as in a real server.
_DETAILED = {"Forbidden", "Invalid", "MethodNotAllowed", "NotFound"}


def deleted_status(kind: Kind, version: Version) -> PlainDocument:
    """Return the Status in the response to a delete that has removed the object."""
    details = {"name": version.name, "group": kind.gvr.group, "kind": kind.gvr.resource, "uid": version.uid}
    return PlainDocument(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )


def _details(status: Status) -> JSONObject:
    details: JSONObject = {
        "name": status.name,
        "group": status.group,
        "kind": status.kind,
        "uid": status.uid,
        "causes": [
            {key: text for key, text in (("reason", c.reason), ("message", c.message), ("field", c.field)) if text}
            for c in status.causes
        ],
        "retryAfterSeconds": math.ceil(status.retry_after or 0),
    }
    return {key: value for key, value in details.items() if value}
