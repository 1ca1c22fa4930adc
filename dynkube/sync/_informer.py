"""Informers without await: followed from the moment they are made, and read from any thread."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

import trio

from dynkube import informers as aio
from dynkube._display import Shown
from dynkube.informers import Filter, HandlerStatistics, OnAdd, OnDelete, OnError, OnUpdate, Phase, PrinterColumn, State
from dynkube.meta import GVR, Unstructured
from dynkube.notebook import ColumnSource, LiveTable, live_table
from dynkube.sync._delegation import Facade, at_once, in_loop
from dynkube.sync._errors import without_libraries
from dynkube.sync._held import Held
from dynkube.sync._streams import EventStream, States, within
from dynkube.sync._thread import TrioThread

if TYPE_CHECKING:
    from dynkube._display import Card

P = ParamSpec("P")
T = TypeVar("T")


class Registration(Facade[aio.Registration]):
    """One handler on one informer; made by :meth:`Informer.add_handler`.

    Its functions are called one at a time, in order, in a thread that is not the event loop's: they may take their
    time, and call the client.
    """

    __slots__ = ()

    @in_loop(aio.Registration.remove)
    def remove(self) -> None:
        """Take the handler off: nothing comes after this returned; it finishes what it is doing. Safe to call twice."""

    @property
    def name(self) -> str:
        """For logs and statistics."""
        return self._inner.name

    @property
    def backlog(self) -> int:
        """How many objects wait to be shown."""
        return self._inner.backlog

    @property
    def errors(self) -> int:
        """How often it raised."""
        return self._inner.errors

    @property
    def has_synced(self) -> bool:
        """Whether the initial objects have been handled. Once true, stays true."""
        return self._inner.has_synced

    def statistics(self) -> HandlerStatistics:
        """The handler in numbers, as of now."""
        return self._inner.statistics()

    def wait_synced(self, *, timeout: float | None = None) -> None:
        """Wait until the initial objects have been handled.

        Raises:
            ClosedError: it was removed, or the informer closed, before that.
            DeadlineExceeded: not within ``timeout`` seconds.
        """
        __tracebackhide__ = True
        self._thread.call(within, self._inner.wait_synced, timeout, f"handler {self.name} had not synced")


class Informer(Facade[aio.Informer], Shown):
    """A live, local copy of one collection, whether or not its resource exists. Made by :meth:`Client.informer`.

    It is followed from then on, also while no cell runs, until it or its client is closed, or the process ends; a
    ``with`` block closes it too. Reads (:meth:`list`, :meth:`get`, :meth:`by_index`, ``len()``, iteration,
    :attr:`state`, :meth:`statistics`) look at what was published last and wait for nobody. See
    :class:`dynkube.Informer`.
    """

    __slots__ = ("_forget", "_held")

    def __init__(self, inner: aio.Informer, thread: TrioThread, forget: Callable[[Informer], None]) -> None:
        __tracebackhide__ = True
        super().__init__(inner, thread)
        self._forget = forget
        self._held = Held(thread, inner)
        self._held.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """Stop: handlers get nothing more, and reads are empty. Safe to call twice."""
        __tracebackhide__ = True
        self._forget(self)
        self._held.close()

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    @at_once(aio.Informer.list)
    def list(self) -> None: ...

    @at_once(aio.Informer.get)
    def get(self) -> None: ...

    @at_once(aio.Informer.by_index)
    def by_index(self) -> None: ...

    @at_once(aio.Informer.to_pandas)
    def to_pandas(self) -> None: ...

    @at_once(aio.Informer.to_polars)
    def to_polars(self) -> None: ...

    @at_once(aio.Informer.statistics)
    def statistics(self) -> None: ...

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Unstructured]:
        return iter(self._inner)

    @property
    def gvr(self) -> GVR | None:
        """The resource."""
        return self._inner.gvr

    @property
    def namespace(self) -> str | None:
        """The namespace it is limited to; ``None`` for all of them."""
        return self._inner.namespace

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """What the resource's CRD says that tables should show; see :attr:`dynkube.Informer.printer_columns`."""
        return self._inner.printer_columns

    @property
    def state(self) -> State:
        """The phase now, why, and since when. ``print(informer.state)`` tells it in words."""
        return self._inner.state

    @property
    def filter(self) -> Filter | None:
        """The filter, or ``None``."""
        return self._inner.filter

    @property
    def has_synced(self) -> bool:
        """Whether the initial truth was known and handled by every handler there was; once true, stays true."""
        return self._inner.has_synced

    def _card(self, now: datetime) -> Card:
        return self._inner._card(now)

    # ── on a page ────────────────────────────────────────────────────────────────────────────

    def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """A table for notebooks that keeps itself up to date: objects, filter and state, also while no cell runs.

        ::

            pods.live(columns={"image": "{.spec.containers[*].image}"})

        Shows namespaces where there are several, names, what the resource's definition asks for or else how objects
        fare, and ages. A resource that is absent shows why, and becomes a table when it is there. Ends with
        :meth:`close`, of this informer or of the table.

        Args:
            columns: more columns, by heading: a JSONPath, or a function of the object, which runs in the trio thread
                and has to be fast.
            limit: rows, at most 2,000. Of more objects the first are shown by namespace and name, and it is said how
                many there are; :meth:`set_filter` narrows them.
            wide: also the columns that the resource's definition has for wide screens (``kubectl get -o wide``).

        Raises:
            InvalidInput: the columns or the limit are none.
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        self._inner._check_open()
        start = self._held.start  # it ends with the informer, which is not the table's
        return live_table(
            lambda: nullcontext(self._inner), self._thread, start, columns=columns, limit=limit, wide=wide
        )

    # ── handlers, events, filter and indexes ─────────────────────────────────────────────────

    def add_handler(
        self,
        *,
        on_add: OnAdd | None = None,
        on_update: OnUpdate | None = None,
        on_delete: OnDelete | None = None,
        on_error: OnError = "log",
        name: str = "",
    ) -> Registration:
        """Have functions called with what happens: ``on_add(obj)``, ``on_update(old, new)``, ``on_delete(obj)``.

        As :meth:`dynkube.Informer.add_handler`, but plain functions run in a thread of their own, and may use the
        client. Async functions are called in the trio thread. Does not wait for the handler: see
        :meth:`Registration.wait_synced`.

        Args:
            on_add: what is there already comes first, by this. One with a parameter called ``initial`` is also given,
                by that name, whether the object belongs to the handler's initial list.
            on_update: gets the state shown last and the new one.
            on_delete: gets the state shown last, also where an object only left the filter.
            on_error: ``"log"``, ``"cancel"`` the client with it, or a plain function of the error and the event, which
                runs in the trio thread.
            name: for logs and statistics.

        Raises:
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        alone = trio.CapacityLimiter(1)  # a slow handler takes no thread from anybody else
        registration = self._thread.run(
            self._inner.add_handler,
            on_add=_in_thread(on_add, alone),
            on_update=_in_thread(on_update, alone),
            on_delete=_in_thread(on_delete, alone),
            on_error=on_error,
            name=name,
        )
        return Registration(registration, self._thread)

    def events(self) -> EventStream:
        """What happens, to iterate over: ``with informer.events() as events``, then ``for event in events``.

        Begins with an Added for each object that is there. The iteration ends when the informer is closed.

        Raises:
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        self._inner._check_open()
        return EventStream(self._thread, self._held.start, self._inner.events())

    def states(self) -> States:
        """The state now, then each other state as it comes: ``for state in informer.states()``. Ends after ``STOPPED``.

        Of states that pass between two steps only the newest is given.
        """
        return States(self._thread, self._inner)

    @in_loop(aio.Informer.set_filter)
    def set_filter(self) -> None: ...

    @in_loop(aio.Informer.notify_changed)
    def notify_changed(self) -> None: ...

    @in_loop(aio.Informer.add_index)
    def add_index(self) -> None: ...

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    def wait_synced(self, *, timeout: float | None = None) -> None:
        """Wait until the truth is known: the resource is absent, or its objects are here, and every handler has them.

        Args:
            timeout: seconds; ``None`` waits for ever, also while the server cannot be reached.

        Raises:
            ClosedError: the informer is closed, perhaps before that.
            DeadlineExceeded: not within ``timeout``; the message tells the state.
        """
        __tracebackhide__ = True
        self._wait(self._inner.wait_synced, timeout, "had not synced")

    def wait_state(self, *phases: Phase, timeout: float | None = None) -> State:
        """Wait until the phase is one of ``phases``, and return the state; at once if it is now.

        Args:
            phases: ``dynkube.LIVE`` and its like.
            timeout: seconds; ``None`` waits for ever.

        Raises:
            InvalidInput: no phase was given, or something that is none.
            ClosedError: the informer was closed while waiting for another phase.
            DeadlineExceeded: not within ``timeout``; the message tells the state.
        """
        __tracebackhide__ = True
        return self._wait(lambda: self._inner.wait_state(*phases), timeout, f"was not {' or '.join(map(str, phases))}")

    def wait_for(self, obj: Unstructured, *, timeout: float | None = None) -> None:
        """Wait until the cache has caught up with ``obj``, as a write returned it: read your writes.

        Args:
            obj: see :meth:`dynkube.Informer.wait_for`.
            timeout: seconds; ``None`` waits for ever.

        Raises:
            InvalidInput: ``obj`` has no resourceVersion.
            ClosedError: the informer was closed while waiting.
            DeadlineExceeded: not within ``timeout``; the message tells the state.
        """
        __tracebackhide__ = True
        self._wait(lambda: self._inner.wait_for(obj), timeout, f"had not caught up with {obj!r}")

    def _wait(self, function: Callable[[], Awaitable[T]], timeout: float | None, what: str) -> T:
        __tracebackhide__ = True
        what = f"the informer of {self._inner.gvr} {what}"
        return self._thread.call(within, function, timeout, what, lambda: f": it is {self.state}")


def _in_thread(
    function: Callable[P, Awaitable[None] | None] | None, alone: trio.CapacityLimiter
) -> Callable[P, Awaitable[None] | None] | None:
    """A handler's function, called in a thread, unless it is async or none at all."""
    if not callable(function) or inspect.iscoroutinefunction(function):
        return function  # what cannot be called is refused with the others

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> None:
        # Abandoned where the informer is closed: a thread cannot be stopped, and closing must not wait for it.
        try:
            pending = await trio.to_thread.run_sync(
                partial(function, *args, **kwargs), abandon_on_cancel=True, limiter=alone
            )
        except BaseException as exc:  # its way through the thread says nothing to whoever reads the log
            exc.__traceback__ = without_libraries(exc.__traceback__)
            raise
        if inspect.isawaitable(pending):  # a partial of an async function, or its like
            await pending

    return call
