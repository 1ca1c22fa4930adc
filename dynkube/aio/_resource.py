"""The verbs on a resource, for asyncio."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime

from dynkube import client as in_trio
from dynkube._display import Card, card_of
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube._portal.facade import Facade, wrapping
from dynkube._portal.held import Start
from dynkube._portal.thread import TrioThread
from dynkube.aio._delegation import awaiting, for_asyncio
from dynkube.aio._streams import ObjectIterator, Watch


class SubresourceClient(Facade[in_trio.SubresourceClient]):
    """The verbs on one subresource, such as ``scale``.

    Form of :class:`dynkube.client.SubresourceClient` for asyncio.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the subresource."""
        return self._inner.name

    @awaiting(in_trio.SubresourceClient.get)
    def get(self) -> None: ...

    @awaiting(in_trio.SubresourceClient.create)
    def create(self) -> None: ...

    @awaiting(in_trio.SubresourceClient.update)
    def update(self) -> None: ...

    @awaiting(in_trio.SubresourceClient.patch)
    def patch(self) -> None: ...

    @awaiting(in_trio.SubresourceClient.apply)
    def apply(self) -> None: ...


class ResourceClient(Facade[in_trio.ResourceClient], Displayable):
    """The verbs on one resource; created by :meth:`Client.resource`.

    Form of :class:`dynkube.ResourceClient` for asyncio. If the task that awaits a verb is cancelled, so is the request;
    the server may still have carried it out.
    """

    __slots__ = ("_start",)

    def __init__(self, inner: in_trio.ResourceClient, thread: TrioThread, start: Start) -> None:
        super().__init__(inner, thread)
        self._start = start

    @awaiting(in_trio.ResourceClient.get)
    def get(self) -> None: ...

    @awaiting(in_trio.ResourceClient.list)
    def list(self) -> None: ...

    @awaiting(in_trio.ResourceClient.table)
    def table(self) -> None: ...

    @awaiting(in_trio.ResourceClient.create)
    def create(self) -> None: ...

    @awaiting(in_trio.ResourceClient.update)
    def update(self) -> None: ...

    @awaiting(in_trio.ResourceClient.update_status)
    def update_status(self) -> None: ...

    @awaiting(in_trio.ResourceClient.patch)
    def patch(self) -> None: ...

    @awaiting(in_trio.ResourceClient.scale)
    def scale(self) -> None: ...

    @awaiting(in_trio.ResourceClient.label)
    def label(self) -> None: ...

    @awaiting(in_trio.ResourceClient.annotate)
    def annotate(self) -> None: ...

    @awaiting(in_trio.ResourceClient.delete)
    def delete(self) -> None: ...

    @awaiting(in_trio.ResourceClient.delete_collection)
    def delete_collection(self) -> None: ...

    @awaiting(in_trio.ResourceClient.apply)
    def apply(self) -> None: ...

    @awaiting(in_trio.ResourceClient.diff)
    def diff(self) -> None: ...

    @awaiting(in_trio.ResourceClient.diff_applied)
    def diff_applied(self) -> None: ...

    @awaiting(in_trio.ResourceClient.release_fields)
    def release_fields(self) -> None: ...

    @awaiting(in_trio.ResourceClient.transfer_fields)
    def transfer_fields(self) -> None: ...

    @awaiting(in_trio.ResourceClient.upgrade_managed_fields)
    def upgrade_managed_fields(self) -> None: ...

    @awaiting(in_trio.ResourceClient.wait_for)
    def wait_for(self) -> None: ...

    @awaiting(in_trio.ResourceClient.resolve)
    def resolve(self) -> None: ...

    @awaiting(in_trio.ResourceClient.availability)
    def availability(self) -> None: ...

    @wrapping(in_trio.ResourceClient.iterate, for_asyncio)
    def iterate(self, inner: in_trio.ObjectIterator) -> ObjectIterator:
        return ObjectIterator(self._thread, inner)

    @wrapping(in_trio.ResourceClient.watch, for_asyncio)
    def watch(self, inner: AbstractAsyncContextManager[in_trio.Watch]) -> Watch:
        return Watch(self._thread, self._start, inner)

    @wrapping(in_trio.ResourceClient.subresource, for_asyncio)
    def subresource(self, inner: in_trio.SubresourceClient) -> SubresourceClient:
        return SubresourceClient(inner, self._thread)


@render.register(ResourceClient)
def resource_client_card(client: ResourceClient, now: datetime) -> Card:
    """Return the card of the resource client in trio."""
    return card_of(client._inner, now)
