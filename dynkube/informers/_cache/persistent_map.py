"""A persistent map for a million objects: immutable versions, batches of changes, short steps.

A hash trie with 16 children per fork, and leaves of up to 32 keys. It consists of Structs without garbage collection
and of tuples, which the garbage collector stops tracking when it finds that nothing in them is tracked. So a large map
of strings and objects costs collections nothing. pyrsistent's map consists of lists: with 200,000 objects a full
collection visited 560,000 containers and took 0.35 s. It also rehashes all items when it has too few buckets, which
blocks the event loop for a quarter of a second with 100,000 objects. Here no step depends on the size of the map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from dynkube.informers._slices import batches

K = TypeVar("K")
V = TypeVar("V")

_BITS: Final = 4
_WAYS: Final = 1 << _BITS
_MASK: Final = _WAYS - 1
_DEPTH: Final = 64 // _BITS  # a hash has no more bits: keys with the same hash stay in one leaf
_FULL: Final = 32  # a larger leaf is split
_SMALL: Final = 16  # a fork with no more keys becomes a leaf


class _Leaf(msgspec.Struct, gc=False, frozen=True, eq=False):
    keys: tuple[Any, ...]
    values: tuple[Any, ...]


class _Fork(msgspec.Struct, gc=False, frozen=True, eq=False):
    """A node whose children are chosen by some bits of the hash."""

    children: tuple[_Node, ...]


_Node: TypeAlias = _Leaf | _Fork

_EDITED: Final = frozenset((dict, list))  # the types of edited leaves and forks
_NO_KEYS: Final = _Leaf((), ())


class PersistentMap(msgspec.Struct, Generic[K, V], gc=False, frozen=True, eq=False):
    """An immutable map; versions made by :meth:`edit` share unchanged parts."""

    _root: _Node
    _count: int

    def __len__(self) -> int:
        return self._count

    def get(self, key: K) -> V | None:
        """Return the value of ``key``; ``None`` if there is none."""
        node = self._root
        rest = hash(key)
        while type(node) is _Fork:
            node = node.children[rest & _MASK]
            rest >>= _BITS
        found: V | None = _found(node, key)
        return found

    def values(self) -> Iterator[V]:
        """Iterate over all values, in no particular order."""
        return chain.from_iterable(leaf.values for leaf in _leaves(self._root))

    def parts(self) -> Iterator[object]:
        """Iterate over the parts of the map that contain its values, to drop these in steps."""
        return _leaves(self._root)

    def changes_since(self, before: PersistentMap[K, V]) -> Iterator[tuple[K, V | None, V | None]]:
        """Iterate over the keys whose values differ from another version: key, value before, value now.

        Values are compared by identity. The time depends on the number of differences, if one of both versions was made
        from the other.
        """
        pairs: list[tuple[_Node, _Node]] = [(before._root, self._root)]
        while pairs:
            old, new = pairs.pop()
            if old is new:
                continue
            if isinstance(old, _Fork) and isinstance(new, _Fork):
                pairs += zip(old.children, new.children, strict=True)
            else:
                yield from _differences(_items(old), _items(new))

    def edit(self) -> MapEditor[K, V]:
        """Start to edit the next version; takes constant time."""
        return MapEditor(self._root, self._count)


class MapEditor(Generic[K, V]):
    """Collects changes to a map; cheap however large the map is."""

    __slots__ = ("_count", "_removed", "_top", "changed")

    def __init__(self, root: _Node, count: int) -> None:
        self.changed: bool = False
        """Whether a value was put or removed."""
        self._top: list[Any] = [root]  # an edited fork with one child
        self._count = count
        self._removed = False

    def __len__(self) -> int:
        return self._count

    def get(self, key: K) -> V | None:
        """Return the value of ``key`` in the edited version; ``None`` if there is none."""
        node = self._top[0]
        rest = hash(key)
        while (kind := type(node)) is list or kind is _Fork:
            node = (node if kind is list else node.children)[rest & _MASK]
            rest >>= _BITS
        found: V | None = node.get(key) if kind is dict else _found(node, key)
        return found

    def put(self, key: K, value: V) -> None:
        """Add or replace one value."""
        self.changed = True
        fork, way, level = self._place(key)
        leaf = fork[way]
        if type(leaf) is _Leaf:
            try:
                at = leaf.keys.index(key)
            except ValueError:
                leaf = fork[way] = _thawed(leaf)
            else:  # most changes are of one object in a leaf, for which a dict would cost more
                fork[way] = _Leaf(leaf.keys, (*leaf.values[:at], value, *leaf.values[at + 1 :]))
                return
        before = len(leaf)
        leaf[key] = value
        self._count += len(leaf) - before
        if len(leaf) > _FULL and level < _DEPTH:
            fork[way] = _split(leaf, level)

    def remove(self, key: K) -> None:
        """Remove one value.

        Raises:
            KeyError: the map does not have ``key``.
        """
        fork, way, _ = self._place(key)
        if type(fork[way]) is _Leaf:
            fork[way] = _thawed(fork[way])
        del fork[way][key]
        self._count -= 1
        self.changed = self._removed = True

    def freeze(self) -> Iterator[None]:
        """Prepare :meth:`done` in short steps, so that the caller can yield between them."""
        for upper in self._top[0] if type(self._top[0]) is list else ():
            if type(upper) is list:
                for way, node in enumerate(upper):
                    upper[way] = _frozen(node, self._removed)
                    yield

    def done(self) -> PersistentMap[K, V]:
        """Return the next version."""
        root = self._top[0] = _frozen(self._top[0], self._removed)
        return PersistentMap(root, self._count)

    def _place(self, key: K) -> tuple[list[Any], int, int]:
        """Return the fork above the leaf of ``key``, the leaf's place in it, and its level; forks become editable."""
        fork, way, level = self._top, 0, 0
        rest = hash(key)
        while True:
            node = fork[way]
            kind = type(node)
            if kind is _Fork:
                node = fork[way] = list(node.children)
            elif kind is not list:
                return fork, way, level
            fork, way = node, rest & _MASK
            rest >>= _BITS
            level += 1


