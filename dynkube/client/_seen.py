"""What a watch has shown so far, and what changed when the collection is listed again. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dynkube.meta import (
    Added,
    Bookmark,
    Deleted,
    Key,
    Modified,
    Unstructured,
    WatchEvent,
)


class _Identity(NamedTuple):
    api_version: str
    kind: str
    uid: str
    resource_version: str


class Seen:
    """The keys that a watch has shown as present, each with its uid and resourceVersion.

    Two short strings an object, not the object: about 250 bytes. That is the price of losing nothing when
    the server has forgotten what happened since (410).
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Key, _Identity] = {}

    def note(self, event: WatchEvent) -> None:
        """Take in an event that the server sent."""
        match event:
            case Added(obj) | Modified(obj):
                self._remember(obj)
            case Deleted(obj):
                self._known.pop(obj.key, None)
            case Bookmark():
                pass

    def difference(self, present: Iterable[Unstructured]) -> list[WatchEvent]:
        """The events between what was shown and what is present now; afterwards the latter counts as shown.

        Deletions come first. An object whose uid changed was deleted and another one was added. Of a
        deleted object only what was remembered is known: apiVersion, kind and, in metadata, name,
        namespace, uid and the resourceVersion that was shown last.
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
