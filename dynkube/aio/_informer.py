"""The informer for asyncio, which may be read from any thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import nullcontext
from types import TracebackType
from typing import Self

from dynkube import informers as in_trio
from dynkube._portal.informers import InformerFacade, RegistrationFacade
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import in_trio as call_in_trio
from dynkube.aio._delegation import awaiting
from dynkube.aio._handlers import Handler, HandlerLoop
from dynkube.aio._held import Held
from dynkube.aio._streams import EventStream, States
from dynkube.errors import ClosedError
from dynkube.informers import OnAdd, OnDelete, OnError, OnUpdate
from dynkube.notebook import ColumnSource, LiveTable
from dynkube.notebook._live import NewTable
from dynkube.notebook._source import ONE


async def shown(table: NewTable, thread: TrioThread) -> LiveTable:
    """Open a live table, and return it when its first rows are there, or after 0.5 s."""
    __tracebackhide__ = True
    try:
        await call_in_trio(thread, table.open)
        return table.shown()
    except BaseException:  # cancelled, too: the table is never returned
        table.abandon()
        raise


class Registration(RegistrationFacade):
    """A handler registered with an informer; created by :meth:`Informer.add_handler`.

    Its functions are called one at a time, in order, in the event loop that registered them.
    """

    __slots__ = ("_loop",)

    def __init__(self, inner: in_trio.Registration, thread: TrioThread, loop: HandlerLoop) -> None:
        super().__init__(inner, thread)
        self._loop = loop

    def remove(self) -> None:
        """Remove the handler: no call starts after this returns.

        A running call is not interrupted. Idempotent.
        """
        super().remove()
        self._loop.retire()

    @awaiting(in_trio.Registration.wait_synced)
    def wait_synced(self) -> None: ...


class Informer(InformerFacade):
    """A local cache of one collection, kept current by a watch.

    Created by :meth:`Client.informer`. The resource need not exist. Entering it (``async with``) starts the list and
    watch, without waiting for the initial sync. Handlers, filters and indexes may be set before or after that. Reads
    (:meth:`list`, :meth:`get`, :meth:`by_index`, ``len()``, iteration, :attr:`state`, :meth:`statistics`) return the
    cache as last published; they never block, and any thread may call them. Two consecutive reads may use different
    versions of the cache, also without an ``await`` between them. The class in trio is :class:`dynkube.Informer`.
    """

    __slots__ = ("_held", "_loops", "_open_ones")

    def __init__(self, inner: in_trio.Informer, thread: TrioThread, open_ones: MutableMapping[Informer, None]) -> None:
        super().__init__(inner, thread)
        self._open_ones = open_ones  # the open informers of the client
        self._held = Held(thread, inner)
        self._loops: list[HandlerLoop] = []

    async def __aenter__(self) -> Self:
        """Start listing and watching.

        Waits for discovery, unless the resource was given as RESOURCE.VERSION.GROUP or a GVR. Does not wait for the
        initial sync. If entering is cancelled or raises, nothing is left running.

        Raises:
            NoMatch: discovery was needed, and the server does not serve such a resource. Not for RESOURCE.GROUP, which
                may be installed later.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: the name could not be resolved because discovery failed.
            TransportError: discovery was needed and got no usable response.
            ClosedError: the client is not open, or this informer was entered before.
        """
        __tracebackhide__ = True
        await self._held.open("this informer was entered before; create another one with client.informer(...)")
        self._open_ones[self] = None
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.aclose()

    async def aclose(self) -> None:
        """Close the informer: no handler is called any more. Idempotent.

        An async handler that is running is cancelled and waited for. Reads are empty afterwards.
        """
        __tracebackhide__ = True
        self._open_ones.pop(self, None)
        try:
            await self._held.close()
            if self._thread.alive:
                await call_in_trio(self._thread, self._inner.aclose)  # it may not have been entered
        finally:
            for loop in self._loops:
                loop.retire()
        for loop in self._loops:
            await loop.wait_ended()

    # ── live tables ──────────────────────────────────────────────────────────────────────────

    async def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """Return a notebook table that updates itself: objects, filter and state.

        ::

            await pods.live(columns={"image": "{.spec.containers[*].image}"})

        Waits up to 0.5 s for the first rows. The background thread updates the table, also while a cell blocks the
        event loop. The columns are the namespace (if there are several), the name, the printer columns of the CRD or
        else the health of the object, and the age. For an absent resource the table shows the reason, and fills once
        the resource is served. It stops when this informer or the table is closed.

        Args:
            columns: additional columns, by heading: a JSONPath, or a function of the object, which runs in the
                background thread and has to be fast.
            limit: rows that the page holds at once, up to 2,000. If there are more objects, it has those at the place
                where it is scrolled to. Without the extra ``dynkube[notebook]`` only the first by namespace and name
                are shown, with the total; use :meth:`set_filter` to select objects.
            wide: also show the CRD's columns for wide output (priority > 0, as in ``kubectl get -o wide``).

        Raises:
            InvalidInput: the columns or the limit are invalid.
            ClosedError: the informer was not entered, or is closed.
        """
        __tracebackhide__ = True
        self._check_entered()
        table = NewTable(
            lambda: nullcontext({ONE: self._inner}), self._thread, self._start, columns=columns, limit=limit, wide=wide
        )
        return await shown(table, self._thread)

    # ── handlers and events ──────────────────────────────────────────────────────────────────

    def add_handler(
        self,
        *,
        on_add: OnAdd | None = None,
        on_update: OnUpdate | None = None,
        on_delete: OnDelete | None = None,
        on_error: OnError = "log",
        name: str = "",
    ) -> Registration:
        """Register ``on_add(obj)``, ``on_update(old, new)`` and ``on_delete(obj)``.

        Plain and async functions are called in the event loop that calls this method, in one task with the contextvars
        of this call: one at a time, in order. The next event waits until the function has returned; of an object that
        changes several times meanwhile, only the newest state is delivered. Returns without waiting for the initial
        objects; for that, see :meth:`Registration.wait_synced`. If the event loop ends before the informer, the handler
        is removed, and its registration has the error.

        Args:
            on_add: called with each new object, beginning with those in the cache. If it has a parameter named
                ``initial``, this is passed by keyword: whether the object belongs to the handler's initial list.
            on_update: called with the state last passed to the handler, and the new one.
            on_delete: called with the state last passed to the handler, also when an object only leaves the filter.
            on_error: the action when a handler raises: ``"log"`` logs the error; ``"cancel"`` closes the client with
                the error; a plain function is called with the error and the event, in the event loop.
            name: the name of the handler in logs and statistics.

        Raises:
            InvalidInput: no function was given, an argument is not a function, or no event loop is running.
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        loop = HandlerLoop()
        handler = Handler(loop, on_add=on_add, on_update=on_update, on_delete=on_delete, on_error=on_error)

        def register() -> in_trio.Registration:
            registration = self._inner.add_handler(
                on_add=handler.on_add,
                on_update=handler.on_update,
                on_delete=handler.on_delete,
                on_error=handler.on_error,
                name=name,
            )
            loop.name, loop.remove = registration.name, registration.remove
            return registration

        try:
            registration = self._thread.run(register)
        except BaseException:  # interrupted: it may be registered
            self._thread.post(lambda: loop.remove())  # noqa: PLW0108  # register sets it
            raise
        loop.start()
        self._loops = [each for each in self._loops if not each.ended] + [loop]
        return Registration(registration, self._thread, loop)

    def events(self) -> EventStream:
        """Return a stream of events, for ``async with informer.events() as events``.

        It begins with an Added for each object in the cache. The iteration ends when the informer is closed.
        """
        return EventStream(self._thread, self._start, self._inner.events())

    def states(self) -> States:
        """Return an iterator over states: ``async for state in informer.states()``.

        The first is the current state; the last is ``STOPPED``. If the state changes several times between two steps,
        only the newest is returned.
        """
        return States(self._thread, self._inner)

    def _start(self, function: Callable[[], Awaitable[None]]) -> None:
        self._check_entered()
        self._held.start(function)

    def _check_entered(self) -> None:
        self._inner._check_open()
        if self._inner._shared is None and self._inner._entering is None:
            raise ClosedError(
                "this informer was not entered: use it inside 'async with client.informer(...) as informer:'"
            )

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    @awaiting(in_trio.Informer.wait_synced)
    def wait_synced(self) -> None: ...

    @awaiting(in_trio.Informer.wait_state)
    def wait_state(self) -> None: ...

    @awaiting(in_trio.Informer.wait_for)
    def wait_for(self) -> None: ...
