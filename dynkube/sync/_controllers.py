"""``run`` and ``start``, blocking: controllers in the background thread, and their live status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import trio

from dynkube._bound import Bound
from dynkube._display import Card, card_of, page, plain
from dynkube._display.cards import line
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube._guard import attempt
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube._text.words import counted
from dynkube.errors import ClosedError
from dynkube.sync._client import Client
from dynkube.sync._held import Held
from dynkube.sync._streams import within

if TYPE_CHECKING:
    from dynkube.controllers import Controller, ControllerRing, ControllerStatus, LeaderElection, StatusServer
    from dynkube.meta import HashShard

_PERIOD: Final = 1.0  # seconds between updates of a live status

_log = get_logger("dynkube.sync")


def run(
    client: Client,
    *controllers: Controller,
    election: LeaderElection | None = None,
    sharding: ControllerRing | HashShard | None = None,
    events: bool = True,
    server: StatusServer | None = None,
    shutdown_timeout: float = 20.0,
) -> None:
    """Run controllers until they are interrupted (Ctrl-C, a notebook's stop button), then end in order and return.

    Reconcile functions may be plain or async. SIGTERM is not handled: a program that runs in a pod calls
    :func:`dynkube.controllers.run` with ``signals=True``, or is started with ``dynkube run``.

    Args:
        client: a client of :func:`dynkube.sync.connect`.
        *controllers: the controllers, with different names.
        election: reconcile only as the leader of all processes with the same Lease; ``None`` for always.
        sharding: reconcile only some of the objects; ``None`` for all.
        events: whether ``ctx.event`` writes Events.
        server: serve health, readiness and metrics over HTTP; ``None`` for no server.
        shutdown_timeout: seconds that running calls have to end.

    Raises:
        LeadershipLost: the lease was not renewed in time, or another process has it.
        InvalidInput: there is no controller, two have the same name, or an argument is invalid.
        ConfigError: the server's address cannot be used, or hypercorn is not installed.
        ClosedError: the client is closed, or a controller runs already.
    """
    __tracebackhide__ = True
    running = start(
        client,
        *controllers,
        election=election,
        sharding=sharding,
        events=events,
        server=server,
        shutdown_timeout=shutdown_timeout,
    )
    try:
        running.wait()
    except KeyboardInterrupt:
        running.stop()


def start(
    client: Client,
    *controllers: Controller,
    election: LeaderElection | None = None,
    sharding: ControllerRing | HashShard | None = None,
    events: bool = True,
    server: StatusServer | None = None,
    shutdown_timeout: float = 20.0,
) -> ControllerRun:
    """Start controllers in the background, and return; for notebooks.

    They run until :meth:`ControllerRun.stop` is called, the client is closed, or the process ends. Arguments and errors
    are those of :func:`run`; a lost lease is logged, and raised by :meth:`ControllerRun.wait` and
    :meth:`ControllerRun.stop`.
    """
    __tracebackhide__ = True
    from dynkube.controllers import run as run_async  # loaded by those who run controllers only

    @asynccontextmanager
    async def running() -> AsyncIterator[str | None]:
        async with OwnedNursery() as nursery:
            yield await nursery.start(
                partial(
                    run_async,
                    client._open,
                    *controllers,
                    election=election,
                    sharding=sharding,
                    events=events,
                    server=server,
                    shutdown_timeout=shutdown_timeout,
                )
            )

    return ControllerRun(client, controllers, running())


class ControllerRun(Bound, Displayable):
    """Controllers that run in the background; created by :func:`dynkube.sync.start`.

    Displayed as the cards of its controllers. The end of a ``with`` block stops them.
    """

    def __init__(
        self, client: Client, controllers: tuple[Controller, ...], manager: AbstractAsyncContextManager[str | None]
    ) -> None:
        __tracebackhide__ = True
        self._thread = client._thread
        self._controllers = controllers
        self._displayed: list[LiveStatus] = []
        self._held: Held[str | None] = Held(self._thread, manager, owner=client._start)
        self.url: str | None = self._held.open()
        """The URL of the server for probes and metrics; ``None`` if there is none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.stop()

    def stop(self) -> None:
        """Stop the controllers, and wait until they have ended. Idempotent.

        No further call starts; those that run have ``shutdown_timeout`` seconds to end, and are cancelled then. If the
        wait is interrupted, they go on ending in the background.

        Raises:
            LeadershipLost: the lease was lost before; raised once.
        """
        __tracebackhide__ = True
        try:
            self._held.close()
        finally:
            for live in self._displayed:
                live._update()

    def wait(self, *, timeout: float | None = None) -> None:
        """Wait until the controllers have ended.

        Args:
            timeout: seconds; ``None`` waits for ever.

        Raises:
            LeadershipLost: the lease was lost; raised once.
            DeadlineExceeded: they run longer than ``timeout``.
        """
        __tracebackhide__ = True
        self._thread.call(within, self._held.wait_ended, timeout, "the controllers had not ended")
        self.stop()

    def statuses(self) -> list[ControllerStatus]:
        """Return the status of each controller. Does not block."""
        return [each.status() for each in self._controllers]

    def live(self) -> LiveStatus:
        """Return a view of the statuses, which a notebook displays and updates every second until they end.

        In a terminal it is printed once.
        """
        return LiveStatus(self)

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._controllers)
        return f"<ControllerRun of {names}, {'ended' if self._held.ended else 'running'}>"


