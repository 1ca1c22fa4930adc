"""Prints the steps of a call that reports them to a plain function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import trio

from dynkube._text.tables import printable
from dynkube.cli._flags import in_flags
from dynkube.cli._output import Output
from dynkube.errors import DynkubeError

Step = TypeVar("Step")
Result = TypeVar("Result")


class Progress(Generic[Step]):
    """Prints lines for each step that is passed to it, while a call runs.

    A reader of stdout that is slow does not delay the call, and gets the lines for all steps that came meanwhile at
    once: those from the step printed before to the latest.

    Args:
        out: where lines are written.
        lines: returns the lines for a step, given the step printed before it; ``None`` for the first one.
    """

    def __init__(self, out: Output, lines: Callable[[Step | None, Step], Iterable[str]]) -> None:
        self._out = out
        self._lines = lines
        self._printed: Step | None = None
        self._latest: Step | None = None
        self._changed = trio.Event()
        self._ended = False

    def __call__(self, step: Step) -> None:
        """Take a step."""
        self._latest = step
        self._changed.set()

    async def during(self, call: Awaitable[Result]) -> Result:
        """Print steps until a call has ended, and return its result.

        Raises:
            BrokenPipeError: the reader of stdout has closed the pipe; the call was cancelled.
            DynkubeError: the call failed; its last step was printed before.
        """
        failure: DynkubeError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._print)
            try:
                return await call  # and leave the nursery, which waits until its last step was printed
            except DynkubeError as error:
                failure = error
            finally:
                self._ended = True
                self._changed.set()
        assert failure is not None
        raise failure

    async def _print(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            ended, latest = self._ended, self._latest
            if latest is not None and latest is not self._printed:
                for text in self._lines(self._printed, latest):
                    await self._out.line(printable(in_flags(text), keep="\n"))
                self._printed = latest
            if ended:
                return
