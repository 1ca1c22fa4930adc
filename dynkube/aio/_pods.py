"""The handle of a pod, for asyncio, and what it opens."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from dynkube import pods
from dynkube._portal.facade import Facade, wrapping
from dynkube._portal.held import Start
from dynkube._portal.pods import Opened, PortForwardFacade, PortStreamFacade, ProcessFacade
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import AsyncioCall, wait
from dynkube.aio._callbacks import calling_back
from dynkube.aio._delegation import awaiting, for_asyncio
from dynkube.aio._held import Held
from dynkube.aio._logs import LogMethods

I = TypeVar("I")  # noqa: E741  # the inner object, in trio


class _Entered(Opened[I]):
    """Held open by an ``async with`` block."""

    _held: Held[I]

    def __init__(self, manager: AbstractAsyncContextManager[I], thread: TrioThread, start: Start) -> None:
        self._thread = thread
        self._held = Held(thread, manager, owner=start, logs=False)
        weakref.finalize(self, thread.cancel, self._held.scope)

    async def __aenter__(self) -> Self:
        """Open it; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._value = await self._held.open(f"this {type(self).__name__} was entered before: call the method again")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        __tracebackhide__ = True
        await self._held.close()


class ProcessInput(Facade[pods.ProcessInput]):
    """The stdin of a process. Closing it tells the process that nothing follows.

    Form of :class:`dynkube.pods.ProcessInput` for asyncio.
    """

    __slots__ = ()

    @awaiting(pods.ProcessInput.send_all)
    def send_all(self) -> None: ...

    @awaiting(pods.ProcessInput.aclose)
    def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()


class ProcessOutput(Facade[pods.ProcessOutput], AsyncIterator[bytes]):
    """What a process writes to its stdout or stderr: ``async for data in process.stdout``.

    Form of :class:`dynkube.pods.ProcessOutput` for asyncio.
    """

    __slots__ = ()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has been written, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is cancelled, nothing is lost.

        Raises:
            ConnectionLost: the connection ended before the process did; everything received before it was returned.
            ClosedError: this stream was closed, or the block of the process has ended.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        __tracebackhide__ = True
        receive = partial(self._inner.receive_some, max_bytes)
        return await wait(self._thread, AsyncioCall(receive, on_late=self._inner._give_back))

    @awaiting(pods.ProcessOutput.aclose)
    def aclose(self) -> None: ...

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        __tracebackhide__ = True
        data = await self.receive_some()
        if not data:
            raise StopAsyncIteration
        return data

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()


class Process(_Entered[pods.Process], ProcessFacade):
    """A command in a container, or a connection to what runs in it; use it in an ``async with`` block.

    Form of :class:`dynkube.pods.Process` for asyncio.
    """

    @property
    def stdin(self) -> ProcessInput | None:
        """The stream to its stdin; ``None`` if it was opened without."""
        inner = self._inner.stdin
        return None if inner is None else ProcessInput(inner, self._thread)

    @property
    def stdout(self) -> ProcessOutput:
        """The stream from its stdout; at its end at once if it was opened without."""
        return ProcessOutput(self._inner.stdout, self._thread)

    @property
    def stderr(self) -> ProcessOutput:
        """The stream from its stderr, likewise; with a terminal everything is in ``stdout``."""
        return ProcessOutput(self._inner.stderr, self._thread)

    @awaiting(pods.Process.wait)
    def wait(self) -> None: ...

    @awaiting(pods.Process.resize)
    def resize(self) -> None: ...


class PortForward(_Entered[pods.PortForward], PortForwardFacade):
    """A listener whose connections go to a port of a pod; use it in an ``async with`` block.

    Form of :class:`dynkube.pods.PortForward` for asyncio: connections are forwarded by the trio thread.
    """


class PortStream(_Entered[pods.PortStream], PortStreamFacade, AsyncIterator[bytes]):
    """A connection to a port of a pod; use it in an ``async with`` block.

    Form of :class:`dynkube.pods.PortStream` for asyncio.
    """

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has arrived, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is cancelled, nothing is lost.

        Raises:
            PortUnavailable: nothing listens on the port, or the connection to it has failed; the message says why.
            ConnectionLost: the connection has ended without being closed.
            ClosedError: the stream was closed.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        __tracebackhide__ = True
        receive = partial(self._inner.receive_some, max_bytes)
        return await wait(self._thread, AsyncioCall(receive, on_late=self._inner._give_back))

    @awaiting(pods.PortStream.send_all)
    def send_all(self) -> None: ...

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        __tracebackhide__ = True
        data = await self.receive_some()
        if not data:
            raise StopAsyncIteration
        return data


class Pod(LogMethods):
    """One pod of a cluster, by name; created by :meth:`Client.pod`.

    Form of :class:`dynkube.Pod` for asyncio. It may be used any number of times, also by several tasks at once.
    """

    __slots__ = ()

    @awaiting(pods.Pod.exec)
    def exec(self) -> None: ...

    @wrapping(pods.Pod.open_exec, for_asyncio)
    def open_exec(self, inner: AbstractAsyncContextManager[pods.Process]) -> Process:
        return Process(inner, self._thread, self._start)

    @wrapping(pods.Pod.attach, for_asyncio)
    def attach(self, inner: AbstractAsyncContextManager[pods.Process]) -> Process:
        return Process(inner, self._thread, self._start)

    @awaiting(pods.Pod.debug)
    def debug(self) -> None: ...

    @wrapping(pods.Pod.port_forward, for_asyncio)
    def port_forward(self, inner: AbstractAsyncContextManager[pods.PortForward]) -> PortForward:
        return PortForward(inner, self._thread, self._start)

    @wrapping(pods.Pod.connect, for_asyncio)
    def connect(self, inner: AbstractAsyncContextManager[pods.PortStream]) -> PortStream:
        return PortStream(inner, self._thread, self._start)

    @calling_back(pods.Pod.copy_to, "progress")
    def copy_to(self) -> None: ...

    @calling_back(pods.Pod.copy_from, "progress")
    def copy_from(self) -> None: ...
