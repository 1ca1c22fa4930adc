"""``LiveLog``: a followed log as an output of a notebook."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import trio

from dynkube._bound import Bound
from dynkube._text.tables import printable
from dynkube._text.words import counted
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta._arguments import brief
from dynkube.notebook._cells import Cells
from dynkube.notebook._log_card import bundle_of, text_of
from dynkube.notebook._log_follower import LogFollower, LogOpening
from dynkube.notebook._log_tail import LogPicture
from dynkube.notebook._loop import Loop, Start
from dynkube.notebook._outputs import Outputs, display_once

_MOST_LINES: Final = 10_000
_PATIENCE: Final = 0.5  # seconds to wait for the first lines before the log is shown


class LiveLog(Bound):
    """The newest lines of a log, or of the logs of many pods, in an output that is replaced as lines come.

    Created by ``.live()``. The output is replaced at most four times a second, between cells too. Lines of several
    containers have their names, and each pod its colour, that of ``dynkube logs``. Control characters are replaced.
    It reads as fast as lines come, and drops the oldest ones, which are counted. An output has the last 300 lines, or
    less if they are long; :attr:`text` has all that are kept.

    It stops, and closes its requests, when the log ends, with :meth:`close`, with its client, when its cell is run
    again and does not display it, and one minute after it was created or read if no page shows it. The output remains,
    with the reason. A saved notebook keeps the last output; a terminal prints it once.
    """

    def __init__(self, follower: LogFollower, loop: Loop) -> None:
        self._follower = follower
        self._loop = loop
        self._outputs = Outputs(follower.is_on)
        follower.outlet = _Outlet(self._outputs)

    def close(self) -> None:
        """Stop reading for good, and wait until the requests are closed.

        The lines stay on the page. Idempotent.
        """
        __tracebackhide__ = True
        if self._loop.alive:
            self._loop.call(self._follower.close)

    @property
    def text(self) -> str:
        """The lines that are kept, as text, below a heading with the state of the log."""
        return text_of(self._look())

    def __repr__(self) -> str:
        picture = self._follower.picture
        why = f", {picture.state.word}: {picture.state.reason}" if picture.state.ended else ""
        return printable(f"<LiveLog, {picture.state.title}: {counted(picture.count, 'line')}{why}>")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        alone = len(printer.stack) <= 1 and not cycle
        printer.text(bundle_of(self._look())["text/plain"] if alone else repr(self))

    def _ipython_display_(self) -> None:
        if (displayed := display_once(bundle_of(self._look()))) is not None:
            page, handle = displayed
            self._loop.post(partial(self._displayed, page, handle))

    def _displayed(self, page: str, handle: Any) -> None:
        self._outputs.add(page, handle)
        self._follower.displayed(page)

    def _look(self) -> LogPicture:
        try:
            return self._loop.call(self._follower.look)
        except ClosedError:  # the loop has ended
            return self._follower.picture


class _Outlet:
    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def show(self, picture: LogPicture) -> int:
        """Replace the outputs, and return how much was sent to each."""
        if not self._outputs.exist:
            return 0
        bundle = bundle_of(picture)
        self._outputs.replace(bundle)
        return sum(map(len, bundle.values()))


class NewLog:
    """A live log that is not open yet.

    Args:
        opening: opens the log, in ``loop``; entered once.
        loop: the event loop of the log.
        start: starts a task in the loop, which its owner cancels at the latest when it ends.
        lines: how many of the newest lines are kept; :func:`check_lines` was called.
    """

    def __init__(self, opening: LogOpening, loop: Loop, start: Start, *, lines: int) -> None:
        self._loop = loop
        cells = Cells(loop.post)
        self._in_cell = cells.exist
        self._follower = LogFollower(opening, start, most=lines, cells=cells.subscribed)

    async def open(self) -> None:
        """Open the log, and wait up to 0.5 s for the first lines; in the loop of the log.

        Raises:
            ClosedError: the client is closed.
            DynkubeError: the log could not be opened.
        """
        await self._follower.open()
        if self._in_cell:
            self._follower.cell_begins("")
        with trio.move_on_after(_PATIENCE):
            await self._follower.wait_first()
        await self._follower.look()

    def shown(self) -> LiveLog:
        """Return the view."""
        return LiveLog(self._follower, self._loop)

    def abandon(self) -> None:
        """Stop following, as the view is never shown."""
        self._loop.post(self._follower.end)


def check_lines(lines: object) -> None:
    """Check how many lines are to be kept.

    Raises:
        InvalidInput: it is not a number from 1 to 10,000.
    """
    if not isinstance(lines, int) or isinstance(lines, bool) or not 1 <= lines <= _MOST_LINES:
        raise InvalidInput(f"lines must be a number from 1 to {_MOST_LINES:,}, not {brief(lines)}")


def live_log(opening: LogOpening, loop: Loop, start: Start, *, lines: int) -> LiveLog:
    """Return a live log, after opening it. The arguments are those of :class:`NewLog`.

    Raises:
        ClosedError: the client is closed.
        DynkubeError: the log could not be opened.
    """
    new = NewLog(opening, loop, start, lines=lines)
    try:
        loop.call(new.open)
        return new.shown()
    except BaseException:  # KeyboardInterrupt too: the view is never returned
        new.abandon()
        raise
