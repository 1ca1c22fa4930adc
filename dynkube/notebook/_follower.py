"""The task behind a live table: renders at most four snapshots a second.

The task keeps the rows of its sources up to date (``_feed.py``). It ends and closes the sources when no page shows the
table any more; it is started again when one does.

Everything here runs in the event loop's thread, so there are no locks. It blocks the loop for milliseconds at a time,
whatever the number of objects.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Final, Protocol, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.errors import ClosedError, DynkubeError
from dynkube.informers import Phase
from dynkube.informers._slices import Slices
from dynkube.meta import Unstructured
from dynkube.notebook._audience import Audience
from dynkube.notebook._columns import LiveColumn, columns_for
from dynkube.notebook._details import details_of
from dynkube.notebook._feed import Feed
from dynkube.notebook._loop import Start
from dynkube.notebook._messages import Message, delta_message, table_message
from dynkube.notebook._picture import Head, PackedPicture, Painter, Picture, Row, headings
from dynkube.notebook._row_keys import parse_id
from dynkube.notebook._selection import RowSelection
from dynkube.notebook._source import Sources
from dynkube.notebook._view import Asked, TableView

_log = get_logger("dynkube.notebook")

PERIOD: Final = 0.25
"""Seconds between two snapshots."""
_GAP: Final = 0.05  # seconds between two snapshots while a page is scrolled
_IDLE: Final = 1.0  # seconds between checks of what has no event: the filter, the number of objects that it hides
_PULSE: Final = 15.0  # seconds between keep-alive messages


class Outlet(Protocol):
    """Where snapshots are sent."""

    def show(self, message: Message, picture: Picture) -> None:
        """Show a snapshot; ``message`` has what changed. Must neither block nor raise."""
        ...


Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Sources]]
"""Opens the sources; entered each time that following starts, but never twice at once."""


class Follower:
    """Follows the sources of one table.

    Args:
        opening: opens the sources.
        start: starts the task.
        columns: the user's additional columns.
        limit: the maximum number of rows of a page that cannot scroll, and about that of a window on one that can.
        wide: also show the CRD's columns for wide output.
        narrower: a hint on how to narrow the selection, shown if there are more objects than ``limit``.
        now: the wall clock.
        cpu_clock: measures how long the loop is blocked.
        cells: entered while following; calls ``cell_begins`` and ``cell_ends``.
    """

    def __init__(
        self,
        opening: Opening,
        start: Start,
        *,
        columns: tuple[LiveColumn, ...] = (),
        limit: int = 200,
        wide: bool = False,
        narrower: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cpu_clock: Callable[[], float] = perf_counter,
        cells: Callable[[Follower], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.outlet: Outlet | None = None
        self.resting: bool = True
        """Whether it does not follow now, and will when a page shows the table; may be read by any thread."""
        self.error: DynkubeError | None = None
        """Why the sources could not be opened."""
        self._opening = opening
        self._start = start
        self._own = columns
        self._limit = limit
        self._wide = wide
        self._narrower = narrower
        self._now = now
        self._cpu_clock = cpu_clock
        self._slices = Slices(cpu_clock)
        self._cells = cells
        self._picture: Picture | PackedPicture = Picture(Head(title="", phase=str(Phase.UNKNOWN)))
        self._closed = False
        self._resend = False  # whether to send the next snapshot as a whole
        self._kept: Picture | None = None  # an old snapshot, shown until the sources have synced
        self._seq = 0
        self._sent_at = 0.0
        self._audience = Audience(0.0)
        self._asked: Asked | None = None  # what a page has asked for
        self._reset()

    def _reset(self) -> None:
        self._feed: Feed | None = None
        self._view = TableView(RowSelection(lambda key: None), self._limit, self._asked)
        self._painter = Painter()
        self._last: dict[str, Unstructured] = {}  # the objects of the last snapshot of a table that is over
        self._columns: tuple[LiveColumn, ...] = ()
        self._printed: object = None
        self._changed = trio.Event()
        self._settled = trio.Event()
        self._ended = trio.Event()
        self._scope = trio.CancelScope()
        self._picture = self.picture
        self._kept = self._picture if self._picture.rows else None
        self._resend = True

    @property
    def picture(self) -> Picture:
        """The last snapshot; may be read by any thread."""
        return self._picture.unpack()

    # ── starting and stopping ────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Start following, unless it does already or was closed.

        Stops again if no page opens within 60 s.
        """
        now = trio.current_time()
        self._audience.expect(now)
        if self.resting:
            self._audience.listen(now)  # while resting, cell_ends was not called
            self._follow()

    def _follow(self) -> None:
        self._reset()
        self.error = None
        try:
            self._start(self._run)
        except ClosedError as exc:
            self.error = exc
            self._end()
        else:
            self.resting = False

    async def _run(self) -> None:
        """Follow until no page shows the table, or the sources or this are closed.

        Never raises: a background task.
        """
        over = True
        try:
            with self._scope, self._cells(self):
                over = await self._open_and_follow()
        except ClosedError as exc:
            self.error = exc
        except DynkubeError as exc:  # the sources could not be opened; retried when a page shows the table
            self.error, over = exc, False
            head = replace(self._picture.head, phase=str(Phase.UNKNOWN), reason="NotFollowed", message=str(exc))
            self._send_picture(replace(self.picture, head=head))
        except Exception:  # noqa: BLE001  # it would end the event loop, and every informer with it
            _log.exception("a live table of %s has failed and is no longer updated", self._picture.head.title)
        finally:
            over = over or self._closed
            is_wanted = not over and self.error is None and not self._audience.is_gone(trio.current_time())
            self._end(over=over)
            if is_wanted:  # a page opened while the sources were being closed
                self._follow()

    async def _open_and_follow(self) -> bool:
        """Follow the sources; return whether their events have ended."""
        async with self._opening() as sources:
            self._feed = feed = Feed(sources, self._cpu_clock)
            self._view = TableView(feed.rows, self._limit, self._asked)
            if self._kept is None:
                self._picture = replace(self.picture, head=replace(self._picture.head, title=feed.title))
            async with feed.opened(), trio.open_nursery() as nursery:
                nursery.start_soon(self._view.keep_ranked, Slices(self._cpu_clock), self._note_change)
                nursery.start_soon(self._draw, feed, nursery.cancel_scope)
                await feed.follow(self._note_change)
                nursery.cancel_scope.cancel()
                return True
        return False  # the nursery was cancelled: no page shows the table

    def _end(self, *, over: bool = True) -> None:
        if over:
            self._closed = True
            self._send_picture(replace(self.picture, head=self._closed_head()))
            self._last = self._painter.objects  # shown rows can still be unfolded
        self._view = TableView(RowSelection(lambda key: None), self._limit, self._asked)
        self._painter, self._picture = Painter(), self._picture.pack()
        self._kept = self._feed = None
        self.resting = not over
        self._settled.set()
        self._ended.set()

    def end(self) -> None:
        """Stop for good; does not wait."""
        if self.resting:
            self._end()
        self._closed = True
        self._scope.cancel()

    async def close(self) -> None:
        """Stop for good, and wait until the task has ended."""
        self.end()
        await self._ended.wait()

    async def wait_settled(self) -> None:
        """Wait until a snapshot of synced sources was rendered, or following has ended."""
        await self._settled.wait()

    async def look(self) -> Picture:
        """Render and return a current snapshot.

        If it does not follow, return the last one.
        """
        if self._feed is not None:
            return await self._paint(self._feed)
        await trio.lowlevel.checkpoint()
        return self.picture

    # ── messages of pages ────────────────────────────────────────────────────────────────────

    def receive(self, message: Message) -> None:
        """Handle a message of a page; invalid ones are ignored."""
        now, page = trio.current_time(), str(message.get("page", ""))
        if message.get("kind") == "bye":
            self._audience.went(page, now)
            return
        if message.get("kind") == "view" or (message.get("scrolls") is True and self._is_news(page)):
            self._asked = Asked.parse(message)
            self._view.ask(self._asked)
        if self.resting:
            self.begin()  # sends a complete snapshot
        elif message.get("kind") == "hello":
            self._send(table_message(self.picture))
        self._audience.came(page, now, stays=message.get("stays") is True)
        if message.get("kind") == "details" and self._kept is None:  # otherwise the page asks again later
            self._send(self._details(str(message.get("id", ""))))
        self._changed.set()

    def _is_news(self, page: str) -> bool:
        """Return whether the place where a page opens is shown; a second page shows that of the first one."""
        return self._asked is None or self._asked.page == page

    def cell_begins(self, cell: str) -> None:
        """Record that a cell starts.

        Its old output has been removed, and messages from browser pages may arrive only when it ends.
        """
        self._audience.went(cell, trio.current_time())
        self._audience.deafen()

    def cell_ends(self) -> None:
        """The running cell has ended."""
        self._audience.listen(trio.current_time())

    def is_on(self, page: str) -> bool:
        """Return whether a page is known to show the table; thread-safe."""
        return page in self._audience

    def get(self, row_id: str) -> Unstructured | None:
        """Return the object of a row, or ``None``."""
        row = self._view.rows.get(parse_id(row_id))
        return self._last.get(row_id) if row is None else row.object

    def _details(self, row_id: str) -> Message:
        obj = self.get(row_id)
        blocks = details_of(obj, self._now()) if obj is not None else []
        version = obj.resource_version if obj is not None else ""
        return {"kind": "details", "id": row_id, "version": version, "blocks": blocks}

    # ── tasks ────────────────────────────────────────────────────────────────────────────────

    def _note_change(self) -> None:
        self._changed.set()

    async def _draw(self, feed: Feed, following: trio.CancelScope) -> None:
        while not self._audience.is_gone(trio.current_time()):
            self._changed = trio.Event()
            if self._audience.wants(trio.current_time(), self._sent_at):
                self._send_picture(await self._paint(feed))
            await trio.sleep(_GAP)
            with trio.move_on_after(PERIOD - _GAP):
                await self._view.wait_asked()
            with trio.move_on_after(_IDLE - PERIOD):
                await self._changed.wait()
        following.cancel()

    # ── snapshots ────────────────────────────────────────────────────────────────────────────

    async def _paint(self, feed: Feed) -> Picture:
        if self._kept is not None and not feed.has_caught_up:
            old = self._kept.head
            new = feed.head(shown=old.shown, narrower=self._narrower)
            head = replace(new, matching=old.matching, total=old.total, reading=old.reading)
            return replace(self._kept, head=head)
        if self._kept is not None:  # sent as a whole, so that the page requests the details of unfolded rows again
            self._kept, self._resend = None, True
        if feed.closed:  # the objects are gone, and the rows stay
            await trio.lowlevel.checkpoint()
            return self.picture
        # Read together, before the first checkpoint: events are applied while the rows are made.
        columns = self._all_columns(feed)
        window, view = self._view.window(columns)
        shown = len(feed.rows) if self._view.scrolls else len(window)
        head, namespaces = feed.head(shown=shown, narrower=self._narrower, view=view), feed.rows.namespaces
        before = self._picture.headings if view is not None else ()
        rows: list[Row] = []
        for row in self._painter.rows(window, columns):
            rows.append(row)
            await self._slices.checkpoint_if_due()
        return Picture(head, headings(columns, rows, namespaces, before), tuple(rows))

    def _all_columns(self, feed: Feed) -> tuple[LiveColumn, ...]:
        printed = feed.printer_columns
        if printed != self._printed:
            self._printed, self._columns = printed, columns_for(self._own, printed, wide=self._wide)
        return self._columns

    def _closed_head(self) -> Head:
        return replace(
            self._picture.head,
            phase=str(Phase.STOPPED),
            reason="Closed",
            message="this table is no longer updated",
            since=self._now().timestamp(),
            following=False,
            reading=False,
        )

    def _send_picture(self, picture: Picture) -> None:
        is_due = trio.current_time() - self._sent_at >= _PULSE
        is_blind = self._audience.needs_complete() and (is_due or self._audience.is_eager or picture != self.picture)
        if is_blind or self._resend:
            message: Message | None = table_message(picture)
        else:
            message = delta_message(self.picture, picture)
        self._picture, self._resend = picture, False
        if message is not None:
            self._send(message)
        elif is_due:
            self._send({"kind": "pulse"})
        if self._feed is not None and self._feed.is_settled:
            self._settled.set()

    def _send(self, message: Message) -> None:
        if message["kind"] != "details":
            self._seq += 1
            self._sent_at = trio.current_time()
        if self.outlet is not None:
            self.outlet.show({**message, "seq": self._seq, "now": self._now().timestamp()}, self.picture)
