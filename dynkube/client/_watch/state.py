"""What a watch remembers: the objects that it has emitted, and the refusals of its requests.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dynkube.errors import APIError, Forbidden, NotFound, TransportError, Unauthorized
from dynkube.errors._evidence import CONFIRMATION, Evidence, NegativeAnswers, evidence_of, extended
from dynkube.meta import Added, Bookmark, Deleted, Modified, Unstructured, WatchEvent
from dynkube.meta._object import Key


class _Identity(NamedTuple):
    api_version: str
    kind: str
    uid: str
    resource_version: str


class Seen:
    """The objects that a watch has emitted as present: keys, uids, resourceVersions.

    Required to compute the difference to a new list after the resourceVersion has expired (410). Takes about 250 bytes
    per object, as the objects themselves are not kept.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Key, _Identity] = {}

    def note(self, event: WatchEvent) -> None:
        """Record an event that is emitted."""
        match event:
            case Added(obj) | Modified(obj):
                self._remember(obj)
            case Deleted(obj):
                self._known.pop(obj.key, None)
            case Bookmark():
                pass

    def difference(self, present: Iterable[Unstructured]) -> list[WatchEvent]:
        """Return the events that lead from the emitted objects to ``present``.

        The events are recorded as emitted.

        Deletions come first. An object whose uid changed is emitted as Deleted and Added. The object of a Deleted event
        has only apiVersion, kind and, in metadata, name, namespace, uid and the last emitted resourceVersion.
        """
        deleted: list[WatchEvent] = []
        changed: list[WatchEvent] = []
        before, self._known = self._known, {}
        for obj in present:
            known = before.pop(obj.key, None)
            self._remember(obj)
            if known is None:
                changed.append(Added(obj))
            elif known.uid != obj.uid:
                deleted.append(Deleted(_remnant(obj.key, known)))
                changed.append(Added(obj))
            elif known.resource_version != obj.resource_version:
                changed.append(Modified(obj))
        deleted += [Deleted(_remnant(key, known)) for key, known in before.items()]
        return deleted + changed

    def _remember(self, obj: Unstructured) -> None:
        self._known[obj.key] = _Identity(obj.api_version, obj.kind, obj.uid, obj.resource_version)

    def __len__(self) -> int:
        return len(self._known)


def _remnant(key: Key, known: _Identity) -> Unstructured:
    namespace, name = key
    metadata = {"name": name, "namespace": namespace, "uid": known.uid, "resourceVersion": known.resource_version}
    present = {field: text for field, text in metadata.items() if text}
    return Unstructured({"apiVersion": known.api_version, "kind": known.kind, "metadata": present})


def may_be_a_moments(exc: APIError | TransportError) -> bool:
    """Return whether an error response of this kind may be wrong a moment later."""
    return isinstance(exc, NotFound | Forbidden | Unauthorized)


class Refusals:
    """The refused requests of an open watch in a row, and when they are confirmed. Times are arguments.

    A watch ends with a 401, 403 or 404 once its requests got nothing else for ``CONFIRMATION.starting`` seconds. Any
    other outcome ends the row: a success, a failed connection, a 5xx. That the *resource* is gone, so that its objects
    are deleted, takes more: after each 404 for it discovery is read, and has to lack it in all versions for as long.
    """

    __slots__ = ("_lacking", "_row", "of_resource")

    def __init__(self) -> None:
        self._row: NegativeAnswers | None = None
        self._lacking: NegativeAnswers | None = None  # answers of discovery without the resource, since the first
        self.of_resource: bool = False
        """Whether the last one was a 404 for the resource."""

    def add(self, asked: float, exc: APIError | TransportError) -> None:
        """Add a refused request; ``asked`` is when it was sent."""
        self._row = extended(self._row, asked, str(exc))
        self.of_resource = evidence_of(exc) is Evidence.RESOURCE_UNKNOWN

    def discovered(self, asked: float, *, lacking: bool) -> None:
        """Add an answer of discovery, and whether it lacks the resource in all versions."""
        self._lacking = extended(self._lacking, asked, "") if lacking else None

    def end(self) -> None:
        """End the row, after any other outcome of a request."""
        self._row = self._lacking = None
        self.of_resource = False

    @property
    def confirmed(self) -> bool:
        """Whether they have lasted for long enough to end the watch."""
        return self._row is not None and self._row.span >= CONFIRMATION.starting

    @property
    def of_uninstalled_resource(self) -> bool:
        """Whether it is confirmed that the resource is not served in any version."""
        lasted = self._lacking is not None and self._lacking.span >= CONFIRMATION.starting
        return self.of_resource and lasted
