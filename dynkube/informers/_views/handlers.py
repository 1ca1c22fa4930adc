"""Handlers of an informer. Each runs in its own task."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, cast

import trio

from dynkube._bound import Bound
from dynkube._guard import attempt, attempt_with, finish, logged, name_of, repr_of, text_of
from dynkube._logs import get_logger
from dynkube.errors import InvalidInput
from dynkube.informers._views.subscriber import Subscriber
from dynkube.informers._views.turns import Turns
from dynkube.meta import Added, InformerEvent, Unstructured, Updated
from dynkube.meta._arguments import a_type
from dynkube.meta._object import Key
from dynkube.telemetry import Collection, HandlerRun

_log = get_logger("dynkube.informers")


class InitialAware(Protocol):
    """An ``on_add`` with a parameter ``initial``, which gets :attr:`Added.initial`."""

    def __call__(self, obj: Unstructured, /, *, initial: bool) -> Awaitable[None] | None: ...


OnAdd: TypeAlias = Callable[[Unstructured], Awaitable[None] | None] | InitialAware
OnUpdate: TypeAlias = Callable[[Unstructured, Unstructured], Awaitable[None] | None]
OnDelete: TypeAlias = Callable[[Unstructured], Awaitable[None] | None]
ErrorCallback: TypeAlias = Callable[[Exception, InformerEvent], None]
OnError: TypeAlias = Literal["log", "cancel"] | ErrorCallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """The functions of one registration, plain or async; at least one is given."""

    on_add: OnAdd | None = None
    on_update: OnUpdate | None = None
    on_delete: OnDelete | None = None
    on_error: OnError = "log"
    _asks_initial: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        for name in ("on_add", "on_update", "on_delete"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise InvalidInput(f"{name} is {a_type(function)}, not a function")
        if not (self.on_add or self.on_update or self.on_delete):
            raise InvalidInput("a handler requires at least one of on_add, on_update and on_delete")
        if not callable(self.on_error) and self.on_error not in ("log", "cancel"):
            raise InvalidInput(
                f"on_error is {repr_of(self.on_error)}: pass 'log', 'cancel' or a function of (error, event)"
            )
        if inspect.iscoroutinefunction(self.on_error):
            raise InvalidInput(f"on_error {repr_of(self.on_error)} must be a synchronous function: it is not awaited")
        object.__setattr__(self, "_asks_initial", _has_parameter(self.on_add, "initial"))

    def describe(self) -> str:
        """Return the name of the first function, as a name for the handler."""
        functions = (self.on_add, self.on_update, self.on_delete)
        return next((name for f in functions if (name := name_of(f))), "handler")

    def call(self, event: InformerEvent) -> Awaitable[None] | None:
        """Call the function for ``event``, if any; return its awaitable if it is async."""
        if isinstance(event, Added):
            on_add = cast("Callable[..., Awaitable[None] | None] | None", self.on_add)
            if on_add is None:
                return None
            return on_add(event.object, initial=event.initial) if self._asks_initial else on_add(event.object)
        if isinstance(event, Updated):
            return self.on_update(event.old, event.new) if self.on_update else None
        return self.on_delete(event.object) if self.on_delete else None


def _has_parameter(function: Callable[..., Any] | None, parameter: str) -> bool:
    """Return whether a function has a parameter of that name.

    ``**kwargs`` does not count, as a wrapper may just pass them on to a function without this parameter.
    """
    if function is None:
        return False
    # inspect.signature may raise: some functions written in C have no signature, and a class may define __signature__.
    signature = attempt_with(inspect.signature, function, None, lambda exc: None)
    found = signature.parameters.get(parameter) if signature is not None else None
    return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class HandlerStatistics:
    """Counters of one handler.

    Attributes:
        name: as given to :meth:`Informer.add_handler`, else the name of the function.
        backlog: number of objects with a pending event.
        handled: number of events that the handler was called with.
        coalesced: number of pending changes that were replaced by a newer change of the same object.
        errors: number of exceptions that the handler raised.
        last_error: type and message of the last exception; ``""`` if there was none.
        has_synced: whether the handler has handled the initial objects.
        seconds: total running time, including time spent waiting in async handlers.
        longest: the longest running time for one event, in seconds.
    """

    name: str
    backlog: int
    handled: int
    errors: int
    last_error: str
    has_synced: bool
    coalesced: int
    seconds: float
    longest: float


class Registration(Bound):
    """One handler on one informer; created by :meth:`Informer.add_handler`.

    Events are delivered one at a time, in order, never concurrently. A plain function runs in the event loop and blocks
    it while it runs; an async function may wait, which delays only this handler.
    """

    def __init__(self, task: HandlerTask) -> None:
        self._task = task

    @property
    def name(self) -> str:
        """The name of the handler in logs and statistics."""
        return self._task.name

    @property
    def backlog(self) -> int:
        """The number of objects with a pending event."""
        return self._task.backlog

    @property
    def errors(self) -> int:
        """The number of exceptions that the handler raised."""
        return self._task.errors

    @property
    def has_synced(self) -> bool:
        """Whether the handler has handled the initial objects. Once true, stays true."""
        return self._task.has_synced

    def remove(self) -> None:
        """Remove the handler; it is not called any more after this returns.

        Does not block. An async handler that is running finishes its current event. Safe to call twice, and from the
        handler itself. A handler that is removed before it has synced never syncs.
        """
        self._task.close()

    def statistics(self) -> HandlerStatistics:
        """Return a snapshot of the handler's counters. Does not block."""
        return self._task.statistics()

    async def wait_synced(self) -> None:
        """Wait until the handler has handled the initial objects.

        Cancellation only stops the waiting.

        Raises:
            ClosedError: the informer was not entered, or the handler was removed or the informer closed before that.
        """
        await self._task.wait_synced()

    def __repr__(self) -> str:
        state = "removed" if self._task.closed else "synced" if self.has_synced else "not synced"
        return f"<Registration {self.name} {state} backlog={self.backlog}>"


