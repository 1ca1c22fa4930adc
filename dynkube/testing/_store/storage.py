"""Objects and their history: one count of resourceVersions for everything, as etcd has it.

Every write appends one change to the log of its resource and takes the next revision, so the state at any
revision since the last compaction can be rebuilt, and a watch that starts where a list ended misses nothing and
sees nothing twice. Objects are kept as encoded bytes: lists and watches never decode what they send, and nobody
outside can change what is stored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import TypeAlias

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind

# What field selectors of Events and Jobs call otherwise than it is called.
_KEPT_AT = {"source": "source.component", "status.successful": "status.succeeded"}


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Version:
    """One object as it was from one revision on.

    ``rest`` is the encoded object from behind its ``metadata.resourceVersion`` to its end: what is before it
    depends on the API version asked for and on the revision, and is put in front when it is sent.
    ``fields`` are the values that field selectors of the resource may ask for, ``owners`` the UIDs of its
    ownerReferences, ``finalizers`` those of its metadata, and ``deleting`` says whether it has a deletionTimestamp:
    what has to be known about many objects without decoding them.
    ``shape`` is what the content conformed to when it was written (``Content.shape`` of its kind): read in another
    version, or under a schema that has changed since, it may look different.
    ``provisional`` says that part of it is only shown: a real server has stored less, and the next write stores it.
    """

    namespace: str
    name: str
    uid: str
    revision: int
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    rest: bytes
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    shape: object = None
    provisional: bool = False

    @property
    def key(self) -> str:
        """Where it is stored; the order of keys is the order of lists."""
        return storage_key(self.namespace, self.name)

    def encode(self, kind: Kind) -> bytes:
        """The object as JSON in the version of ``kind``."""
        head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}","metadata":{{"resourceVersion":"'
        return b'%b%d"%b' % (head.encode(), self.revision, self._rest_for(kind))

    def encode_item(self, kind: Kind) -> bytes:
        """The object as it appears inside a list: built-in kinds leave out apiVersion and kind there."""
        if kind.crd_uid is not None:
            return self.encode(kind)
        return b'{"metadata":{"resourceVersion":"%d"%b' % (self.revision, self._rest_for(kind))

    def decode(self, kind: Kind) -> JSONObject:
        """The object as a new dict in the version of ``kind``."""
        decoded: JSONObject = msgspec.json.decode(self.encode(kind))
        return decoded

    def stays(self, kind: Kind, obj: JSONObject) -> bool:
        """Whether writing ``obj``, which is how it looks in the version of ``kind``, leaves what is stored as it is."""
        content = kind.content
        if content is None or self.provisional:
            return not self.provisional
        if content.shape is self.shape and content.shows_as_kept(self.shape):
            return True
        bare = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}
        bare["metadata"] = {**obj["metadata"], "resourceVersion": ""}
        return content.kept_as(self.shape, self._kept(), bare)

    def _rest_for(self, kind: Kind) -> bytes:
        content = kind.content
        if content is None or content.shows_as_kept(self.shape):
            return self.rest
        rest = content.encoded.get(self)
        if rest is None:
            content.encoded[self] = rest = _encode_rest(content.shown(self._kept()))
        return rest

    def _kept(self) -> JSONObject:
        kept: JSONObject = msgspec.json.decode(b'{"metadata":{"resourceVersion":""%b' % self.rest)
        return kept

    def moved_to(self, revision: int) -> Version:
        """The same content under another revision: the last word of a watch on an object that goes."""
        return replace(self, revision=revision)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One entry of the log. ``after`` is ``None`` for a deletion, ``before`` for a creation."""

    revision: int
    before: Version | None
    after: Version | None


