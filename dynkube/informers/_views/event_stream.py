"""Event streams: an informer's events as async iterators, without a task of their own."""

from __future__ import annotations

import trio

from dynkube._bound import Bound
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import InformerEvent


class EventQueue(Subscriber):
    """The pending events of one :class:`EventStream`."""

    counts_for_sync = False  # the stream may never be iterated

    def close(self) -> None:
        """Drop pending events, deliver no more, and release all objects."""
        super().close()
        for _ in self._delivered:  # there is no task that could do it in steps
            pass


class EventStream(Bound):
    """An informer's events as an async iterator; created by :meth:`Informer.events`.

    For a slow consumer changes are coalesced: for each object only the newest state is pending. The informer's
    ``has_synced`` does not wait for streams, as a stream may never be iterated. Each step is a checkpoint; if it is
    cancelled while it waits, no event is lost.
    """

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._ready: list[InformerEvent] = []

    @property
    def backlog(self) -> int:
        """The number of objects with a pending event."""
        return self._queue.backlog

    @property
    def has_synced(self) -> bool:
        """Whether all events of the initial objects were returned; stays true then."""
        return self._queue.has_synced

    def close(self) -> None:
        """End the iteration, and drop all pending events."""
        self._ready.clear()
        self._queue.close()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> InformerEvent:
        await trio.lowlevel.checkpoint()
        if not self._ready:
            self._ready.extend(await self._queue.take() or ())
        if self._queue.closed or not self._ready:
            raise StopAsyncIteration
        return self._ready.pop(0)


def queue_of(stream: EventStream) -> EventQueue:
    """Return the queue of a stream, to take events without a checkpoint for each."""
    return stream._queue
