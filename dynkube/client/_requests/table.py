"""A collection as a table.

One request returns the objects and the cells of their rows.

A server without table support responds with a plain list. A server that ignores ``includeObject`` returns rows with
metadata only, and the list is requested as well. Unlike a plain list, which is decoded while it arrives, a table is
decoded after it was received completely, so it should be read in pages (the default).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

import trio

from dynkube._text.ages import age_of
from dynkube.client._list_limits import Paging
from dynkube.client._listwatch import ListWatch
from dynkube.discovery import APIResource
from dynkube.errors import ProtocolError
from dynkube.meta import JSON, Unstructured, UnstructuredList, UnstructuredTable
from dynkube.meta._partial import partial_reader
from dynkube.meta._table_columns import PLAIN_COLUMNS
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.meta._wire.tables import WireTable
from dynkube.rest._client import RESTClient

# As kubectl sends it; v1beta1 has the same format.
_ACCEPT: Final = ",".join(
    (
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
        "application/json",
    )
)
_BATCH: Final = 200  # objects whose cells are computed per step
_CREATED: Final = ("metadata", "creationTimestamp")


class Tables:
    """Pages of one collection as tables.

    Args:
        rest: sends the requests.
        collection: the collection to read.
        resource: the resource of its objects.
        now: current time, for ages of servers without table support.
    """

    def __init__(
        self,
        rest: RESTClient,
        collection: ListWatch,
        resource: APIResource,
        now: Callable[[], datetime] = partial(datetime.now, UTC),  # noqa: B008  # the function, not a time
    ) -> None:
        self._rest = rest
        self._collection = collection
        self._resource = resource
        self._decoder = ObjectDecoder()
        self._now = now

    async def list(
        self,
        *,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
        paging: Paging | None = None,
    ) -> UnstructuredTable:
        """Read one page, with the arguments of :meth:`ListWatch.list`.

        Raises:
            APIError: an error response; :class:`~dynkube.errors.Gone` for an expired token.
            ProtocolError: the response is neither a table nor a list.
            TransportError: no usable response.
        """
        request = self._collection.list_request(
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
            timeout=timeout,
        )
        params = {**request.params, "includeObject": "Object"}
        answer = await self._rest.request(replace(request, params=params, accept=_ACCEPT))
        if paging is not None:
            paging.received(len(answer.body))
        try:
            wire = WireTable.read(answer.body)
            table = None if wire is None else await self._of_table(wire)
        except ProtocolError as exc:
            answer.redact.error(exc)
            raise ProtocolError(f"{exc} [{answer.request}]") from exc
        if wire is None:
            return await self._of_list(await self._collection.read(answer))
        if table is not None:
            return table
        plain = await self._collection.list(
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
            timeout=timeout,
            paging=paging,
        )
        return await self._of_list(plain)

    def paging(self) -> Paging:
        """Return the limits of one list of this collection, over all its pages."""
        return self._collection.paging()

    async def _of_table(self, wire: WireTable) -> UnstructuredTable | None:
        """Return the table, or ``None`` if its rows lack complete objects."""
        objects: list[Unstructured] = []
        cells: list[tuple[JSON, ...]] = []
        for batch in wire.batches(self._decoder):
            for row in batch:
                if row is None:
                    return None
                objects.append(row[0])
                cells.append(row[1])
            await trio.lowlevel.checkpoint()
        return UnstructuredTable(
            objects,
            columns=wire.columns,
            cells=cells,
            namespaced=self._resource.namespaced,
            resource_version=wire.resource_version,
            continue_token=wire.continue_token,
            remaining_item_count=wire.remaining_item_count,
            api_version=self._resource.gvr.api_version,
            kind=f"{self._resource.kind}List",
        )

    async def _of_list(self, page: UnstructuredList) -> UnstructuredTable:
        cells: list[tuple[JSON, ...]] = []
        now = self._now()
        for start in range(0, len(page), _BATCH):
            cells += _plain_cells(page[start : start + _BATCH], now)
            await trio.lowlevel.checkpoint()
        return UnstructuredTable(
            page,
            columns=PLAIN_COLUMNS,
            cells=cells,
            namespaced=self._resource.namespaced,
            server_columns=False,
            resource_version=page.resource_version,
            continue_token=page.continue_token,
            remaining_item_count=page.remaining_item_count,
            api_version=page.api_version,
            kind=page.kind,
        )

    def __str__(self) -> str:
        return str(self._collection)


def _plain_cells(objects: Iterable[Unstructured], now: datetime) -> Iterable[tuple[JSON, ...]]:
    read = partial_reader(_CREATED)
    for obj in objects:
        yield obj.name, age_of(read(obj.json), now)
