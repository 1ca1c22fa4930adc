"""Snapshots of a live table, as plain data.

A snapshot reads only the objects that it shows, so a table of 200 rows costs the same for 200 objects and for 50,000.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dynkube.informers import ClusterObject
from dynkube.meta import Unstructured
from dynkube.notebook._columns import Cell, Kind, LiveColumn, When
from dynkube.notebook._row_keys import id_of
from dynkube.notebook._view import ViewHead


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The header of the table.

    Attributes:
        title: the resource, the namespace, and how many clusters if there are several.
        phase: the phase of the informer, or of those of all clusters together.
        reason: the reason of the phase, as one word.
        message: the reason as a sentence; may be empty.
        since: when the phase began, in seconds since 1970.
        filter: a description of the filter; ``""`` if there is none.
        shown: the number of rows.
        matching: the number of objects that pass the filter.
        total: the number of all objects.
        narrower: a hint on how to narrow the selection.
        reading: whether the first objects are still being read, so that other rows may follow.
        following: whether the table is still updated.
        view: where the rows are among all; ``None`` if these are the first or all.
    """

    title: str
    phase: str
    reason: str = ""
    message: str = ""
    since: float = 0.0
    filter: str = ""
    shown: int = 0
    matching: int = 0
    total: int = 0
    narrower: str = ""
    reading: bool = False
    following: bool = True
    view: ViewHead | None = None

    @property
    def counts(self) -> str:
        """``3 objects``, ``200 of 50,000 shown``, ``12 of 40 objects``, ``700 of 50,000 objects so far``."""
        every = f"{self.matching:,} {'object' if self.matching == 1 else 'objects'}"
        if self.reading and self.matching:
            return f"{every if self.filter else f'{self.matching:,} of {self.total:,} objects'} so far"
        passing = f"{self.matching:,} of {self.total:,} objects" if self.filter and self.matching < self.total else ""
        if self.shown < self.matching:
            return f"{self.shown:,} of {self.matching:,} shown" + (f" · {passing} pass the filter" if passing else "")
        return passing or every


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column.

    Attributes:
        name: the text of the heading.
        kind: how the column is aligned and sorted.
        title: the tooltip.
        shown: whether the column is shown now.
    """

    name: str
    kind: Kind
    title: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The row of one object.

    Attributes:
        id: of its key, see ``_row_keys.py``.
        version: the resourceVersion.
        cells: one for each column, including columns that are not shown.
    """

    id: str
    version: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A snapshot of the table."""

    head: Head
    headings: tuple[Heading, ...] = ()
    rows: tuple[Row, ...] = ()

    def pack(self) -> PackedPicture:
        """Compress the rows."""
        return PackedPicture(self.head, self.headings, zlib.compress(msgspec.msgpack.encode(self.rows), level=1))

    def unpack(self) -> Picture:
        """Return itself."""
        return self


@dataclass(frozen=True, slots=True)
class PackedPicture:
    """A compressed snapshot: about a twentieth of the memory, while a table rests.

    ipywidgets keeps every widget until the kernel ends, even if its cell is run again. A resting table must not close
    its widget: reopened notebooks and copies of an output request it by its model id, and would show an error instead.
    Packing 2,000 rows blocks the loop for 5 ms, unpacking for 10 ms.
    """

    head: Head
    headings: tuple[Heading, ...]
    _rows: bytes

    def pack(self) -> PackedPicture:
        """Return itself."""
        return self

    def unpack(self) -> Picture:
        """Decompress the rows."""
        rows = msgspec.msgpack.decode(zlib.decompress(self._rows), type=tuple[Row, ...])
        return Picture(self.head, self.headings, rows)


class Painter:
    """Renders rows, and reuses the rows of the last snapshot for objects that did not change."""

    __slots__ = ("_columns", "_kept")

    def __init__(self) -> None:
        self._columns: tuple[LiveColumn, ...] = ()
        self._kept: dict[str, tuple[Unstructured, Row]] = {}

    @property
    def objects(self) -> dict[str, Unstructured]:
        """The objects of the last snapshot, by the ids of their rows."""
        return {row_id: obj for row_id, (obj, _) in self._kept.items()}

    def rows(self, given: Sequence[ClusterObject], columns: tuple[LiveColumn, ...]) -> Iterator[Row]:
        """Yield the rows one by one, so that the caller can yield to the event loop in between."""
        kept = self._kept if columns == self._columns else {}
        fresh: dict[str, tuple[Unstructured, Row]] = {}
        self._columns, self._kept = columns, fresh
        for each in given:
            row_id = id_of(each)
            known = kept.get(row_id)
            row = known[1] if known is not None and known[0] is each.object else _row(row_id, each, columns)
            fresh[row_id] = (each.object, row)
            yield row


def headings(
    columns: Sequence[LiveColumn], rows: Sequence[Row], namespaces: int, before: Sequence[Heading] = ()
) -> tuple[Heading, ...]:
    """Return the headings of the columns, and whether each is shown, as all are that were shown ``before``."""
    known = frozenset(heading.name for heading in before if heading.shown)

    def is_shown(place: int, column: LiveColumn) -> bool:
        match column.shown:
            case When.FILLED:
                return column.name in known or any(row.cells[place].text for row in rows)
            case When.SEVERAL:
                return namespaces > 1
        return True

    return tuple(
        Heading(column.name, column.kind, column.title, is_shown(place, column)) for place, column in enumerate(columns)
    )


def _row(row_id: str, given: ClusterObject, columns: tuple[LiveColumn, ...]) -> Row:
    return Row(row_id, given.object.resource_version, tuple(column.of(given) for column in columns))
