"""Immutable sequence of entries: the base of reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

E = TypeVar("E")


class Entries(Sequence[E]):
    """An immutable sequence of entries.

    Args:
        entries: the entries.
    """

    def __init__(self, entries: Sequence[E]) -> None:
        self._entries = tuple(entries)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[E, ...]: ...
    def __getitem__(self, index: int | slice) -> E | tuple[E, ...]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[E]:
        return iter(self._entries)
