"""A persistent map: many changes at once, then a version that never changes, and no pause however large it is.

It is made of pyrsistent's maps. One of these alone files all that it holds anew whenever its buckets get too few, which
takes a quarter of a second with 100,000 objects, and holds the event loop for as long. So a map that gets large is
forked into 64 smaller ones, told apart by their keys' hashes, and each of these again: what is filed anew at once stays
small. Smaller maps pay nothing for that.
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
# pyrsistent picks buckets by the lowest bits of hashes: in each fork these have to be all kinds still. Hashes of equal
# high bits are forked so often and no more.
_LEVELS: Final = (40, 46, 52)


class _Fork(Generic[K, V]):
    """A map in ``_WAYS`` parts, by some bits of the hash."""

    __slots__ = ("level", "parts")

    def __init__(self, level: int, parts: tuple[_Part[K, V], ...]) -> None:
        self.level: Final = level
        self.parts: Final = parts


_Part: TypeAlias = "PMap[K, V] | _Fork[K, V]"


class PersistentMap(Generic[K, V]):
    """A map that never changes. :meth:`edit` makes the next version, which shares with it what stays."""

    __slots__ = ("_count", "_root")

    def __init__(self, root: _Part[K, V], count: int) -> None:
        self._root = root
        self._count = count

    def __len__(self) -> int:
        return self._count

    def get(self, key: K) -> V | None:
        """The value under ``key``, if any."""
        part = self._root
        while isinstance(part, _Fork):
            part = part.parts[_way(key, part.level)]
        try:
            return part[key]  # half the price of its get
        except KeyError:
            return None

    def values(self) -> Iterator[V]:
        """All values, in no particular order."""
        return _values(self._root)

    def edit(self) -> MapEditor[K, V]:
        """Start the next version; costs nothing in itself."""
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
        """The value under ``key`` in the version being made."""
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
        """Take one value out; KeyError if there is none."""
        self._leaf(key).edited.remove(key)
        self._count -= 1

    def done(self) -> PersistentMap[K, V]:
        """The next version."""
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
    """A map of pyrsistent's being changed. Its own stub leaves out half of what its evolver can do."""

    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> V: ...
    def __setitem__(self, key: K, value: V) -> None: ...
    def __len__(self) -> int: ...
    def remove(self, key: K) -> object: ...
    def persistent(self) -> PMap[K, V]: ...


class _Leaf(Generic[K, V]):
    """A part that is changed and not forked."""

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
    """A fork that is changed: most of its parts are as they were."""

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
    """A map of nothing."""
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
        for _, value in part.iteritems():  # itervalues() is a generator around this one
            yield value
