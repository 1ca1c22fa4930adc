"""The task behind a live table: it folds the events of a source, and draws at most four pictures a second.

The task ends, and with it whatever it holds open, when nobody looks any more; it begins anew when somebody does.

Everything here belongs to the event loop's thread, so nothing is locked. The loop is held for milliseconds at a
stretch, however much there is to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Final, Protocol, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.errors import ClosedError, DynkubeError
from dynkube.informers import EventStream, Phase, Slices
from dynkube.meta import Unstructured
from dynkube.notebook._audience import Audience
from dynkube.notebook._columns import Column, columns_for
from dynkube.notebook._details import details_of
from dynkube.notebook._messages import Message, delta_message, table_message
from dynkube.notebook._picture import Head, PackedPicture, Painter, Picture, Row, headings
from dynkube.notebook._selection import Selection
from dynkube.notebook._source import Source, head_of, title_of

_log = get_logger("dynkube.notebook")

PERIOD: Final = 0.25
"""Seconds between two pictures."""
_IDLE: Final = 1.0  # how often to look at what no event tells: the filter's words, how many objects it hides
_PULSE: Final = 15.0  # how often to say that there is nothing to say
_UNSETTLED: Final = (Phase.UNKNOWN, Phase.SYNCING)


class Outlet(Protocol):
    """Where pictures go."""

    def show(self, message: Message, picture: Picture) -> None:
        """Show a picture; the message says what is new in it. Must neither block nor raise."""
        ...


Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Source]]
"""Opens what is to be followed, for as long as it is; more than once, one after the other."""
Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], object]
"""Starts a task, and is called in the loop's thread. It raises ClosedError where there is nothing left to own it."""


