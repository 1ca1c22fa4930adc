"""Lists and tables that know how to become live: by an informer of the same selection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from dynkube import meta
from dynkube.client import ResourceClient as AsyncResourceClient
from dynkube.errors import InvalidInput
from dynkube.informers import Informer as AsyncInformer
from dynkube.notebook import ColumnSource, LiveTable, live_table
from dynkube.sync._held import Start
from dynkube.sync._thread import TrioThread

_NARROWER = "a label_selector, or a namespace, of the list narrows all"


@dataclass(frozen=True, slots=True)
class Origin:
    """What watches and lists need from the client that they are from.

    Attributes:
        thread: where it lives.
        start: starts a task that ends with the client, at the latest.
        informer: makes informers, with the arguments of ``Client.informer``; ``None`` where it has none.
    """

    thread: TrioThread
    start: Start
    informer: Callable[..., AsyncInformer] | None = None


class Follow:
    """How to follow what a list was read with.

    Args:
        resource: which resource.
        given: the arguments that it was read with, by name.
        origin: the client that read it.
    """

    def __init__(self, resource: AsyncResourceClient, given: Mapping[str, Any], origin: Origin) -> None:
        self._resource = resource
        self._selection = {name: given.get(name) for name in ("namespace", "label_selector", "field_selector")}
        self._origin = origin

    def live(self, columns: Mapping[str, ColumnSource] | None, limit: int, *, wide: bool) -> LiveTable:
        """A live table, which has an informer of its own for as long as it follows."""
        __tracebackhide__ = True
        thread, start = self._origin.thread, self._origin.start
        return live_table(self._opened, thread, start, columns=columns, limit=limit, wide=wide, narrower=_NARROWER)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[AsyncInformer]:
        assert self._origin.informer is not None
        gvr = (await self._resource.resolve()).gvr
        async with self._origin.informer(gvr, **self._selection) as informer:
            yield informer


class _Selected:
    """What lists and tables have besides, as they were read by a client that can follow."""

    __slots__ = ()

    _follow: Follow | None

    def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """A table for notebooks that keeps itself up to date, of what this was read with: resource and selectors.

        Made by an informer of its own, from now on and not from when this was read, which ends with the table. A
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
        shows_all = wide or getattr(self, "_wide", False)  # which lists have not
        return self._follow.live(columns, limit, wide=shows_all)

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
