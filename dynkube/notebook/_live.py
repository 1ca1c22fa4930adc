"""``LiveTable``: the table in a notebook that keeps itself up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any, ParamSpec, Protocol, TypeVar

import trio

from dynkube.errors import DynkubeError, InvalidInput
from dynkube.notebook._columns import ColumnSource, own_columns
from dynkube.notebook._follower import Follower
from dynkube.notebook._messages import Message
from dynkube.notebook._picture import Picture
from dynkube.notebook._source import Source
from dynkube.notebook._static import html_of, text_of

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger("dynkube.notebook")

_MOST_ROWS = 2000
_PATIENCE = 0.5  # seconds until a table is shown that knows nothing yet


class Loop(Protocol):
    """The event loop in which a source lives, for callers in other threads."""

    @property
    def alive(self) -> bool:
        """Whether it takes calls."""
        ...

    def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function in it, and wait."""
        ...

    def hold(self, function: Callable[[], Coroutine[object, object, None]], scope: trio.CancelScope) -> None:
        """Start a task that nobody waits for."""
        ...

    def post(self, function: Callable[[], object]) -> None:
        """Have a plain function run in it soon; does not wait, and does nothing where it has ended."""
        ...


class LiveTable:
    """A table of what an informer shows, which keeps itself up to date while it is on a page. Made by ``.live()``.

    Only the cells that change are touched, so what is selected, scrolled to or unfolded stays. In the page, rows are
    sorted by a click on a heading, looked for by the words in the box, and unfolded to see the object. It goes on
    until it or its informer is closed, or the kernel ends; while no page shows it, it sends nothing.

    With the extra ``dynkube[notebook]`` it is a widget; without it, an output that is replaced as a whole each time. A
    saved notebook keeps the text of the first picture.
    """

    def __init__(self, follower: Follower, loop: Loop) -> None:
        self._follower = follower
        self._loop = loop
        self._closing: Callable[[], object] | None = None

    def close(self) -> None:
        """Stop following. What the page shows stays, and says that it is old. Safe to call twice."""
        __tracebackhide__ = True
        if self._loop.alive:
            self._loop.call(self._follower.close)
            if self._closing is not None:
                self._closing()

    @property
    def text(self) -> str:
        """What it shows now, as text."""
        return text_of(self._look(), datetime.now(UTC))

    def __repr__(self) -> str:
        head = self._follower.picture.head
        return f"<LiveTable {head.title} {head.phase} {head.counts}{'' if head.following else ', closed'}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)

    def _look(self) -> Picture:
        try:
            return self._loop.call(self._follower.look)
        except DynkubeError:  # the loop has ended
            return self._follower.picture


class PageTable(LiveTable):
    """One that needs no widget: an output that is replaced by the next picture."""

    def __init__(self, follower: Follower, loop: Loop) -> None:
        super().__init__(follower, loop)
        self._handles: list[Any] = []
        follower.outlet = self

    def _ipython_display_(self) -> None:
        from IPython import get_ipython  # whoever calls this has it
        from IPython.display import display

        bundle = self._bundle(self._look())
        shell: Any = get_ipython()
        if not hasattr(shell, "kernel"):  # a terminal would print each picture below the last one
            display(bundle, raw=True)  # type: ignore[no-untyped-call]  # as below
            return
        handle: Any = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython has no types
        if handle is not None:
            self._handles.append(handle)
            self._loop.post(lambda: self._follower.hear({"kind": "hello", "page": str(id(handle))}))

    def show(self, message: Message, picture: Picture) -> None:
        """Replace the outputs."""
        if message["kind"] != "pulse" and self._handles:
            bundle = self._bundle(picture)
            for handle in self._handles:
                try:
                    handle.update(bundle, raw=True)
                except Exception:  # noqa: BLE001  # a kernel that is ending
                    _log.debug("a picture could not be shown", exc_info=True)

    def _bundle(self, picture: Picture) -> dict[str, str]:
        now = datetime.now(UTC)
        return {"text/html": html_of(picture, now), "text/plain": text_of(picture, now)}


class WidgetTable(LiveTable):
    """One that is a widget."""

    def __init__(self, follower: Follower, loop: Loop) -> None:
        super().__init__(follower, loop)
        from dynkube.notebook._widget import TableWidget  # needs the extra

        self.widget: Any = TableWidget()
        """The widget itself, an ``anywidget.AnyWidget``: for layouts of several."""
        self.widget.on_msg(self._heard)
        follower.outlet = self

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # No text/html beside the widget: VS Code would show that instead, see vispy/jupyter_rfb#53.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.text}

    def _display_(self) -> Any:
        """What marimo shows."""
        return self.widget

    def show(self, message: Message, picture: Picture) -> None:
        """Send it to the pages."""
        try:
            self.widget.send(message)
        except Exception:  # noqa: BLE001  # a kernel that is ending
            _log.debug("a message could not be sent", exc_info=True)

    def _heard(self, widget: object, content: object, buffers: object) -> None:
        """A page said something; called in a thread of the kernel's."""
        if isinstance(content, Mapping):
            self._loop.post(lambda: self._follower.hear(dict(content)))


def live_table(
    source: Source,
    loop: Loop,
    *,
    columns: Mapping[str, ColumnSource] | None = None,
    limit: int = 200,
    wide: bool = False,
    closing: Callable[[], object] | None = None,
) -> LiveTable:
    """A table that follows ``source``.

    Args:
        source: what to follow; lives in ``loop``.
        loop: where.
        columns: more columns, by heading: a JSONPath, or a function of the object that is fast and calls no client.
        limit: rows, at most 2,000.
        wide: also the columns that the resource's definition has for wide screens.
        closing: called when the table is closed.

    Raises:
        InvalidInput: the columns or the limit are none.
        ClosedError: the source is closed.
    """
    given: object = limit
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _MOST_ROWS:
        raise InvalidInput(f"limit must be a number of rows from 1 to {_MOST_ROWS:,}, not {given!r}")
    follower = Follower(source, columns=own_columns(columns), limit=limit, wide=wide)
    try:
        table: LiveTable = WidgetTable(follower, loop)
    except ImportError:  # without the extra
        table = PageTable(follower, loop)
    table._closing = closing
    scope = trio.CancelScope()
    loop.hold(follower.run, scope)
    try:
        loop.call(_patiently, follower)
    except BaseException:  # interrupted: nobody will have it
        loop.post(scope.cancel)
        raise
    return table


async def _patiently(follower: Follower) -> None:
    """Wait for a picture that is worth keeping, but not for long."""
    with trio.move_on_after(_PATIENCE):
        await follower.wait_settled()
