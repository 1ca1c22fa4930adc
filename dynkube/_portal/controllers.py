"""Controllers in the trio thread, and their live status; what the runs of all APIs have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import trio

import dynkube._client
from dynkube._bound import Bound
from dynkube._display import Card, card_of, page, plain
from dynkube._display.cards import line
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube._guard import attempt
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube._portal.held import Held, Start
from dynkube._portal.thread import TrioThread
from dynkube._text.words import counted
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta._arguments import a_type

if TYPE_CHECKING:
    from dynkube.controllers import Controller, ControllerRing, ControllerStatus, LeaderElection, Lifespan, StatusServer
    from dynkube.meta import HashShard

_PERIOD: Final = 1.0  # seconds between updates of a live status

_log = get_logger("dynkube.thread")


@asynccontextmanager
async def running(
    client: dynkube._client.Client | Mapping[str, dynkube._client.Client],
    *controllers: Controller,
    election: LeaderElection | None,
    sharding: ControllerRing | HashShard | None,
    lease_cluster: str | None,
    lifespan: Lifespan | None,
    events: bool,
    server: StatusServer | None,
    shutdown_timeout: float,
) -> AsyncIterator[str | None]:
    """Run controllers during the block, with the arguments of :func:`dynkube.controllers.run`; yields the server's URL.

    To be entered in the trio thread.
    """
    from dynkube.controllers import run  # loaded by those who run controllers only

    async with OwnedNursery() as nursery:
        yield await nursery.start(
            partial(
                run,
                client,
                *controllers,
                election=election,
                sharding=sharding,
                lease_cluster=lease_cluster,
                lifespan=lifespan,
                events=events,
                server=server,
                shutdown_timeout=shutdown_timeout,
            )
        )


class _ClientFacade(Protocol):
    """A client of one of the other APIs."""

    @property
    def _thread(self) -> TrioThread: ...
    @property
    def _open(self) -> dynkube._client.Client: ...
    def _start(self, function: Callable[[], Awaitable[None]]) -> object: ...


F = TypeVar("F", bound=_ClientFacade)


class Clusters(Generic[F]):
    """The clients of one of the other APIs that controllers run with.

    Args:
        given: a client, or several by the names of their clusters.
        kind: the class of the client.
        connect: the function that returns one, for messages.

    Attributes:
        clients: the clients by the names of their clusters; ``""`` for a client that was given without a name.
        inner: what to run in the trio thread with: a client, or several.

    Raises:
        InvalidInput: what was given is neither, or the clients are in different threads.
        ClosedError: a client is closed.
    """

    def __init__(self, given: F | Mapping[str, F], kind: type[F], connect: str) -> None:
        self.clients: dict[str, F] = dict(given) if isinstance(given, Mapping) else {"": given}
        for name, client in self.clients.items():
            checked: object = client
            if not isinstance(checked, kind):
                which = f"client {name!r}" if isinstance(given, Mapping) else "client"
                raise InvalidInput(f"{which} is {a_type(checked)}: pass a client of {connect}()")
        if not self.clients:
            raise InvalidInput("the mapping of clusters is empty: pass {'name of the cluster': client}")
        self.inner: dynkube._client.Client | dict[str, dynkube._client.Client] = (
            {name: client._open for name, client in self.clients.items()} if isinstance(given, Mapping) else given._open
        )
        self._first, *self._others = self.clients.values()
        if any(other._thread is not self.thread for other in self._others):
            raise InvalidInput(
                f"the clients of clusters {', '.join(self.clients)} have different background threads, as one was "
                "entered in another process: enter all of them in this process"
            )

    @property
    def thread(self) -> TrioThread:
        """The trio thread."""
        return self._first._thread

    @property
    def owner(self) -> Start:
        """The client that owns the run: closing it ends the run; for the others, see :meth:`end_with_others`."""
        return self._first._start

    async def end_with_others(self, held: Held[Any]) -> None:
        """Have the run end before any other client is closed; in the trio thread, once the run is open.

        Raises:
            ClosedError: another client is closed.
        """

        async def end_first() -> None:
            try:
                await held.wait_ended()
            except trio.Cancelled:
                held.scope.cancel()
                with trio.CancelScope(shield=True):
                    await held.wait_ended()
                raise

        try:
            for other in self._others:
                other._start(end_first)
        except ClosedError:  # it was closed meanwhile
            held.scope.cancel()
            await held.wait_ended()
            raise
        await trio.lowlevel.checkpoint()


class ControllerRunFacade(Bound, Displayable):
    """Controllers that run in the background. Displayed as the cards of its controllers."""

    url: str | None
    """The URL of the server for probes and metrics; ``None`` if there is none."""
    _held: Held[str | None]

    def __init__(self, thread: TrioThread, controllers: tuple[Controller, ...]) -> None:
        self._thread = thread
        self._controllers = controllers
        self._displayed: list[LiveStatus] = []

    def statuses(self) -> list[ControllerStatus]:
        """Return the status of each controller; of each in each cluster, if there are several. Does not block."""
        found = [each.status() for each in self._controllers]
        return [status for each in found for status in (*each.clusters.values(),) or (each,)]

    def live(self) -> LiveStatus:
        """Return a view of the statuses, which a notebook displays and updates every second until they end.

        In a terminal it is printed once.
        """
        return LiveStatus(self)

    def _update_displayed(self) -> None:
        for live in tuple(self._displayed):
            live._update()

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._controllers)
        return f"<ControllerRun of {names}, {'ended' if self._held.ended else 'running'}>"


class LiveStatus(Bound, Displayable):
    """The cards of controllers in a notebook, updated every second; see :meth:`ControllerRun.live`.

    Each display of it is an output of its own. Updates end with the controllers, or with :meth:`close`.
    """

    def __init__(self, run: ControllerRunFacade) -> None:
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


@render.register(ControllerRunFacade)
def _run_card(run: ControllerRunFacade, now: datetime) -> Card:
    """Return the cards of all controllers, as one."""
    cards = [card_of(status, now) for status in run.statuses()]
    return cards[0] if len(cards) == 1 else Card(line(counted(len(cards), "controller")), tuple(cards))
