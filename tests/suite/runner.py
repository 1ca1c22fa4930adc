"""An anyio test runner for trio in which every failed test ends.

anyio's own runner runs all fixtures and tests in one task. If a background task of a fixture fails, trio cancels the
body of the fixture's nursery, which is that one task: the runner itself. All later steps, such as the fixture's
teardown, wait for a task that has ended (https://github.com/agronholm/anyio/issues/805). Nor does a test end that waits
for something that never happens.

Here each fixture and each test runs in its own task, as in pytest-trio:

- An exception in a background task of a fixture cancels the test, and is reported as the test's failure.
- A test that waits while nothing can happen any more is in a deadlock: it is cancelled, and fails with the stacks of
  all tasks.
- A test that is interrupted from outside, for example by Ctrl-C, is cancelled before the fixtures are torn down.
"""

from __future__ import annotations

import queue
import time
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeVar

import outcome
import pytest
import trio
from anyio.abc import TestRunner
from trio.testing import MockClock

T = TypeVar("T")

_POLL: Final = 0.2
"""Seconds between two checks whether a task has run. Time is measured as the number of checks, so that a suspended
machine or a stopped process is not taken for a deadlock."""

_VIRTUAL_TIMEOUT: Final = 5.0
"""Seconds without a running task after which a test in virtual time is in a deadlock, as there is no deadline to which
the clock could jump. Trio keeps polling meanwhile, so these are seconds of CPU time. Threads have as long to finish."""

_EXHAUSTED: Final = 0.75
"""The share of a test's limit of CPU time after which it is cancelled. In virtual time, a test that waits for something
that never happens may poll for ever."""

_DEADLOCK: Final = "every task waits, for nothing that will come"

_IDLE: Final = 0.02
"""The share of one CPU below which a process counts as waiting."""


class Runner(TestRunner, trio.abc.Instrument):
    """Runs a test and its fixtures in one trio run, each in its own task.

    Args:
        timeout: returns the limit in seconds: of the CPU time of a test, and in real time of the time for which the
            process only waits; 0 means no limit.
        options: keyword arguments of ``trio.run``.
    """

    def __init__(self, timeout: Callable[[], float], **options: Any) -> None:
        self._timeout = timeout
        self._options = {**options, "instruments": [*options.get("instruments", ()), self]}
        self._began = 0.0  # the process's CPU time when the foreground task was started
        self._stepped = False  # whether a task has run since the last check
        self._used = 0.0  # this thread's CPU time when a task last ran
        self._virtual = isinstance(options.get("clock"), MockClock)
        self._ticks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._nursery: trio.Nursery | None = None
        self._stop = trio.Event()
        self._over: outcome.Outcome[None] | None = None
        self._foreground: _Task | None = None
        self._crashed: list[BaseException] = []  # errors of fixtures that failed in the background, not yet raised

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: types.TracebackType | None
    ) -> None:
        """Cancel all tasks, and end the trio run."""
        if self._nursery is not None and self._over is None:
            self._stop.set()
            self._nursery.cancel_scope.cancel()
            while self._over is None:
                self._ticks.get()()

    def is_running(self) -> bool:
        """Return whether the caller is a trio task."""
        return trio.lowlevel.in_trio_task()

    def run_asyncgen_fixture(
        self, fixture_func: Callable[..., AsyncGenerator[T, Any]], kwargs: dict[str, Any]
    ) -> Iterator[T]:
        """Set a fixture up, yield its value, and tear it down."""
        fixture = _Fixture(fixture_func(**kwargs), self._fixture_ended)
        self._start(fixture)
        self._finish(fixture, lambda: fixture.entered)
        yield fixture.value
        if fixture.reported:
            return
        fixture.leave.set()
        self._finish(fixture)

    def run_fixture(self, fixture_func: Callable[..., Coroutine[Any, Any, T]], kwargs: dict[str, Any]) -> T:
        """Run a fixture that has no teardown."""
        task = _Task(lambda: fixture_func(**kwargs))
        self._start(task)
        self._finish(task)
        assert task.outcome is not None
        value: T = task.outcome.unwrap()
        return value

    def run_test(self, test_func: Callable[..., Coroutine[Any, Any, Any]], kwargs: dict[str, Any]) -> None:
        """Run a test."""
        self.run_fixture(test_func, kwargs)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Record that a task runs; called by trio."""
        self._stepped = True

    def _start(self, task: _Task) -> None:
        if self._nursery is None:
            trio.lowlevel.start_guest_run(
                self._main, run_sync_soon_threadsafe=self._ticks.put, done_callback=self._done, **self._options
            )
            while self._nursery is None:
                self._ticks.get()()
        if self._over is not None:
            self._over.unwrap()
            raise RuntimeError("the trio run of this test has ended")
        self._nursery.start_soon(task.run)

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            await self._stop.wait()

    def _done(self, over: outcome.Outcome[None]) -> None:
        self._over = over

    def _fixture_ended(self, fixture: _Fixture) -> None:
        """Cancel the foreground task if a fixture has failed in the background."""
        if fixture is self._foreground or not isinstance(fixture.outcome, outcome.Error):
            return
        fixture.reported = True
        self._crashed.append(fixture.outcome.error)
        if self._foreground is not None:
            self._foreground.scope.cancel()

    def _finish(self, task: _Task, enough: Callable[[], bool] = lambda: False) -> None:
        """Run trio until the task ends or ``enough()`` is true; raise its errors and those of fixtures."""
        self._foreground, self._stepped, self._began = task, True, time.process_time()
        if self._crashed:
            task.scope.cancel()
        stuck = None
        try:
            while task.outcome is None and self._over is None and not enough():
                if problem := self._tick():
                    if stuck is not None:
                        break  # the task is shielded from cancellation
                    stuck = pytest.fail.Exception(f"{problem}:\n{self._stacks()}")
                    task.scope.cancel()
        except BaseException:
            task.scope.cancel()
            self._run_until_cancelled(task)
            raise
        finally:
            self._foreground = None
        crashed, self._crashed = self._crashed, []
        _raise_all([*crashed, *([stuck] if stuck else []), *task.errors()])

    def _run_until_cancelled(self, task: _Task) -> None:
        while task.outcome is None and self._over is None and not self._tick():
            pass

    def _tick(self) -> str:
        """Run trio's next callback; returns an error message on a deadlock or if the test has used its CPU time."""
        timeout = _VIRTUAL_TIMEOUT if self._virtual else self._timeout()
        polls, used = 0, time.process_time()
        while True:
            try:
                tick = self._ticks.get(timeout=_POLL)
            except queue.Empty:
                polls += 1
                if timeout and polls * _POLL >= timeout:
                    if time.process_time() - used < polls * _POLL * _IDLE:
                        return _DEADLOCK
                    polls, used = 0, time.process_time()
            else:
                tick()
                if self._virtual and self._spins():
                    return _DEADLOCK
                return "this does not end" if self._exhausted() else ""

    def _exhausted(self) -> bool:
        """Return whether the test has used so much CPU time that its process will soon be killed."""
        if not (limit := _EXHAUSTED * self._timeout()) or time.process_time() - self._began < limit:
            return False
        self._began += limit / 10  # time for handling the cancellation
        return True

    def _spins(self) -> bool:
        """Return whether trio has polled for too long without running a task."""
        if self._stepped:
            self._stepped, self._used = False, time.thread_time()
        if time.thread_time() - self._used < _VIRTUAL_TIMEOUT:
            return False
        self._stepped = True  # start measuring again
        return True

    def _stacks(self) -> str:
        """Return the stack of each task, outermost frame first."""
        assert self._nursery is not None
        return "\n".join(line for task in _tasks(self._nursery) for line in _stack(task))


