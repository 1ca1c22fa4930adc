"""Lists and tables with ``live()``, a live table of the same selection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from dynkube import meta
from dynkube._portal.held import Start
from dynkube._portal.thread import TrioThread
from dynkube.client import ResourceClient as AsyncResourceClient
from dynkube.errors import InvalidInput
from dynkube.informers import Informer as AsyncInformer
from dynkube.notebook import ColumnSource, LiveTable, live_table
from dynkube.notebook._source import ONE, Sources

_NARROWER = "list with a label_selector or a namespace to narrow them"


@dataclass(frozen=True, slots=True)
class Origin:
    """The parts of a client that its lists and watches use.

    Attributes:
        thread: the client's trio thread.
        start: starts a task that is cancelled when the client is closed.
        informer: makes informers, with the arguments of ``Client.informer``.
    """

    thread: TrioThread
    start: Start
    informer: Callable[..., AsyncInformer]


class Follow:
    """Creates live tables of the objects that a list has selected.

    Args:
        resource: the resource.
        given: the arguments of the list call, by name.
        origin: the client that read the list.
    """

    def __init__(self, resource: AsyncResourceClient, given: Mapping[str, Any], origin: Origin) -> None:
        self._resource = resource
        self._selection = {name: given.get(name) for name in ("namespace", "label_selector", "field_selector")}
        self._origin = origin

    def live(self, columns: Mapping[str, ColumnSource] | None, limit: int, *, wide: bool) -> LiveTable:
        """Return a live table with its own informer, which ends with the table."""
        __tracebackhide__ = True
        thread, start = self._origin.thread, self._origin.start
        return live_table(self._opened, thread, start, columns=columns, limit=limit, wide=wide, narrower=_NARROWER)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Sources]:
        gvr = (await self._resource.resolve()).gvr
        async with self._origin.informer(gvr, **self._selection) as informer:
            yield {ONE: informer}


class _Selected:
    """Mixin of lists and tables read by a blocking client."""

    __slots__ = ()

    _follow: Follow | None

    def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """Return a notebook table that updates itself, with the selectors of this list.

        It has an informer of its own, which lists anew and ends with the table. A ``limit`` or ``continue_token`` of
        the list is ignored. The columns are the namespace (if there are several), the name, the printer columns of the
        CRD or else the health of the object, and the age.

        Args:
            columns: additional columns, by heading: a JSONPath, or a function of the object, which runs in the trio
                thread and has to be fast.
            limit: rows, at most 2,000.
            wide: also show the CRD's columns for wide output (priority > 0, as in ``kubectl get -o wide``); always
                shown for a table that is :meth:`wide`.

        Raises:
            InvalidInput: the columns or the limit are invalid, or the list is a copy.
            ClosedError: the client is closed.
        """
        __tracebackhide__ = True
        if len(getattr(self, "tables", ())) > 1:
            raise InvalidInput("this table has several resources: follow one of them, as in table.tables[0].live()")
        if self._follow is None:
            raise InvalidInput(
                "the origin of this list is not known: read it with client.get(...) or client.resource(...).list()"
            )
        shows_all = wide or getattr(self, "_wide", False)  # lists have no _wide
        return self._follow.live(columns, limit, wide=shows_all)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # A copy or pickle may be loaded in another process, where there is no client.
        state: Any = object.__getstate__(self)  # of a class with slots: (None, {slot: value})
        return None, {**state[1], "_follow": None}


class UnstructuredList(_Selected, meta.UnstructuredList):
    """A :class:`dynkube.UnstructuredList` with :meth:`live`."""

    __slots__ = ("_follow",)

    @classmethod
    def of(cls, found: meta.UnstructuredList, follow: Follow | None) -> UnstructuredList:
        """Return the same list with :meth:`live`."""
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
    """A :class:`dynkube.meta.UnstructuredTable` with :meth:`live`."""

    __slots__ = ("_follow",)

    def wide(self) -> Self:
        """Return the same table with all columns shown, as ``kubectl get -o wide`` does.

        Also in :meth:`live`.
        """
        found = super().wide()
        found._follow = self._follow  # __getstate__ drops it from copies
        return found

    @classmethod
    def of(
        cls, found: meta.UnstructuredTable, follow: Follow | None, tables: Sequence[UnstructuredTable] = ()
    ) -> UnstructuredTable:
        """Return the same table with :meth:`live`; for several resources, with their ``tables``."""
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
            tables=tables,
            errors=found.errors,
        )
        self._follow = follow
        return self
