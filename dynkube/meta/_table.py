"""``UnstructuredTable``: a list with the cells that ``kubectl get`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from dynkube._text.tables import printable
from dynkube.errors import DynkubeError, InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._json import JSON
from dynkube.meta._list import UnstructuredList
from dynkube.meta._object import Unstructured
from dynkube.meta._plain_table import NOTHING, PlainColumn, plain_table
from dynkube.meta._table_columns import TableColumn

if TYPE_CHECKING:
    from dynkube.meta._frames.fields import Fields
    from dynkube.meta._frames.values import FrameColumn

_KIND: Final = TableColumn(name="Kind")
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
        errors: for a table of several resources (``client.get("po,svc")``), the resources that could not be read, by
            name, with the reason; for a category (``client.get("all")``) also the group-versions whose discovery
            failed, as they may have further resources of it.
    """

    __slots__ = ("_tables", "_wide", "cells", "columns", "errors", "namespaced", "server_columns")

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
        tables: Sequence[Self] = (),
        errors: Mapping[str, DynkubeError] | None = None,
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
        self.errors: Mapping[str, DynkubeError] = dict(errors or {})
        self._tables = tuple(tables)  # those of the resources, if this is a table of several
        self._wide = False  # whether the rendering includes wide columns

    @property
    def tables(self) -> tuple[Self, ...]:
        """The tables of the resources, for a table of several; else only this table.

        A table of several has the objects of all, and their columns by name: a cell is ``None`` where the resource has
        no such column.
        """
        return self._tables or (self,)

    def wide(self) -> Self:
        """Return the same table, rendered with the columns of ``kubectl get -o wide``.

        This affects only the rendering: ``columns``, ``cells`` and data frames include these columns for any table.
        """
        found = copy(self)
        found._wide = True
        found._tables = tuple(table.wide() for table in self._tables)
        return found

    def sort_by(self, path: str, *, reverse: bool = False) -> Self:
        """Return the same table, sorted by a field; see :meth:`UnstructuredList.sort_by`.

        Of a table of several resources, ``tables`` are sorted as well.
        """
        found = super().sort_by(path, reverse=reverse)
        found._tables = tuple(table.sort_by(path, reverse=reverse) for table in self._tables)
        return found

    def _part(self, places: Sequence[int]) -> Self:
        found = super()._part(places)
        rank = {id(obj): place for place, obj in enumerate(found)}
        found._tables = tuple(table._ranked(rank) for table in self._tables)
        return found

    def _ranked(self, rank: Mapping[int, int]) -> Self:
        """Return the part of the table with these objects, in this order."""
        places = (place for place, obj in enumerate(self) if id(obj) in rank)
        return self._part(sorted(places, key=lambda place: rank[id(self[place])]))

    def _in_order(self, places: Sequence[int]) -> Self:
        found = super()._in_order(places)
        found.cells = tuple(self.cells[place] for place in places)
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
        from dynkube.meta._frames.columns import table_frame

        return table_frame(self, fields, with_object=with_object)

    def _plain(self, rows: int) -> str:
        return "\n\n".join(self._plain_parts(rows)) if self._tables else super()._plain(rows)

    def _plain_parts(self, rows: int) -> Iterator[str]:
        """Yield the table of each resource that has objects, as ``kubectl get po,svc`` prints them, and the errors."""
        spread = len({obj.namespace for obj in self if obj.namespace}) > 1
        for table in self._tables if len(self) else ():
            if len(table):
                columns = table._plain_columns(prefix=f"{_type_of(table)}/", spread=spread and table.namespaced)
                more = bool(table.continue_token)
                yield plain_table(columns, len(table), rows, remaining=table.remaining_item_count, more=more)
                rows = max(rows - len(table), 1)
        if not len(self):
            yield NOTHING
        if self.errors:
            lines = (f"error: {name}: {error}" for name, error in self.errors.items())
            yield printable("\n".join(lines), keep="\n")

    def _one_line(self) -> str:
        return f"{super()._one_line()[:-1]} in {len(self.columns)} columns>"

    def _plain_columns(self, *, prefix: str = "", spread: bool | None = None) -> list[PlainColumn]:
        """Return the columns of the plain-text table.

        Args:
            prefix: is put before names.
            spread: whether to show namespaces; ``None`` shows them if they differ.
        """
        shown = [(place, each) for place, each in enumerate(self.columns) if self._wide or not each.wide]
        return [
            *self._differing("namespace", spread),
            *(
                PlainColumn(
                    each.name,
                    partial(self._cell, place, prefix if each.format == "name" else ""),
                    each.type in _NUMBERS,
                )
                for place, each in shown
            ),
        ]

    def _cell(self, place: int, prefix: str, row: int) -> JSON:
        cell = self.cells[row][place]
        return f"{prefix}{cell}" if prefix else cell


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


def joined_resources(tables: Sequence[UnstructuredTable], errors: Mapping[str, DynkubeError]) -> UnstructuredTable:
    """Join the tables of several resources to one, with the columns of all by name.

    Args:
        tables: one for each resource, at least one.
        errors: the resources that could not be read, and the group-versions.
    """
    columns = (_KIND, *_united(tables))
    return UnstructuredTable(
        [obj for table in tables for obj in table],
        columns=columns,
        cells=[
            (obj.kind, *row[1:]) for table in tables for obj, row in zip(table, _arranged(table, columns), strict=True)
        ],
        namespaced=any(table.namespaced for table in tables),
        server_columns=all(table.server_columns for table in tables),
        remaining_item_count=sum(table.remaining_item_count or 0 for table in tables) or None,
        api_version="v1",
        kind="List",
        tables=tables,
        errors=errors,
    )


def _united(tables: Iterable[UnstructuredTable]) -> Iterator[TableColumn]:
    """Yield each column once, by name.

    If resources define it differently, it is a column of strings.
    """
    named: dict[str, list[TableColumn]] = {}
    for table in tables:
        for column in table.columns:
            named.setdefault(column.name, []).append(column)
    named.pop(_KIND.name, None)
    for first, *others in named.values():
        same = all((each.type, each.json_path) == (first.type, first.json_path) for each in others)
        yield first if same else replace(first, type="string", description="")


def _type_of(table: UnstructuredTable) -> str:
    """Return the type as kubectl writes it before names: ``pod``, ``deployment.apps``."""
    group, _, _ = table.api_version.rpartition("/")
    return f"{table.kind.removesuffix('List').lower()}.{group}".rstrip(".")


def _arranged(page: UnstructuredTable, columns: tuple[TableColumn, ...]) -> Iterable[tuple[JSON, ...]]:
    if page.columns == columns:
        return page.cells
    places = {column.name: place for place, column in reversed(list(enumerate(page.columns)))}
    order = [places.get(column.name) for column in columns]
    return (tuple(None if place is None else row[place] for place in order) for row in page.cells)
