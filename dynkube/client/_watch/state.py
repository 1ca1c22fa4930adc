"""The objects that a watch has emitted so far, and their difference to a new list.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

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
