"""``UnstructuredTable``: a list with the cells that ``kubectl get`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Self

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._json import JSON
from dynkube.meta._list import UnstructuredList
from dynkube.meta._object import Unstructured
from dynkube.meta._plain_table import PlainColumn
from dynkube.meta._table_columns import TableColumn

if TYPE_CHECKING:
    from dynkube.meta._frames.columns import Fields
    from dynkube.meta._frames.values import FrameColumn

_NUMBERS: Final = frozenset({"integer", "number"})


class UnstructuredTable(UnstructuredList):
    """A list with the server's print columns, as ``kubectl get`` shows it.

    Returned by ``table`` of a resource, and by ``client.get``. Indexing, slicing and iteration yield the objects, as
    for every list. ``cells[i]`` is the row of ``table[i]``. Ages and other dates in cells are strings from the time of
    the request (``"5d"``).

    Attributes:
        columns: all columns of the server, including those for wide output.
        cells: one row for each object, one value for each column.
        namespaced: whether the resource is namespaced; the server has no column for that.
        server_columns: ``False`` where the server does not support tables, as some aggregated APIs: the columns are
            then ``Name`` and ``Age``, computed locally.
    """

    __slots__ = ("_wide", "cells", "columns", "namespaced", "server_columns")

    def __init__(
        self,
        items: Sequence[Unstructured],
        *,
        columns: Sequence[TableColumn],
        cells: Sequence[tuple[JSON, ...]],
        namespaced: bool,
        server_columns: bool = True,
        resource_version: str = "",
        continue_token: str = "",
        remaining_item_count: int | None = None,
        api_version: str = "",
        kind: str = "",
    ) -> None:
        super().__init__(
            items,
            resource_version=resource_version,
            continue_token=continue_token,
            remaining_item_count=remaining_item_count,
            api_version=api_version,
            kind=kind,
        )
        self.columns: tuple[TableColumn, ...] = tuple(columns)
        self.cells: tuple[tuple[JSON, ...], ...] = tuple(cells)
        self.namespaced: bool = namespaced
        self.server_columns: bool = server_columns
        self._wide = False  # whether the rendering includes wide columns

    def wide(self) -> Self:
        """Return the same table, rendered with the columns of ``kubectl get -o wide``.

        This affects only the rendering: ``columns``, ``cells`` and data frames include these columns for any table.
        """
        found = copy(self)
        found._wide = True
        return found

    def column(self, name: str) -> tuple[JSON, ...]:
        """Return the cells of one column, from the first row to the last.

        Args:
            name: the heading, case-insensitive; the first column of that name is used.

        Raises:
            InvalidInput: there is no such column; the message lists the columns.
        """
        given: object = name
        if not isinstance(given, str):
            raise InvalidInput(f"column {given!r} is {a_type(given)}: pass its heading; {self._headings()}")
        for place, column in enumerate(self.columns):
            if column.name.lower() == name.lower():
                return tuple(row[place] for row in self.cells)
        raise InvalidInput(f"unknown column {name!r}: {self._headings()}")

    def _headings(self) -> str:
        return f"the table has {', '.join(repr(column.name) for column in self.columns) or 'no columns'}"

    def _frame(self, fields: Fields | None, with_object: bool) -> list[FrameColumn]:
        from dynkube.meta._frames.columns import extended, table_columns

        return extended(table_columns(self), self, fields, with_object=with_object)

    def _one_line(self) -> str:
        return f"{super()._one_line()[:-1]} in {len(self.columns)} columns>"

    def _plain_columns(self) -> list[PlainColumn]:
        shown = [(place, each) for place, each in enumerate(self.columns) if self._wide or not each.wide]
        return [
            *self._differing("namespace"),
            *(PlainColumn(each.name, partial(self._cell, place), each.type in _NUMBERS) for place, each in shown),
        ]

    def _cell(self, place: int, row: int) -> JSON:
        return self.cells[row][place]


def joined_tables(pages: Sequence[UnstructuredTable]) -> UnstructuredTable:
    """Join the pages of one list to one table, with the columns of the first page.

    If the columns of a CRD changed between pages, cells are matched by column name, and columns that a later page lacks
    are ``None``.
    """
    first = pages[0]
    cells = [row for page in pages for row in _arranged(page, first.columns)]
    return UnstructuredTable(
        [obj for page in pages for obj in page],
        columns=first.columns,
        cells=cells,
        namespaced=first.namespaced,
        server_columns=all(page.server_columns for page in pages),
        resource_version=first.resource_version,
        api_version=first.api_version,
        kind=first.kind,
    )


def _arranged(page: UnstructuredTable, columns: tuple[TableColumn, ...]) -> Iterable[tuple[JSON, ...]]:
    if page.columns == columns:
        return page.cells
    places = {column.name: place for place, column in reversed(list(enumerate(page.columns)))}
    order = [places.get(column.name) for column in columns]
    return (tuple(None if place is None else row[place] for place in order) for row in page.cells)
