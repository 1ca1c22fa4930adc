"""A persistent map: immutable versions, batches of changes, no long rehashing.

It consists of pyrsistent's maps. A pyrsistent map rehashes all its items when it has too few buckets, which takes a
quarter of a second with 100,000 objects and blocks the event loop. So a large map is split into 64 smaller ones by the
hashes of keys, and these are split again, to keep each rehash short. Small maps have no overhead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from pyrsistent import pmap

if TYPE_CHECKING:
    from pyrsistent import PMap

K = TypeVar("K")
V = TypeVar("V")

_LARGE: Final = 4096
_WAYS: Final = 64
# Shifts of the hash, by level. Parts are chosen by high bits of the hash, because pyrsistent chooses buckets by the
# lowest bits, which must still vary within each part. After the last level a part is not split any more.
_LEVELS: Final = (40, 46, 52)


class _Fork(Generic[K, V]):
    """A map split into ``_WAYS`` parts, by some bits of the hash."""

    __slots__ = ("level", "parts")

    def __init__(self, level: int, parts: tuple[_Part[K, V], ...]) -> None:
        self.level: Final = level
        self.parts: Final = parts


_Part: TypeAlias = "PMap[K, V] | _Fork[K, V]"


class PersistentMap(Generic[K, V]):
    """An immutable map; versions made by :meth:`edit` share unchanged parts."""

    __slots__ = ("_count", "_root")

    def __init__(self, root: _Part[K, V], count: int) -> None:
        self._root = root
        self._count = count

    def __len__(self) -> int:
        return self._count

    def get(self, key: K) -> V | None:
        """Return the value of ``key``; ``None`` if there is none."""
        part = self._root
        while isinstance(part, _Fork):
            part = part.parts[_way(key, part.level)]
        try:
            return part[key]  # takes half the time of part.get(key)
        except KeyError:
            return None

    def values(self) -> Iterator[V]:
        """Iterate over all values, in no particular order."""
        return _values(self._root)

    def edit(self) -> MapEditor[K, V]:
        """Start to edit the next version; takes constant time."""
        return MapEditor(self._root, self._count)


class MapEditor(Generic[K, V]):
    """Collects changes to a map; cheap however large the map is."""

    __slots__ = ("_count", "_root")

    def __init__(self, root: _Part[K, V], count: int) -> None:
        self._root = _edited(root, 0)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def get(self, key: K) -> V | None:
        """Return the value of ``key`` in the edited version; ``None`` if there is none."""
        try:
            return self._leaf(key).edited[key]
        except KeyError:
            return None

    def put(self, key: K, value: V) -> None:
        """Add or replace one value."""
        leaf = self._leaf(key)
        before = len(leaf.edited)
        leaf.edited[key] = value
        after = len(leaf.edited)
        self._count += after - before
        if after > _LARGE and leaf.level < len(_LEVELS):
            self._split(leaf, key)

    def remove(self, key: K) -> None:
        """Remove one value.

        Raises:
            KeyError: the map does not have ``key``.
        """
        self._leaf(key).edited.remove(key)
        self._count -= 1

    def done(self) -> PersistentMap[K, V]:
        """Return the next version."""
        return PersistentMap(self._root.done(), self._count) if self._count else empty()

    def _leaf(self, key: K) -> _Leaf[K, V]:
        node = self._root
        while isinstance(node, _EditedFork):
            node = node.part(key)
        return node

    def _split(self, leaf: _Leaf[K, V], key: K) -> None:
        fork = leaf.split()
        node = self._root
        if node is leaf:
            self._root = fork
            return
        while isinstance(node, _EditedFork):
            below = node.part(key)
            if below is leaf:
                node.replace(key, fork)
                return
            node = below


class _Evolver(Protocol[K, V]):
    """pyrsistent's map evolver; pyrsistent's own type stub lacks half of the methods."""

    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> V: ...
    def __setitem__(self, key: K, value: V) -> None: ...
    def __len__(self) -> int: ...
    def remove(self, key: K) -> object: ...
    def persistent(self) -> PMap[K, V]: ...


class _Leaf(Generic[K, V]):
    """A leaf while it is edited."""

    __slots__ = ("edited", "level")

    def __init__(self, part: PMap[K, V], level: int) -> None:
        self.edited: Final = cast("_Evolver[K, V]", part.evolver())
        self.level: Final = level

    def done(self) -> _Part[K, V]:
        return self.edited.persistent()

    def split(self) -> _EditedFork[K, V]:
        fork: _EditedFork[K, V] = _EditedFork((pmap(),) * _WAYS, self.level)
        for key, value in self.edited.persistent().iteritems():
            leaf = fork.part(key)
            assert isinstance(leaf, _Leaf)
            leaf.edited[key] = value
        return fork


class _EditedFork(Generic[K, V]):
    """An inner node while it is edited; the parts that do not change are shared with the original."""

    __slots__ = ("_edited", "_level", "_parts")

    def __init__(self, parts: tuple[_Part[K, V], ...], level: int) -> None:
        self._parts = parts
        self._edited: dict[int, _Node[K, V]] = {}
        self._level = level

    def part(self, key: K) -> _Node[K, V]:
        way = _way(key, self._level)
        node = self._edited.get(way)
        if node is None:
            node = self._edited[way] = _edited(self._parts[way], self._level + 1)
        return node

    def replace(self, key: K, node: _Node[K, V]) -> None:
        self._edited[_way(key, self._level)] = node

    def done(self) -> _Part[K, V]:
        parts = list(self._parts)
        for way, node in self._edited.items():
            parts[way] = node.done()
        return _Fork(self._level, tuple(parts))


_Node: TypeAlias = _Leaf[K, V] | _EditedFork[K, V]


def empty() -> PersistentMap[K, V]:
    """Return an empty map."""
    return PersistentMap(pmap(), 0)


def _way(key: object, level: int) -> int:
    return hash(key) >> _LEVELS[level] & _WAYS - 1


def _edited(part: _Part[K, V], level: int) -> _Node[K, V]:
    return _EditedFork(part.parts, part.level) if isinstance(part, _Fork) else _Leaf(part, level)


def _values(part: _Part[K, V]) -> Iterator[V]:
    if isinstance(part, _Fork):
        for below in part.parts:
            yield from _values(below)
    else:
        for _, value in part.iteritems():  # faster than itervalues(), which is a generator around iteritems()
            yield value
