"""Owner trees: an object and its dependents by ownerReferences, without requests.

The objects come from informers or any iterables. An informer with an index of owners
(``indexes={"owner": dynkube.owner_uids}``) is read through the index; any other source is scanned once. Objects that no
source has are not in the tree. Bodies of objects are decoded only when they are displayed.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dynkube._displayable import Displayable, text_without_heading
from dynkube.errors import InvalidInput
from dynkube.informers._dependents import Growth, ObjectSource, Sources, grown, identity_of
from dynkube.meta import Unstructured
from dynkube.meta._arguments import a_type, brief


@dataclass(frozen=True, slots=True, eq=False)
class OwnerTree(Displayable):
    """An object and its dependents; prints as a table.

    Attributes:
        object: the owner.
        children: the trees of its dependents, sorted by kind, namespace and name.
        notes: why the tree may be incomplete; only on the root.
    """

    object: Unstructured
    children: tuple[OwnerTree, ...] = ()
    notes: tuple[str, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Unstructured]]:
        """Iterate over ``(depth, object)``, depth-first; the root is at ``depth``."""
        pending = [(depth, self)]
        while pending:
            level, tree = pending.pop()
            yield level, tree.object
            pending += [(level + 1, child) for child in reversed(tree.children)]

    def __eq__(self, other: builtins.object) -> bool:  # the dataclass's own __eq__ would recurse for each level
        if not isinstance(other, OwnerTree):
            return NotImplemented
        return self.notes == other.notes and list(self.walk()) == list(other.walk())

    def __reduce__(self) -> tuple[builtins.object, ...]:
        # A flat list, as pickle and copy.deepcopy would recurse for each level, and chains of owners may be long.
        return _planted, (tuple(self.walk()), self.notes)

    def __hash__(self) -> int:
        return hash((self.object, len(self.children), self.notes))

    def __str__(self) -> str:
        return text_without_heading(self)

    def __repr__(self) -> str:
        return f"<OwnerTree of {self.object!r}: {self._below():,} below>"

    def _below(self) -> int:
        return len({identity_of(obj) for _, obj in self.walk()}) - 1


def owner_tree(
    root: Unstructured,
    sources: Iterable[ObjectSource],
    *,
    index: str = "owner",
    from_top: bool = False,
    depth: int = 20,
    limit: int = 10_000,
) -> OwnerTree:
    """Return the tree of an object's dependents, by ownerReferences.

    Sends no requests, does not block, and may be called on any thread, like the reads of informers.

    ::

        replicasets = client.informer("replicasets", indexes={"owner": dynkube.owner_uids})
        pods = client.informer("pods", indexes={"owner": dynkube.owner_uids})
        ...
        print(dynkube.owner_tree(web, [replicasets, pods]))

    An object with several owners is below each of them. Cycles of owners are followed once.

    Args:
        root: an object as read from the server.
        sources: where to look for objects: informers (async or blocking), lists, or single objects. Objects that an
            informer's filter hides are not found.
        index: the name of the informers' index of :func:`owner_uids`. An informer without it is scanned.
        from_top: start at the topmost owner of ``root`` that the sources have; of several owners the controller is
            preferred.
        depth: number of levels below the root of the tree. ``notes`` says how many objects have dependents below that.
        limit: maximum number of objects, the root included; ``notes`` says if there are more.

    Raises:
        InvalidInput: ``root`` has no UID, or another argument is invalid.
    """
    given: object = root  # callers are not always type-checked
    if not isinstance(given, Unstructured) or not given.uid:
        raise InvalidInput(f"root is {brief(given)}: pass an object as it was read, with its metadata.uid")
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
            raise InvalidInput(f"{name} is {a_type(value)}: pass an integer >= {least}")
        if value < least:
            raise InvalidInput(f"{name} is {value}: pass an integer >= {least}")


def _ends(growth: Growth, depth: int, limit: int) -> Iterator[str]:
    """Yield notes on objects that were left out, and how to include them."""
    if growth.cut:
        yield f"cut after {limit:,} objects: a larger limit shows more"
    if growth.deeper:
        own = "1 object owns" if growth.deeper == 1 else f"{growth.deeper:,} objects own"
        yield f"{own} more, deeper than {depth} level{'' if depth == 1 else 's'}: a larger depth shows it"


def _tree(growth: Growth, notes: tuple[str, ...]) -> OwnerTree:
    """Return the tree of the objects found, built from the leaves up."""
    below: list[list[OwnerTree]] = [[] for _ in growth.found]
    for place in range(len(growth.found) - 1, 0, -1):
        owner, obj = growth.found[place]
        below[owner].append(OwnerTree(obj, tuple(reversed(below[place]))))
    return OwnerTree(growth.found[0][1], tuple(reversed(below[0])), notes)


def _planted(objects: Sequence[tuple[int, Unstructured]], notes: tuple[str, ...]) -> OwnerTree:
    """Return the tree of the pairs that :meth:`OwnerTree.walk` yielded."""
    below: dict[int, list[OwnerTree]] = defaultdict(list)  # by depth: trees without an owner yet, last first
    for depth, obj in reversed(objects):
        below[depth].append(OwnerTree(obj, tuple(reversed(below.pop(depth + 1, ()))), notes if depth == 0 else ()))
    return below[0][0]
