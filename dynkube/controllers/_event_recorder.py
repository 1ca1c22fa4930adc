"""``EventRecorder``: writes Events about objects, as ``kubectl describe`` shows them.

Tasks that record never wait for the cluster: one task sends. Series and limits are in ``_event_series``.
"""

from __future__ import annotations

import logging
import math
import random as random_module
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Final, Self, get_args

import trio

from dynkube._bound import Bound
from dynkube._client import Client
from dynkube._guard import text_of
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized
from dynkube.client import ResourceClient
from dynkube.controllers._event_series import (
    DropReason,
    EventCorrelator,
    EventKey,
    EventSeries,
    EventType,
    ObjectIdentity,
    SpamFilter,
    check_event,
    check_object,
    check_source,
    event_name,
    limited_note,
    micro_time,
    object_reference,
)
from dynkube.errors import (
    AlreadyExists,
    APIError,
    ClosedError,
    ConfigError,
    DiscoveryFailed,
    DynkubeError,
    Forbidden,
    InvalidInput,
    NotFound,
    TransportError,
)
from dynkube.errors._evidence import Evidence, evidence_of, proves_deletion
from dynkube.meta import Unstructured
from dynkube.meta._arguments import brief, is_number

MAX_TRIES: Final = 12
RETRY_SECONDS: Final = 10.0
_JITTER: Final = 0.25

_EVENTS: Final = "events.v1.events.k8s.io"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Responses after which the same request may succeed, and every other request fails as well, so that nothing is lost by
# waiting. A 500 is not among them: mostly a webhook failed, for the Events of some objects, and others need not wait.
_TEMPORARY_CODES: Final = frozenset({409, 429, 502, 503, 504})

_log = get_logger("dynkube.controllers")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecorderStatistics:
    """The state and the counters of an :class:`EventRecorder`.

    Attributes:
        recorded: calls of :meth:`EventRecorder.event` with valid arguments.
        sent: Events that were created.
        patched: updates of Events whose event occurred again.
        dropped: what was not written, by reason. ``"spam"``: events about an object that has too many;
            ``"queue_full"``: events while too many others waited; ``"refused"``: writes that the server rejected;
            ``"unreachable"``: writes given up after the last try.
        waiting: Events that wait to be created or updated.
        failures: requests that failed, each try counted.
        last_error: the error of the last of them; ``""`` if there was none.
    """

    recorded: int
    sent: int
    patched: int
    dropped: dict[DropReason, int]
    waiting: int
    failures: int
    last_error: str


