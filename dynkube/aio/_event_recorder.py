"""Events about objects, for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from dynkube import controllers as in_trio
from dynkube._portal.facade import Facade, in_loop
from dynkube.aio._client import Client
from dynkube.aio._delegation import for_asyncio
from dynkube.aio._held import Held


class EventRecorder(Facade[in_trio.EventRecorder]):
    """Records what happens to objects as Events (``events.k8s.io/v1``), which ``kubectl describe`` shows.

    Form of :class:`dynkube.controllers.EventRecorder` for asyncio, with the same limits::

        async with EventRecorder(client, controller="example.com/backup", instance="backup-0") as events:
            events.event(volume, "BackedUp", "to s3://backups", type="Normal")

    Events are sent in the background while it is entered. In a reconcile, use :meth:`Context.event`.

    Args:
        client: an open client of :func:`dynkube.aio.connect`. Closing it closes the recorder.
        controller: ``reportingController``, a qualified name.
        instance: ``reportingInstance``, for example the name of the pod.
        burst: new Events about an object without a delay.
        refill_seconds: seconds until another one may follow.
        queue_size: how many Events may wait to be written; beyond that, new events are dropped.
        flush_timeout: seconds that the end of the block may take to write what waits.

    Raises:
        InvalidInput: an argument is invalid; the message names it and the fix.
        ClosedError: the client is closed.
    """

    __slots__ = ("_held",)

    def __init__(
        self,
        client: Client,
        *,
        controller: str,
        instance: str,
        burst: int = 25,
        refill_seconds: float = 300.0,
        queue_size: int = 1000,
        flush_timeout: float = 2.0,
    ) -> None:
        inner = in_trio.EventRecorder(
            client._open,
            controller=controller,
            instance=instance,
            burst=burst,
            refill_seconds=refill_seconds,
            queue_size=queue_size,
            flush_timeout=flush_timeout,
        )
        super().__init__(inner, client._thread)
        self._held: Held[in_trio.EventRecorder] = Held(client._thread, inner, owner=client._start)

    async def __aenter__(self) -> Self:
        __tracebackhide__ = True
        await self._held.open("this event recorder was entered before; create another one")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self._held.close()

    @in_loop(in_trio.EventRecorder.event, for_asyncio)
    def event(self) -> None: ...

    @in_loop(in_trio.EventRecorder.statistics, for_asyncio)
    def statistics(self) -> None: ...
