"""What belongs to an object, and to that, all the way down: by ownerReferences, out of informers or any objects.

An informer with an index of owners (``indexes={"owner": dynkube.owner_uids}``) is asked for what belongs to an object;
any other source is looked through once. Nothing is asked of the server: what no source has is not in the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from dynkube._display import Shown
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.informers._states import Phase, State
from dynkube.meta import GVR, Unstructured, partial_reader

if TYPE_CHECKING:
    from dynkube._display import Card, Node

_read_references: Final = partial_reader(("metadata", "ownerReferences"))
_ROWS: Final = 200


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


@dataclass(frozen=True, slots=True)
class OwnerTree(Shown):
    """An object and what belongs to it; ``print()`` it for a table.

    Attributes:
        object: the owner.
        children: what belongs to it, by kind and name, each with what belongs to that in turn.
        notes: why something may be missing; only at the top.
    """

    object: Unstructured
    children: tuple[OwnerTree, ...] = ()
    notes: tuple[str, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Unstructured]]:
        """Each object with its depth, from the top down; the top itself is at ``depth``."""
        yield depth, self.object
        for child in self.children:
            yield from child.walk(depth + 1)

    def __str__(self) -> str:
        from dynkube._display import plain

        return plain(self._table(datetime.now(UTC)))

    def __repr__(self) -> str:
        below = sum(1 for _ in self.walk()) - 1
        return f"<OwnerTree of {self.object!r}: {below} below>"

    def _card(self, now: datetime) -> Card:
        from dynkube._display import Card, Span, Tone, line

        below = sum(1 for _ in self.walk()) - 1
        head = line("owner tree", Span(_name(self.object), Tone.STRONG), self.object.namespace, f"{below:,} below")
        return Card(head, self._table(now).blocks)

    def _table(self, now: datetime) -> Card:
        from dynkube._display import Card, Grid, Note, line, tree_rows

        several = len({obj.namespace for _, obj in self.walk()}) > 1
        rows = list(tree_rows(_node(self, now, several)))
        notes = [Note(line(note)) for note in self.notes]
        if len(rows) > _ROWS:
            notes.append(Note(line(f"{_ROWS} of {len(rows):,} objects shown")))
        columns = ("OBJECT", *(("NAMESPACE",) if several else ()), "READY", "REASON", "STATUS", "AGE")
        return Card((), (Grid(columns, tuple(rows[:_ROWS]), is_tree=True), *notes))


def owner_uids(obj: Unstructured) -> list[str]:
    """The UIDs of an object's owners: an index function, for ``indexes={"owner": dynkube.owner_uids}``."""
    return [reference["uid"] for reference in _references(obj)]


def owner_tree(
    root: Unstructured,
    informers: Iterable[ObjectSource],
    *,
    index: str = "owner",
    from_top: bool = False,
    depth: int = 20,
    limit: int = 10_000,
) -> OwnerTree:
    """What belongs to an object, by ownerReferences. Plain and for any thread, as an informer's reads are.

    ::

        replicasets = client.informer("replicasets", indexes={"owner": dynkube.owner_uids})
        pods = client.informer("pods", indexes={"owner": dynkube.owner_uids})
        ...
        print(dynkube.owner_tree(web, [replicasets, pods]))

    Args:
        root: an object as it was read.
        informers: where to look: informers of either face, lists, single objects. What the filter of an informer
            hides is not found.
        index: what the informers call their index of :func:`owner_uids`. One without it is looked through.
        from_top: begin with what owns ``root``, and owns that, as far up as the sources know; among several owners
            with the one that is its controller.
        depth: how many levels below the top.
        limit: how many objects at most.

    Raises:
        InvalidInput: ``root`` has no UID, or a source is none.
    """
    given: object = root  # callers are not always type-checked
    if not isinstance(given, Unstructured) or not given.uid:
        raise InvalidInput(f"root is {given!r}: pass an object as it was read, with its metadata.uid")
    sources = _Sources(informers, index)
    left = [limit]
    tree = _grown(sources.top(root) if from_top else root, sources, depth, frozenset(), left)
    notes = [*sources.notes()]
    if left[0] <= 0:
        notes.append(f"cut after {limit:,} objects")
    return OwnerTree(tree.object, tree.children, tuple(notes))


