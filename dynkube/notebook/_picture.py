"""What a live table shows at one moment, and the difference between two moments.

Plain data. A picture is made of the objects that are in it and of nothing else, so a table of 200 rows costs the same
whether there are 200 objects or 50,000.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dynkube.meta import Unstructured
from dynkube.notebook._columns import Cell, Column, Kind, When


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What stands above the rows.

    Attributes:
        title: which resource, and where.
        phase: of the informer.
        reason: why it is in this phase, as one word.
        message: the same for people; may be empty.
        since: when the phase began, in seconds since 1970.
        filter: what decides which objects are shown; ``""`` for none.
        shown: rows.
        matching: objects that the filter shows.
        total: objects that there are.
        narrower: what to do about objects that are not shown.
        following: whether it is still kept up to date.
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
    following: bool = True

    @property
    def counts(self) -> str:
        """``3 objects``, ``200 of 50,000 shown``, ``12 of 40 objects``."""
        every = f"{self.matching:,} {'object' if self.matching == 1 else 'objects'}"
        passing = f"{self.matching:,} of {self.total:,} objects" if self.filter and self.matching < self.total else ""
        if self.shown < self.matching:
            return f"{self.shown:,} of {self.matching:,} shown" + (f" · {passing} pass the filter" if passing else "")
        return passing or every


@dataclass(frozen=True, slots=True)
class Heading:
    """The top of a column.

    Attributes:
        name: its words.
        kind: how it is aligned and sorted.
        title: more about it.
        shown: whether it is there now.
    """

    name: str
    kind: Kind
    title: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One object.

    Attributes:
        id: which one: ``namespace/name``.
        version: its resourceVersion.
        cells: one for each column, those that are not shown included.
    """

    id: str
    version: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What a table shows at one moment."""

    head: Head
    headings: tuple[Heading, ...] = ()
    rows: tuple[Row, ...] = ()

    def pack(self) -> PackedPicture:
        """The same, to be kept."""
        return PackedPicture(self.head, self.headings, zlib.compress(msgspec.msgpack.encode(self.rows), level=1))

    def unpack(self) -> Picture:
        """Itself."""
        return self


@dataclass(frozen=True, slots=True)
class PackedPicture:
    """A picture that is kept for who may look again, in about a twentieth of its memory.

    ipywidgets keeps every widget until the kernel ends, also where its cell was run again and again, and a table that
    rests is right not to close its own: notebooks that are opened again, and copies of an output, ask for the widget by
    its number, and would show an error in its place. Packing 2,000 rows holds the loop for 5 ms, unpacking for 10 ms.
    """

    head: Head
    headings: tuple[Heading, ...]
    _rows: bytes

    def pack(self) -> PackedPicture:
        """Itself."""
        return self

    def unpack(self) -> Picture:
        """The picture."""
        rows = msgspec.msgpack.decode(zlib.decompress(self._rows), type=tuple[Row, ...])
        return Picture(self.head, self.headings, rows)


class Painter:
    """Makes rows of objects, and keeps those of the last picture: an object that did not change is not read again."""

    __slots__ = ("_columns", "_kept")

    def __init__(self) -> None:
        self._columns: tuple[Column, ...] = ()
        self._kept: dict[str, tuple[Unstructured, Row]] = {}

    def rows(self, objects: Sequence[Unstructured], columns: tuple[Column, ...]) -> Iterator[Row]:
        """One row after the other, so that whoever asks may do something else in between."""
        kept = self._kept if columns == self._columns else {}
        fresh: dict[str, tuple[Unstructured, Row]] = {}
        self._columns, self._kept = columns, fresh
        for obj in objects:
            row_id = id_of(obj)
            known = kept.get(row_id)
            row = known[1] if known is not None and known[0] is obj else _row(row_id, obj, columns)
            fresh[row_id] = (obj, row)
            yield row


def headings(columns: Sequence[Column], rows: Sequence[Row], namespaces: int) -> tuple[Heading, ...]:
    """The tops of the columns, and which of them are worth their place."""

    def is_shown(place: int, column: Column) -> bool:
        match column.shown:
            case When.FILLED:
                return any(row.cells[place].text for row in rows)
            case When.SEVERAL:
                return namespaces > 1
        return True

    return tuple(
        Heading(column.name, column.kind, column.title, is_shown(place, column)) for place, column in enumerate(columns)
    )


def id_of(obj: Unstructured) -> str:
    """What identifies a row; neither part can have a slash in it."""
    return "/".join(obj.key)


def _row(row_id: str, obj: Unstructured, columns: tuple[Column, ...]) -> Row:
    return Row(row_id, obj.resource_version, tuple(column.of(obj) for column in columns))
