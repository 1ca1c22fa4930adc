"""What is iterated over: objects, events, states. One step into trio fetches all that is there."""

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
    """Items that come in batches from the trio thread; for one thread at a time.

    A step that is interrupted loses nothing: what had come by then is the next step's. One that nobody holds any more
    is closed at once: nothing in it refers to itself, and nothing in the trio thread to it.
    """

    def __init__(self, thread: TrioThread) -> None:
        self._thread = thread
        self._buffer: deque[T] = deque()

    @abstractmethod
    async def _take(self) -> list[T]:
        """What is there, waiting for the first of it; nothing at the end."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        __tracebackhide__ = True
        return self._next(None)

    def next(self, timeout: float) -> T:
        """The next item, if it comes within ``timeout`` seconds.

        Raises:
            DeadlineExceeded: it did not; the next call goes on waiting for it.
            StopIteration: there are no more.
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
        # What comes although the step was interrupted, or a moment after it was, is the next step's.
        call = Call(lambda: within(self._take, timeout, "nothing came"), on_late=self._buffer.extend)
        batch = self._thread.wait(call)
        if not batch:
            raise StopIteration
        self._buffer.extend(batch)


class ObjectIterator(Stream[Unstructured]):
    """The objects of a collection, a page in memory at a time; made by :meth:`ResourceClient.iterate`."""

    def __init__(self, thread: TrioThread, inner: AsyncObjectIterator) -> None:
        super().__init__(thread)
        self._inner = inner

    async def _take(self) -> list[Unstructured]:
        return await self._inner.take()

    @property
    def resource_version(self) -> str:
        """The moment in history that the pages show; ``""`` before the first page."""
        return self._inner.resource_version

    @property
    def consistent(self) -> bool:
        """``False`` once pages of another moment followed, which only ``allow_inconsistent`` permits."""
        return self._inner.consistent


class Watch(Stream[WatchEvent]):
    """The events of one collection; made by :meth:`ResourceClient.watch`. Enter it (``with``), then iterate.

    ::

        with pods.watch(namespace="shop") as events:
            for event in events:        # Added | Modified | Deleted | Bookmark
                ...

    It resumes by itself. Ctrl-C during a step leaves it usable.
    """

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[AsyncWatch]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)
        self._inner: AsyncWatch | None = None

    def __enter__(self) -> Self:
        """Make the first contact; raises whatever prevents that, the network included."""
        __tracebackhide__ = True
        self._inner = self._held.open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """End its request. Safe to call twice."""
        __tracebackhide__ = True
        self._buffer.clear()
        self._held.close()

    @property
    def restarts(self) -> int:
        """How often another watch request was needed after the first."""
        return self._inner.restarts if self._inner is not None else 0

    @property
    def pending(self) -> int:
        """How many events were received and not handed out yet."""
        return len(self._buffer) + (self._inner.pending if self._inner is not None else 0)

    @property
    def last_error(self) -> Exception | None:
        """What went wrong last; ``None`` again once events come."""
        return self._inner.last_error if self._inner is not None else None

    async def _take(self) -> list[WatchEvent]:
        if self._inner is None:
            raise ClosedError("the watch is not open: use it inside 'with resource.watch(...) as events:'")
        return await self._inner.take()


class EventStream(Stream[InformerEvent]):
    """An informer's events, to iterate over in a ``with`` block or until :meth:`close`. Informer.events makes it.

    A consumer that is slow gets fewer, larger steps: for each key only the newest state waits.
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
        """Get no more events; an iteration ends. Safe to call twice."""
        __tracebackhide__ = True
        self._buffer.clear()
        self._held.close()

    @property
    def backlog(self) -> int:
        """How many objects wait to be shown."""
        return len(self._buffer) + self._inner.backlog

    @property
    def has_synced(self) -> bool:
        """Whether the initial objects have been handed out. Once true, stays true."""
        return self._inner.has_synced

    async def _take(self) -> list[InformerEvent]:
        return list(await self._inner.take() or ())


class States(Stream[State]):
    """An informer's states, the one of now first; made by :meth:`Informer.states`."""

    def __init__(self, thread: TrioThread, informer: AsyncInformer) -> None:
        super().__init__(thread)
        self._informer = informer
        self._shown: State | None = None

    async def _take(self) -> list[State]:
        # Another generator for each step: one whose step was interrupted has ended.
        async with aclosing(self._informer.states()) as states:
            async for state in states:
                if state != self._shown:
                    self._shown = state
                    return [state]
        return []


def _check(timeout: object) -> None:
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout >= 0:
        raise InvalidInput(f"timeout must be a number of seconds, 0 or more, not {timeout!r}")


async def within(
    function: Callable[[], Awaitable[T]], timeout: float | None, what: str, why: Callable[[], str] = str
) -> T:
    """What an async function returns, if it does within ``timeout`` seconds; ``None`` waits for ever.

    Raises:
        DeadlineExceeded: it did not; ``what`` says what was missed, and ``why()``, asked then, what was in the way.
    """
    if timeout is None:
        return await function()
    _check(timeout)
    with trio.move_on_after(timeout):
        return await function()
    raise DeadlineExceeded(f"{what} within {timeout:g} s{why()}")
