"""The rows of a live table that a search finds, in the order of a column.

A change of an object moves one row. A search first looks for its words in the JSON of an object, which takes 4 us for 2
KB; only of objects that may match it computes the cells, which takes some hundred times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dynkube.informers import ClusterObject
from dynkube.notebook._columns import Cell, Kind, LiveColumn
from dynkube.notebook._row_keys import RowKey, key_of
from dynkube.notebook._sorted_keys import SortedKey, SortedKeys

_PARTS: Final = 64  # dicts: a single one would block the event loop when it doubles to a million keys
_NUMBERS: Final = re.compile(r"\d+")
_PLAIN: Final = re.compile(r"[a-z0-9._-]*[a-z._-][a-z0-9._-]*|[0-9]{4,}")
"""Words that are part of an object's JSON, or of its cluster's name, if they are part of a cell; JSON has fewer digits
of counts, as in 2/3."""
_COMPUTED: Final = "terminating (failed)"  # texts of cells that no JSON contains


@dataclass(frozen=True, slots=True)
class Wish:
    """Which rows to show, and in which order.

    Attributes:
        column: the heading of the column to sort by; ``""`` for the order of clusters, namespaces and names.
        down: whether to reverse the order.
        words: in lower case; a row is shown if its cells contain all.
    """

    column: str = ""
    down: bool = False
    words: tuple[str, ...] = ()

    def narrows(self, other: Wish) -> bool:
        """Return whether all rows of this one are rows of ``other``."""
        return all(any(before in word for word in self.words) for before in other.words)


class Ranking:
    """The rows that match a wish, in its order.

    Args:
        wish: what to show.
        columns: all columns of the table.
    """

    __slots__ = ("_column", "_keys", "_parts", "_quick", "columns", "is_complete", "wish")

    def __init__(self, wish: Wish, columns: tuple[LiveColumn, ...]) -> None:
        self.wish = wish
        self.is_complete = False
        """Whether each row was put."""
        self.columns = columns
        self._column = next((each for each in columns if each.name == wish.column), None)
        self._keys = SortedKeys[SortedKey]()
        self._parts: tuple[dict[RowKey, SortedKey], ...] = tuple({} for _ in range(_PARTS))
        in_json = not any(each.is_computed for each in columns)
        self._quick = [w.encode() for w in wish.words if in_json and _PLAIN.fullmatch(w) and w not in _COMPUTED]

    def put(self, row: ClusterObject) -> None:
        """Put a row in its place, or remove it if it does not match; idempotent."""
        key = key_of(row)
        part = self._parts[hash(key) % _PARTS]
        old = part.get(key)
        new = (*self._value(row), *key) if self._matches(row) else None
        if new == old:
            return
        if old is not None:
            self._keys.discard(old)
        if new is not None:
            self._keys.add(new)
            part[key] = new
        else:
            del part[key]

    def remove(self, key: RowKey) -> None:
        """Remove a row, if it is there."""
        old = self._parts[hash(key) % _PARTS].pop(key, None)
        if old is not None:
            self._keys.discard(old)

    def __len__(self) -> int:
        return len(self._keys)

    def scan(self) -> Iterator[list[RowKey]]:
        """Iterate over the keys in ascending order, in lists of some hundred, while rows are put and removed."""
        return ([row_key(each) for each in some] for some in self._keys.scan())

    def slice(self, first: int, count: int) -> list[SortedKey]:
        """Return the sort keys of ``count`` rows from the place ``first`` on."""
        if not self.wish.down:
            return self._keys.slice(first, count)
        end = len(self) - first
        start = max(0, end - count)
        return self._keys.slice(start, end - start)[::-1]

    def index(self, key: SortedKey) -> int:
        """Return the place of a sort key, or the one that it would have."""
        return self._keys.index(key) if not self.wish.down else max(0, len(self) - 1 - self._keys.index(key))

    def _value(self, row: ClusterObject) -> tuple[str | float, ...]:
        return () if self._column is None else (_sortable(self._column.kind, self._column.of(row)),)

    def _matches(self, row: ClusterObject) -> bool:
        words = self.wish.words
        if not words:
            return True
        if self._quick:
            json, cluster = row.object.json.lower(), row.cluster.lower().encode()
            if not all(word in json or word in cluster for word in self._quick):
                return False
        name = "\n".join(key_of(row)).lower()
        if all(word in name for word in words):
            return True
        text = "\n".join(column.of(row).text for column in self.columns).lower()
        return all(word in text for word in words)


def row_key(entry: SortedKey) -> RowKey:
    """Return the key of the row that is sorted by ``entry``, of which it is the end."""
    return str(entry[-3]), str(entry[-2]), str(entry[-1])


def _sortable(kind: Kind, cell: Cell) -> str | float:
    """Return what a cell is sorted by: of a column all are numbers, or all are strings.

    Numbers in texts have their natural order; empty numbers are first, and empty ages last.
    """
    match kind:
        case Kind.AGE:
            return float("inf") if cell.moment is None else -cell.moment
        case Kind.NUMBER:
            try:
                return float(cell.text)
            except ValueError:
                return float("-inf")
    return _NUMBERS.sub(lambda found: found[0].lstrip("0").rjust(12, "0"), cell.text.casefold())
