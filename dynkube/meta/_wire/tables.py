"""Decoding of a ``Table`` response: columns, cells, and the objects of its rows.

Pure. A large table is decoded some rows at a time. All rows have the same start, so a row *may* end before the next
occurrence of this start. The decoder shows whether it does, as a piece that ends inside a row has unbalanced braces. A
table in any other layout (for example indented) is decoded as a whole. If text that looks like rows follows after the
rows, which no known server writes, the table is rejected, as it could be misread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import msgspec

from dynkube.errors import ProtocolError
from dynkube.meta._json import JSON, UNREADABLE
from dynkube.meta._object import Unstructured
from dynkube.meta._table_columns import TableColumn
from dynkube.meta._wire.lists import VIEWS, ListMeta
from dynkube.meta._wire.objects import ObjectDecoder

_BATCH: Final = 200  # rows per batch: a few milliseconds
_PIECE: Final = 1 << 19  # bytes of rows decoded at once: a few milliseconds
_ROWS: Final = b'"rows":['
_NEXT_ROW: Final = b'}},{"cells":['  # the end of an object and its row, and the start of the next row
_MAX_FALSE_ENDS: Final = 64  # failed attempts within one row, before splitting is given up


class _Column(msgspec.Struct, gc=False):
    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class _Row(msgspec.Struct, gc=False):
    cells: list[Any] | None = None
    object: msgspec.Raw = msgspec.Raw()


class _Table(msgspec.Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta | None = None
    column_definitions: list[_Column] | None = None
    rows: list[_Row] | None = None


_tables: Final = msgspec.json.Decoder(_Table)
_rows: Final = msgspec.json.Decoder(list[_Row])


@dataclass(frozen=True, slots=True)
class WireTable:
    """A table whose rows are not decoded to objects yet.

    Attributes:
        columns: the server's column definitions.
        resource_version: the resourceVersion of the list.
        continue_token: requests the next page; ``""`` on the last page.
        remaining_item_count: the number of rows on further pages; ``None`` if the server does not count them.
    """

    columns: tuple[TableColumn, ...]
    resource_version: str
    continue_token: str
    remaining_item_count: int | None
    _body: bytes
    _packed: slice  # range of the rows that are not decoded yet, separated by commas
    _last: list[_Row]  # the rows after them

    @classmethod
    def read(cls, body: bytes) -> WireTable | None:
        """Decode the table in a response.

        Returns ``None`` if the response is not a table, as from servers without table support.

        Raises:
            ProtocolError: the response cannot be decoded.
        """
        try:
            # of other documents only the kind is decoded
            table, packed = _cut(body) or (_tables.decode(body), slice(0, 0))
        except UNREADABLE as exc:
            raise _unreadable(exc) from exc
        if table.kind != "Table":
            return None
        meta = table.metadata or ListMeta()
        return cls(
            tuple(
                TableColumn(
                    name=each.name,
                    type=each.type,
                    format=each.format,
                    priority=each.priority,
                    description=each.description,
                )
                for each in table.column_definitions or ()
            ),
            meta.resource_version or "",
            meta.continue_ or "",
            meta.remaining_item_count,
            body,
            packed,
            table.rows or [],
        )

    def batches(self, decoder: ObjectDecoder) -> Iterator[list[tuple[Unstructured, tuple[JSON, ...]] | None]]:
        """Yield batches of objects and cells.

        An entry is ``None`` for a row without a complete, named object. A batch may be empty. Missing cells are
        ``None``. Cells without a column are dropped, as in kubectl (kubernetes/kubernetes#66379): servers send such
        rows, for IPAddresses among others.

        Raises:
            ProtocolError: an object cannot be decoded.
        """
        for rows in chain(_unpacked(self._body, self._packed), (self._last,)):
            for start in range(0, len(rows) or 1, _BATCH):
                yield [self._row(row, decoder) for row in rows[start : start + _BATCH]]

    def _row(self, row: _Row, decoder: ObjectDecoder) -> tuple[Unstructured, tuple[JSON, ...]] | None:
        raw = bytes(row.object)
        if raw in (b"", b"null"):
            return None
        try:
            obj = decoder.decode(raw)
        except UNREADABLE as exc:
            raise ProtocolError(f"a row of the table has an object that cannot be decoded: {exc}") from exc
        if not obj.name or not obj.kind or obj.api_version.startswith(VIEWS):
            return None
        cells = (row.cells or [])[: len(self.columns)]
        return obj, (*cells, *[None] * (len(self.columns) - len(cells)))


def _cut(body: bytes) -> tuple[_Table, slice] | None:
    """Return a large table with only its last row, and the range of the others.

    Returns ``None`` to decode it whole.
    """
    start = body.find(_ROWS)
    if len(body) <= _PIECE or start < 0:
        return None
    try:
        _tables.decode(body[:start].rstrip(b",") + b"}")  # only at depth one is that an object
    except UNREADABLE:
        return None
    start += len(_ROWS)
    end = len(body)
    for _ in range(_MAX_FALSE_ENDS):
        end = body.rfind(_NEXT_ROW, start, end)
        if end < 0:
            break
        with suppress(*UNREADABLE):
            return _tables.decode(body[:start] + body[end + 3 :]), slice(start, end + 2)
    return None


def _unpacked(body: bytes, packed: slice) -> Iterator[list[_Row]]:
    """Yield batches of rows that decode in about a millisecond.

    A batch is empty if the piece did not end at the end of a row.
    """
    start = stop = packed.start
    false_ends = 0
    while start < packed.stop:
        found = body.find(_NEXT_ROW, max(stop, start + _PIECE), packed.stop)
        stop = packed.stop if found < 0 or false_ends > _MAX_FALSE_ENDS else found + 2
        try:
            rows = _rows.decode(b"[%b]" % body[start:stop])
        except UNREADABLE as exc:
            if stop == packed.stop:
                raise _unreadable(exc) from exc
            rows, false_ends = [], false_ends + 1
        else:
            start, false_ends = stop + 1, 0
        yield rows


def _unreadable(exc: Exception) -> ProtocolError:
    return ProtocolError(f"the response is not a Kubernetes table, or is truncated: {exc}")
