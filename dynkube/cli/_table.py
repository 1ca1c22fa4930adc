"""The live table of ``dynkube watch``: state, objects, and recent events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from heapq import nsmallest
from typing import TYPE_CHECKING

import trio
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dynkube._text.tables import printable
from dynkube.cli._columns import Printed, PrinterColumns
from dynkube.cli._follow import subject, word
from dynkube.cli._lines import describe, title, what_changed
from dynkube.cli._text import age
from dynkube.informers import Informer, Phase, State
from dynkube.meta import InformerEvent, Unstructured

if TYPE_CHECKING:
    from collections.abc import Iterator

_PERIOD = 0.25  # seconds: at most four redraws a second
_IDLE = 1.0  # seconds between redraws without events, for the ages
_MOST_ROWS = 200
_RECENT = 6
_GAP = 2  # spaces between columns
_FRAME = 6  # lines besides the rows: header, blank lines, column names, the count of hidden rows

STYLES = {
    Phase.UNKNOWN: "yellow",
    Phase.ABSENT: "yellow",
    Phase.SYNCING: "cyan",
    Phase.LIVE: "green",
    Phase.DEGRADED: "red",
    Phase.STOPPED: "dim",
}
"""The style of each phase."""

EVENT_STYLES = {"ADDED": "green", "MODIFIED": "cyan", "DELETED": "red"}
"""The style of each event type."""


class WatchTable:
    """A reporter that redraws a table instead of printing lines.

    Data from the cluster is shown as plain text: it cannot contain markup or control the terminal.
    """

    def __init__(
        self,
        informer: Informer,
        console: Console,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        columns: PrinterColumns | None = None,
    ) -> None:
        self._informer = informer
        self._columns = columns or PrinterColumns(informer, now=now)
        self._console = console
        self._now = now
        self._recent: deque[tuple[datetime, InformerEvent]] = deque(maxlen=_RECENT)
        self._events = 0
        self._changed = trio.Event()

    async def state(self, state: State) -> None:
        """Request a redraw of the header."""
        self._changed.set()

    async def event(self, event: InformerEvent) -> None:
        """Record the event and request a redraw."""
        self._recent.append((self._now(), event))
        self._events += 1
        self._changed.set()

    async def run(self) -> None:
        """Redraw until cancelled, at most four times a second.

        The last table stays on the screen.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._columns.run)
            await self._redraw()

    async def _redraw(self) -> None:
        with self._live() as live:
            while True:
                self._changed = trio.Event()
                live.update(self.render(), refresh=True)
                await trio.sleep(_PERIOD)
                with trio.move_on_after(_IDLE - _PERIOD):
                    await self._changed.wait()

    @contextmanager
    def _live(self) -> Iterator[Live]:
        # auto_refresh=False: rich's refresh thread would draw concurrently.
        with Live(console=self._console, auto_refresh=False, vertical_overflow="crop") as live:
            try:
                yield live
            finally:
                live.update(self.render())  # drawn when the Live block is left

    # ── rendering ────────────────────────────────────────────────────────────────────────────

    def render(self) -> RenderableType:
        """Render the current state, no higher than the terminal."""
        objects = self._informer.list()
        recent = list(self._recent)
        room = min(_MOST_ROWS, max(1, self._console.height - _FRAME - len(recent)))
        parts: list[RenderableType] = [self._header(len(objects))]
        if objects:
            parts += [Text(), self._rows(nsmallest(room, objects, key=lambda obj: obj.key))]
        if len(objects) > room:
            parts.append(Text(f"... and {len(objects) - room} more", style="dim"))
        if recent:
            parts += [Text(), self._last(recent)]
        return Group(*parts)

    def _header(self, shown: int) -> Text:
        state = self._informer.state
        header = Text(no_wrap=True, overflow="ellipsis")
        header.append(str(self._informer.gvr), style="bold").append("  ")
        header.append(state.phase, style=STYLES[state.phase])
        header.append(f" {age(self._now() - state.since)}  objects: {shown}  events: {self._events}", style="dim")
        if state.phase is not Phase.LIVE and (reason := describe(state)):
            header.append(f"\n{printable(reason)}")
        return header

    def _rows(self, objects: Sequence[Unstructured]) -> Table:
        identity = [
            Printed("NAMESPACE", [obj.namespace for obj in objects]),
            Printed("NAME", [obj.name for obj in objects]),
        ]
        printed = [Printed(heading.upper(), cells) for heading, cells in self._columns.of(objects)]
        state = Printed("CONDITIONS", [conditions(obj) for obj in objects])
        age = Printed("AGE", [self._age_of(obj) for obj in objects])
        # Without printer columns the conditions are all there is, so they are shown even if they have to be cut.
        extra = _fitting([*printed, state], self._console.width - _width([*identity, age])) if printed else [state]
        columns = [column for column in (*identity, *extra, age) if any(column.cells)]
        table = _plain_table(*(column.heading for column in columns))
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*map(_cell, row))
        return table

    def _age_of(self, obj: Unstructured) -> str:
        try:
            return age(self._now() - datetime.fromisoformat(obj["metadata"]["creationTimestamp"]))
        except (KeyError, TypeError, ValueError):
            return ""

    def _last(self, recent: Iterable[tuple[datetime, InformerEvent]]) -> Table:
        table = Table.grid(padding=(0, 2))
        for when, event in recent:
            happened = word(event)
            detail = _cell(what_changed(event))
            detail.stylize("dim")
            table.add_row(
                Text(f"{when.astimezone():%H:%M:%S}", style="dim"),
                Text(happened, style=EVENT_STYLES[happened]),
                _cell(title(subject(event))),
                detail,
            )
        return table


def conditions(obj: Unstructured) -> str:
    """Return the conditions, those that are not True with status and reason: ``Ready, Synced=False (Timeout)``."""
    found = obj.jsonpath("{.status.conditions[*]}")
    return ", ".join(_condition(entry) for entry in found if isinstance(entry, dict) and entry.get("type"))


def _condition(entry: dict[str, object]) -> str:
    if entry.get("status") == "True":
        return str(entry["type"])
    reason = entry.get("reason")
    return f"{entry['type']}={entry.get('status')}" + (f" ({reason})" if reason else "")


def _width(columns: Iterable[Printed]) -> int:
    """Return the width of columns on the screen, with the gap after each; empty columns are not shown."""
    return sum(
        max(cell_len(printable(text)) for text in (heading, *cells)) + _GAP for heading, cells in columns if any(cells)
    )


def _fitting(columns: Iterable[Printed], room: int) -> list[Printed]:
    """Return the columns that fit into ``room``; a column that does not fit makes room for those after it."""
    found = []
    for column in columns:
        if (width := _width([column])) <= room:
            found.append(column)
            room -= width
    return found


def _plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    return table


def _cell(text: str) -> Text:
    return Text(printable(text), no_wrap=True, overflow="ellipsis")
