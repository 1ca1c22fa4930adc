"""Logs of pods, for asyncio."""

from __future__ import annotations

import weakref
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from dynkube import pods
from dynkube._portal.facade import wrapping
from dynkube._portal.held import Start
from dynkube._portal.logs import LogSource, MergedLogSource
from dynkube._portal.pods import PodFacade
from dynkube._portal.thread import TrioThread
from dynkube.aio._delegation import awaiting, for_asyncio
from dynkube.aio._held import Held
from dynkube.aio._streams import Stream


class LogStream(LogSource, Stream[pods.LogLine]):
    """The log of one container; created by :meth:`Pod.logs`.

    ::

        async with pod.logs(follow=True) as lines:
            async for line in lines:
                print(line)

    Lost connections and restarts of the container lose no line. A step that is cancelled, by ``asyncio.timeout`` for
    example, leaves the iterator usable.
    """

    _held: Held[pods.LogStream]
    _how_to_open = "async with pod.logs(...) as lines:"

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[pods.LogStream]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)

    async def __aenter__(self) -> Self:
        """Open the log; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._inner = await self._held.open("this log was entered before: call logs(...) again for another one")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()

    async def aclose(self) -> None:
        """End the request. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        await self._held.close()


class MergedLogs(MergedLogSource, Stream[pods.LogLine]):
    """The logs of many pods; created by :meth:`Client.logs`.

    A step that is cancelled, by ``asyncio.timeout`` for example, leaves the iterator usable.
    """

    _held: Held[pods.MergedLogs]
    _how_to_open = "async with client.logs(...) as lines:"

    def __init__(self, thread: TrioThread, owner: Start, manager: AbstractAsyncContextManager[pods.MergedLogs]) -> None:
        super().__init__(thread)
        self._held = Held(thread, manager, owner=owner)
        weakref.finalize(self, thread.cancel, self._held.scope)

    async def __aenter__(self) -> Self:
        """Open the logs; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._inner = await self._held.open("these logs were entered before: call logs(...) again for others")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()

    async def aclose(self) -> None:
        """End all requests. Idempotent."""
        __tracebackhide__ = True
        self._buffer.clear()
        await self._held.close()


class LogMethods(PodFacade):
    """The methods of a pod that read logs."""

    __slots__ = ()

    @wrapping(pods.Pod.logs, for_asyncio)
    def logs(self, inner: AbstractAsyncContextManager[pods.LogStream]) -> LogStream:
        return LogStream(self._thread, self._start, inner)

    @awaiting(pods.Pod.read_logs)
    def read_logs(self) -> None: ...
