"""``LiveTable``: a notebook table that updates itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube.errors import ClosedError, InvalidInput
from dynkube.notebook._cells import Cells
from dynkube.notebook._columns import ColumnSource, own_columns
from dynkube.notebook._follower import Follower, Opening
from dynkube.notebook._loop import Loop, Start
from dynkube.notebook._messages import Message
from dynkube.notebook._outputs import Bundle, Outputs, display_once
from dynkube.notebook._picture import Picture
from dynkube.notebook._static import html_of, text_of

_log = get_logger("dynkube.notebook")

NARROWER: Final = "narrow them with informer.set_filter(…)"
NARROWER_EACH: Final = "narrow them with set_filter(…) of each informer"

_MOST_ROWS: Final = 2000
_PATIENCE: Final = 0.5  # seconds to wait for the first rows before the table is shown


class LiveTable(Bound):
    """A table of the objects of an informer, or of informers of several clusters, updated while a page shows it.

    Created by ``.live()`` of informers and lists, and by ``live()`` of :mod:`dynkube.sync` and :mod:`dynkube.aio`.
    Updates replace only the cells that change, so selection, scroll position and unfolded rows are kept. On the page, a
    click on a heading sorts, the text box searches, and a click on a row unfolds the object. Of more objects than
    ``limit`` the page holds a window, and all are sorted and searched here.
    The table is updated until it or all its informers are closed, or the kernel ends. One minute after the last page
    that showed it is gone (its cell was run again, say), it rests: it holds no watch and no objects until it is
    displayed or read again.

    With the extra ``dynkube[notebook]`` it is a widget; without it, an output that is replaced as a whole on each
    update. A saved notebook keeps the text of the first snapshot.
    """

    def __init__(self, follower: Follower, loop: Loop, cells: Cells) -> None:
        self._follower = follower
        self._loop = loop
        self._cells = cells

    def close(self) -> None:
        """Stop updating the table for good.

        Its rows stay on the page, marked as no longer updated. Idempotent.
        """
        __tracebackhide__ = True
        if self._loop.alive:
            self._loop.call(self._follower.close)

    @property
    def text(self) -> str:
        """The current table as text.

        Blocks until it is rendered, and wakes a table that rests.
        """
        return text_of(self._look(), datetime.now(UTC))

    def __repr__(self) -> str:
        head = self._follower.picture.head
        more = ", closed" if not head.following else ", resting" if self._follower.resting else ""
        return f"<LiveTable {head.title} {head.phase} {head.counts}{more}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)

    def _look(self) -> Picture:
        try:
            return self._loop.call(_look, self._follower, self._cells.exist)
        except ClosedError:  # the loop has ended
            return self._follower.picture


class PageTable(LiveTable):
    """A live table without the widget: an output that is replaced on each update."""

    def __init__(self, follower: Follower, loop: Loop, cells: Cells) -> None:
        super().__init__(follower, loop, cells)
        self._outputs = Outputs(follower.is_on)
        follower.outlet = self

    def _ipython_display_(self) -> None:
        if (displayed := display_once(_bundle(self._look(), datetime.now(UTC)))) is not None:
            self._loop.post(partial(self._displayed, *displayed))

    def _displayed(self, page: str, handle: Any) -> None:
        self._outputs.add(page, handle)
        self._follower.receive({"kind": "hello", "page": page, "stays": True})

    def show(self, message: Message, picture: Picture) -> None:
        """Replace the outputs, also if only ages have changed."""
        if self._outputs.exist:
            bundle = _bundle(picture, datetime.fromtimestamp(message["now"], UTC))
            self._outputs.replace(bundle, unless_same=message["kind"] == "pulse")


class WidgetTable(LiveTable):
    """A live table shown by the anywidget widget."""

    def __init__(self, follower: Follower, loop: Loop, cells: Cells) -> None:
        super().__init__(follower, loop, cells)
        from dynkube.notebook._widget import TableWidget  # needs the extra

        self.widget: Any = TableWidget()
        """The widget itself, an ``anywidget.AnyWidget``: for layouts of several."""
        self.widget.on_msg(self._received)
        self.widget.observe(self._widget_closed, "comm")
        follower.outlet = self

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # No text/html beside the widget: VS Code would show that instead, see vispy/jupyter_rfb#53.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.text}

    def _display_(self) -> Any:
        """Return the widget; called by marimo."""
        return self.widget

    def show(self, message: Message, picture: Picture) -> None:
        """Send the message to the pages."""
        try:
            self.widget.send(message)
        except Exception:  # noqa: BLE001  # the kernel is shutting down
            _log.debug("a message could not be sent", exc_info=True)

    def _received(self, widget: object, content: object, buffers: object) -> None:
        """Pass on a message of a page; called in a thread of the kernel."""
        if isinstance(content, Mapping):
            self._loop.post(lambda: self._follower.receive(dict(content)))

    def _widget_closed(self, change: Mapping[str, object]) -> None:
        """Close the table, as no page can show it any more.

        Called in the thread that closed the widget.
        """
        if change["new"] is None:
            self._loop.post(self._follower.end)


def live_table(
    opening: Opening,
    loop: Loop,
    start: Start,
    *,
    columns: Mapping[str, ColumnSource] | None = None,
    limit: int = 200,
    wide: bool = False,
    narrower: str = NARROWER,
) -> LiveTable:
    """Return a live table of the sources, which are informers by the name of their cluster.

    Args:
        opening: opens the sources, which live in ``loop``; the name of a single one is ``""``.
        loop: the event loop of the sources.
        start: starts a task in the loop, which its owner cancels at the latest when it ends.
        columns: additional columns, by heading: a JSONPath, or a function of the object that is fast and calls no
            client.
        limit: rows that a page holds at once, at most 2,000.
        wide: also show the CRD's columns for wide output.
        narrower: a hint on how to narrow the selection, shown if there are more objects than ``limit`` and the page
            cannot scroll.

    Raises:
        InvalidInput: the columns or the limit are invalid.
        ClosedError: all sources are closed.
        DynkubeError: the sources could not be opened.
    """
    table = NewTable(opening, loop, start, columns=columns, limit=limit, wide=wide, narrower=narrower)
    try:
        loop.call(table.open)
        return table.shown()
    except BaseException:  # KeyboardInterrupt too: the table is never returned
        table.abandon()
        raise


class NewTable:
    """A live table that is not open yet; for callers that do not block. The arguments are those of :func:`live_table`.

    Raises:
        InvalidInput: the columns or the limit are invalid.
    """

    def __init__(
        self,
        opening: Opening,
        loop: Loop,
        start: Start,
        *,
        columns: Mapping[str, ColumnSource] | None,
        limit: int,
        wide: bool,
        narrower: str = NARROWER,
    ) -> None:
        given: object = limit
        if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _MOST_ROWS:
            raise InvalidInput(f"limit must be a number of rows from 1 to {_MOST_ROWS:,}, not {given!r}")
        self._loop = loop
        self._cells = Cells(loop.post)
        self._in_cell = self._cells.exist
        self._follower = Follower(
            opening,
            start,
            columns=own_columns(columns),
            limit=limit,
            wide=wide,
            narrower=narrower,
            cells=self._cells.subscribed,
        )

    async def open(self) -> None:
        """Start following, and wait up to 0.5 s for the first rows; in the loop of the sources.

        Raises:
            ClosedError: all sources are closed.
            DynkubeError: the sources could not be opened.
        """
        await _look(self._follower, self._in_cell)
        if self._follower.error is not None:
            raise self._follower.error

    def shown(self) -> LiveTable:
        """Return the table, in the thread that displays it: as a widget, or as an output without the extra."""
        return _table(self._follower, self._loop, self._cells)

    def abandon(self) -> None:
        """Stop following, as the table is never shown."""
        self._loop.post(self._follower.end)


def _table(follower: Follower, loop: Loop, cells: Cells) -> LiveTable:
    try:
        return WidgetTable(follower, loop, cells)
    except ImportError:  # without the extra
        return PageTable(follower, loop, cells)


def _bundle(picture: Picture, now: datetime) -> Bundle:
    return {"text/html": html_of(picture, now), "text/plain": text_of(picture, now)}


async def _look(follower: Follower, in_cell: bool) -> Picture:
    """Return a snapshot; wait up to 0.5 s for rows if the table was resting."""
    was_resting = follower.resting
    follower.begin()
    if in_cell:
        follower.cell_begins("")
    if was_resting:
        with trio.move_on_after(_PATIENCE):
            await follower.wait_settled()
    return await follower.look()
