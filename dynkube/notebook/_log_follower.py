"""The task behind a live log: reads lines, and sends at most four snapshots a second.

It reads as fast as lines come, and keeps only the newest: one that waited for pages would fall behind the log. It ends
and closes its requests when no page shows the log any more.

Everything here runs in the event loop's thread, so there are no locks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.errors import ClosedError, DynkubeError
from dynkube.notebook._audience import Audience
from dynkube.notebook._log_tail import LogPicture, LogState, LogTail, state_of
from dynkube.notebook._loop import Start
from dynkube.pods import LogStream, MergedLogs

_log = get_logger("dynkube.notebook")

PERIOD: Final = 0.25
"""Seconds between two snapshots."""
_IDLE: Final = 1.0  # seconds between checks of what has no event: the state of the log
_RATE: Final = 400_000  # bytes a second: Jupyter servers drop outputs beyond 1 MB/s

LogOpening: TypeAlias = AbstractAsyncContextManager[LogStream | MergedLogs, bool | None]
_UNSEEN: Final = "no page shows it any more: call live() of other logs to go on"


class LogOutlet(Protocol):
    """Where snapshots are sent."""

    def show(self, picture: LogPicture) -> int:
        """Show a snapshot, and return its size in bytes. Must neither block nor raise."""
        ...


class LogFollower:
    """Follows one log for one view.

    Args:
        opening: opens the log; entered once.
        start: starts the task.
        most: how many lines are kept.
        cells: entered while following; calls ``cell_begins`` and ``cell_ends``.
    """

    def __init__(
        self,
        opening: LogOpening,
        start: Start,
        *,
        most: int,
        cells: Callable[[LogFollower], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.outlet: LogOutlet | None = None
        self._opening = opening
        self._start = start
        self._cells = cells
        self._tail = LogTail(most)
        self._source: LogStream | MergedLogs | None = None
        self._picture = LogPicture(state=LogState())
        self._shown: LogPicture | None = None  # what the outlet has
        self._seen = False  # whether a page has shown it
        self._audience = Audience(0.0)
        self._changed = trio.Event()
        self._error: DynkubeError | None = None  # why the log could not be opened
        self._opened = trio.Event()
        self._first = trio.Event()
        self._ended = trio.Event()
        self._scope = trio.CancelScope()

    @property
    def picture(self) -> LogPicture:
        """The last snapshot; may be read by any thread."""
        return self._picture

    @property
    def ended(self) -> bool:
        """Whether there will be no more lines; may be read by any thread."""
        return self._picture.state.ended

    # ── starting and stopping ────────────────────────────────────────────────────────────────

    async def open(self) -> None:
        """Start following, and wait until the log is open; stops again if no page shows it within 60 s.

        Raises:
            ClosedError: the owner is closed.
            DynkubeError: the log could not be opened.
        """
        self._audience.expect(trio.current_time())
        self._start(self._run)
        await self._opened.wait()
        if self._error is not None:
            raise self._error

    async def wait_first(self) -> None:
        """Wait until there is a line to show, or the log has ended."""
        await self._first.wait()

    def end(self, reason: str = "closed") -> None:
        """Stop for good; does not wait."""
        if not self.ended:
            self._set_end("stopped", reason)
        self._scope.cancel()

    async def close(self) -> None:
        """Stop for good, and wait until the requests are closed."""
        self.end()
        await self.wait_ended()

    async def wait_ended(self) -> None:
        """Wait until there will be no more lines, and the requests are closed."""
        await self._ended.wait()

    async def _run(self) -> None:
        """Follow until the log ends, no page shows it, or this or the owner is closed.

        Never raises: a background task.
        """
        try:
            with self._scope, self._cells(self):
                async with self._opening as source:
                    self._source = source
                    self._opened.set()
                    await self._follow(source)
        except DynkubeError as exc:
            self._error = exc
            self._set_end("failed", str(exc))
        except Exception as exc:  # noqa: BLE001  # it would end the event loop, and every informer with it
            _log.exception("a live log has failed and is no longer updated")
            self._set_end("failed", repr(exc))
        finally:
            self.end("the client was closed")
            self._source = None
            self._show()
            self._error = self._error or ClosedError(self._picture.state.reason)  # raised if it was never open
            for event in (self._opened, self._first, self._ended):
                event.set()

    async def _follow(self, source: LogStream | MergedLogs) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._draw)
            try:
                while lines := await source.take():
                    self._tail.add(lines)
                    self._changed.set()
                    self._first.set()
            except DynkubeError as exc:  # not in a group
                self._set_end("failed", str(exc))
            else:
                reason = source.reason if isinstance(source, LogStream) else ""
                self._set_end("ended", reason or "all that was written was read")
            nursery.cancel_scope.cancel()

    def _set_end(self, word: str, reason: str) -> None:
        if not self.ended:
            self._picture = self._look(LogState(word=word, reason=reason, ended=True))

    # ── pages ────────────────────────────────────────────────────────────────────────────────

    def displayed(self, page: str) -> None:
        """Note that a page shows the log, from now on until its cell is run again."""
        self._audience.came(page, trio.current_time(), stays=True)
        self._seen, self._shown = True, None
        self._changed.set()
        if self.ended:
            self._show()

    def is_on(self, page: str) -> bool:
        """Return whether a page is known to show the log; thread-safe."""
        return page in self._audience

    def cell_begins(self, cell: str) -> None:
        """Note that a cell starts: its old output has been removed."""
        self._audience.went(cell, trio.current_time())
        self._audience.deafen()

    def cell_ends(self) -> None:
        """Stop if the cell was the last one that showed the log, and has not displayed it again."""
        self._audience.listen(trio.current_time())
        if self._seen and not self._audience.has_pages:
            self.end(_UNSEEN)

    # ── snapshots ────────────────────────────────────────────────────────────────────────────

    async def look(self) -> LogPicture:
        """Return a current snapshot; one who looks counts as a page for 60 s."""
        await trio.lowlevel.checkpoint()
        self._audience.expect(trio.current_time())
        self._update()
        return self._picture

    async def _draw(self) -> None:
        while not self._audience.is_gone(trio.current_time()):
            self._changed = trio.Event()
            self._update()
            await trio.sleep(max(PERIOD, self._show() / _RATE))
            with trio.move_on_after(_IDLE - PERIOD):
                await self._changed.wait()
        self.end(_UNSEEN)

    def _update(self) -> None:
        if self._source is not None and not self.ended:
            self._picture = self._look(state_of(self._source))

    def _look(self, state: LogState) -> LogPicture:
        if state.ended and self._source is not None:  # what was known until then remains
            before = state_of(self._source)
            state = replace(state, title=before.title, notes=before.notes)
        return self._tail.picture(state, named=isinstance(self._source, MergedLogs))

    def _show(self) -> int:
        if self.outlet is None or self._picture == self._shown:
            return 0
        self._shown = self._picture
        return self.outlet.show(self._picture)
