"""A collection in pages: as one list, or as an iterator over the objects.

The pages of one list show one snapshot of the collection, which the server keeps for some minutes. After that the
continue token expires (410). :func:`list_all` then reads everything again in one response, as client-go's pager does.
:class:`ObjectIterator` has already returned objects, so its user decides: the error is raised, or with
``allow_inconsistent`` the iteration continues from a newer snapshot.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

import trio

from dynkube._bound import Bound
from dynkube.client._deadline import within
from dynkube.client._list_limits import Paging
from dynkube.client._listwatch import ListWatch
from dynkube.client._options import ListOptions, Selection
from dynkube.client._target import Target
from dynkube.errors import EndlessList, Gone
from dynkube.meta import Unstructured, UnstructuredList

PageT = TypeVar("PageT", bound=UnstructuredList)
PageT_co = TypeVar("PageT_co", bound=UnstructuredList, covariant=True)


class Pages(Protocol[PageT_co]):
    """A collection that can be read in pages."""

    async def list(
        self,
        *,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
        paging: Paging | None = None,
    ) -> PageT_co:
        """Read one page, with the arguments of :meth:`ListWatch.list`."""
        ...

    def paging(self) -> Paging:
        """Return the limits of one list, over all its pages."""
        ...


async def list_all(collection: Pages[PageT], options: ListOptions, join: Callable[[Sequence[PageT]], PageT]) -> PageT:
    """Read the whole collection, or one page.

    Reads one page if ``options.limit`` or ``options.continue_token`` is set.

    Raises:
        EndlessList: there are too many pages, or a page repeats.
    """
    paging = collection.paging()
    with (
        within(options.timeout, f"{collection}: not everything was listed")
        if options.timeout is not None
        else paging.in_time()
    ):
        return await _list_all(collection, options, join, paging)


async def _list_all(
    collection: Pages[PageT], options: ListOptions, join: Callable[[Sequence[PageT]], PageT], paging: Paging
) -> PageT:
    all_of_it = options.limit is None and options.continue_token is None
    page = await _first_page(
        collection, options, limit=options.page_size if all_of_it else options.limit, paging=paging
    )
    if not all_of_it or not page.continue_token:
        return page
    pages = [page]
    try:
        while token := paging.token_after(page):
            page = await collection.list(
                limit=options.page_size, continue_token=token, timeout=options.timeout, paging=paging
            )
            pages.append(page)
    except Gone:
        return await _first_page(collection, options, limit=None)
    except EndlessList:
        while pages:  # freeing so many objects takes a while: yield to the event loop after each page
            page = pages.pop()
            await trio.lowlevel.checkpoint()
        raise
    return join(pages)


async def _first_page(
    collection: Pages[PageT], options: ListOptions, *, limit: int | None, paging: Paging | None = None
) -> PageT:
    return await collection.list(
        resource_version=options.resource_version,
        resource_version_match=options.resource_version_match,
        continue_token=options.continue_token,
        limit=limit,
        timeout=options.timeout,
        paging=paging,
    )


def joined(pages: Sequence[UnstructuredList]) -> UnstructuredList:
    """Join the pages of one list."""
    first = pages[0]
    items = [item for page in pages for item in page]
    return UnstructuredList(
        items, resource_version=first.resource_version, api_version=first.api_version, kind=first.kind
    )


class ObjectIterator(Bound, AsyncIterator[Unstructured]):
    """The objects of a collection, one page in memory at a time.

    ``async for obj in resource.iterate(): ...``

    Not an async generator, so leaving the loop early needs no cleanup. A cancelled step can be repeated: it requests
    the same page again.

    Attributes:
        resource_version: resourceVersion of the snapshot that the pages show; ``""`` before the first page.
        consistent: whether all pages are from one snapshot. ``False`` once a page of a later snapshot was read, which
            requires ``allow_inconsistent``.
    """

    __slots__ = (
        "_allow_inconsistent",
        "_collection",
        "_items",
        "_namespace",
        "_options",
        "_paging",
        "_selection",
        "_target",
        "_token",
        "consistent",
        "resource_version",
    )

    def __init__(
        self,
        target: Target,
        namespace: str | None,
        selection: Selection,
        options: ListOptions,
        *,
        allow_inconsistent: bool,
    ) -> None:
        self._target = target
        self._namespace = namespace
        self._selection = selection
        self._options = options
        self._allow_inconsistent = allow_inconsistent
        self._collection: ListWatch | None = None
        self._paging: Paging | None = None
        self._items: Iterator[Unstructured] = iter(())
        self._token: str | None = None  # None: no page was read yet; "": the last one was
        self.resource_version: str = ""
        self.consistent: bool = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Unstructured:
        await trio.lowlevel.checkpoint()
        while True:
            for item in self._items:
                return item
            if self._token == "":
                raise StopAsyncIteration
            page = await self._next_page()
            assert self._paging is not None
            token = self._paging.token_after(page)
            self.resource_version = page.resource_version
            self._token = token
            self._items = iter(page)

    async def take(self) -> list[Unstructured]:
        """Return the rest of the current page, else the next page; ``[]`` at the end."""
        try:
            first = await self.__anext__()
        except StopAsyncIteration:
            return []
        return [first, *self._items]

    async def _open(self, options: ListOptions) -> UnstructuredList:
        """Return the first page."""
        namespace, selection = self._namespace, self._selection
        _, collection = await self._target.resolve_for(
            lambda found: self._target.collection_of(found, namespace, selection), options.timeout
        )
        self._collection, self._paging = collection, collection.paging(kept=False)
        return await _first_page(collection, options, limit=options.page_size)

    async def _next_page(self) -> UnstructuredList:
        if self._collection is None or self._token is None:
            return await self._target.carry_out(self._options, self._open)
        try:
            return await self._continue(self._collection, self._token)
        except Gone as exc:
            token = exc.status.continue_token
            if not (self._allow_inconsistent and token):
                exc.add_note(_HINT)
                raise
        self.consistent = False
        return await self._continue(self._collection, token)

    async def _continue(self, collection: ListWatch, token: str) -> UnstructuredList:
        return await collection.list(limit=self._options.page_size, continue_token=token, timeout=self._options.timeout)


_HINT = (
    "reading the pages took longer than the server keeps their revision (5 minutes by default): use larger pages, "
    "process the objects after reading them, use list(), which starts over, or allow_inconsistent=True, which "
    "continues with the next page at the current revision"
)
