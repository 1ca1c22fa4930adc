"""Lists and tables that know how to become live: by an informer of the same selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias

from dynkube import meta
from dynkube.errors import InvalidInput
from dynkube.notebook import ColumnSource, LiveTable
from dynkube.sync._informer import Informer, live_of

Follow: TypeAlias = Callable[[], Informer]
"""Makes an informer of what a list was read with."""


class _Selected:
    """What lists and tables have besides, as they were read by a client that can follow."""

    __slots__ = ()

    _follow: Follow | None

    def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """A table for notebooks that keeps itself up to date, of what this was read with: resource and selectors.

        Made by an informer of its own, from now on and not from when this was read; closing the table closes that. A
        ``limit`` or ``continue_token`` of the list does not count. See :meth:`Informer.live`.

        Args:
            columns: more columns, by heading: a JSONPath, or a function of the object.
            limit: rows, at most 2,000.
            wide: also the columns that the resource's definition has for wide screens; of a
                table that is :meth:`wide` they are always shown.

        Raises:
            InvalidInput: the columns or the limit are none, or the list was not read by a client that follows.
            ClosedError: the client is closed.
        """
        __tracebackhide__ = True
        if self._follow is None:
            raise InvalidInput(
                "nobody knows where this list is from: read it by client.get(...) or client.resource(...).list()"
            )
        informer = self._follow()
        try:
            shows_all = wide or getattr(self, "_wide", False)  # which lists have not
            return live_of(informer, columns, limit, wide=shows_all, closing=informer.close)
        except BaseException:
            informer.close()
            raise

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # A copy, or what was pickled, may be in another process, where there is no client.
        state: Any = object.__getstate__(self)  # of what has slots: None and these
        return None, {**state[1], "_follow": None}


class UnstructuredList(_Selected, meta.UnstructuredList):
    """One answer to a list request, which :meth:`live` follows; see :class:`dynkube.UnstructuredList`."""

    __slots__ = ("_follow",)

    @classmethod
    def of(cls, found: meta.UnstructuredList, follow: Follow | None) -> UnstructuredList:
        """The same list, and how it is followed."""
        self = cls(
            tuple(found),
            resource_version=found.resource_version,
            continue_token=found.continue_token,
            remaining_item_count=found.remaining_item_count,
            api_version=found.api_version,
            kind=found.kind,
        )
        self._follow = follow
        return self


class UnstructuredTable(_Selected, meta.UnstructuredTable):
    """A list with the server's columns, which :meth:`live` follows; see :class:`dynkube.meta.UnstructuredTable`."""

    __slots__ = ("_follow",)

    def wide(self) -> Self:
        """The same table, which shows all of its columns, live ones too; see :meth:`dynkube.UnstructuredTable.wide`."""
        found = super().wide()
        found._follow = self._follow  # which other copies do not have
        return found

    @classmethod
    def of(cls, found: meta.UnstructuredTable, follow: Follow | None) -> UnstructuredTable:
        """The same table, and how it is followed."""
        self = cls(
            tuple(found),
            columns=found.columns,
            cells=found.cells,
            namespaced=found.namespaced,
            server_columns=found.server_columns,
            resource_version=found.resource_version,
            continue_token=found.continue_token,
            remaining_item_count=found.remaining_item_count,
            api_version=found.api_version,
            kind=found.kind,
        )
        self._follow = follow
        return self
