"""What belongs to an object, and to that, all the way down: by ownerReferences, out of informers or any objects.

An informer with an index of owners (``indexes={"owner": dynkube.owner_uids}``) is asked for what belongs to an object;
any other source is looked through once. Nothing is asked of the server: what no source has is not in the tree. The
bodies of objects are decoded when they are shown, and only of those that are.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from dynkube._display import Shown
from dynkube.errors import InvalidInput
from dynkube.informers._owned import Growth, ObjectSource, Sources, grown, identity_of
from dynkube.meta import Unstructured, a_type

if TYPE_CHECKING:
    from dynkube._display import Card, Span

_ROWS: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
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
        pending = [(depth, self)]
        while pending:
            level, tree = pending.pop()
            yield level, tree.object
            pending += [(level + 1, child) for child in reversed(tree.children)]

    def __eq__(self, other: builtins.object) -> bool:  # a dataclass's own would call itself for each level
        if not isinstance(other, OwnerTree):
            return NotImplemented
        return self.notes == other.notes and list(self.walk()) == list(other.walk())

    def __reduce__(self) -> tuple[builtins.object, ...]:
        # Flat, as pickle and copy.deepcopy would call themselves for each level, and chains may be long.
        return _planted, (tuple(self.walk()), self.notes)

    def __hash__(self) -> int:
        return hash((self.object, len(self.children), self.notes))

    def __str__(self) -> str:
        from dynkube._display import plain

        return plain(self._table(datetime.now(UTC)))

    def __repr__(self) -> str:
        return f"<OwnerTree of {self.object!r}: {self._below():,} below>"

    def _below(self) -> int:
        return len({identity_of(obj) for _, obj in self.walk()}) - 1

    def _card(self, now: datetime) -> Card:
        from dynkube._display import Card, Span, Tone, line

        below = f"{self._below():,} below"
        head = line("owner tree", Span(_name(self.object), Tone.STRONG), self.object.namespace, below)
        return Card(head, self._table(now).blocks)

    def _table(self, now: datetime) -> Card:
        from dynkube._display import Card, Grid, Note, line, tree_rows

        several = len({obj.namespace for _, obj in self.walk()}) > 1
        rows = tree_rows(self, lambda tree: tree.children, partial(_cells, now=now, several=several))
        shown = tuple(islice(rows, _ROWS))
        notes = [Note(line(note)) for note in self.notes]
        if (total := sum(1 for _ in self.walk())) > len(shown):
            notes.append(Note(line(f"{len(shown)} of {total:,} lines shown")))
        columns = ("OBJECT", *(("NAMESPACE",) if several else ()), "READY", "REASON", "STATUS", "AGE")
        return Card((), (Grid(columns, shown, is_tree=True), *notes))


def owner_tree(
    root: Unstructured,
    sources: Iterable[ObjectSource],
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

    What has several owners is below each of them. Who owns itself in a circle is gone round once.

    Args:
        root: an object as it was read.
        sources: where to look: informers of either face, lists, single objects. What the filter of an informer
            hides is not found.
        index: what the informers call their index of :func:`owner_uids`. One without it is looked through.
        from_top: begin with what owns ``root``, and owns that, as far up as the sources know; among several owners
            with the one that is its controller.
        depth: how many levels below the top. What lies deeper is not looked for; ``notes`` says where there is more.
        limit: how many objects at most, the top included; ``notes`` says if there are more.

    Raises:
        InvalidInput: ``root`` has no UID, a source is none, or another argument cannot be right.
    """
    given: object = root  # callers are not always type-checked
    if not isinstance(given, Unstructured) or not given.uid:
        raise InvalidInput(f"root is {given!r}: pass an object as it was read, with its metadata.uid")
    _check_options(index, from_top, depth, limit)
    known = Sources(sources, index)
    growth = grown(known.top(root) if from_top else root, known, depth, limit)
    return _tree(growth, (*known.notes(), *_ends(growth, depth, limit)))


def _check_options(index: object, from_top: object, depth: object, limit: object) -> None:
    if not isinstance(index, str) or not index:
        raise InvalidInput(f"index is {index!r}: pass the name of an index, such as 'owner'")
    if not isinstance(from_top, bool):
        raise InvalidInput(f"from_top is {from_top!r}: pass True or False")
    for name, value, least in (("depth", depth, 0), ("limit", limit, 1)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{name} is {a_type(value)}: pass a whole number, {least} or more")
        if value < least:
            raise InvalidInput(f"{name} is {value}: pass {least} or more")


def _ends(growth: Growth, depth: int, limit: int) -> Iterator[str]:
    """What was left out, and how to see it."""
    if growth.cut:
        yield f"cut after {limit:,} objects: a larger limit shows more"
    if growth.deeper:
        own = "1 object owns" if growth.deeper == 1 else f"{growth.deeper:,} objects own"
        yield f"{own} more, below {depth} level{'' if depth == 1 else 's'}: a larger depth shows it"


def _tree(growth: Growth, notes: tuple[str, ...]) -> OwnerTree:
    """The tree of what was found, made from its leaves up."""
    below: list[list[OwnerTree]] = [[] for _ in growth.found]
    for place in range(len(growth.found) - 1, 0, -1):
        owner, obj = growth.found[place]
        below[owner].append(OwnerTree(obj, tuple(reversed(below[place]))))
    return OwnerTree(growth.found[0][1], tuple(reversed(below[0])), notes)


def _planted(objects: Sequence[tuple[int, Unstructured]], notes: tuple[str, ...]) -> OwnerTree:
    """The tree of what :meth:`OwnerTree.walk` gives."""
    below: dict[int, list[OwnerTree]] = defaultdict(list)  # by depth: what is still without an owner, the last first
    for depth, obj in reversed(objects):
        below[depth].append(OwnerTree(obj, tuple(reversed(below.pop(depth + 1, ()))), notes if depth == 0 else ()))
    return below[0][0]


def _name(obj: Unstructured) -> str:
    return f"{obj.kind}/{obj.name}"


def _cells(tree: OwnerTree, now: datetime, several: bool) -> tuple[Span, ...]:
    from dynkube._display import Span, inline, muted, object_age, object_health

    health = object_health(tree.object)
    return (
        Span(inline(_name(tree.object), 200)),
        *((Span(tree.object.namespace),) if several else ()),
        Span(health.ready, health.tone),
        Span(health.reason),
        Span(health.status, health.tone),
        muted(object_age(tree.object, now)),
    )