class Past:
    """Part of a collection as it was at one revision: counted at once, rebuilt as far as it is iterated.

    Valid until the next change, so it is to be used up without a checkpoint.

    Args:
        current: The present, by key.
        keys: The keys of the present, sorted.
        changed: What was at the keys that have changed since.
        prefix: What keys have to begin with.
        start: What keys have to be, or to come behind.
    """

    def __init__(
        self,
        current: Mapping[str, Version],
        keys: Sequence[str],
        changed: Mapping[str, Version | None],
        prefix: str,
        start: str,
    ) -> None:
        self._current = current
        self._keys = keys
        self._changed = changed
        self._low = bisect_left(keys, max(start, prefix))
        self._high = bisect_left(keys, prefix + "\U0010ffff") if prefix else len(keys)
        mine = [key for key in changed if key.startswith(prefix) and key >= start]
        self._lost = sorted(key for key in mine if changed[key] is not None and key not in current)
        self._new = sum(changed[key] is None and key in current for key in mine)

    def __len__(self) -> int:
        return max(0, self._high - self._low) + len(self._lost) - self._new

    def first(self, limit: int = 0) -> list[Version]:
        """The first ``limit`` of them, or all."""
        if self._changed:
            return list(islice(self, limit or None))
        keys = self._keys[self._low : self._high]
        return [self._current[key] for key in (keys[:limit] if limit else keys)]

    def __iter__(self) -> Iterator[Version]:
        present = (self._keys[index] for index in range(self._low, self._high))
        for key in merge(present, self._lost) if self._lost else present:
            version = self._changed[key] if key in self._changed else self._current[key]
            if version is not None:
                yield version


