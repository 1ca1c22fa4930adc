"""The live table of ``dynkube watch``: state, objects, and recent events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from heapq import nsmallest
from typing import TYPE_CHECKING

import trio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dynkube._text.tables import printable
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


class LiveTable:
    """A reporter that redraws a table instead of printing lines.

    Data from the cluster is shown as plain text: it cannot contain markup or control the terminal.
    """

    def __init__(
        self,
        informer: Informer,
        name: str,
        console: Console,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._informer = informer
        self._name = name
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
        header.append(self._name, style="bold").append("  ")
        header.append(state.phase, style=STYLES[state.phase])
        header.append(f" {age(self._now() - state.since)}  objects: {shown}  events: {self._events}", style="dim")
        if state.phase is not Phase.LIVE and (reason := describe(state)):
            header.append(f"\n{printable(reason)}")
        return header

    def _rows(self, objects: Iterable[Unstructured]) -> Table:
        objects = list(objects)
        columns = {
            "NAMESPACE": [obj.namespace for obj in objects],
            "NAME": [obj.name for obj in objects],
            "CONDITIONS": [conditions(obj) for obj in objects],
            "AGE": [self._age_of(obj) for obj in objects],
        }
        filled = {title: cells for title, cells in columns.items() if any(cells)}
        table = _plain_table(*filled)
        for row in zip(*filled.values(), strict=True):
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


def _plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    return table


def _cell(text: str) -> Text:
    return Text(printable(text), no_wrap=True, overflow="ellipsis")
