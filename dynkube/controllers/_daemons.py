"""``Daemon``: a function that runs for each object while it exists, and how its calls are started and stopped.

A daemon is a controller whose calls last: a key is taken from the queue when its object appears, and processed until
the function ends. So a key has one call at a time, a call that fails waits for its back-off in the queue, and
leadership, shutdown, sharding and threads are those of controllers. What is added here is when a call is *stopped*:

=============================================  ==============================================
the cache shows, when the object changes       the call
=============================================  ==============================================
the object of the same UID                     goes on
the object with a ``deletionTimestamp``        is stopped
another UID of the same name                   is stopped, and one of the new object begins
no such object, which is known to be deleted   is stopped
no such object, as the resource disappeared    goes on until it is known whether it was deleted
=============================================  ==============================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.controllers._caches import Caches
from dynkube.controllers._calls import Caller, is_async
from dynkube.controllers._context import Context
from dynkube.controllers._controller import Controller, Reconcile, checked_function, optional_seconds, positive_int
from dynkube.controllers._rate_limits import ExponentialBackoff, RateLimiter
from dynkube.controllers._requeues import Requeues
from dynkube.controllers._results import STOPPED, Outcome, outcome_of
from dynkube.controllers._watches import ObjectKey
from dynkube.controllers._work_queue import WorkQueue
from dynkube.errors import DynkubeError, InvalidInput
from dynkube.informers import Selector
from dynkube.informers._pending_writes import PendingWrites
from dynkube.meta import GVK, GVR, Unstructured

_STABLE: Final = (
    600.0  # seconds after which a call counts as a success, so that back-off starts anew; as in the kubelet
)

_Ended: TypeAlias = tuple[Exception | None, object]

_log: Final = get_logger("dynkube.controllers")


def _backoff() -> RateLimiter[Hashable]:
    return ExponentialBackoff(1.0, 300.0)


class Daemon(Controller):
    """A function that runs for each object of a resource, as long as the object exists.

    For what has to be polled or held open for an object, such as a connection or a process. Does nothing by itself:
    pass it to :func:`run`, beside controllers. The function is called with a :class:`Context`, as a reconcile is, and
    may read and write by it for as long as it runs; what it has written appears in its reads only when the cache shows
    it.

    - An object has one call at a time. An object that is created again under its name has another UID, and gets a new
      call after the old one has ended.
    - A function that returns ``None`` is finished: it is not called again for this object in this run. One that raises
      is called again after 1 s, and twice that for each further failure, up to 5 minutes; after it has run for 10
      minutes, from 1 s on. After :class:`Terminal` it is not called again for this object.
    - It is stopped when its object is deleted or has a ``deletionTimestamp``, when that is not selected any more, when
      the leadership is lost and when ``run`` ends. It goes on while the resource cannot be listed, or is not served for
      another reason than the deletion of its CRD.
    - An async function is cancelled; a warning is logged if it has not ended after ``stop_timeout``. A plain function
      runs in a thread, and :attr:`BlockingContext.stopped` is set; after ``stop_timeout`` it is logged, refused
      all calls of its context, and left. A lost leadership, and the end of ``shutdown_timeout``, leave it at once. Its
      object gets no other call before it has returned.

    Args:
        resource: as for :class:`Controller`.
        function: ``async def follow(ctx, key)``, or a plain function, which is called in a thread with a
            :class:`BlockingContext`. Returns ``None``, or :class:`Requeue` to be called again later.
        name: for logs, metrics and as field manager; by default the name of the resource.
        namespace: the namespaces to watch: one, several, or ``None`` for all.
        label_selector: objects to follow, by labels; evaluated by the server.
        field_selector: the same, by fields.
        limit: how many calls may run at a time; further objects wait until one ends, which is logged. Each call of a
            plain function has a thread.
        stop_timeout: seconds that a call has to end after it was stopped.
        rate_limiter: returns the delays of calls that failed. Called once for each run.

    Raises:
        InvalidInput: an argument is invalid; the message names it and the fix.
    """

    def __init__(
        self,
        resource: str | GVR | GVK,
        function: Reconcile,
        *,
        name: str | None = None,
        namespace: str | Iterable[str] | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        limit: int = 100,
        stop_timeout: float = 10.0,
        rate_limiter: Callable[[], RateLimiter[Hashable]] = _backoff,
    ) -> None:
        given: object = stop_timeout
        if given is None:
            raise InvalidInput("stop_timeout=None: pass a positive number of seconds")
        super().__init__(
            resource,
            checked_function("function", function),
            name=name,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            predicate=_comes_or_goes,
            concurrency=positive_int("limit", limit),
            rate_limiter=rate_limiter,
        )
        self._stop_timeout = optional_seconds("stop_timeout", stop_timeout)

    def __repr__(self) -> str:
        return f"<Daemon {self.name} of {self.resource}, {self.status().phase}>"


def _comes_or_goes(old: Unstructured | None, new: Unstructured | None) -> bool:
    """Return whether a change begins or ends calls; others would only end a back-off early."""
    return old is None or new is None or old.uid != new.uid


@dataclass(slots=True, eq=False)
class _Call:
    """A call that runs.

    Attributes:
        context: what its function reads and writes.
        uid: of its object.
        scope: cancels it.
        stop_by: until when it has to end, on trio's clock; ``math.inf`` unless it was stopped.
    """

    context: Context
    uid: str
    scope: trio.CancelScope
    stop_by: float = math.inf


class DaemonCalls:
    """The calls of a daemon in one run.

    Args:
        daemon: the declaration.
        caller: calls the function.
        caches: show which objects exist.
        queue: has the keys whose calls are to begin.
        requeues: adds keys to it.
        reconciles: whether an object belongs to this process.
    """

    def __init__(
        self,
        daemon: Controller,
        caller: Caller,
        caches: Caches,
        queue: WorkQueue[ObjectKey],
        requeues: Requeues,
        reconciles: Callable[[Unstructured], bool],
    ) -> None:
        self._daemon = daemon
        self._stop_timeout = daemon._stop_timeout or 0.0
        self._in_threads = not is_async(daemon._reconcile)
        self._caller = caller
        self._caches = caches
        self._queue = queue
        self._requeues = requeues
        self._reconciles = reconciles
        self._calls: dict[ObjectKey, _Call] = {}
        self._finished: dict[ObjectKey, str] = {}  # the UIDs of objects whose function has returned
        self._warned = False  # that the limit is reached
        self._ending = False
        self._nursery: trio.Nursery | None = None

    def start(self, nursery: trio.Nursery) -> None:
        """Report late calls in a nursery that lasts as long as the calls."""
        self._nursery = nursery

    # ── beginning ────────────────────────────────────────────────────────────────────────────

    def wants(self, key: ObjectKey) -> bool:
        """Return whether the object of a key is to have a call."""
        try:
            obj = self._object(key)
        except DynkubeError:  # raised by ctx.get() as well
            return True
        if obj is None:
            self._finished.pop(key, None)
        return obj is not None and self._finished.get(key) != obj.uid

    async def call(self, context: Context) -> _Ended:
        """Make a call, and return what it raised and returned; :data:`STOPPED` if it was stopped."""
        obj, key = context._obj_at_start, context.key
        call = _Call(context, "" if obj is None else obj.uid, trio.CancelScope())
        if self._ending:
            return None, STOPPED
        self._calls[key] = call
        if self._full and len(self._queue):
            self._report_full()
        began = trio.current_time()
        ended: _Ended = None, STOPPED
        try:
            with call.scope:
                ended = await self._caller.call(context)
        finally:
            del self._calls[key]
            self._report_left(context)
        if call.stop_by < math.inf:
            return ended[0], STOPPED
        if outcome_of(*ended)[0] in (Outcome.SUCCESS, Outcome.TERMINAL):
            self._finished[key] = call.uid
        elif trio.current_time() - began >= _STABLE:
            self._queue.forget(key)
        return ended

    @property
    def _full(self) -> bool:
        return len(self._calls) >= self._daemon._concurrency

    def _report_full(self) -> None:
        if not self._warned:
            self._warned = True
            text = "daemon %s: %d calls run, which is its limit: others wait until one ends; pass a higher limit="
            extra = {"controller": self._daemon.name}
            _log.warning(text, self._daemon.name, self._daemon._concurrency, extra=extra)

    def _report_left(self, context: Context) -> None:
        if context._thread_ended is not None and not context._thread_ended.is_set():
            _log.warning(
                "daemon %s: the function for %s did not return when it was stopped, and is left in its thread: let it "
                "wait with ctx.stopped.wait(seconds), and return if that is true",
                self._daemon.name,
                context.key,
                extra={"controller": self._daemon.name, "key": str(context.key)},
            )

    # ── stopping ─────────────────────────────────────────────────────────────────────────────

    def changed(self, key: ObjectKey, pending: PendingWrites) -> None:
        """Stop the call of a key unless its object still is the one for which it began. Does not block.

        Args:
            key: the key of an object that has changed.
            pending: the writes of the informer that has received the change.
        """
        call = self._calls.get(key)
        try:
            obj = self._object(key)
            cached = self._caches.primary.get(key) is not None
        except DynkubeError:  # the informer is closed, and the client with it
            return
        if call is None:
            if self._full and self.wants(key):
                self._report_full()
        elif not cached and pending.expect_objects(partial(self._objects_known, key, pending)):
            return  # it may exist
        elif obj is None or obj.uid != call.uid:
            self._stop(call)

    def _objects_known(self, key: ObjectKey, pending: PendingWrites) -> None:
        self.changed(key, pending)
        self._requeues.object_known(key)

    def stop(self) -> None:
        """Stop all calls, and begin no others. Does not block."""
        self._ending = True
        for call in tuple(self._calls.values()):
            self._stop(call)

    def _stop(self, call: _Call) -> None:
        if call.stop_by < math.inf:
            return
        call.stop_by = trio.current_time() + self._stop_timeout
        call.context._stop()
        if self._in_threads:
            call.scope.deadline = call.stop_by
        else:
            call.scope.cancel()
            if self._nursery is not None:
                self._nursery.start_soon(self._report_late, call)

    async def _report_late(self, call: _Call) -> None:
        key = call.context.key
        await trio.sleep_until(call.stop_by)
        if self._calls.get(key) is call:
            _log.warning(
                "daemon %s: the function for %s has not ended %g s after it was cancelled: look for a shielded scope, "
                "or code that does not await",
                self._daemon.name,
                key,
                self._stop_timeout,
                extra={"controller": self._daemon.name, "key": str(key)},
            )

    def _object(self, key: ObjectKey) -> Unstructured | None:
        """Return the object of a key if it is to have a call.

        Raises:
            DynkubeError: the informer is closed, or the server has sent a name that cannot be one.
        """
        obj = self._caches.primary.get(key)
        return None if obj is None or obj.deletion_timestamp is not None or not self._reconciles(obj) else obj