class Follower:
    """Follows one source for one table.

    Args:
        opening: what to follow.
        start: starts its task.
        columns: more columns than the usual ones.
        limit: rows.
        wide: show also the columns that a definition has for wide screens.
        narrower: what to do about objects that are beyond the limit.
        now: the time of day.
        cpu_clock: measures how long the loop is held.
        cells: entered for as long as it follows; has it told of the cells that run.
    """

    def __init__(
        self,
        opening: Opening,
        start: Start,
        *,
        columns: tuple[Column, ...] = (),
        limit: int = 200,
        wide: bool = False,
        narrower: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cpu_clock: Callable[[], float] = perf_counter,
        cells: Callable[[Follower], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.outlet: Outlet | None = None
        self.resting: bool = True
        """Whether it does not follow now, and would if somebody looked; may be read by any thread."""
        self.error: DynkubeError | None = None
        """Why it could not begin."""
        self._opening = opening
        self._start = start
        self._own = columns
        self._limit = limit
        self._wide = wide
        self._narrower = narrower
        self._now = now
        self._slices = Slices(cpu_clock)
        self._cells = cells
        self._picture: Picture | PackedPicture = Picture(Head(title="", phase=str(Phase.UNKNOWN)))
        self._closed = False
        self._whole = False  # whether the next picture is to be sent as a whole
        self._kept: Picture | None = None  # shown on until there is something to show
        self._seq = 0
        self._told = 0.0
        self._audience = Audience(0.0)
        self._reset()

    def _reset(self) -> None:
        self._source: Source | None = None
        self._events: EventStream | None = None
        self._selection = Selection()
        self._painter = Painter()
        self._columns: tuple[Column, ...] = ()
        self._printed: object = None
        self._changed = trio.Event()
        self._settled = trio.Event()
        self._ended = trio.Event()
        self._scope = trio.CancelScope()
        self._picture = self.picture
        self._kept = self._picture if self._picture.rows else None
        self._whole = True

    @property
    def picture(self) -> Picture:
        """What was drawn last; may be read by any thread."""
        return self._picture.unpack()

    # ── its life ─────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Follow from now on, unless it does or was closed; for a while also if no page comes."""
        now = trio.current_time()
        self._audience.expect(now)
        if self.resting:
            self._audience.listen(now)  # at rest, it was told of no cell's end
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
        """Follow until nobody looks, or until the source or this is closed. Raises nothing, as nobody waits for it."""
        over = True
        try:
            with self._scope, self._cells(self):
                over = await self._open_and_follow()
        except ClosedError as exc:
            self.error = exc
        except DynkubeError as exc:  # the source could not be opened; whoever looks again tries again
            self.error, over = exc, False
            head = replace(self._picture.head, phase=str(Phase.UNKNOWN), reason="NotFollowed", message=str(exc))
            self._send_picture(replace(self.picture, head=head))
        except Exception:  # noqa: BLE001  # it would end the event loop, and every informer with it
            _log.exception("a live table of %s has failed, and is no longer followed", self._picture.head.title)
        finally:
            over = over or self._closed
            is_wanted = not over and self.error is None and not self._audience.is_gone(trio.current_time())
            self._end(over=over)
            if is_wanted:  # somebody came while the source was being closed
                self._follow()

    async def _open_and_follow(self) -> bool:
        """Returns whether there is nothing more to come."""
        async with self._opening() as source:
            self._source = source
            if self._kept is None:
                self._picture = replace(self.picture, head=replace(self._picture.head, title=title_of(source)))
            async with source.events() as events, trio.open_nursery() as nursery:
                nursery.start_soon(self._draw, source, nursery.cancel_scope)
                nursery.start_soon(self._watch_states, source)
                await self._fold(events)
                nursery.cancel_scope.cancel()
                return True
        return False  # the nursery was cancelled: nobody looks

    def _end(self, *, over: bool = True) -> None:
        if over:
            self._closed = True
            self._send_picture(replace(self.picture, head=self._closed_head()))
            self._selection = self._selection.first(self._limit)  # rows can be opened still; the others may go
        else:
            self._selection = Selection()
        self._painter, self._picture = Painter(), self._picture.pack()
        self._kept = self._source = self._events = None
        self.resting = not over
        self._settled.set()
        self._ended.set()

    def end(self) -> None:
        """End it for good; does not wait."""
        if self.resting:
            self._end()
        self._closed = True
        self._scope.cancel()

    async def close(self) -> None:
        """End it for good, and wait for that."""
        self.end()
        await self._ended.wait()

    async def wait_settled(self) -> None:
        """Wait until a picture was drawn of a source that knows what there is."""
        await self._settled.wait()

    async def look(self) -> Picture:
        """A picture as of now, whether or not a page shows any; the last one, where it does not follow."""
        if self._source is not None:
            return await self._paint(self._source)
        await trio.lowlevel.checkpoint()
        return self.picture

    # ── what pages say ───────────────────────────────────────────────────────────────────────

    def hear(self, message: Message) -> None:
        """A page said something. What it cannot have said is ignored."""
        now, page = trio.current_time(), str(message.get("page", ""))
        if message.get("kind") == "bye":
            self._audience.went(page, now)
            return
        if self.resting:
            self.begin()  # a whole picture follows
        elif message.get("kind") == "hello":
            self._tell(table_message(self.picture))
        self._audience.came(page, now, stays=message.get("stays") is True)
        if message.get("kind") == "details" and self._kept is None:  # else it will ask again
            self._tell(self._details(str(message.get("id", ""))))
        self._changed.set()

    def cell_begins(self, cell: str) -> None:
        """A cell begins: what it showed the last time is gone, and pages may not be heard until it ends."""
        self._audience.went(cell, trio.current_time())
        self._audience.deafen()

    def cell_ends(self) -> None:
        """The cell that ran has ended."""
        self._audience.listen(trio.current_time())

    def is_on(self, page: str) -> bool:
        """Whether a page shows it, as far as is known; may be asked by any thread."""
        return page in self._audience

    def get(self, row_id: str) -> Unstructured | None:
        """The object of a row."""
        namespace, _, name = row_id.rpartition("/")
        return self._selection.get((namespace, name))

    def _details(self, row_id: str) -> Message:
        obj = self.get(row_id)
        blocks = details_of(obj, self._now()) if obj is not None else []
        version = obj.resource_version if obj is not None else ""
        return {"kind": "details", "id": row_id, "version": version, "blocks": blocks}

    # ── tasks ────────────────────────────────────────────────────────────────────────────────

    async def _fold(self, events: EventStream) -> None:
        self._events = events
        while (some := events.take_nowait() or await events.take()) is not None:
            for event in some:
                self._selection.fold(event)
            self._changed.set()
            await self._slices.breathe()

    async def _watch_states(self, source: Source) -> None:
        async with aclosing(source.states()) as states:
            async for _ in states:
                self._changed.set()

    async def _draw(self, source: Source, following: trio.CancelScope) -> None:
        while not self._audience.is_gone(trio.current_time()):
            self._changed = trio.Event()
            if self._audience.wants(trio.current_time(), self._told):
                self._send_picture(await self._paint(source))
            await trio.sleep(PERIOD)
            with trio.move_on_after(_IDLE - PERIOD):
                await self._changed.wait()
        following.cancel()

    # ── pictures ─────────────────────────────────────────────────────────────────────────────

    async def _paint(self, source: Source) -> Picture:
        if self._kept is not None and not self._has_caught_up:
            old = self._kept.head
            head = replace(self._head(source, shown=old.shown), matching=old.matching, total=old.total)
            return replace(self._kept, head=head)
        if self._kept is not None:  # a page that gets all of it asks anew for what is unfolded
            self._kept, self._whole = None, True
        # All of one moment: while the rows are made, events go on being folded.
        columns, window = self._all_columns(source), self._selection.window(self._limit)
        head, namespaces = self._head(source, shown=len(window)), self._selection.namespaces
        rows: list[Row] = []
        for row in self._painter.rows(window, columns):
            rows.append(row)
            await self._slices.breathe()
        return Picture(head, headings(columns, rows, namespaces), tuple(rows))

    def _all_columns(self, source: Source) -> tuple[Column, ...]:
        printed = source.printer_columns
        if printed != self._printed:
            self._printed, self._columns = printed, columns_for(self._own, printed, wide=self._wide)
        return self._columns

    def _head(self, source: Source, *, shown: int) -> Head:
        return head_of(source, shown=shown, matching=len(self._selection), narrower=self._narrower)

    def _closed_head(self) -> Head:
        return replace(
            self._picture.head,
            phase=str(Phase.STOPPED),
            reason="Closed",
            message="this table is no longer followed",
            since=self._now().timestamp(),
            following=False,
        )

    def _is_settled(self, phase: str) -> bool:
        """Whether there is nothing to wait for: it is known what there is, or why that cannot be known."""
        return phase not in _UNSETTLED and (self._has_caught_up or phase != Phase.LIVE)

    @property
    def _has_caught_up(self) -> bool:
        return self._events is not None and self._events.has_synced

    def _send_picture(self, picture: Picture) -> None:
        is_due = trio.current_time() - self._told >= _PULSE
        is_blind = self._audience.needs_whole() and (is_due or self._audience.is_eager or picture != self.picture)
        if is_blind or self._whole:
            message: Message | None = table_message(picture)
        else:
            message = delta_message(self.picture, picture)
        self._picture, self._whole = picture, False
        if message is not None:
            self._tell(message)
        elif is_due:
            self._tell({"kind": "pulse"})
        if self._is_settled(picture.head.phase):
            self._settled.set()

    def _tell(self, message: Message) -> None:
        if message["kind"] != "details":
            self._seq += 1
            self._told = trio.current_time()
        if self.outlet is not None:
            self.outlet.show({**message, "seq": self._seq, "now": self._now().timestamp()}, self.picture)
