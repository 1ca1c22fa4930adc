"""Who owns what, by ownerReferences: where the objects of an owner tree come from, and how they are gone through.

Of an object no more is decoded here than its header and its owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.informers._states import Phase, State
from dynkube.meta import GVR, Unstructured, partial_reader

_read_references: Final = partial_reader(("metadata", "ownerReferences"))


@runtime_checkable
class IndexedObjects(Protocol):
    """As much of an informer as a tree needs: that of either face will do."""

    @property
    def state(self) -> State:
        """Where it stands."""
        ...

    @property
    def gvr(self) -> GVR | None:
        """What it follows."""
        ...

    def by_index(self, index: str, value: str) -> Sequence[Unstructured]:
        """What an index files under a value; InvalidInput if there is no such index."""
        ...

    def __iter__(self) -> Iterator[Unstructured]: ...


ObjectSource: TypeAlias = "IndexedObjects | Iterable[Unstructured] | Unstructured"


def owner_uids(obj: Unstructured) -> list[str]:
    """The UIDs of an object's owners: an index function, for ``indexes={"owner": dynkube.owner_uids}``."""
    return [reference["uid"] for reference in _references(obj)]


class Sources:
    """Where the objects of a tree come from."""

    def __init__(self, sources: Iterable[ObjectSource], index: str) -> None:
        given: object = sources  # callers are not always type-checked
        if isinstance(given, Unstructured | str) or not isinstance(given, Iterable):
            raise InvalidInput(f"sources is {given!r}: pass a list of informers or of objects")
        self._index = index
        self._indexed: list[IndexedObjects] = []
        self._informers: list[IndexedObjects] = []
        self._owned: dict[str, list[Unstructured]] = {}
        self._known: dict[str, Unstructured] = {}
        self._knows_all = False  # whether what the indexed informers have is known by UID, too
        for source in sources:
            self._add(source)

    def _add(self, source: ObjectSource) -> None:
        if isinstance(source, Unstructured):
            self._look_through([source])
        elif isinstance(source, IndexedObjects):
            self._informers.append(source)
            if self._has_index(source):
                self._indexed.append(source)
            else:
                self._look_through(source)
        else:
            self._look_through(source)

    def _has_index(self, source: IndexedObjects) -> bool:
        try:
            source.by_index(self._index, "")
        except InvalidInput:
            return False
        return True

    def _look_through(self, objects: Iterable[Unstructured]) -> None:
        given: object = objects
        for obj in given if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else (given,):
            if not isinstance(obj, Unstructured):
                raise InvalidInput(f"sources has {obj!r} in it: pass informers, lists of objects, or objects")
            self._known[obj.uid] = obj
            for uid in dict.fromkeys(owner_uids(obj)):
                self._owned.setdefault(uid, []).append(obj)

    def children(self, owner: Unstructured) -> list[Unstructured]:
        """What belongs to ``owner``, by kind, namespace and name; each once."""
        if not owner.uid:  # an object that was never stored, as of a manifest: nothing can belong to it
            return []
        found = list(self._owned.get(owner.uid, ()))
        for source in self._indexed:
            found += source.by_index(self._index, owner.uid)
        owned = {identity_of(obj): obj for obj in found if _may_own(owner, obj)}
        return sorted(owned.values(), key=lambda obj: (obj.kind, obj.namespace, obj.name))

    def top(self, obj: Unstructured) -> Unstructured:
        """The object's owner, and that one's, as far up as is known."""
        seen = {obj.uid}
        while (owner := self._owner(obj)) is not None and owner.uid not in seen:
            seen.add(owner.uid)
            obj = owner
        return obj

    def _owner(self, obj: Unstructured) -> Unstructured | None:
        for reference in sorted(_references(obj), key=lambda each: each.get("controller") is not True):
            owner = self._by_uid(reference["uid"])
            if owner is not None and _may_own(owner, obj):
                return owner
        return None

    def _by_uid(self, uid: str) -> Unstructured | None:
        if uid not in self._known and not self._knows_all:
            self._knows_all = True  # all at once: a long chain would look through them at each step
            self._known |= {each.uid: each for source in self._indexed for each in source}
        return self._known.get(uid)

    def notes(self) -> Iterator[str]:
        """Where something may be missing."""
        for source in self._informers:
            state = source.state
            if state.phase not in (Phase.LIVE, Phase.ABSENT):
                yield f"of {source.gvr or 'a resource'} something may be missing: {state}"


@dataclass(slots=True)
class Growth:
    """What was found below an object, from the top down.

    Attributes:
        found: each object behind the place of its owner in this list; the top comes first, with -1.
        deeper: how many objects own more than what was asked for, as they are at the last level.
        cut: whether there was more than the number asked for.
    """

    found: list[tuple[int, Unstructured]]
    deeper: int = 0
    cut: bool = False


def grown(root: Unstructured, sources: Sources, depth: int, limit: int) -> Growth:
    """What belongs to ``root``, at most ``depth`` levels and ``limit`` objects of it; chains may have any length.

    Who owns itself in a circle is there once on the way down. What has two owners is below both.
    """
    growth = Growth([(-1, root)])
    way = [0]  # the places of an object and of what it is below
    above = {identity_of(root)}

    def fresh(owner: Unstructured) -> Iterator[Unstructured]:
        return (child for child in sources.children(owner) if identity_of(child) not in above)

    pending = [fresh(root)]
    while pending:
        at_the_end = len(pending) > depth
        child = next(pending[-1], None)
        if child is not None and not at_the_end:
            if len(growth.found) == limit:
                growth.cut = True
                break
            growth.found.append((way[-1], child))
            way.append(len(growth.found) - 1)
            above.add(identity_of(child))
            pending.append(fresh(child))
            continue
        growth.deeper += child is not None
        pending.pop()
        above.discard(identity_of(growth.found[way.pop()][1]))
    return growth


def _may_own(owner: Unstructured, obj: Unstructured) -> bool:
    """Whether a reference counts: beyond its namespace an object owns nothing, for the garbage collector either."""
    return owner.namespace in ("", obj.namespace)


def identity_of(obj: Unstructured) -> tuple[str, ...]:
    """What tells an object from others: its UID, or of one that has none what it is called."""
    return (obj.uid,) if obj.uid else (obj.api_version, obj.kind, obj.namespace, obj.name)


def _references(obj: Unstructured) -> list[dict[str, Any]]:
    """An object's owners, as far as they are any; without decoding the rest of it."""
    try:
        found = _read_references(obj.json)
    except InvalidObject:
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("uid"), str) and each["uid"]]
