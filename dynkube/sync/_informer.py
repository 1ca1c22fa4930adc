"""The blocking informer, which may be read from any thread."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial, wraps
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import trio

from dynkube import informers as aio
from dynkube._portal.informers import InformerFacade, RegistrationFacade
from dynkube._portal.thread import TrioThread
from dynkube._portal.tracebacks import without_libraries
from dynkube.informers import OnAdd, OnDelete, OnError, OnUpdate, Phase, State
from dynkube.meta import Unstructured
from dynkube.notebook import ColumnSource, LiveTable, live_table
from dynkube.notebook._source import ONE
from dynkube.sync._held import Held
from dynkube.sync._streams import EventStream, States, within

P = ParamSpec("P")
T = TypeVar("T")


class Registration(RegistrationFacade):
    """A handler registered with an informer; created by :meth:`Informer.add_handler`.

    Its plain functions are called one at a time, in order, in a worker thread: they may block and call the client.
    """

    __slots__ = ()

    def wait_synced(self, *, timeout: float | None = None) -> None:
        """Wait until the handler has handled the initial objects.

        Args:
            timeout: seconds; ``None`` waits for ever.

        Raises:
            ClosedError: the handler was removed, or the informer closed, before that.
            DeadlineExceeded: not within ``timeout``.
        """
        __tracebackhide__ = True
        self._thread.call(within, self._inner.wait_synced, timeout, f"handler {self.name} had not synced")


class Informer(InformerFacade):
    """A local cache of one collection, kept current by a watch.

    Created by :meth:`Client.informer`. The resource need not exist. The informer runs in the background from its
    creation on, also between notebook cells, until it or its client is closed, a ``with`` block around it ends, or the
    process ends. Reads (:meth:`list`, :meth:`get`, :meth:`by_index`, ``len()``, iteration, :attr:`state`,
    :meth:`statistics`) return the cache as last published; they never block, and any thread may call them. The
    async class is :class:`dynkube.Informer`.
    """

    __slots__ = ("_forget", "_held")

    def __init__(self, inner: aio.Informer, thread: TrioThread, forget: Callable[[Informer], None]) -> None:
        __tracebackhide__ = True
        super().__init__(inner, thread)
        self._forget = forget
        self._held = Held(thread, inner)
        self._held.keeps = self  # it calls handlers even if nothing refers to it or its client
        self._held.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """Stop the informer: handlers are not called any more. Idempotent.

        Reads are empty afterwards.
        """
        __tracebackhide__ = True
        self._forget(self)
        self._held.close()

    # ── live tables ──────────────────────────────────────────────────────────────────────────

    def live(
        self, columns: Mapping[str, ColumnSource] | None = None, limit: int = 200, *, wide: bool = False
    ) -> LiveTable:
        """Return a notebook table that updates itself: objects, filter and state.

        ::

            pods.live(columns={"image": "{.spec.containers[*].image}"})

        It is updated between cells too. The columns are the namespace (if there are several), the name, the printer
        columns of the CRD or else the health of the object, and the age. For an absent resource the table shows the
        reason, and fills once the resource is served. It stops with :meth:`close` of this informer or of the table.

        Args:
            columns: additional columns, by heading: a JSONPath, or a function of the object, which runs in the trio
                thread and has to be fast.
            limit: rows that the page holds at once, up to 2,000. If there are more objects, it has those at the place
                where it is scrolled to. Without the extra ``dynkube[notebook]`` only the first by namespace and name
                are shown, with the total; use :meth:`set_filter` to select objects.
            wide: also show the CRD's columns for wide output (priority > 0, as in ``kubectl get -o wide``).

        Raises:
            InvalidInput: the columns or the limit are invalid.
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        self._inner._check_open()
        start = self._held.start  # the table ends with the informer, but does not close it
        return live_table(
            lambda: nullcontext({ONE: self._inner}), self._thread, start, columns=columns, limit=limit, wide=wide
        )

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

        Plain functions are called in a worker thread of their own, one at a time, and may use the client. Async
        functions are called in the trio thread. Returns without waiting for the initial objects; for that, see
        :meth:`Registration.wait_synced`.

        Args:
            on_add: called with each new object, beginning with those in the cache. If it has a parameter named
                ``initial``, this is passed by keyword: whether the object belongs to the handler's initial list.
            on_update: called with the state last passed to the handler, and the new one.
            on_delete: called with the state last passed to the handler, also when an object only leaves the filter.
            on_error: the action when a handler raises: ``"log"`` logs the error; ``"cancel"`` closes the client with
                the error; a plain function is called with the error and the event, in the trio thread.
            name: the name of the handler in logs and statistics.

        Raises:
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        alone = trio.CapacityLimiter(1)  # so that a slow handler does not use up trio's default thread limit
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
        """Return an iterator over events, for ``with informer.events() as events``.

        It begins with an Added for each object in the cache. The iteration ends when the informer is closed.

        Raises:
            ClosedError: the informer is closed.
        """
        __tracebackhide__ = True
        self._inner._check_open()
        return EventStream(self._thread, self._held.start, self._inner.events())

    def states(self) -> States:
        """Return an iterator over states: ``for state in informer.states()``.

        The first is the current state; the last is ``STOPPED``. If the state changes several times between two steps,
        only the newest is returned.
        """
        return States(self._thread, self._inner)

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    def wait_synced(self, *, timeout: float | None = None) -> None:
        """Wait for the initial sync.

        The sync is complete when the initial list is complete, or the resource is known to be absent, and all handlers
        registered before that have handled the initial objects. Unlike client-go's ``WaitForCacheSync``, this does not
        wait for ever if the resource does not exist.

        Args:
            timeout: seconds; ``None`` waits for ever, also while the server is unreachable or forbids listing.

        Raises:
            ClosedError: the informer is closed, or was closed while waiting.
            DeadlineExceeded: not within ``timeout``; the message contains the state.
        """
        __tracebackhide__ = True
        self._wait(self._inner.wait_synced, timeout, "had not synced")

    def wait_state(self, *phases: Phase, timeout: float | None = None) -> State:
        """Wait until the phase is one of ``phases``, and return the state.

        Returns immediately if it is one already.

        Args:
            phases: such as ``dynkube.LIVE``.
            timeout: seconds; ``None`` waits for ever.

        Raises:
            InvalidInput: no phase was given, or an argument is not a phase.
            ClosedError: the informer was closed while waiting for another phase.
            DeadlineExceeded: not within ``timeout``; the message contains the state.
        """
        __tracebackhide__ = True
        return self._wait(lambda: self._inner.wait_state(*phases), timeout, f"was not {' or '.join(map(str, phases))}")

    def wait_for(self, obj: Unstructured, *, timeout: float | None = None) -> None:
        """Wait until the cache has caught up with a write: read your writes.

        Returns once the cache has this version of the object or a newer one, or has reached its resourceVersion (the
        object may have been deleted since). Also returns if the resource is known to have become absent since the
        write. An ABSENT informer lists the resource again, as the object shows that the resource was served. An
        interrupt ends only the waiting.

        Args:
            obj: an object with a resourceVersion, as returned by create, update, patch or apply.
            timeout: seconds; ``None`` waits for ever.

        Raises:
            InvalidInput: ``obj`` has no resourceVersion, or the informer does not watch such objects: it has another
                API group or namespace, or the label selector does not match it.
            ClosedError: the informer was closed while waiting.
            DeadlineExceeded: not within ``timeout``; the message contains the state.
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
    """Wrap a plain handler function to run in a thread.

    Return an async one, or ``None``, unchanged.
    """
    if not callable(function) or inspect.iscoroutinefunction(function):
        return function  # add_handler rejects what is not callable

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> None:
        # The thread is abandoned when the informer is closed: it cannot be stopped, and closing must not wait for it.
        try:
            pending = await trio.to_thread.run_sync(
                partial(function, *args, **kwargs), abandon_on_cancel=True, limiter=alone
            )
        except BaseException as exc:  # keeps the frames of trio's thread machinery out of the log
            exc.__traceback__ = without_libraries(exc.__traceback__)
            raise
        if inspect.isawaitable(pending):  # such as a partial of an async function
            await pending

    return call
