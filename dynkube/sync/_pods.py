"""The handle of a pod, blocking, and what it opens."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from dynkube import pods
from dynkube._portal.call import BlockingCall
from dynkube._portal.facade import Facade, wrapping
from dynkube._portal.held import Start
from dynkube._portal.pods import Opened, PortForwardFacade, PortStreamFacade, ProcessFacade
from dynkube._portal.thread import TrioThread
from dynkube.sync._delegation import blocking
from dynkube.sync._held import Held
from dynkube.sync._logs import LogMethods

I = TypeVar("I")  # noqa: E741  # the inner, async object


class _Entered(Opened[I]):
    """Held open by a ``with`` block."""

    _held: Held[I]

    def __init__(self, manager: AbstractAsyncContextManager[I], thread: TrioThread, start: Start) -> None:
        self._thread = thread
        self._held = Held(thread, manager, owner=start, logs=False)
        weakref.finalize(self, thread.cancel, self._held.scope)

    def __enter__(self) -> Self:
        """Open it; raises the error if that fails, including network errors."""
        __tracebackhide__ = True
        self._value = self._held.open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """Close the connection. Idempotent."""
        __tracebackhide__ = True
        self._held.close()


class ProcessInput(Facade[pods.ProcessInput]):
    """The stdin of a process. Closing it tells the process that nothing follows.

    Blocking form of :class:`dynkube.pods.ProcessInput`.
    """

    __slots__ = ()

    @blocking(pods.ProcessInput.send_all)
    def send_all(self) -> None: ...

    @blocking(pods.ProcessInput.aclose)
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()


class ProcessOutput(Facade[pods.ProcessOutput], Iterator[bytes]):
    """What a process writes to its stdout or stderr: ``for data in process.stdout``.

    Blocking form of :class:`dynkube.pods.ProcessOutput`.
    """

    __slots__ = ()

    def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has been written, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is interrupted, nothing is lost.

        Raises:
            ConnectionLost: the connection ended before the process did; everything received before it was returned.
            ClosedError: this stream was closed, or the block of the process has ended.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        __tracebackhide__ = True
        receive = partial(self._inner.receive_some, max_bytes)
        return self._thread.wait(BlockingCall(receive, on_late=self._inner._give_back))

    @blocking(pods.ProcessOutput.aclose)
    def close(self) -> None: ...

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        __tracebackhide__ = True
        data = self.receive_some()
        if not data:
            raise StopIteration
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()


class Process(_Entered[pods.Process], ProcessFacade):
    """A command in a container, or a connection to what runs in it; use it in a ``with`` block.

    Blocking form of :class:`dynkube.pods.Process`. Its streams may be used by several threads, each by one.
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

    @blocking(pods.Process.wait)
    def wait(self) -> None: ...

    @blocking(pods.Process.resize)
    def resize(self) -> None: ...


class PortForward(_Entered[pods.PortForward], PortForwardFacade):
    """A listener whose connections go to a port of a pod; use it in a ``with`` block.

    Blocking form of :class:`dynkube.pods.PortForward`: connections are forwarded by the trio thread.
    """


class PortStream(_Entered[pods.PortStream], PortStreamFacade, Iterator[bytes]):
    """A connection to a port of a pod; use it in a ``with`` block.

    Blocking form of :class:`dynkube.pods.PortStream`.
    """

    def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has arrived, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is interrupted, nothing is lost.

        Raises:
            PortUnavailable: nothing listens on the port, or the connection to it has failed; the message says why.
            ConnectionLost: the connection has ended without being closed.
            ClosedError: the stream was closed.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        __tracebackhide__ = True
        receive = partial(self._inner.receive_some, max_bytes)
        return self._thread.wait(BlockingCall(receive, on_late=self._inner._give_back))

    @blocking(pods.PortStream.send_all)
    def send_all(self) -> None: ...

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        __tracebackhide__ = True
        data = self.receive_some()
        if not data:
            raise StopIteration
        return data


class Pod(LogMethods):
    """One pod of a cluster, by name; created by :meth:`Client.pod`.

    Blocking form of :class:`dynkube.Pod`. It may be used any number of times, also by several threads at once.
    """

    __slots__ = ()

    @blocking(pods.Pod.exec)
    def exec(self) -> None: ...

    @wrapping(pods.Pod.open_exec)
    def open_exec(self, inner: AbstractAsyncContextManager[pods.Process]) -> Process:
        return Process(inner, self._thread, self._start)

    @wrapping(pods.Pod.attach)
    def attach(self, inner: AbstractAsyncContextManager[pods.Process]) -> Process:
        return Process(inner, self._thread, self._start)

    @blocking(pods.Pod.debug)
    def debug(self) -> None: ...

    @wrapping(pods.Pod.port_forward)
    def port_forward(self, inner: AbstractAsyncContextManager[pods.PortForward]) -> PortForward:
        return PortForward(inner, self._thread, self._start)

    @wrapping(pods.Pod.connect)
    def connect(self, inner: AbstractAsyncContextManager[pods.PortStream]) -> PortStream:
        return PortStream(inner, self._thread, self._start)

    @blocking(pods.Pod.copy_to)
    def copy_to(self) -> None: ...

    @blocking(pods.Pod.copy_from)
    def copy_from(self) -> None: ...
