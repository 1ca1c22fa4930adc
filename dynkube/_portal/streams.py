"""Sources of objects, events and states: each step into trio fetches all items that are ready.

How steps are waited for is up to ``dynkube.sync`` and ``dynkube.aio``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from contextlib import aclosing
from typing import ClassVar, Generic, TypeVar

from dynkube import client, informers
from dynkube._bound import Bound
from dynkube._portal.held import Held
from dynkube._portal.thread import TrioThread
from dynkube.errors import ClosedError
from dynkube.informers import State
from dynkube.meta import InformerEvent, Unstructured, WatchEvent

T = TypeVar("T")


class Source(Bound, Generic[T]):
    """Gets items in batches from the trio thread.

    There are no reference cycles, and no references from the trio thread, so a stream without references is closed at
    once.
    """

    def __init__(self, thread: TrioThread) -> None:
        self._thread = thread
        self._buffer: deque[T] = deque()

    @abstractmethod
    async def _take(self) -> list[T]:
        """Return the items that are ready, after waiting for the first.

        An empty list at the end. If it is cancelled, no item is lost.
        """


class ObjectSource(Source[Unstructured]):
    """The objects of a collection, with one page in memory at a time."""

    def __init__(self, thread: TrioThread, inner: client.ObjectIterator, owner: object = None) -> None:
        super().__init__(thread)
        self._inner = inner
        self._owner = owner  # the client, which is closed once nothing refers to it

    async def _take(self) -> list[Unstructured]:
        return await self._inner.take()

    @property
    def resource_version(self) -> str:
        """The resourceVersion of the pages; ``""`` before the first page."""
        return self._inner.resource_version

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same resourceVersion.

        They differ only with ``allow_inconsistent``.
        """
        return self._inner.consistent


class WatchSource(Source[WatchEvent]):
    """The watch events of one collection."""

    _held: Held[client.Watch]
    _inner: client.Watch | None = None
    _how_to_open: ClassVar[str]

    @property
    def restarts(self) -> int:
        """The number of watch requests after the first."""
        return self._inner.restarts if self._inner is not None else 0

    @property
    def pending(self) -> int:
        """The number of events received and not returned yet."""
        return len(self._buffer) + (self._inner.pending if self._inner is not None else 0)

    @property
    def last_error(self) -> Exception | None:
        """The last error; ``None`` again once events arrive."""
        return self._inner.last_error if self._inner is not None else None

    async def _take(self) -> list[WatchEvent]:
        if self._inner is None:
            raise ClosedError(f"the watch is not open: use it inside {self._how_to_open!r}")
        return await self._held.use(self._inner.take)


class EventSource(Source[InformerEvent]):
    """An informer's events, coalesced for a slow consumer: of each object only the newest state is queued."""

    _held: Held[informers.EventStream]
    _inner: informers.EventStream | None = None

    @property
    def backlog(self) -> int:
        """The number of objects with a queued event."""
        return len(self._buffer) + (self._inner.backlog if self._inner is not None else 0)

    @property
    def has_synced(self) -> bool:
        """Whether the events of the initial objects have been returned.

        Stays true once true.
        """
        return self._inner is not None and self._inner.has_synced

    async def _take(self) -> list[InformerEvent]:
        if self._inner is None:
            raise ClosedError("the event stream is not open: use it inside 'async with informer.events() as events:'")
        async for event in self._inner:
            return [event]
        return []


class StateSource(Source[State]):
    """An informer's states, beginning with the current one."""

    def __init__(self, thread: TrioThread, informer: informers.Informer) -> None:
        super().__init__(thread)
        self._informer = informer
        self._shown: State | None = None

    async def _take(self) -> list[State]:
        # A new generator for each step: cancelling a step ends the generator.
        async with aclosing(self._informer.states()) as states:
            async for state in states:
                if state != self._shown:
                    self._shown = state
                    return [state]
        return []
