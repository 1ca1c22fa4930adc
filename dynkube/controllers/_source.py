"""``Source``: keys to reconcile that come from outside of the cluster, from a stream or from any thread."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from dynkube._guard import name_of, repr_of
from dynkube.controllers._results import check_priority
from dynkube.controllers._watches import KeyLike, ObjectKey
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta._arguments import a_type


@dataclass(frozen=True, slots=True)
class SourceKey:
    """A key from a :class:`Source`, with when it is reconciled, and in which cluster.

    Attributes:
        key: a key, or an object that stands for its key.
        after: seconds to wait.
        priority: keys with a higher one are reconciled first; ``None`` for that of the source.
        cluster: the name of the cluster, if the controller runs on several; otherwise ``""``.

    Raises:
        InvalidInput: an argument is invalid.
    """

    key: KeyLike
    after: float = 0.0
    priority: int | None = None
    cluster: str = ""

    def __post_init__(self) -> None:
        ObjectKey.of(self.key)
        given: object = self.after
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
            raise InvalidInput(f"after={given!r}: pass 0 or more seconds")
        if self.priority is not None:
            check_priority(self.priority)
        if not isinstance(self.cluster, str):
            raise InvalidInput(f"cluster is {a_type(self.cluster)}: pass the name of a cluster")


Stream: TypeAlias = (
    Callable[[], AsyncIterable[KeyLike | SourceKey]]
    | Callable[[], AbstractAsyncContextManager[AsyncIterable[KeyLike | SourceKey]]]
    | Callable[[], Iterator[KeyLike | SourceKey]]
    | Callable[[threading.Event], Iterator[KeyLike | SourceKey]]
)
"""Opens a stream of keys: an async iterator, the async context manager of one, or a blocking generator."""


class Feed(Protocol):
    """Takes keys for one running controller; on any thread."""

    def put(self, given: SourceKey, priority: int) -> bool:
        """Have a key reconciled; return ``False`` if the controller takes none now.

        Args:
            given: the key.
            priority: used unless the key has one.

        Raises:
            InvalidInput: the controller does not run on such a cluster.
        """
        ...


class Source:
    """Keys to reconcile that come from outside of the cluster: a queue, a webhook, a timer, another API.

    controller-runtime's ``source.Channel``, and kube-rs's ``reconcile_on``. Pass it to ``Controller(sources=[...])``.
    Keys come from a stream, from :meth:`add`, or from both::

        async def orders():                       # opened when the controller begins to reconcile
            async with connect_to_queue() as messages:
                async for message in messages:
                    yield message.namespace, message.name

        queued, pushed = Source(orders), Source()
        shops = Controller("shops.example.com", reconcile, sources=[queued, pushed])
        pushed.add(("default", "books"))          # on any thread

    A key is treated as if its object had changed: it is in the queue at most once, waits for ``debounce``, and no call
    starts before the informers are synced. With sharding, keys of other shards are ignored. A key whose object is not
    in the cache is reconciled as one that does not exist: ``ctx.get()`` returns ``None``.

    The **stream** is a function without arguments. It is called when the controller begins to reconcile, as the leader
    if there is an election, and what it has opened is closed when the controller is stopped. If it raises or ends, it
    is called again after a second, twice that each further time, up to a minute; the delay is reset once a stream was
    open for a minute. That is logged, and ``status().sources`` has it; the controller continues. The function returns

    - an async iterator, as an async generator function does: iterated in the event loop, in that of asyncio with
      ``dynkube.aio``;
    - the async context manager of one, such as a function with ``contextlib.asynccontextmanager``;
    - a generator, if it is a plain generator function: iterated in a thread. It may have one argument, a
      ``threading.Event`` that is set when the controller is stopped. One that looks at it at least every few seconds
      ends in time; another one is left behind, and closed when it yields next.

    A source may be passed to several controllers: each opens a stream of its own, and gets the keys of :meth:`add`.

    Args:
        stream: opens the stream; ``None`` if keys come from :meth:`add` only.
        name: for the status and the log; by default the name of the function.
        priority: of the keys in the queue, as ``Watch(priority=)``.

    Attributes:
        name: the name.
        priority: the priority.

    Raises:
        InvalidInput: an argument is invalid.
    """

    def __init__(self, stream: Stream | None = None, *, name: str | None = None, priority: int = 0) -> None:
        check_priority(priority)
        given: object = name  # callers are not always type-checked
        if given is not None and (not isinstance(given, str) or not given):
            raise InvalidInput(f"name={given!r}: pass a string that is not empty, or None")
        self._in_thread = stream is not None and _is_generator(stream)
        self._stream: Callable[..., Any] | None = None if stream is None else _checked(stream, self._in_thread)
        self.name: str = name or name_of(stream).rpartition(".")[2] or "source"
        self.priority: int = priority
        self._lock = threading.Lock()
        self._feeds: list[Feed] = []

    def add(self, key: KeyLike, *, after: float = 0.0, priority: int | None = None, cluster: str = "") -> bool:
        """Have a key reconciled. Does not block; on any thread.

        A key that waits already waits once, with the higher priority and the earlier time.

        Args:
            key: a key, or an object that stands for its key.
            after: seconds to wait.
            priority: keys with a higher one are reconciled first; ``None`` for that of the source.
            cluster: the name of the cluster, if the controller runs on several.

        Returns:
            Whether a controller of this process takes the key. ``False`` if none reconciles, as on standby: nothing is
            kept, and the leader reconciles all objects when it begins. A webhook can then respond with an error, so
            that its caller tries another process.

        Raises:
            InvalidInput: an argument is invalid, or a controller does not run on this cluster.
            ClosedError: no controller with this source is running, so the key would be dropped without notice.
        """
        given = SourceKey(key, after, priority, cluster)
        with self._lock:
            feeds = tuple(self._feeds)
        if not feeds:
            raise ClosedError(
                f"no controller with the source {self.name} is running, so {ObjectKey.of(key)} would not be "
                "reconciled: pass the source in Controller(sources=[...]), and add keys while run() runs"
            )
        taken = [feed.put(given, self.priority) for feed in feeds]
        return any(taken)

    @contextmanager
    def _feeding(self, feed: Feed) -> Iterator[None]:
        """Have :meth:`add` give keys to a controller during the block."""
        with self._lock:
            self._feeds.append(feed)
        try:
            yield
        finally:
            with self._lock:
                self._feeds.remove(feed)

    async def _iterate(self, take: Callable[[object], None], pause: Callable[[], Awaitable[object]]) -> None:
        """Open the stream in the event loop, and take its keys until it ends.

        Args:
            take: called with each key.
            pause: awaited after each, so that a stream that never waits does not hold the event loop.
        """
        assert self._stream is not None
        opened = self._stream()
        if isinstance(opened, AbstractAsyncContextManager):
            async with opened as stream:
                await _take_all(stream, take, pause)
        else:
            await _take_all(opened, take, pause)

    def _iterate_in_thread(self, take: Callable[[object], None], stopped: threading.Event) -> None:
        """Open the stream in this thread, and take its keys until it ends, or until the first one after ``stopped``."""
        assert self._stream is not None
        arguments = (stopped,) if _takes(self._stream, stopped) else ()
        with closing(self._stream(*arguments)) as stream:
            for each in stream:
                if stopped.is_set():
                    return
                take(each)

    def __repr__(self) -> str:
        return f"<Source {self.name}>"


async def _take_all(stream: object, take: Callable[[object], None], pause: Callable[[], Awaitable[object]]) -> None:
    if not isinstance(stream, AsyncIterable):
        raise InvalidInput(
            f"the stream is {a_type(stream)}: return an async iterator or the async context manager of one, or make "
            "the function a plain generator, which is iterated in a thread"
        )
    async with AsyncExitStack() as stack:
        if inspect.isasyncgen(stream):  # else its finally blocks would run when it is collected, in another task
            await stack.enter_async_context(aclosing(stream))
        async for each in stream:
            take(each)
            await pause()


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def _checked(stream: object, in_thread: bool) -> Callable[..., Any]:
    if not callable(stream):
        raise InvalidInput(f"stream is {a_type(stream)}: pass the function that opens it, not what it returns")
    if inspect.iscoroutinefunction(stream):
        raise InvalidInput(
            f"stream {repr_of(stream)} is an async function without yield: yield the keys, or make it a plain function "
            "that returns an async iterator"
        )
    if not _takes(stream) and not (in_thread and _takes(stream, None)):
        raise InvalidInput(
            f"stream {repr_of(stream)} requires arguments: pass a function without any; a generator that runs in a "
            "thread may have one, a threading.Event"
        )
    return stream


def _takes(function: Callable[..., object], *arguments: object) -> bool:
    """Return whether a function can be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # a function without a signature, written in C
        return not arguments
    return True


def _is_generator(function: object) -> bool:
    while isinstance(function, partial):
        function = function.func
    return inspect.isgeneratorfunction(function)