class LiveStatus(Bound, Displayable):
    """The cards of controllers in a notebook, updated every second; see :meth:`ControllerRun.live`.

    Each display of it is an output of its own. Updates end with the controllers, or with :meth:`close`.
    """

    def __init__(self, run: ControllerRun) -> None:
        self._run = run
        self._handles: list[Any] = []
        self._shown = ""
        self._closed = False

    def close(self) -> None:
        """Update it no longer. Idempotent."""
        self._closed = True
        self._handles.clear()
        if self in self._run._displayed:
            self._run._displayed.remove(self)

    def _ipython_display_(self) -> None:
        from IPython import get_ipython  # IPython is the caller
        from IPython.display import display

        # A terminal would print each update below the last one.
        page_that_updates = hasattr(get_ipython(), "kernel") and not self._closed and not self._run._held.ended
        handle: Any = display(self._bundle(), raw=True, display_id=page_that_updates or None)  # type: ignore[no-untyped-call]  # IPython has no types
        if handle is not None and page_that_updates:
            self._show_on(handle)

    def _show_on(self, handle: Any) -> None:
        """Update an output as long as the controllers run."""
        self._handles.append(handle)
        if len(self._handles) == 1:
            self._run._displayed.append(self)
            with suppress(ClosedError):  # they have ended meanwhile
                self._run._thread.run(self._run._held.start, self._follow)

    async def _follow(self) -> None:
        while not self._closed:
            await trio.sleep(_PERIOD)
            self._update()

    def _update(self) -> None:
        """Replace the outputs if something has changed."""
        if not self._handles:
            return
        bundle = self._bundle()
        if bundle["text/html"] == self._shown:
            return
        self._shown = bundle["text/html"]
        for handle in tuple(self._handles):
            attempt(partial(handle.update, bundle, raw=True), None, _not_shown)

    def _bundle(self) -> dict[str, str]:
        card = card_of(self._run, datetime.now(UTC))
        return {"text/html": page(card), "text/plain": plain(card)}

    def __repr__(self) -> str:
        return f"<LiveStatus of {self._run!r}>"


def _not_shown(exc: Exception) -> None:
    _log.debug("a live status cannot be updated", exc_info=exc)


@render.register(LiveStatus)
def _live_card(live: LiveStatus, now: datetime) -> Card:
    """Return the card of the run."""
    return _run_card(live._run, now)


@render.register(ControllerRun)
def _run_card(run: ControllerRun, now: datetime) -> Card:
    """Return the cards of all controllers, as one."""
    cards = [card_of(status, now) for status in run.statuses()]
    return cards[0] if len(cards) == 1 else Card(line(counted(len(cards), "controller")), tuple(cards))
