"""An anyio test runner for trio in which a failure always ends.

anyio's own runs all fixtures and tests in one task. Where a task in the background of a fixture fails, trio cancels
what stands inside the fixture's nursery, and that is this one task: the runner itself. Whatever comes next, the
fixture's teardown above all, waits for a task that has ended (https://github.com/agronholm/anyio/issues/805). A test
that waits for something that never happens leaves no way out either.

Here each fixture and each test has a task of its own, as in pytest-trio:

- What fails in the background of a fixture cancels the test, and is the test's failure.
- What waits while nothing can happen any more is a deadlock: it is cancelled, and fails with the stacks of all tasks.
- What is interrupted from outside, by Ctrl-C for example, is cancelled before the fixtures are torn down.
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
"""Seconds between two looks at whether anything happens. Polls are counted, and not the time between them: a machine
that was suspended, or a process that was stopped, must not look like a deadlock."""

_VIRTUAL_PATIENCE: Final = 5.0
"""Seconds after which a test in virtual time, in which no task runs, is in a deadlock: there is no deadline that the
clock could jump to. Trio looks for one all the time, so these are seconds of CPU time; threads get as much."""

_EXHAUSTED: Final = 0.75
"""The share of a test's CPU time after which it is cancelled. In virtual time, what waits for something that never
comes may try again and again for ever."""

_DEADLOCK: Final = "every task waits, for nothing that will come"

_IDLE: Final = 0.02
"""The share of one CPU below which a process does nothing but wait."""


class Runner(TestRunner, trio.abc.Instrument):
    """Runs what pytest asks for in one trio run, each in a task of its own.

    Args:
        patience: returns for how many seconds a test may use the CPU, or on the real clock do nothing but wait; 0 for
            any time.
        options: for ``trio.run``.
    """

    def __init__(self, patience: Callable[[], float], **options: Any) -> None:
        self._patience = patience
        self._options = {**options, "instruments": [*options.get("instruments", ()), self]}
        self._began = 0.0  # of the process's CPU time, when the task in the foreground was started
        self._stepped = False  # whether a task has run since the last look
        self._used = 0.0  # of this thread's CPU time when one had
        self._virtual = isinstance(options.get("clock"), MockClock)
        self._ticks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._nursery: trio.Nursery | None = None
        self._stop = trio.Event()
        self._over: outcome.Outcome[None] | None = None
        self._foreground: _Task | None = None
        self._crashed: list[BaseException] = []  # errors of fixtures that ended by themselves, not reported yet

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: types.TracebackType | None
    ) -> None:
        """Cancel what is left, and end the trio run."""
        if self._nursery is not None and self._over is None:
            self._stop.set()
            self._nursery.cancel_scope.cancel()
            while self._over is None:
                self._ticks.get()()

    def is_running(self) -> bool:
        """Whether a task of the run asks."""
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
        """Note that something happens; called by trio."""
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
        """Have what runs in the foreground end too, where a fixture has failed behind its back."""
        if fixture is self._foreground or not isinstance(fixture.outcome, outcome.Error):
            return
        fixture.reported = True
        self._crashed.append(fixture.outcome.error)
        if self._foreground is not None:
            self._foreground.scope.cancel()

    def _finish(self, task: _Task, enough: Callable[[], bool] = lambda: False) -> None:
        """Run trio until a task has ended, or has done enough; raise what it, or a fixture, has failed with."""
        self._foreground, self._stepped, self._began = task, True, time.process_time()
        if self._crashed:
            task.scope.cancel()
        stuck = None
        try:
            while task.outcome is None and self._over is None and not enough():
                if problem := self._tick():
                    if stuck is not None:
                        break  # it is shielded from being cancelled
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
        """Do what trio asks for next; returns what is wrong where nothing happens any more, or no end is in sight."""
        patience = _VIRTUAL_PATIENCE if self._virtual else self._patience()
        polls, used = 0, time.process_time()
        while True:
            try:
                tick = self._ticks.get(timeout=_POLL)
            except queue.Empty:
                polls += 1
                if patience and polls * _POLL >= patience:
                    if time.process_time() - used < polls * _POLL * _IDLE:
                        return _DEADLOCK
                    polls, used = 0, time.process_time()
            else:
                tick()
                if self._virtual and self._spins():
                    return _DEADLOCK
                return "this does not end" if self._exhausted() else ""

    def _exhausted(self) -> bool:
        """Whether so much of the CPU time is used that there is little left before the process is ended."""
        if not (limit := _EXHAUSTED * self._patience()) or time.process_time() - self._began < limit:
            return False
        self._began += limit / 10  # for what is done on being cancelled
        return True

    def _spins(self) -> bool:
        """Whether trio has looked for something to do in vain, for too long."""
        if self._stepped:
            self._stepped, self._used = False, time.thread_time()
        if time.thread_time() - self._used < _VIRTUAL_PATIENCE:
            return False
        self._stepped = True  # once more from the beginning
        return True

    def _stacks(self) -> str:
        """Where each task waits, from the outside inwards."""
        assert self._nursery is not None
        return "\n".join(line for task in _tasks(self._nursery) for line in _stack(task))


class _Task:
    """Something to do in a task of its own, which may be cancelled alone."""

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
            except trio.Cancelled as cancelled:  # by the fixture's own nursery: it leaves with the reason for it
                await self._generator.athrow(cancelled)
            else:
                await self._generator.asend(None)
        except StopAsyncIteration:
            return
        await self._generator.aclose()
        raise RuntimeError("the fixture yields more than one value")


def _raise_all(errors: list[BaseException]) -> None:
    """Raise what has failed; that something was cancelled for it is no failure of its own."""
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
