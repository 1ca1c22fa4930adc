"""Worker threads in virtual time: one runs at a time, and the event loop and its clock stand still meanwhile.

trio's virtual clock jumps to the next deadline as soon as all tasks wait, also if they wait for a thread. So a blocking
reconcile would take hours of virtual time or none, depending on the machine. Here a thread is a step of the event loop,
like the steps of a task: the loop blocks from the moment at which it starts the thread, or answers one of its calls,
until the thread has ended or makes another call. What threads do is thereby as deterministic as what tasks do.
"""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

import trio

T = TypeVar("T")

# trio has no public API for this. ``start_thread_soon`` is what ``trio.to_thread.run_sync`` calls, and
# ``_send_message_to_trio`` is what the functions of ``trio.from_thread`` call.
_threads: Final[Any] = trio._threads


class _Turn(threading.local):
    """What a worker thread knows of its turn."""

    stopped: threading.Semaphore | None = None
    token: trio.lowlevel.TrioToken | None = None


class _Answer(Generic[T]):
    """The place where a thread waits for the answer to a call: the event loop goes on while it waits."""

    def __init__(self, stopped: threading.Semaphore, resume: Callable[[], None]) -> None:
        self._answers: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._stopped = stopped
        self._resume = resume

    def get(self) -> T:
        """Wait for the answer; called in the thread, after it has posted its call."""
        self._stopped.release()
        return self._answers.get()

    def put_nowait(self, answer: T) -> None:
        """Answer, and wait until the thread has ended or makes another call; called in the event loop."""
        self._answers.put_nowait(answer)
        self._resume()


class ThreadTurns:
    """Lets the worker threads of one trio run take turns with its event loop.

    Args:
        clock: The clock of the run.
        seconds: Real seconds that a thread may take to end or to make a call. A thread that takes longer waits for
            something that cannot happen while the event loop stands still, such as for a lock that another one holds.

    Attributes:
        stuck: What is wrong if a thread has taken longer, else ``""``. From then on no thread is waited for.
        when_stuck: Called when that happens.
    """

    def __init__(self, clock: trio.abc.Clock, *, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._turn = _Turn()
        self._start = _threads.start_thread_soon
        self._send = _threads._send_message_to_trio
        self.stuck = ""
        self.when_stuck: Callable[[], None] = lambda: None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take turns in the block, which is around the whole run."""
        _threads.start_thread_soon, _threads._send_message_to_trio = self._start_in_turn, self._send_in_turn
        try:
            yield
        finally:
            _threads.start_thread_soon, _threads._send_message_to_trio = self._start, self._send

    def _start_in_turn(
        self, function: Callable[[], object], deliver: Callable[[Any], object], name: str | None = None
    ) -> None:
        """Start a thread, and wait until it has ended or makes a call."""
        if trio.lowlevel.current_clock() is not self._clock:  # another trio run, in another thread
            self._start(function, deliver, name)
            return
        stopped, token = threading.Semaphore(0), trio.lowlevel.current_trio_token()
        idents: list[int] = []

        def run() -> object:
            idents.append(threading.get_ident())
            self._turn.stopped, self._turn.token = stopped, token
            try:
                return function()
            finally:
                self._turn.stopped = self._turn.token = None

        def deliver_and_stop(result: object) -> None:
            try:
                deliver(result)
            finally:
                stopped.release()

        self._start(run, deliver_and_stop, name)
        self._wait(stopped, idents)

    def _send_in_turn(self, token: trio.lowlevel.TrioToken | None, message: Any) -> object:
        """Make a call of a thread, and let the event loop go on meanwhile."""
        turn, ident = self._turn, threading.get_ident()
        if (stopped := turn.stopped) is not None and token in {None, turn.token}:
            # The message is frozen, and creates its queue itself.
            object.__setattr__(message, "queue", _Answer(stopped, lambda: self._wait(stopped, [ident])))
        answer: object = self._send(token, message)
        return answer

    def _wait(self, stopped: threading.Semaphore, idents: list[int]) -> None:
        if self.stuck or stopped.acquire(timeout=self._seconds):
            return
        frame = sys._current_frames().get(idents[0]) if idents else None
        where = "".join(traceback.format_stack(frame)[-3:]) if frame is not None else ""
        self.stuck = (
            f"a thread of the program has neither ended nor called its context for {self._seconds:g} s. In virtual "
            "time only one thread runs at a time: it must not wait for another thread, for a lock that is held during "
            "a call, or for something outside of the program. Use an async function, run the scenario with "
            f"real_time=True, or allow more time with RunLimits(thread=...)\n{where}"
        ).rstrip()
        self.when_stuck()