class _Task:
    """A function that runs in its own task and can be cancelled separately."""

    def __init__(self, function: Callable[[], Awaitable[Any]]) -> None:
        self.scope = trio.CancelScope()
        self.outcome: outcome.Outcome[Any] | None = None
        self._function = function

    async def run(self) -> None:
        with self.scope:
            self.outcome = await outcome.acapture(self._function)

    def errors(self) -> list[BaseException]:
        return [self.outcome.error] if isinstance(self.outcome, outcome.Error) else []


class _Fixture(_Task):
    """A fixture, from its setup to the end of its teardown."""

    def __init__(self, generator: AsyncGenerator[Any, Any], ended: Callable[[_Fixture], None]) -> None:
        super().__init__(self._live)
        self.entered = False
        self.leave = trio.Event()
        self.value: Any = None
        self.reported = False
        self._generator = generator
        self._ended = ended

    async def run(self) -> None:
        await super().run()
        self._ended(self)

    async def _live(self) -> None:
        try:
            self.value = await self._generator.asend(None)
        except StopAsyncIteration:
            raise RuntimeError("the fixture did not yield a value") from None
        self.entered = True
        try:
            try:
                await self.leave.wait()
            except trio.Cancelled as cancelled:  # by the fixture's nursery, which then raises the cause
                await self._generator.athrow(cancelled)
            else:
                await self._generator.asend(None)
        except StopAsyncIteration:
            return
        await self._generator.aclose()
        raise RuntimeError("the fixture yields more than one value")


def _raise_all(errors: list[BaseException]) -> None:
    """Raise the errors, without the cancellations that they caused."""
    errors = [error for error in errors if not _only_cancelled(error)] or errors[:1]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise BaseExceptionGroup("a fixture, or the test, has failed in several ways", errors)


def _only_cancelled(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_only_cancelled, error.exceptions))
    return isinstance(error, trio.Cancelled)


def _tasks(nursery: trio.Nursery) -> Iterator[trio.lowlevel.Task]:
    for task in sorted(nursery.child_tasks, key=lambda task: task.name):
        yield task
        for child in task.child_nurseries:
            yield from _tasks(child)


def _stack(task: trio.lowlevel.Task) -> Iterator[str]:
    yield f"  task {task.name}"
    for frame, line in task.iter_await_frames():
        yield f"    {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