class HandlerTask(Subscriber):
    """The task of one handler: calls the handler with events from its mailbox."""

    def __init__(
        self,
        handler: Handler,
        name: str,
        on_settled: Callable[[Subscriber], None],
        until_entered: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(on_settled)
        self._until_entered = until_entered
        self.name = name
        self._handler = handler
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._busy = False  # whether it may be handling an event
        self._pausing: trio.Event | None = None  # set when it is not; exists while that is awaited
        self._handled = 0
        self._errors = 0
        self._last_error = ""
        self._failure: Exception | None = None  # the exception that the handler raised on the current event
        self._seconds = self._longest = 0.0
        self._about: Collection  # set by run()

    async def wait_synced(self) -> None:
        """Wait until the initial objects were handled; see :class:`Registration`."""
        await self._until_entered()
        await super().wait_synced()

    def stop(self) -> None:
        """Remove the handler and cancel its current event; for a closed informer."""
        self.close()
        self._scope.cancel()

    def statistics(self) -> HandlerStatistics:
        """Return a snapshot of the handler's counters."""
        return HandlerStatistics(
            self.name,
            self.backlog,
            self._handled,
            self._errors,
            self._last_error,
            self.has_synced,
            self.coalesced,
            self._seconds,
            self._longest,
        )

    @property
    def errors(self) -> int:
        """The number of exceptions that the handler raised."""
        return self._errors

    async def run(self, turns: Turns, about: Collection, notify: Callable[[HandlerRun], None] | None = None) -> None:
        """Call the handler for each event until it is removed; the informer starts this.

        Args:
            turns: decides when to yield to other handlers.
            about: the collection, for log records.
            notify: called after each call of the handler, to notify observers; ``None`` if there are none.
        """
        self._about = about
        self._busy = True
        call, failed = self._handler.call, self._failed
        clock = trio.lowlevel.current_clock().current_time  # takes half the time of trio.current_time()
        try:
            with self._scope:
                while (events := self.take_nowait() or await self._next(turns)) is not None:
                    for event in events:
                        if self.closed:  # removed between the two events of a changed UID
                            return
                        self._handled += 1
                        started = clock()
                        try:
                            pending = attempt_with(call, event, None, failed)
                            if pending is not None and inspect.isawaitable(pending):
                                await finish(pending, failed)
                                turns.begin()
                        except BaseException:
                            if self._failure is not None:  # cancelled, and the handler failed as well
                                self._done(event, clock() - started, notify)
                            raise
                        self._done(event, clock() - started, notify)
                        del event  # as for events below
                    del events  # otherwise this frame keeps the objects alive while it waits for the next events
                    if turns.over:
                        await turns.wait()
        finally:
            self.close()  # if the task was cancelled before
            with trio.CancelScope(shield=True):  # takes as long as the states need, and waits for nothing
                for _ in self._delivered:
                    await trio.lowlevel.checkpoint()
            self._ended.set()
            self._pause()

    async def _next(self, turns: Turns) -> tuple[InformerEvent, ...] | None:
        self._pause()
        events = await self.take()
        self._busy = True
        turns.begin()
        return events

    def _pause(self) -> None:
        self._busy = False
        if self._pausing is not None:
            self._pausing.set()
            self._pausing = None

    async def wait_idle(self) -> None:
        """Wait until no event is pending and none is being handled, also of those that come meanwhile."""
        while self._busy or (self._mailbox and not self.closed):
            if not self._busy:
                await trio.lowlevel.checkpoint()  # it was woken, and is about to run
                continue
            self._pausing = self._pausing or trio.Event()
            await self._pausing.wait()
        await trio.lowlevel.checkpoint()

    async def wait_ended(self) -> None:
        """Wait until the handler's task has ended. Cancellation only stops the waiting."""
        await self._ended.wait()

    def _failed(self, exc: Exception) -> None:
        self._failure = exc

    def _done(self, event: InformerEvent, seconds: float, notify: Callable[[HandlerRun], None] | None) -> None:
        """Record the end of one call of the handler."""
        failure = self._failure
        self._seconds += seconds
        if seconds > self._longest:
            self._longest = seconds
        if notify is not None:
            notify(HandlerRun(handler=self.name, event=_event_name(event), seconds=seconds, error=failure))
        if failure is not None:
            self._failure = None
            self._report(failure, event)

    def _report(self, exc: Exception, event: InformerEvent) -> None:
        self._errors += 1
        self._last_error = text_of(exc)
        on_error = self._handler.on_error
        if on_error == "cancel":
            raise exc
        if callable(on_error):
            text = "on_error of handler %s failed on %r (failure %d of the handler)"
            attempt(partial(on_error, exc, event), None, partial(self._log_failure, text, event))
        else:
            self._log_failure("handler %s failed on %r (failure %d); it continues with the next event", event, exc)

    def _log_failure(self, text: str, event: InformerEvent, exc: Exception) -> None:
        # Logged as an error only the 1st, 2nd, 4th, 8th, ... time, as a handler that fails on one object mostly fails
        # on all.
        level = logging.DEBUG if self._errors & (self._errors - 1) else logging.ERROR
        extra = {
            "gvr": str(self._about.gvr),
            "namespace": self._about.namespace,
            "handler": self.name,
            "error": type(exc).__name__,
            "count": self._errors,
        }
        _log.log(level, text, self.name, event, self._errors, exc_info=logged(exc), extra=extra)


def _event_name(event: InformerEvent) -> Literal["Added", "Updated", "Deleted"]:
    if isinstance(event, Added):
        return "Added"
    return "Updated" if isinstance(event, Updated) else "Deleted"


def last_seen(registration: Registration, key: Key) -> Unstructured | None:
    """Return the object with this key as the handler was last called with it; ``None`` if deleted, or not added yet."""
    return registration._task.get(key)
