"""Blocking iterators over objects, events and states.

Each call into trio fetches all items that are ready.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from types import TracebackType
from typing import Generic, Self, TypeVar

import trio

from dynkube._bound import Bound
from dynkube.client import ObjectIterator as AsyncObjectIterator
from dynkube.client import Watch as AsyncWatch
from dynkube.errors import ClosedError, DeadlineExceeded, InvalidInput
from dynkube.informers import EventStream as AsyncEventStream
from dynkube.informers import Informer as AsyncInformer
from dynkube.informers import State
from dynkube.meta import InformerEvent, Unstructured, WatchEvent
from dynkube.sync._call import Call
from dynkube.sync._held import Held, Start
from dynkube.sync._thread import TrioThread

T = TypeVar("T")


class Stream(Bound, Iterator[T], Generic[T]):
    """An iterator that gets its items in batches from the trio thread.

    For use by one thread at a time. An interrupted step loses no item: items that had arrived are returned by the next
    step. There are no reference cycles, and no references from the trio thread, so a stream without references is
    closed at once.
    """

    def __init__(self, thread: TrioThread) -> None:
        self._thread = thread
        self._buffer: deque[T] = deque()

    @abstractmethod
    async def _take(self) -> list[T]:
        """Return the items that are ready, after waiting for the first.

        An empty list at the end.
        """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        __tracebackhide__ = True
        return self._next(None)

    def next(self, timeout: float) -> T:
        """Return the next item, waiting for at most ``timeout`` seconds.

        Raises:
            DeadlineExceeded: no item within ``timeout``; nothing is lost, and the method may be called again.
            StopIteration: there are no more items.
        """
        __tracebackhide__ = True
        _check(timeout)
        return self._next(timeout)

    def _next(self, timeout: float | None) -> T:
        __tracebackhide__ = True
        if not self._buffer:
            self._fetch(timeout)
        return self._buffer.popleft()

    def _fetch(self, timeout: float | None) -> None:
        __tracebackhide__ = True
        # Items that arrive while the step is being interrupted are kept for the next step.
        call = Call(lambda: within(self._take, timeout, "no event"), on_late=self._buffer.extend)
        batch = self._thread.wait(call)
        if not batch:
            raise StopIteration
        self._buffer.extend(batch)


class ObjectIterator(Stream[Unstructured]):
    """The objects of a collection, with one page in memory at a time.

    Created by :meth:`ResourceClient.iterate`.
    """

    def __init__(self, thread: TrioThread, inner: AsyncObjectIterator) -> None:
        super().__init__(thread)
        self._inner = inner

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


class Watch(Stream[WatchEvent]):
    """The watch events of one collection; created by :meth:`ResourceClient.watch`.

    Enter it (``with``), then iterate.

    ::

        with pods.watch(namespace="shop") as events:
            for event in events:        # Added | Modified | Deleted | Bookmark
                ...

    A watch that ends or fails is resumed automatically. Ctrl-C during a step leaves the iterator usable.
    """

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[AsyncWatch]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)
        self._inner: AsyncWatch | None = None

    def __enter__(self) -> Self:
        """Open the watch; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._inner = self._held.open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """End the watch request. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        self._held.close()

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
            raise ClosedError("the watch is not open: use it inside 'with resource.watch(...) as events:'")
        return await self._inner.take()


class EventStream(Stream[InformerEvent]):
    """An informer's events; created by :meth:`Informer.events`.

    Close it with :meth:`close` or a ``with`` block. Events are coalesced for a slow consumer: of each object only the
    newest state is queued.
    """

    def __init__(
        self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[AsyncEventStream]
    ) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        self._inner = self._held.open()
        weakref.finalize(self, thread.cancel, self._held.scope)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """Stop receiving events; an iteration ends. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        self._held.close()

    @property
    def backlog(self) -> int:
        """The number of objects with a queued event."""
        return len(self._buffer) + self._inner.backlog

    @property
    def has_synced(self) -> bool:
        """Whether the events of the initial objects have been returned.

        Stays true once true.
        """
        return self._inner.has_synced

    async def _take(self) -> list[InformerEvent]:
        async for event in self._inner:
            return [event]
        return []


class States(Stream[State]):
    """An informer's states, beginning with the current one.

    Created by :meth:`Informer.states`.
    """

    def __init__(self, thread: TrioThread, informer: AsyncInformer) -> None:
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


def _check(timeout: object) -> None:
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout >= 0:
        raise InvalidInput(f"timeout must be a number of seconds >= 0, not {timeout!r}")


async def within(
    function: Callable[[], Awaitable[T]], timeout: float | None, what: str, why: Callable[[], str] = str
) -> T:
    """Return the result of an async function, waiting for at most ``timeout`` seconds.

    ``None`` waits for ever.

    Args:
        function: the function.
        timeout: seconds, or ``None``.
        what: the begin of the error message, which says what did not happen in time.
        why: returns the end of the error message; called when the timeout expires.

    Raises:
        InvalidInput: ``timeout`` is not a number >= 0.
        DeadlineExceeded: the function did not return in time.
    """
    if timeout is None:
        return await function()
    _check(timeout)
    with trio.move_on_after(timeout):
        return await function()
    raise DeadlineExceeded(f"{what} within {timeout:g} s{why()}")
