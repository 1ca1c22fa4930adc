"""pyrsistent's maps as caches use them: many changes at once, then a version that never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from pyrsistent import PMap

K = TypeVar("K")
V = TypeVar("V")


class Evolver(Protocol[K, V]):
    """A map being changed. pyrsistent's own stub leaves out half of what its evolver can do."""

    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> V: ...
    def __setitem__(self, key: K, value: V) -> None: ...
    def __len__(self) -> int: ...
    def remove(self, key: K) -> object:
        """Take ``key`` out; KeyError if it is not there."""
        ...

    def persistent(self) -> PMap[K, V]:
        """The map as it is now."""
        ...


def evolve(mapping: PMap[K, V]) -> Evolver[K, V]:
    """Start to change a copy of ``mapping``; costs nothing in itself."""
    return cast("Evolver[K, V]", mapping.evolver())