def _grown(obj: Unstructured, sources: _Sources, depth: int, above: frozenset[str], left: list[int]) -> OwnerTree:
    """The tree below ``obj``; ``left`` is how many more objects there may be."""
    left[0] -= 1
    children: list[OwnerTree] = []
    above |= {obj.uid}
    for child in sources.children(obj) if depth > 0 else ():
        if left[0] <= 0:
            break
        if child.uid not in above:  # who owns itself in a circle is shown once
            children.append(_grown(child, sources, depth - 1, above, left))
    return OwnerTree(obj, tuple(children))


class _Sources:
    """Where the objects of a tree come from."""

    def __init__(self, informers: Iterable[ObjectSource], index: str) -> None:
        given: object = informers  # callers are not always type-checked
        if isinstance(given, Unstructured | str) or not isinstance(given, Iterable):
            raise InvalidInput(f"informers is {given!r}: pass a list of informers or of objects")
        self._index = index
        self._indexed: list[IndexedObjects] = []
        self._informers: list[IndexedObjects] = []
        self._owned: dict[str, list[Unstructured]] = {}
        self._known: dict[str, Unstructured] = {}
        for source in informers:
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
                raise InvalidInput(f"informers has {obj!r} in it: pass informers, lists of objects, or objects")
            self._known[obj.uid] = obj
            for uid in owner_uids(obj):
                self._owned.setdefault(uid, []).append(obj)

    def children(self, owner: Unstructured) -> list[Unstructured]:
        """What belongs to ``owner``, by kind, namespace and name; each once."""
        found = list(self._owned.get(owner.uid, ()))
        for source in self._indexed:
            found += source.by_index(self._index, owner.uid)
        # An owner in a namespace owns nothing outside of it: the garbage collector takes such a reference for none.
        owned = {obj.uid: obj for obj in found if owner.namespace in ("", obj.namespace)}
        return sorted(owned.values(), key=lambda obj: (obj.kind, obj.namespace, obj.name))

    def top(self, obj: Unstructured) -> Unstructured:
        """The object's owner, and that one's, as far up as is known."""
        seen = {obj.uid}
        while (owner := self._owner(obj)) is not None and owner.uid not in seen:
            seen.add(owner.uid)
            obj = owner
        return obj

    def _owner(self, obj: Unstructured) -> Unstructured | None:
        references = sorted(_references(obj), key=lambda each: each.get("controller") is not True)
        for reference in references:
            uid = reference["uid"]
            if uid not in self._known:  # only informers with an index were not looked through
                self._known |= {each.uid: each for source in self._indexed for each in source if each.uid == uid}
            if uid in self._known:
                return self._known[uid]
        return None

    def notes(self) -> Iterator[str]:
        """Where something may be missing."""
        for source in self._informers:
            state = source.state
            if state.phase not in (Phase.LIVE, Phase.ABSENT):
                yield f"of {source.gvr or 'a resource'} something may be missing: {state}"


def _references(obj: Unstructured) -> list[dict[str, Any]]:
    """An object's owners, as far as they are any; without decoding the rest of it."""
    try:
        found = _read_references(obj.json)
    except InvalidObject:
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("uid"), str)]


def _name(obj: Unstructured) -> str:
    return f"{obj.kind}/{obj.name}"


def _node(tree: OwnerTree, now: datetime, several: bool) -> Node:
    from dynkube._display import Node, Span, inline, muted, object_age, object_health

    health = object_health(tree.object)
    cells = (
        Span(inline(_name(tree.object), 200)),
        *((Span(tree.object.namespace),) if several else ()),
        Span(health.ready, health.tone),
        Span(health.reason),
        Span(health.status, health.tone),
        muted(object_age(tree.object, now)),
    )
    return Node(cells, [_node(child, now, several) for child in tree.children])
