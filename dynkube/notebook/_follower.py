"""The task behind a live table: it folds the events of a source, and draws at most four pictures a second.

Everything here belongs to the event loop's thread, so nothing is locked. The loop is held for milliseconds at a
stretch, however much there is to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from time import perf_counter
from typing import Final, Protocol

import trio

from dynkube.errors import ClosedError
from dynkube.informers import EventStream, Phase, Slices, State
from dynkube.meta import Unstructured
from dynkube.notebook._columns import Column, columns_for
from dynkube.notebook._details import details_of
from dynkube.notebook._messages import Message, delta_message, table_message
from dynkube.notebook._picture import Head, Painter, Picture, Row, headings
from dynkube.notebook._selection import Selection
from dynkube.notebook._source import Source

_log = logging.getLogger("dynkube.notebook")

PERIOD: Final = 0.25
"""Seconds between two pictures."""
_IDLE: Final = 1.0  # how often to look at what no event tells: the filter's words, how many objects it hides
_PULSE: Final = 15.0  # how often to say that there is nothing to say
_BLIND: Final = 10  # how often the whole table is sent while no page has said that it has it
_UNSETTLED: Final = (Phase.UNKNOWN, Phase.SYNCING)


class Outlet(Protocol):
    """Where pictures go."""

    def show(self, message: Message, picture: Picture) -> None:
        """Show a picture; the message says what is new in it. Must neither block nor raise."""
        ...


class Follower:
    """Follows one source for one table.

    Args:
        source: what to follow.
        columns: more columns than the usual ones.
        limit: rows.
        wide: show also the columns that a definition has for wide screens.
        now: the time of day.
        cpu_clock: measures how long the loop is held.
    """

    def __init__(
        self,
        source: Source,
        *,
        columns: tuple[Column, ...] = (),
        limit: int = 200,
        wide: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cpu_clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.outlet: Outlet | None = None
        self.picture: Picture = Picture(Head(title=_title(source), phase=str(source.state.phase)))
        """What was drawn last; may be read by any thread."""
        self._source = source
        self._own = columns
        self._limit = limit
        self._wide = wide
        self._now = now
        self._slices = Slices(cpu_clock)
        self._selection = Selection()
        self._painter = Painter()
        self._columns: tuple[Column, ...] = ()
        self._printed: object = None
        self._scope = trio.CancelScope()
        self._changed = trio.Event()
        self._settled = trio.Event()
        self._ended = trio.Event()
        self._events: EventStream | None = None
        self._pages: set[str] = set()
        self._waiting = _BLIND  # whole tables to send, until a page has said that it has one
        self._seq = 0
        self._told = 0.0

    async def run(self) -> None:
        """Follow until the source or this is closed. To be run once; raises nothing, as nobody waits for it."""
        try:
            with self._scope, suppress(ClosedError):  # closed before it had begun
                async with self._source.events() as events, trio.open_nursery() as nursery:
                    nursery.start_soon(self._draw)
                    nursery.start_soon(self._watch_states)
                    await self._fold(events)
                    nursery.cancel_scope.cancel()
        except Exception:  # noqa: BLE001  # it would end the event loop, and every informer with it
            _log.exception("a live table of %s has failed, and is no longer followed", self.picture.head.title)
        finally:
            self._send_picture(Picture(self._head(following=False), self.picture.headings, self.picture.rows))
            self._selection = self._selection.first(self._limit)  # rows can be opened still; the others may go
            self._settled.set()
            self._ended.set()

    async def wait_settled(self) -> None:
        """Wait until a picture was drawn of a source that knows what there is."""
        await self._settled.wait()

    async def look(self) -> Picture:
        """A picture as of now, whether or not a page shows any."""
        if not self._ended.is_set():
            return await self._paint()
        await trio.lowlevel.checkpoint()
        return self.picture

    async def close(self) -> None:
        """End it, and wait for that."""
        self._scope.cancel()
        await self._ended.wait()

    # ── what pages say ───────────────────────────────────────────────────────────────────────

    def hear(self, message: Message) -> None:
        """A page said something. What it cannot have said is ignored."""
        page = str(message.get("page", ""))
        match message.get("kind"):
            case "hello":
                self._waiting = 0
                self._pages.add(page)
                self._tell(table_message(self.picture))
            case "bye":
                self._pages.discard(page)
            case "details":
                self._tell(self._details(str(message.get("id", ""))))
        self._changed.set()

    def get(self, row_id: str) -> Unstructured | None:
        """The object of a row."""
        namespace, _, name = row_id.rpartition("/")
        return self._selection.get((namespace, name))

    @property
    def _is_watched(self) -> bool:
        """Whether some page shows it, or none had the time to say so."""
        return bool(self._pages or self._waiting)

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

    async def _watch_states(self) -> None:
        async with aclosing(self._source.states()) as states:
            async for _ in states:
                self._changed.set()

    async def _draw(self) -> None:
        while True:
            self._changed = trio.Event()
            if self._is_watched:
                self._send_picture(await self._paint())
            await trio.sleep(PERIOD)
            with trio.move_on_after(_IDLE - PERIOD):
                await self._changed.wait()

    # ── pictures ─────────────────────────────────────────────────────────────────────────────

    async def _paint(self) -> Picture:
        # All of one moment: while the rows are made, events go on being folded.
        columns, window = self._all_columns(), self._selection.window(self._limit)
        head, namespaces = self._head(shown=len(window)), self._selection.namespaces
        rows: list[Row] = []
        for row in self._painter.rows(window, columns):
            rows.append(row)
            await self._slices.breathe()
        return Picture(head, headings(columns, rows, namespaces), tuple(rows))

    def _all_columns(self) -> tuple[Column, ...]:
        printed = self._source.printer_columns
        if printed != self._printed:
            self._printed, self._columns = printed, columns_for(self._own, printed, wide=self._wide)
        return self._columns

    def _head(self, *, shown: int | None = None, following: bool = True) -> Head:
        state, shows = self._source.state, self._source.filter
        if not following:
            state = State(Phase.STOPPED, "Closed", "this table is no longer followed")
        matching = len(self._selection)
        return Head(
            title=_title(self._source),
            phase=str(state.phase),
            reason=state.reason,
            message=state.message,
            since=state.since.timestamp(),
            filter="" if shows is None else repr(shows),
            shown=len(self.picture.rows) if shown is None else shown,
            matching=matching,
            total=max(matching, self._source.statistics().objects),
            following=following,
        )

    def _send_picture(self, picture: Picture) -> None:
        delta = delta_message(self.picture, picture)
        self.picture = picture
        if self._waiting:
            self._waiting -= 1
            delta = table_message(picture)
        if delta is not None:
            self._tell(delta)
        elif trio.current_time() - self._told >= _PULSE:
            self._tell({"kind": "pulse"})
        caught_up = self._events is not None and self._events.has_synced
        if picture.head.phase not in _UNSETTLED and (caught_up or picture.head.phase != Phase.LIVE):
            self._settled.set()

    def _tell(self, message: Message) -> None:
        if message["kind"] != "details":
            self._seq += 1
            self._told = trio.current_time()
        if self.outlet is not None:
            self.outlet.show({**message, "seq": self._seq, "now": self._now().timestamp()}, self.picture)


def _title(source: Source) -> str:
    where = f" in {source.namespace}" if source.namespace else ""
    return f"{source.gvr or 'informer'}{where}"
