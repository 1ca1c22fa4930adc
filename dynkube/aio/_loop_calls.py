"""Calls of a user's functions in an asyncio loop, made and awaited by tasks of the trio thread."""

from __future__ import annotations

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Final, ParamSpec

import trio

from dynkube._guard import text_of
from dynkube._portal.tracebacks import without_libraries
from dynkube.aio._call import running_loop

P = ParamSpec("P")

# Seconds between checks whether the asyncio loop still exists: nothing tells when one is closed or stopped.
LOOK: Final = 1.0
_LOOK_AT_END: Final = 0.1


class Job:
    """One call of a function.

    Created in the trio task that awaits it.

    Args:
        function: what to call in the asyncio loop; what it returns is awaited.
        on_abandon: called in the trio thread when the call is cancelled.

    Attributes:
        context: the contextvars of the trio task.
        done: set in the trio thread when the call has ended.
        value: what the function returned; set before ``done``.
        error: what it raised; set before ``done``.
        has_ended: whether the call has ended; used in the asyncio loop only.
        unwanted: whether the call was cancelled meanwhile.
    """

    __slots__ = ("_token", "context", "done", "error", "function", "has_ended", "on_abandon", "unwanted", "value")

    def __init__(self, function: Callable[[], object], on_abandon: Callable[[], object] | None = None) -> None:
        self.function: Callable[[], object] = function
        self.on_abandon: Callable[[], object] | None = on_abandon
        self.context: Context = copy_context()
        self.done: trio.Event = trio.Event()
        self.value: object = None
        self.error: BaseException | None = None
        self.has_ended: bool = False
        self.unwanted: bool = False
        self._token = trio.lowlevel.current_trio_token()

    def end(self, error: BaseException | None = None) -> None:
        """Tell the trio thread that the call has ended; in the asyncio loop's thread."""
        self.error = error
        self.has_ended = True
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.done.set)


class LoopCalls:
    """Calls functions in the asyncio loop that is running when it is created."""

    def __init__(self) -> None:
        self._loop = running_loop()
        self._context = copy_context()

    @property
    def loop_is_closed(self) -> bool:
        """Whether the asyncio loop was closed; in any thread."""
        return self._loop.is_closed()

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    async def carry_out(self, job: Job) -> bool:
        """Make a call, wait for its end, and return what the function returned, in ``job.value``.

        If this is cancelled, so is the call, whose end is waited for.

        Returns:
            Whether the call has ended; ``False`` if the asyncio loop has ended first.

        Raises:
            BaseException: what the function raised.
        """
        if not self.post(self._accept, job):
            await trio.lowlevel.checkpoint()
            return False
        try:
            await self._until_done(job, LOOK, self._loop.is_closed)
        except trio.Cancelled:
            may_end = self.post(self._abandon_job, job)
            if job.on_abandon is not None:
                job.on_abandon()
            if may_end:
                with trio.CancelScope(shield=True):
                    await self._until_done(job, _LOOK_AT_END, lambda: not self._loop.is_running())
            raise
        if job.error is not None:
            job.error.__traceback__ = without_libraries(job.error.__traceback__)
            raise job.error
        return job.done.is_set()

    async def _until_done(self, job: Job, look: float, lost: Callable[[], bool]) -> None:
        while not job.done.is_set() and not lost():
            with trio.move_on_after(look):
                await job.done.wait()

    def post(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Call a function in the asyncio loop soon; return whether the loop still exists. In any thread."""
        try:
            self._loop.call_soon_threadsafe(partial(function, *args, **kwargs))
        except RuntimeError:
            return False
        return True

    def post_in_context(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Call a function as :meth:`post` does, with the contextvars of this object's creation."""
        return self.post(partial(self._context.copy().run, function, *args, **kwargs))

    # ── in the asyncio loop ──────────────────────────────────────────────────────────────────

    @abstractmethod
    def _accept(self, job: Job) -> None:
        """Have a task :meth:`_perform` a job."""

    @abstractmethod
    def _abandon(self, job: Job) -> None:
        """Cancel the task of a job, or end the job if it has none yet."""

    @abstractmethod
    def _lost(self) -> RuntimeError:
        """Return the error of a call whose task was cancelled by others, such as the end of the loop."""

    def _ending(self) -> None:
        """Note that the running task ends with its job. Called before the job is ended."""

    def _abandon_job(self, job: Job) -> None:
        job.unwanted = True
        self._abandon(job)

    async def _perform(self, job: Job) -> None:
        """Call the function in the running task, and end the job.

        Raises:
            BaseException: what ends the task, or the whole loop.
        """
        try:
            pending = job.function()
            job.value = await pending if inspect.isawaitable(pending) else pending
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if job.unwanted or (task is not None and task.cancelling()):
                self._ending()
                job.end(None if job.unwanted else self._lost())
                raise
            job.end(_failure(exc, "was raised by the function, whose task was not cancelled"))
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as exc:  # they end the loop, as from any other task
            self._ending()
            job.end(_failure(exc, "was raised in an asyncio task, which ends its event loop"))
            raise
        except BaseException as exc:  # noqa: BLE001  # raised in the trio thread
            job.end(exc)
        else:
            job.end()


def silence(task: asyncio.Task[None]) -> None:
    """Have asyncio say nothing of a task: the trio thread has its exception, and reports a loop that is closed."""
    task.add_done_callback(_retrieve)
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def _failure(exc: BaseException, what: str) -> RuntimeError:
    failure = RuntimeError(f"{text_of(exc)} {what}")
    failure.__cause__ = exc
    return failure


def _retrieve(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
