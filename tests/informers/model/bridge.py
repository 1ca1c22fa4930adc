"""Runs an async world from plain code: each command runs inside trio, and everything else stands still in between.

hypothesis calls the rules of a state machine as plain functions, while informers live in trio across these calls.
Running trio in a thread would bring back real concurrency, which virtual time has removed. Here trio runs in a greenlet
of the same thread. Its main task gets the next command by switching to the caller of :meth:`Bridge.play`, and that
switch is no checkpoint: no other task runs and no time passes until the next command. So a run depends on the commands
alone, and a failure can be replayed and shrunk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, TypeVar

import trio
import trio.abc
import trio.lowlevel
import trio.testing
from greenlet import greenlet

W = TypeVar("W")
T = TypeVar("T")

_COMMAND_TIMEOUT: Final = 100_000.0
"""Seconds of virtual time after which a command counts as hanging; no command should take a day."""
_STEPS: Final = 50_000
"""Steps of the scheduler after which a command counts as hanging; an hour takes a few thousand."""


class _StepLimit(trio.abc.Instrument):
    """Cancels the current command after too many steps of the scheduler, as some loops never let virtual time pass."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.steps = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            self.scope.cancel()


class Bridge(Generic[W]):
    """Opens a world in trio, on virtual time, and runs commands in it until closed.

    Args:
        open_world: returns an async context manager; its value is passed to each command.
    """

    def __init__(self, open_world: Callable[[], AbstractAsyncContextManager[W]]) -> None:
        self._open_world = open_world
        self._caller = greenlet.getcurrent()
        self._limit = _StepLimit()
        self._trio = greenlet(self._run)
        self._trio.switch()  # until the world is open

    def play(self, command: Callable[[W], Awaitable[T]]) -> T:
        """Run a command to its end.

        Returns:
            The result of the command. Its exceptions are raised here, and the world continues.

        Raises:
            BaseExceptionGroup: something else in the world failed, which ended the world.
        """
        if self._trio.dead:
            raise RuntimeError("the world has ended, so nothing can be played in it")
        result, error = self._trio.switch(command)
        if error is not None:
            raise error
        played: T = result
        return played

    def close(self) -> None:
        """Leave the world, wait until all its tasks have ended, and raise their exceptions. Safe to call twice."""
        if not self._trio.dead:
            self._trio.switch(None)

    def _run(self) -> None:
        # trio runs ready tasks in random order, so that no program relies on one; here the order is the same each time.
        # There is no public API for this; pytest-trio does the same.
        scheduler: Any = trio._core._run
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
        scheduler._r.seed(0)
        # An exception that ends a greenlet is raised in its parent, which is the caller, waiting in ``switch``.
        clock = trio.testing.MockClock(autojump_threshold=0)
        trio.run(self._main, clock=clock, instruments=[self._limit])

    async def _main(self) -> None:
        async with self._open_world() as world:
            result: tuple[Any, Exception | None] | None = None
            while (command := self._caller.switch(result)) is not None:
                self._limit.scope, self._limit.steps = trio.CancelScope(), 0
                result = (
                    None,
                    AssertionError(f"it took {_STEPS} steps of the scheduler: tasks wake each other up for ever"),
                )
                try:
                    with trio.fail_after(_COMMAND_TIMEOUT), self._limit.scope:
                        result = await command(world), None
                except Exception as exc:
                    result = None, exc
