"""An async world driven by plain code: each command is played inside trio, and all else stands still meanwhile.

hypothesis calls a state machine's rules one by one, as plain functions; informers live in trio, over all of these
calls. A thread for trio would bring back what virtual time took away: two programs at once. Here trio runs in a
greenlet of the same thread. Its main task asks for the next command by switching to whoever called :meth:`Bridge.play`,
and that switch is no checkpoint: no other task runs, and no time passes, until there is a command again. So what
happens depends on the commands alone, and a failure can be played again, and shrunk.
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

_PATIENCE: Final = 100_000.0
"""Seconds of virtual time after which a command counts as hanging; none is meant to take a day."""
_STEPS: Final = 50_000
"""Steps of the scheduler after which a command counts as hanging; an hour takes some thousand."""


class _StepLimit(trio.abc.Instrument):
    """Cancels the command in play when tasks have run too often: some go on and on while no time passes."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.steps = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            self.scope.cancel()


class Bridge(Generic[W]):
    """Opens a world in trio, on virtual time, and plays commands in it until closed.

    Args:
        open_world: gives an async context manager; what it yields is passed to each command.
    """

    def __init__(self, open_world: Callable[[], AbstractAsyncContextManager[W]]) -> None:
        self._open_world = open_world
        self._caller = greenlet.getcurrent()
        self._limit = _StepLimit()
        self._trio = greenlet(self._run)
        self._trio.switch()  # until the world is open

    def play(self, command: Callable[[W], Awaitable[T]]) -> T:
        """Play a command to its end.

        Returns:
            What the command returned; what it raises is raised here, and the world goes on.

        Raises:
            BaseExceptionGroup: something else in the world failed, so that it has ended.
        """
        if self._trio.dead:
            raise RuntimeError("the world has ended, so nothing can be played in it")
        result, error = self._trio.switch(command)
        if error is not None:
            raise error
        played: T = result
        return played

    def close(self) -> None:
        """Leave the world, wait until nothing of it runs, and raise what goes wrong meanwhile. Safe to call twice."""
        if not self._trio.dead:
            self._trio.switch(None)

    def _run(self) -> None:
        # trio runs what is ready in random order, lest anybody relies on one: here in the same order each time. There
        # is no public way; this is pytest-trio's.
        scheduler: Any = trio._core._run
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
        scheduler._r.seed(0)
        # An exception that ends a greenlet is raised where its parent, which is the caller, waits in ``switch``.
        clock = trio.testing.MockClock(autojump_threshold=0)
        trio.run(self._main, clock=clock, instruments=[self._limit])

    async def _main(self) -> None:
        async with self._open_world() as world:
            answer: tuple[Any, Exception | None] | None = None
            while (command := self._caller.switch(answer)) is not None:
                self._limit.scope, self._limit.steps = trio.CancelScope(), 0
                answer = (
                    None,
                    AssertionError(f"it took {_STEPS} steps of the scheduler: tasks wake each other up for ever"),
                )
                try:
                    with trio.fail_after(_PATIENCE), self._limit.scope:
                        answer = await command(world), None
                except Exception as exc:
                    answer = None, exc
