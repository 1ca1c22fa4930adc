"""Find dependents by ownerReferences, for owner trees.

Of each object only the identifying fields and the ownerReferences are decoded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.informers._states import Phase, State
from dynkube.meta import GVR, Unstructured
from dynkube.meta._arguments import brief
from dynkube.meta._partial import partial_reader

_read_references: Final = partial_reader(("metadata", "ownerReferences"))


@runtime_checkable
class IndexedObjects(Protocol):
    """The part of an informer that an owner tree needs, async or blocking."""

    @property
    def state(self) -> State:
        """The informer's state."""
        ...

    @property
    def gvr(self) -> GVR | None:
        """The informer's resource."""
        ...

    def by_index(self, index: str, value: str) -> Sequence[Unstructured]:
        """Return the objects with a value in an index.

        Raises:
            InvalidInput: there is no such index.
        """
        ...

    def __iter__(self) -> Iterator[Unstructured]: ...


ObjectSource: TypeAlias = "IndexedObjects | Iterable[Unstructured] | Unstructured"


def owner_uids(obj: Unstructured) -> list[str]:
    """Return the UIDs of an object's owners.

    An index function: ``indexes={"owner": dynkube.owner_uids}``.
    """
    return [reference["uid"] for reference in owner_references(obj)]


class Sources:
    """The sources of a tree's objects."""

    def __init__(self, sources: Iterable[ObjectSource], index: str) -> None:
        given: object = sources  # callers are not always type-checked
        if isinstance(given, Unstructured | str) or not isinstance(given, Iterable):
            raise InvalidInput(f"sources is {brief(given)}: pass a list of informers or of objects")
        self._index = index
        self._indexed: list[IndexedObjects] = []
        self._informers: list[IndexedObjects] = []
        self._owned: dict[str, list[Unstructured]] = {}
        self._known: dict[str, Unstructured] = {}
        self._knows_all = False  # whether _known includes the objects of indexed informers
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
                raise InvalidInput(f"sources contains {brief(obj)}: pass informers, lists of objects, or objects")
            self._known[obj.uid] = obj
            for uid in dict.fromkeys(owner_uids(obj)):
                self._owned.setdefault(uid, []).append(obj)

    def children(self, owner: Unstructured) -> list[Unstructured]:
        """Return the dependents of ``owner``, sorted by kind, namespace and name."""
        if not owner.uid:  # it was never stored (for example a manifest), so it has no dependents
            return []
        found = list(self._owned.get(owner.uid, ()))
        for source in self._indexed:
            found += source.by_index(self._index, owner.uid)
        owned = {identity_of(obj): obj for obj in found if _may_own(owner, obj)}
        return sorted(owned.values(), key=lambda obj: (obj.kind, obj.namespace, obj.name))

    def top(self, obj: Unstructured) -> Unstructured:
        """Return the topmost owner of ``obj`` in the sources; ``obj`` if it has none."""
        seen = {obj.uid}
        while (owner := self._owner(obj)) is not None and owner.uid not in seen:
            seen.add(owner.uid)
            obj = owner
        return obj

    def _owner(self, obj: Unstructured) -> Unstructured | None:
        for reference in sorted(owner_references(obj), key=lambda each: each.get("controller") is not True):
            owner = self._by_uid(reference["uid"])
            if owner is not None and _may_own(owner, obj):
                return owner
        return None

    def _by_uid(self, uid: str) -> Unstructured | None:
        if uid not in self._known and not self._knows_all:
            self._knows_all = True  # read all at once: a long chain of owners would scan them at each step
            self._known |= {each.uid: each for source in self._indexed for each in source}
        return self._known.get(uid)

    def notes(self) -> Iterator[str]:
        """Yield notes on sources that may be incomplete."""
        for source in self._informers:
            state = source.state
            if state.phase not in (Phase.LIVE, Phase.ABSENT):
                yield f"objects of {source.gvr or 'a resource'} may be missing: {state}"


@dataclass(slots=True)
class Growth:
    """The objects found below an object, from the top down.

    Attributes:
        found: pairs of the owner's position in this list and the object; the root comes first, with -1.
        deeper: number of objects at the last level that have dependents.
        cut: whether there were more objects than the limit.
    """

    found: list[tuple[int, Unstructured]]
    deeper: int = 0
    cut: bool = False


def grown(root: Unstructured, sources: Sources, depth: int, limit: int) -> Growth:
    """Find the dependents of ``root``, up to ``depth`` levels and ``limit`` objects.

    Does not recurse, so chains may have any length. Cycles are followed once; an object with two owners is below both.
    """
    growth = Growth([(-1, root)])
    way = [0]  # the positions of the current object and of those above it
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
    """Return whether ``owner`` may own ``obj``.

    As in the garbage collector, a namespaced object cannot own objects outside of its namespace.
    """
    return owner.namespace in ("", obj.namespace)


def identity_of(obj: Unstructured) -> tuple[str, ...]:
    """Return the object's UID; if it has none, its type, namespace and name."""
    return (obj.uid,) if obj.uid else (obj.api_version, obj.kind, obj.namespace, obj.name)


def owner_references(obj: Unstructured) -> list[dict[str, Any]]:
    """Return an object's valid ownerReferences, without decoding the rest of it."""
    try:
        found = _read_references(obj.json)
    except InvalidObject:
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("uid"), str) and each["uid"]]