class Collection:
    """The objects of one resource, now and in the recent past."""

    def __init__(self) -> None:
        self.current: dict[str, Version] = {}
        self.log: list[Change] = []
        #: The highest revision whose change was dropped from :attr:`log`: who has seen less has lost something.
        self.forgotten: int = 0
        #: Where watches may begin at the earliest. A server watches each resource on its own and knows nothing of what
        #: was before it began to, however long the log is.
        self.watched_since: int = 0
        self._keys: list[str] = []

    def since(self, revision: int) -> int:
        """Index in :attr:`log` of the first change after ``revision``."""
        return bisect_right(self.log, revision, key=_revision)

    def past(self, revision: int, prefix: str = "", start: str = "") -> Past:
        """The objects as they were at ``revision``, in key order, under ``prefix`` and from the key ``start`` on."""
        changed: dict[str, Version | None] = {}
        for change in reversed(self.log[self.since(revision) :]):
            version = change.before or change.after
            assert version is not None
            changed[version.key] = change.before
        return Past(self.current, self._keys, changed, prefix, start)

    def at(self, revision: int, prefix: str = "", start: str = "") -> list[Version]:
        """The same as a list of its own."""
        return self.past(revision, prefix, start).first()

    def walk(self, prefix: str) -> Iterator[Version]:
        """The present objects under ``prefix``, in key order. What is walked over may be changed meanwhile."""
        index = bisect_left(self._keys, prefix)
        while index < len(self._keys) and (key := self._keys[index]).startswith(prefix):
            yield self.current[key]
            index = bisect_right(self._keys, key)

    def append(self, change: Change) -> None:
        """Record ``change`` and make it the present."""
        if change.after is None:
            assert change.before is not None
            key = change.before.key
            del self.current[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            key = change.after.key
            if change.before is None:
                insort(self._keys, key)
            self.current[key] = change.after
        self.log.append(change)

    def replace(self, versions: Iterable[Version], revision: int) -> list[Change]:
        """Hold ``versions`` from ``revision`` on, without any history; the answer is what that changed."""
        before, self.current = self.current, {version.key: version for version in versions}
        self._keys = sorted(self.current)
        self.log, self.forgotten = [], revision
        self.watched_since = min(self.watched_since, revision)
        gone = [Change(revision, version, None) for key, version in before.items() if key not in self.current]
        return gone + [Change(revision, before.get(key), version) for key, version in self.current.items()]

    def forget(self, revision: int) -> None:
        """Drop the changes up to and including ``revision``."""
        end = self.since(revision)
        if end:
            self.forgotten = self.log[end - 1].revision
            del self.log[:end]


Listener: TypeAlias = Callable[[str, Change], None]


class Storage:
    """All collections, by storage group, and their common history.

    Args:
        history: How many of the latest changes are kept at least; older ones are compacted away by and by.
    """

    def __init__(self, *, history: int) -> None:
        self._history = history
        self._collections: dict[str, Collection] = {}
        self._listeners: list[Listener] = []
        self.revision: int = 0
        self.compacted: int = 0

    def collection(self, group: str) -> Collection:
        """The objects of one resource; empty where nothing was ever written."""
        return self._collections.setdefault(group, Collection())

    def collections(self) -> Mapping[str, Collection]:
        """Every collection that was ever asked for."""
        return self._collections

    def listen(self, listener: Listener) -> None:
        """Call ``listener(group, change)`` after each change, at once. It must not write."""
        self._listeners.append(listener)

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """The present state of one object."""
        return self.collection(kind.storage_group).current.get(storage_key(namespace, name))

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj``, new or in place of what has its key, under the next revision. ``obj`` is not kept."""
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """``obj`` as the next write would store it."""
        return encode_version(kind, obj, self.revision + 1)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write what :meth:`encoded` gave, with no other write in between."""
        collection = self.collection(kind.storage_group)
        self._commit(
            kind.storage_group, collection, Change(version.revision, collection.current.get(version.key), version)
        )
        return version

    def remove(self, group: str, key: str) -> Version:
        """Delete an object; the answer is its last content under the revision of the deletion."""
        collection = self.collection(group)
        before = collection.current[key]
        self._commit(group, collection, Change(self.revision + 1, before, None))
        return before.moved_to(self.revision)

    def compact(self, revision: int | None = None) -> None:
        """Forget the history up to ``revision`` (default: all of it). The present stays."""
        revision = self.revision if revision is None else min(revision, self.revision)
        self.compacted = max(self.compacted, revision)
        for collection in self._collections.values():
            collection.forget(self.compacted)

    def restore(self, resources: Mapping[str, Iterable[Version]], revision: int, *, rewind: bool = False) -> None:
        """Hold ``resources``, by storage group, and nothing else; history begins here.

        The count of revisions goes on from ``revision``, or from the present one if that is higher: it never goes
        back, or a client could take other changes for those it has seen. ``rewind`` lets it go back all the same.
        """
        self.revision = self.compacted = revision if rewind else max(self.revision + 1, revision)
        changes = [
            (group, change)
            for group in (*self._collections, *(group for group in resources if group not in self._collections))
            for change in self.collection(group).replace(resources.get(group, ()), self.revision)
        ]
        # Only now, so that whoever listens finds everything in its place.
        for group, change in changes:
            for listener in self._listeners:
                listener(group, change)

    def _commit(self, group: str, collection: Collection, change: Change) -> None:
        self.revision = change.revision
        collection.append(change)
        for listener in self._listeners:
            listener(group, change)
        # A quarter more than promised, so that forgetting is rare and costs little per write.
        if self.revision - self.compacted > self._history * 5 // 4:
            self.compact(self.revision - self._history)


def storage_key(namespace: str, name: str) -> str:
    """The key of an object within its resource."""
    return f"{namespace}/{name}" if namespace else name


def encode_version(kind: Kind, obj: JSONObject, revision: int) -> Version:
    """``obj`` as it is stored; apiVersion, kind and resourceVersion in it do not matter."""
    content = kind.content
    if content is None:
        return version_of(obj, revision, kind.selectable_fields)
    return version_of(content.to_keep(obj), revision, kind.selectable_fields, shape=content.shape)


def version_of(obj: JSONObject, revision: int, selectable_fields: Iterable[str], *, shape: object = None) -> Version:
    """``obj`` as it is stored, with the values at ``selectable_fields`` beside it."""
    metadata = obj["metadata"]
    return Version(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        revision=revision,
        labels=metadata.get("labels") or {},
        fields={path: field_text(obj, path) for path in selectable_fields},
        owners=tuple(owner.get("uid", "") for owner in metadata.get("ownerReferences") or ()),
        finalizers=tuple(metadata.get("finalizers") or ()),
        deleting="deletionTimestamp" in metadata,
        rest=_encode_rest(obj),
        shape=shape,
    )


def _encode_rest(obj: JSONObject) -> bytes:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    others = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    encoded = msgspec.json.encode(metadata)
    return b",%b,%b" % (encoded[1:], msgspec.json.encode(others)[1:]) if others else b",%b}" % encoded[1:]


def field_text(obj: JSONObject, path: str) -> str:
    """The value at a dotted path as field selectors see it: text, ``""`` where there is none."""
    value = _value_at(obj, path)
    if path in _KEPT_AT and not isinstance(value, str | int):
        value = _value_at(obj, _KEPT_AT[path])
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _value_at(obj: JSONObject, path: str) -> object:
    value: object = obj
    for segment in path.split("."):
        value = value.get(segment) if isinstance(value, dict) else None
    return value


def _revision(change: Change) -> int:
    return change.revision
