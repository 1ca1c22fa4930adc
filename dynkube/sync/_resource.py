"""The verbs on a resource, blocking."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from dynkube import client as aio
from dynkube import meta
from dynkube._display import Card, card_of
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube._portal.facade import Facade, wrapping
from dynkube._portal.thread import TrioThread
from dynkube.sync._delegation import blocking, then
from dynkube.sync._lists import Follow, Origin, UnstructuredList, UnstructuredTable
from dynkube.sync._streams import ObjectIterator, Watch


class SubresourceClient(Facade[aio.SubresourceClient]):
    """The verbs on one subresource, such as ``scale``.

    Blocking form of :class:`dynkube.client.SubresourceClient`.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the subresource."""
        return self._inner.name

    @blocking(aio.SubresourceClient.get)
    def get(self) -> None: ...

    @blocking(aio.SubresourceClient.create)
    def create(self) -> None: ...

    @blocking(aio.SubresourceClient.update)
    def update(self) -> None: ...

    @blocking(aio.SubresourceClient.patch)
    def patch(self) -> None: ...

    @blocking(aio.SubresourceClient.apply)
    def apply(self) -> None: ...


class ResourceClient(Facade[aio.ResourceClient], Displayable):
    """The verbs on one resource; created by :meth:`Client.resource`.

    Blocking form of :class:`dynkube.ResourceClient`. Each call blocks until the server has answered. An interrupted
    call is cancelled; the server may still have carried it out.
    """

    __slots__ = ("_origin",)

    def __init__(self, inner: aio.ResourceClient, thread: TrioThread, origin: Origin) -> None:
        super().__init__(inner, thread)
        self._origin = origin

    @blocking(aio.ResourceClient.get)
    def get(self) -> None: ...

    @then(aio.ResourceClient.list)
    def list(self, found: meta.UnstructuredList, given: Mapping[str, Any]) -> UnstructuredList:
        return UnstructuredList.of(found, self._follow(given))

    @then(aio.ResourceClient.table)
    def table(self, found: meta.UnstructuredTable, given: Mapping[str, Any]) -> UnstructuredTable:
        return UnstructuredTable.of(found, self._follow(given))

    @blocking(aio.ResourceClient.create)
    def create(self) -> None: ...

    @blocking(aio.ResourceClient.update)
    def update(self) -> None: ...

    @blocking(aio.ResourceClient.update_status)
    def update_status(self) -> None: ...

    @blocking(aio.ResourceClient.patch)
    def patch(self) -> None: ...

    @blocking(aio.ResourceClient.scale)
    def scale(self) -> None: ...

    @blocking(aio.ResourceClient.label)
    def label(self) -> None: ...

    @blocking(aio.ResourceClient.annotate)
    def annotate(self) -> None: ...

    @blocking(aio.ResourceClient.delete)
    def delete(self) -> None: ...

    @blocking(aio.ResourceClient.delete_collection)
    def delete_collection(self) -> None: ...

    @blocking(aio.ResourceClient.apply)
    def apply(self) -> None: ...

    @blocking(aio.ResourceClient.diff)
    def diff(self) -> None: ...

    @blocking(aio.ResourceClient.diff_applied)
    def diff_applied(self) -> None: ...

    @blocking(aio.ResourceClient.release_fields)
    def release_fields(self) -> None: ...

    @blocking(aio.ResourceClient.transfer_fields)
    def transfer_fields(self) -> None: ...

    @blocking(aio.ResourceClient.upgrade_managed_fields)
    def upgrade_managed_fields(self) -> None: ...

    @blocking(aio.ResourceClient.wait_for)
    def wait_for(self) -> None: ...

    @blocking(aio.ResourceClient.resolve)
    def resolve(self) -> None: ...

    @blocking(aio.ResourceClient.availability)
    def availability(self) -> None: ...

    @wrapping(aio.ResourceClient.iterate)
    def iterate(self, inner: aio.ObjectIterator) -> ObjectIterator:
        return ObjectIterator(self._thread, inner, self._origin)

    @wrapping(aio.ResourceClient.watch)
    def watch(self, inner: AbstractAsyncContextManager[aio.Watch]) -> Watch:
        return Watch(self._thread, self._origin.start, inner)

    @wrapping(aio.ResourceClient.subresource)
    def subresource(self, inner: aio.SubresourceClient) -> SubresourceClient:
        return SubresourceClient(inner, self._thread, self._origin)

    def _follow(self, given: Mapping[str, Any]) -> Follow | None:
        """Return a factory of live tables with the selection of a list."""
        return Follow(self._inner, given, self._origin)


@render.register(ResourceClient)
def resource_client_card(client: ResourceClient, now: datetime) -> Card:
    """Return the card of the async resource client."""
    return card_of(client._inner, now)
