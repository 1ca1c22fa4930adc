"""A server's ``Table`` off the wire: columns, cells, and the objects of its rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dynkube.errors import ProtocolError
from dynkube.meta._json import JSON, UNREADABLE
from dynkube.meta._object import Unstructured
from dynkube.meta._table import TableColumn
from dynkube.meta._wire_lists import VIEWS, ListMeta
from dynkube.meta._wire_objects import ObjectDecoder

_BATCH: Final = 200  # rows at a time: some milliseconds


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


@dataclass(frozen=True, slots=True)
class WireTable:
    """A table whose rows are not objects yet.

    Attributes:
        columns: as the server describes them.
        resource_version: where in history it stands.
        continue_token: asks for the next page; ``""`` on the last one.
        remaining_item_count: how many rows follow, where the server counts.
    """

    columns: tuple[TableColumn, ...]
    resource_version: str
    continue_token: str
    remaining_item_count: int | None
    _rows: list[_Row]

    @classmethod
    def read(cls, body: bytes) -> WireTable | None:
        """The table in an answer; ``None`` if the answer is something else, as from servers that know no tables.

        Raises:
            ProtocolError: it cannot be read.
        """
        try:
            table = _tables.decode(body)  # of anything else no more than its kind
        except UNREADABLE as exc:
            raise ProtocolError(f"the server's table cannot be read, or was cut short: {exc}") from exc
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
            table.rows or [],
        )

    def batches(self, decoder: ObjectDecoder) -> Iterator[list[tuple[Unstructured, tuple[JSON, ...]] | None]]:
        """Objects and cells, some rows at a time; ``None`` for a row that has no whole object with a name.

        Cells that a row lacks are ``None``. Those for which there is no column are left out, as kubectl does
        (kubernetes/kubernetes#66379): servers write such rows, of IPAddresses for one.

        Raises:
            ProtocolError: an object cannot be read.
        """
        for start in range(0, len(self._rows), _BATCH):
            yield [self._row(row, decoder) for row in self._rows[start : start + _BATCH]]

    def _row(self, row: _Row, decoder: ObjectDecoder) -> tuple[Unstructured, tuple[JSON, ...]] | None:
        raw = bytes(row.object)
        if raw in (b"", b"null"):
            return None
        try:
            obj = decoder.decode(raw)
        except UNREADABLE as exc:
            raise ProtocolError(f"a row of the server's table has an object that cannot be read: {exc}") from exc
        if not obj.name or not obj.kind or obj.api_version.startswith(VIEWS):
            return None
        cells = (row.cells or [])[: len(self.columns)]
        return obj, (*cells, *[None] * (len(self.columns) - len(cells)))