def empty() -> PersistentMap[K, V]:
    """Return an empty map."""
    return PersistentMap(_NO_KEYS, 0)


def dropped(maps: Iterable[PersistentMap[Any, Any]]) -> Iterator[None]:
    """Return an iterator that frees maps in short steps, if only it still refers to them."""
    leaves = chain.from_iterable(each.parts() for each in maps)
    del maps
    parts: list[object] = []
    some: list[object] = []
    for some in batches(leaves):
        parts += some
        yield
    del leaves, some
    while parts:
        del parts[-16:]
        yield


def _way(key: object, level: int) -> int:
    return hash(key) >> level * _BITS & _MASK


def _found(leaf: Any, key: object) -> Any:
    try:
        return leaf.values[leaf.keys.index(key)]
    except ValueError:
        return None


def _leaves(node: _Node) -> Iterator[_Leaf]:
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, _Leaf):
            yield node
        else:
            pending += node.children


def _items(node: _Node) -> dict[Any, Any]:
    items: dict[Any, Any] = {}
    for leaf in _leaves(node):
        items.update(zip(leaf.keys, leaf.values, strict=True))
    return items


def _differences(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key, value in old.items():
        if (now := new.pop(key, None)) is not value:
            yield key, value, now
    for key, value in new.items():
        yield key, None, value


def _thawed(leaf: _Leaf) -> dict[Any, Any]:
    return dict(zip(leaf.keys, leaf.values, strict=True))


def _split(leaf: dict[Any, Any], level: int) -> list[Any]:
    children: list[Any] = [_NO_KEYS] * _WAYS
    for key, value in leaf.items():
        way = _way(key, level)
        if children[way] is _NO_KEYS:
            children[way] = {}
        children[way][key] = value
    return children


def _frozen(node: Any, removed: bool) -> Any:
    """Return a node as it is stored.

    Args:
        node: an edited node (a dict is a leaf, and a list a fork), or an unchanged one.
        removed: whether keys were removed, so that forks may have become small.
    """
    kind = type(node)
    if kind is dict:
        return _Leaf(tuple(node), tuple(node.values())) if node else _NO_KEYS
    if kind is not list:
        return node
    children = tuple([_frozen(child, removed) if type(child) in _EDITED else child for child in node])
    if removed and all(type(child) is _Leaf for child in children):
        keys = tuple(chain.from_iterable([leaf.keys for leaf in children]))
        if len(keys) <= _SMALL:
            return _Leaf(keys, tuple(chain.from_iterable([leaf.values for leaf in children])))
    return _Fork(children)