class EventRecorder(Bound):
    """Records what happens to objects as Events (``events.k8s.io/v1``), which ``kubectl describe`` shows.

    The semantics are those of client-go's ``tools/events``, with the spam filter of its ``tools/record``:

    - An event that occurs again within six minutes is counted in the Event of the first one, whose note stays. Two
      events are the same if object, type, reason, action and related object are. The second one updates the Event at
      once; the count of later ones is written when the event has not occurred for six minutes, and every half hour.
    - Each object may have ``burst`` new Events in a row, and then one every ``refill_seconds``. More are dropped.
    - If the server cannot be reached or is overloaded, everything waits: each write is tried up to 12 times, 10 to
      12.5 seconds apart. What the server rejects is dropped: each kind of rejection is logged once as a warning.

    Events are best effort: :meth:`statistics` counts what was dropped. The user needs the permission to create and
    patch ``events`` of the group ``events.k8s.io``, in the namespaces of the objects, and in ``default`` for
    cluster-scoped ones. Servers before 1.21 reject Events about these (kubernetes/kubernetes#100125).

    Without a controller::

        async with EventRecorder(client, controller="example.com/backup", instance="backup-0") as events:
            events.event(volume, "BackedUp", "to s3://backups")

    Events are sent while it is entered; the end of the block waits up to ``flush_timeout`` seconds for those that wait.
    Or call :meth:`run` in a task of your own.

    Not thread-safe: all methods are called in the event loop's thread. Only :meth:`run` and the end of a block wait.

    Args:
        client: sends the Events; open while :meth:`run` runs.
        controller: ``reportingController``, a qualified name like ``"example.com/website-controller"``.
        instance: ``reportingInstance``, for example the name of the pod.
        now: the wall clock, timezone-aware.
        rng: source of jitter, and of names where that of the object does not fit.
        burst: new Events about an object without a delay.
        refill_seconds: seconds until another one may follow.
        queue_size: how many Events may wait to be written; beyond that, new events are dropped.
        flush_timeout: seconds that :meth:`run` may take to write what waits, when it is cancelled.
        write_until: returns until when that may be done, on trio's clock; by default for ever. With a leader election
            pass :meth:`LeaderElector.write_deadline`, and call :meth:`run` in the block of ``leadership()``.

    Raises:
        InvalidInput: an argument is invalid; the message names it and the fix.
    """

    def __init__(
        self,
        client: Client,
        *,
        controller: str,
        instance: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        rng: random_module.Random | None = None,
        burst: int = 25,
        refill_seconds: float = 300.0,
        queue_size: int = 1000,
        flush_timeout: float = 2.0,
        write_until: Callable[[], float] = lambda: math.inf,
    ) -> None:
        check_source(controller, instance)
        for name, count in (("burst", burst), ("queue_size", queue_size)):
            if type(count) is not int or count < 1:
                raise InvalidInput(f"{name}={brief(count)}: pass an integer of 1 or more")
        for name, seconds in (("refill_seconds", refill_seconds), ("flush_timeout", flush_timeout)):
            if not is_number(seconds) or not 0 <= seconds < math.inf:
                raise InvalidInput(f"{name}={brief(seconds)}: pass a finite number of seconds, 0 or more")
        self._client = client
        self._source = {"reportingController": controller, "reportingInstance": instance}
        self._now = now
        self._random = random_module.Random() if rng is None else rng
        self._flush_timeout = flush_timeout
        self._write_until = write_until
        self._events = EventCorrelator(SpamFilter(burst, refill_seconds), queue_size)
        self._wake = trio.Event()
        self._running = False
        self._sending: OwnedNursery | None = None  # while it is entered
        self._last_nanoseconds = 0
        self._warned: set[str] = set()
        self._recorded = self._sent = self._patched = self._failures = 0
        self._dropped: dict[DropReason, int] = dict.fromkeys(get_args(DropReason), 0)
        self._last_error = ""

    async def __aenter__(self) -> Self:
        if self._sending is not None:
            raise ClosedError("this event recorder is entered already: create another one")
        self._sending = OwnedNursery()
        (await self._sending.__aenter__()).start_soon(self.run)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._sending is not None
        try:
            await self._sending.__aexit__(exc_type, exc, traceback)
        finally:
            self._sending = None

    # ── recording ────────────────────────────────────────────────────────────────────────────

    def event(
        self,
        regarding: Unstructured,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002  # the name of the field
        action: str | None = None,
        related: Unstructured | None = None,
    ) -> None:
        """Record an event about an object. Does not block, and sends nothing itself: :meth:`run` does.

        Args:
            regarding: the object, as read from the cluster; needs kind and name. The Event is in its namespace, and in
                ``default`` if it is cluster-scoped.
            reason: why it happened: one CamelCase word for programs, like ``"ScaledUp"``.
            note: text for humans. Cut to 1,024 bytes of UTF-8, the most that servers accept.
            type: ``"Warning"`` for what needs attention, else ``"Normal"``.
            action: what the controller did or tried: one CamelCase word; ``None`` means ``reason``.
            related: a second object that the action concerned, such as one that was created.

        Raises:
            InvalidInput: an argument is invalid, or ``now`` returned a time without a time zone.
        """
        action = reason if action is None else action
        check_event(type, note, reason=reason, action=action)
        check_object("regarding", regarding)
        if related is not None:
            check_object("related", related)
        time = self._now()
        if time.tzinfo is None:
            raise InvalidInput(f"now() returned {time!r}, which has no time zone: return datetime.now(UTC)")
        self._recorded += 1
        observed, at = micro_time(time), trio.current_time()
        about = None if related is None else ObjectIdentity.of(related)
        key = EventKey(type, reason, action, ObjectIdentity.of(regarding), about)
        if not self._events.repeated(key, observed, at):
            content = self._content(key, observed, note, regarding, related)
            series = EventSeries(key=key, content=content, name=self._name_for(regarding.name, time), observed=observed)
            if (dropped := self._events.add(series, at)) is not None:
                self._drop(dropped, f"an event about {regarding!r} with the reason {reason}")
        if len(self._events):
            self._wake.set()

    def _content(
        self, key: EventKey, observed: str, note: str, regarding: Unstructured, related: Unstructured | None
    ) -> dict[str, object]:
        """Return the fields of a new Event, except its name."""
        content: dict[str, object] = {
            "eventTime": observed,
            "type": key.type,
            "reason": key.reason,
            "action": key.action,
            "note": limited_note(note),
            "regarding": object_reference(regarding),
            **self._source,
        }
        return content if related is None else {**content, "related": object_reference(related)}

    def _name_for(self, name: str, time: datetime) -> str:
        """Return a name for an Event that no other Event of this recorder has, even if the clock stands still."""
        nanoseconds = (time - _EPOCH) // timedelta(microseconds=1) * 1000
        self._last_nanoseconds = max(nanoseconds, self._last_nanoseconds + 1)
        return event_name(name, self._last_nanoseconds, self._random)

    def statistics(self) -> EventRecorderStatistics:
        """Return the state and the counters. Does not block."""
        return EventRecorderStatistics(
            recorded=self._recorded,
            sent=self._sent,
            patched=self._patched,
            dropped=dict(self._dropped),
            waiting=len(self._events),
            failures=self._failures,
            last_error=self._last_error,
        )

    # ── sending ──────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Send what is recorded, until cancelled. No failure of the cluster ends it.

        When cancelled, it takes up to ``flush_timeout`` seconds to write what waits, and counts that were not written
        yet. After that it may be called again, as by a controller that is elected once more; what is recorded in
        between waits.

        Raises:
            ClosedError: the client is not open.
            InvalidInput: this recorder's ``run()`` is running already.
        """
        if self._running:
            raise InvalidInput("run() of this recorder is running already: call it in one task only")
        self._running = True
        try:
            await trio.lowlevel.checkpoint()
            resource = self._client.resource(_EVENTS)
            while True:
                await self._write(resource, await self._next())
        except (trio.Cancelled, BaseExceptionGroup):  # a group if discovery is cancelled, as it has several tasks
            await self._flush()
            raise
        finally:
            self._running = False

    async def _next(self) -> EventSeries:
        while True:
            self._wake = trio.Event()
            if (series := self._events.due(trio.current_time())) is not None:
                return series
            with trio.CancelScope(deadline=self._events.deadline()):
                await self._wake.wait()

    async def _flush(self) -> None:
        now = trio.current_time()
        deadline = min(now + self._flush_timeout, self._write_until())
        with trio.CancelScope(deadline=deadline, shield=True):
            try:
                if deadline <= now:  # a request that does not wait would be sent before the cancellation is noticed
                    await trio.lowlevel.checkpoint()
                resource = self._client.resource(_EVENTS)
                self._events.write_all()
                while (series := self._events.due(trio.current_time())) is not None:
                    if not await self._attempt(resource, series):
                        break  # a retry would come after the timeout
            except ClosedError as exc:
                self._last_error = text_of(exc)
        if left := len(self._events):
            _log.warning("event recorder: %d Events were not written when run() was cancelled", left)

    async def _write(self, resource: ResourceClient, series: EventSeries) -> None:
        """Write an Event or its count, and wait while the server cannot."""
        for number in range(1, MAX_TRIES + 1):
            if await self._attempt(resource, series):
                return
            if number < MAX_TRIES:
                await trio.sleep(RETRY_SECONDS * (1 + _JITTER * self._random.random()))
        self._events.done(series, series.count)
        self._drop("unreachable", f"the Event {series.namespace}/{series.name}, after {MAX_TRIES} tries")

    async def _attempt(self, resource: ResourceClient, series: EventSeries) -> bool:
        """Send one Event or its count; return ``False`` if that should be tried again."""
        count = series.count
        try:
            await self._send(resource, series)
        except ClosedError:
            raise
        except DynkubeError as exc:
            self._failures += 1
            self._last_error = sanitized(text_of(exc))
            if is_temporary(exc):
                self._warn_once("outage", "cannot write Events at present, and will retry: %s", self._last_error)
                return False
            self._events.done(series, count)
            self._refused(series, exc)
        else:
            self._events.done(series, count)
        self._warned.discard("outage")
        return True

    async def _send(self, resource: ResourceClient, series: EventSeries) -> None:
        document, patch = series.document(), series.patch()  # the count may grow while a request is sent
        if series.exists and await self._patch(resource, series, patch):
            return
        attempted, series.attempted = series.attempted, True
        try:
            await resource.create(document)
        except AlreadyExists:
            if not attempted:  # another Event has the name
                series.name = event_name(series.key.regarding.name, self._random.getrandbits(63), self._random)
                raise
            # An earlier request has created it, although its response was not received.
            self._created(series)
            if patch:
                await self._patch(resource, series, patch)
        else:
            self._created(series)

    async def _patch(self, resource: ResourceClient, series: EventSeries, patch: dict[str, object]) -> bool:
        """Update the Event; return ``False`` if it does not exist any more, as it was deleted or has expired."""
        try:
            await resource.patch(series.name, patch, namespace=series.namespace)
        except NotFound as exc:
            if not proves_deletion(exc):
                raise
            series.exists = False
            return False
        self._patched += 1
        return True

    def _created(self, series: EventSeries) -> None:
        series.exists = True
        self._sent += 1

    # ── failures ─────────────────────────────────────────────────────────────────────────────

    def _refused(self, series: EventSeries, exc: DynkubeError) -> None:
        what = f"the Event {series.namespace}/{series.name}: {self._last_error}"
        if namespace_is_gone(exc):  # what is deleted with its namespace needs no Event
            self._dropped["refused"] += 1
            _log.debug("event recorder: dropped %s", what)
            return
        verb = "patch" if series.exists else "create"
        self._drop("refused", what, kind=f"{verb} {type(exc).__name__}")

    def _drop(self, reason: DropReason, what: str, *, kind: str = "") -> None:
        self._dropped[reason] += 1
        self._warn_once(kind or reason, "dropped %s (%s)", what, reason)

    def _warn_once(self, kind: str, text: str, *args: object) -> None:
        """Log the first of each kind as a warning, and the others at DEBUG.

        What fails for one Event, such as a missing permission, mostly fails for all.
        """
        level = logging.DEBUG if kind in self._warned else logging.WARNING
        self._warned.add(kind)
        _log.log(level, f"event recorder: {text}", *args)


def is_temporary(exc: DynkubeError) -> bool:
    """Return whether a write may succeed later; if not, the server has rejected the Event itself."""
    if isinstance(exc, NotFound):  # without evidence it is the response of a server that is starting, or of a proxy
        return not proves_deletion(exc)
    if isinstance(exc, APIError):
        return exc.code in _TEMPORARY_CODES
    return isinstance(exc, TransportError | ConfigError | DiscoveryFailed)


def namespace_is_gone(exc: DynkubeError) -> bool:
    """Return whether an Event was rejected because its namespace is being deleted, or was."""
    if isinstance(exc, Forbidden):
        return any(cause.reason == "NamespaceTerminating" for cause in exc.causes)
    return evidence_of(exc) is Evidence.NAMESPACE_ABSENT
