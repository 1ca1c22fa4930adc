"""Blocking iterators over objects, events and states.

Each call into trio fetches all items that are ready.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Generic, Self, TypeVar

import trio

from dynkube._portal.call import BlockingCall
from dynkube._portal.held import Start
from dynkube._portal.streams import EventSource, ObjectSource, Source, StateSource, WatchSource
from dynkube._portal.thread import TrioThread
from dynkube.client import Watch as AsyncWatch
from dynkube.errors import DeadlineExceeded, InvalidInput
from dynkube.informers import EventStream as AsyncEventStream
from dynkube.informers import State
from dynkube.meta import InformerEvent, Unstructured, WatchEvent
from dynkube.sync._held import Held

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  # the inner, async object


class Stream(Source[T], Iterator[T]):
    """An iterator that gets its items in batches from the trio thread.

    For use by one thread at a time. An interrupted step loses no item: items that had arrived are returned by the next
    step.
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
        call = BlockingCall(lambda: within(self._take, timeout, "no event"), on_late=self._buffer.extend)
        batch = self._thread.wait(call)
        if not batch:
            raise StopIteration
        self._buffer.extend(batch)


class OpenedStream(Stream[T], Generic[T, I]):
    """A stream of an async object that is entered with this one."""

    _held: Held[I]
    _inner: I | None

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[I]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)

    def __enter__(self) -> Self:
        """Open it; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._inner = self._held.open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """End its requests. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        self._held.close()


class ObjectIterator(ObjectSource, Stream[Unstructured]):
    """The objects of a collection, with one page in memory at a time.

    Created by :meth:`ResourceClient.iterate`.
    """


class Watch(WatchSource, OpenedStream[WatchEvent, AsyncWatch]):
    """The watch events of one collection; created by :meth:`ResourceClient.watch`.

    Enter it (``with``), then iterate.

    ::

        with pods.watch(namespace="shop") as events:
            for event in events:        # Added | Modified | Deleted | Bookmark
                ...

    A watch that ends or fails is resumed automatically. Ctrl-C during a step leaves the iterator usable.
    """

    _held: Held[AsyncWatch]
    _how_to_open = "with resource.watch(...) as events:"


class EventStream(EventSource, Stream[InformerEvent]):
    """An informer's events; created by :meth:`Informer.events`.

    Close it with :meth:`close` or a ``with`` block. Events are coalesced for a slow consumer: of each object only the
    newest state is queued.
    """

    _held: Held[AsyncEventStream]

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


class States(StateSource, Stream[State]):
    """An informer's states, beginning with the current one.

    Created by :meth:`Informer.states`.
    """


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
