"""Async iterators over objects, events and states, for asyncio.

Each step into trio fetches all items that are ready.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from dynkube._portal.held import Start
from dynkube._portal.streams import EventSource, ObjectSource, Source, StateSource, WatchSource
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import AsyncioCall, wait
from dynkube.aio._held import Held
from dynkube.client import Watch as TrioWatch
from dynkube.errors import InvalidInput
from dynkube.informers import EventStream as TrioEventStream
from dynkube.informers import State
from dynkube.meta import InformerEvent, Unstructured, WatchEvent

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  # the inner object, in trio


class Stream(Source[T], AsyncIterator[T]):
    """An async iterator that gets its items in batches from the trio thread.

    For use by one task at a time. A cancelled step loses no item: items that had arrived are returned by the next step.
    """

    def __init__(self, thread: TrioThread) -> None:
        super().__init__(thread)
        self._waited_for = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        __tracebackhide__ = True
        if not self._buffer:
            await self._fetch()
        return self._buffer.popleft()

    async def _fetch(self) -> None:
        __tracebackhide__ = True
        if self._waited_for:
            raise InvalidInput(f"another task waits for the next item of this {type(self).__name__}: use one for each")
        self._waited_for = True
        try:
            # Items that arrive while the step is being cancelled are kept for the next step.
            batch = await wait(self._thread, AsyncioCall(self._take, on_late=self._buffer.extend))
        finally:
            self._waited_for = False
        if not batch:
            raise StopAsyncIteration
        self._buffer.extend(batch)


class OpenedStream(Stream[T], Generic[T, I]):
    """A stream of an object in trio that is entered with this one."""

    _held: Held[I]
    _inner: I | None
    _how_to_open: ClassVar[str]

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[I]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)

    async def __aenter__(self) -> Self:
        """Open it; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        used = f"this {type(self).__name__} was entered before: open another one with {self._how_to_open!r}"
        self._inner = await self._held.open(used)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()

    async def aclose(self) -> None:
        """End its requests. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        await self._held.close()


class ObjectIterator(ObjectSource, Stream[Unstructured]):
    """The objects of a collection, with one page in memory at a time: ``async for obj in resource.iterate()``.

    Created by :meth:`ResourceClient.iterate`. Leaving the loop early needs no cleanup.
    """


class Watch(WatchSource, OpenedStream[WatchEvent, TrioWatch]):
    """The watch events of one collection; created by :meth:`ResourceClient.watch`.

    ::

        async with pods.watch(namespace="shop") as events:
            async for event in events:        # Added | Modified | Deleted | Bookmark
                ...

    A watch that ends or fails is resumed automatically. A step that is cancelled, by ``asyncio.timeout`` for example,
    leaves the iterator usable.
    """

    _held: Held[TrioWatch]
    _how_to_open = "async with resource.watch(...) as events:"


class EventStream(EventSource, Stream[InformerEvent]):
    """An informer's events; created by :meth:`Informer.events`, and opened by ``async with``.

    Events are coalesced for a slow consumer: of each object only the newest state is queued. A step that is cancelled
    loses no event.
    """

    _held: Held[TrioEventStream]

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[TrioEventStream]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)

    async def __aenter__(self) -> Self:
        """Open the stream.

        Raises:
            ClosedError: the informer was not entered, or is closed.
        """
        __tracebackhide__ = True
        self._inner = await self._held.open("this stream was entered before: call events() again for another one")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._buffer.clear()
        await self._held.close()

    def close(self) -> None:
        """End the iteration, and drop all pending events. Does not block."""
        self._buffer.clear()
        if self._inner is not None:
            self._thread.post(self._inner.close)


class States(StateSource, Stream[State]):
    """An informer's states, beginning with the current one.

    Created by :meth:`Informer.states`. Leaving the loop early needs no cleanup.
    """

    async def aclose(self) -> None:
        """Do nothing, as there is nothing to close; for ``contextlib.aclosing``, as the states in trio need it."""
        self._buffer.clear()
