"""``RunningController``: the informers, the queue and the workers of a controller that runs."""

from __future__ import annotations

import logging
import random as random_module
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from typing import Final, Protocol

import trio

from dynkube._client import Client
from dynkube._guard import logged, text_of
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.controllers._applied import AppliedBefore
from dynkube.controllers._blocked_loop import BlockedLoop
from dynkube.controllers._cache_sources import CacheSource
from dynkube.controllers._caches import Caches
from dynkube.controllers._calls import Caller
from dynkube.controllers._context import Context
from dynkube.controllers._controller import Controller
from dynkube.controllers._daemons import DaemonCalls
from dynkube.controllers._event_recorder import EventRecorder
from dynkube.controllers._handover import WrittenVersions, catch_up
from dynkube.controllers._own_writes import OwnWrites
from dynkube.controllers._owner_recheck import OwnerRecheck
from dynkube.controllers._rate_limits import ExponentialBackoff, GuardedLimiter
from dynkube.controllers._requeues import Requeues
from dynkube.controllers._results import Outcome, outcome_of
from dynkube.controllers._sharding import Sharding
from dynkube.controllers._status import ControllerPhase, ControllerStatus, KeyFailure
from dynkube.controllers._watches import ObjectKey, Watch
from dynkube.controllers._work_queue import WorkQueue
from dynkube.errors import ClosedError, DynkubeError
from dynkube.informers import Registration
from dynkube.informers._slices import Slices
from dynkube.meta import Unstructured
from dynkube.telemetry import ReconcileInfo, ReconcileOutcome

LOW_PRIORITY: Final = -100
"""Of initial objects and resyncs, so that what changes now is reconciled first; the same as in controller-runtime."""

_PERSISTENT: Final = 8  # failures in a row from which on also conflicts are logged: a cache has caught up by then
_FAILURES: Final = 100  # keys whose failure is kept for the status
_JITTER: Final = 0.1  # of the resync interval, so that controllers that start together do not resync together

_log: Final = get_logger("dynkube.controllers")


class _Opening(Protocol):
    """Enters the informer of a watch."""

    async def __call__(self, watch: Watch, namespace: str | None, *, cluster_scoped: bool = False) -> CacheSource: ...


class RunningController:
    """One run of a controller.

    Args:
        controller: the declaration.
        cluster: the cluster in which it reconciles; ``""`` if there is only one.
        clients: the open clients, by the names of their clusters.
        sharding: which of the objects this process reconciles; ``None`` for all.
        events: records events; ``None`` for none.
        blocked: reports functions that block the event loop.
        written: what leaders have written, which the caches have to reach before the first call.
        now: the time for conditions.
        random: for jitter.
        lease_problem: returns why the lease cannot be read or written; ``""`` if it can, or if there is none.
    """

    def __init__(
        self,
        controller: Controller,
        cluster: str,
        clients: Mapping[str, Client],
        *,
        sharding: Sharding | None,
        events: EventRecorder | None,
        blocked: BlockedLoop,
        written: WrittenVersions,
        now: Callable[[], datetime],
        random: random_module.Random,
        lease_problem: Callable[[], str],
    ) -> None:
        self._controller = controller
        self._cluster = cluster
        self._name = f"{controller.name} in {cluster}" if cluster else controller.name  # for the log
        self._lease_problem = lease_problem
        self._clients = clients
        self._client = client = clients[cluster]
        self._sharding = sharding
        self._events = events
        self._blocked = blocked
        self._written = written
        self._catching_up = trio.CancelScope()
        self._now = now
        self._random = random
        self._clock = trio.lowlevel.current_clock()
        self._observers = client._observers
        self._queue: WorkQueue[ObjectKey] = WorkQueue(
            rate_limiter=GuardedLimiter(controller._rate_limiter(), self._limiter_failed),
            debounce=controller._debounce or 0.0,
        )
        self._caller = Caller(controller, cluster)
        self.slices = Slices(client._settings.cpu_clock, budget=client._settings.slice)
        self._caches = Caches()
        self._synced = trio.Event()
        self._phase = ControllerPhase.SYNCING
        self._problem = ""  # why an informer could not be opened
        self._state: object = None
        self._active = False  # whether changes add keys to the queue
        self._running: dict[ObjectKey, float] = {}
        self._own_writes = OwnWrites(client, self._caches, self._queue, written)
        self._owner_recheck = OwnerRecheck(client, self._own_writes)
        self._requeues = Requeues(self._queue, self._own_writes.echoes)
        self._daemons: DaemonCalls | None = None
        if controller._stop_timeout is not None:
            self._daemons = DaemonCalls(
                controller, self._caller, self._caches, self._queue, self._requeues, self._reconciles
            )
        self._applied: dict[ObjectKey, AppliedBefore] = {}  # of keys that have applied anything
        self._given_up: dict[ObjectKey, str] = {}  # drained objects: the resourceVersion up to which that was done
        self._outcomes: Counter[Outcome] = Counter()
        self._failed: OrderedDict[ObjectKey, KeyFailure] = OrderedDict()
        self._seconds = 0.0
        self._function_errors = 0
        self._last_function_error = ""

    # ── informers ────────────────────────────────────────────────────────────────────────────

    async def follow(self) -> None:
        """Open the informers, and keep them open until cancelled."""
        declared = (self._controller._watch, *self._controller._others)
        try:
            async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
                opening = partial(self._open, stack, nursery)
                opened = [(watch, await self._open_all(watch, opening)) for watch in declared]
                for watch, sources in opened:
                    for source in sources:
                        await source.informer.wait_synced()
                    if (whole := await self._widen(watch, sources, opening)) is not None:
                        await whole.informer.wait_synced()
                    elif sources[0].informer.namespace is not None and not sources[0].wrong_scope:
                        nursery.start_soon(self._follow_scope, watch, sources, opening)
                if self._phase is ControllerPhase.SYNCING:
                    self._phase = ControllerPhase.STANDBY
                self._synced.set()
        except* ClosedError:
            # A cancellation around the client and run() closes the informers while run() still lets its calls end.
            if self._phase is not ControllerPhase.STOPPING:
                raise
        finally:
            self._phase = ControllerPhase.STOPPED

    async def _open_all(self, watch: Watch, opening: _Opening) -> list[CacheSource]:
        """Open a watch in its own namespace, or in each of those of the controller."""
        namespaces = self._controller._namespaces if watch.namespace is None else (watch.namespace,)
        return [await opening(watch, namespace) for namespace in namespaces]

    async def _follow_scope(self, watch: Watch, sources: list[CacheSource], opening: _Opening) -> None:
        """Widen a watch once its resource, which may be installed later, is known to be cluster-scoped."""
        await sources[0].wait_wrong_scope()
        await self._widen(watch, sources, opening)

    async def _widen(self, watch: Watch, sources: list[CacheSource], opening: _Opening) -> CacheSource | None:
        """Follow a cluster-scoped resource as a whole, if it was to be followed in the namespaces of the controller.

        These do not apply to it, as in controller-runtime. Returns the source of the whole resource.
        """
        if not sources[0].wrong_scope:
            return None
        name = self._name
        if watch.namespace is not None:
            _log.warning(
                "controller %s: %s is cluster-scoped, so nothing of it is in namespace %s: leave namespace= out of the "
                "Watch",
                name,
                watch.resource,
                watch.namespace,
            )
            return None
        _log.info("controller %s: %s is cluster-scoped, and followed as a whole", name, watch.resource)
        whole = await opening(watch, None, cluster_scoped=True)
        for source in sources:
            self._caches.remove(source)
        return whole

    async def _open(
        self,
        stack: AsyncExitStack,
        nursery: trio.Nursery,
        watch: Watch,
        namespace: str | None,
        *,
        cluster_scoped: bool = False,
    ) -> CacheSource:
        """Enter the informer of a watch; try again while its name cannot be resolved."""
        delays = ExponentialBackoff[None](1.0, 60.0)
        reconciled = watch is self._controller._watch
        if self._sharding is not None:
            watch = self._sharding.watched(watch, reconciled=reconciled)
        while True:
            source = CacheSource.of(
                self._client,
                watch,
                namespace,
                reconciled=reconciled,
                cluster=self._cluster,
                cluster_scoped=cluster_scoped,
            )
            source.registration = self._register(source)
            try:
                await stack.enter_async_context(source.informer)
            except ClosedError:
                raise
            except DynkubeError as exc:
                if not self._problem:  # once: it may last for hours
                    _log.warning("controller %s cannot follow %s yet: %s", self._name, watch.resource, exc)
                self._problem = f"{watch.resource} cannot be followed yet: {exc}"
                await trio.sleep(delays.delay(None, trio.current_time()))
            else:
                break
        self._problem = ""
        self._caches.add(source)
        nursery.start_soon(source.pending.follow)
        return source

    def _register(self, source: CacheSource) -> Registration:
        """Have the changes of a source add keys to the queue; in slices if its mapper may return very many."""
        one = source.reconciled or source.watch.maps_to_owner
        take = self._take if one else self._take_in_slices
        return source.informer.add_handler(
            on_add=partial(take, source, None),
            on_update=partial(take, source),
            on_delete=partial(take, source, new=None),
            name=f"controller {self._controller.name}",
        )

    def _take(self, source: CacheSource, old: Unstructured | None, new: Unstructured | None) -> None:
        for _ in self._enqueue(source, old, new):
            pass

    async def _take_in_slices(self, source: CacheSource, old: Unstructured | None, new: Unstructured | None) -> None:
        await self.slices.run(self._enqueue(source, old, new))

    def _deleted(self, source: CacheSource, obj: Unstructured) -> None:
        if source.reconciled:
            self._own_writes.vanished(ObjectKey(*obj.key), source.pending)
            self._owner_recheck.forget(ObjectKey(*obj.key))
        self._owner_recheck.owned_deleted(obj, self._caches.primary)

    def _enqueue(
        self, source: CacheSource, old: Unstructured | None, new: Unstructured | None, *, listed: bool = False
    ) -> Iterator[None]:
        """Add the keys of a change, or of a listed object, to the queue; yield after each: there may be many."""
        obj = new if new is not None else old
        assert obj is not None
        if new is None:
            self._deleted(source, obj)
        if source.reconciled and self._daemons is not None:
            self._daemons.changed(ObjectKey(*obj.key), source.pending)
        if not self._active:
            return
        priority = source.watch.priority + (LOW_PRIORITY if listed else 0)
        if source.reconciled and not self._reconciles(new):
            # To be given up or dropped, whatever the predicate says.
            self._requeues.changed(ObjectKey(*obj.key), old, new, priority, listed=listed)
            yield
            return
        calling = partial(self._blocked.mapping, self._name, source.watch.resource)
        for key in source.keys(old, new, self._caches.primary, self._function_failed, calling):
            self._requeues.changed(key, old, new, priority, listed=listed)
            yield

    async def _enqueue_all(self) -> None:
        """Add the keys of all cached objects, at low priority."""
        for source in tuple(self._caches.sources):
            for obj in source.informer.list():
                await self.slices.run(self._enqueue(source, None, obj, listed=True))
                await self.slices.checkpoint_if_due()

    def _limiter_failed(self, key: ObjectKey, exc: Exception) -> None:
        self._function_failed("rate limiter", key, exc)

    def _function_failed(self, what: str, obj: Unstructured | ObjectKey, exc: Exception) -> None:
        self._function_errors += 1
        self._last_function_error = f"{what}: {text_of(exc)}"
        # Logged the 1st, 2nd, 4th, 8th, ... time, as a function that fails on one object mostly fails on all.
        level = logging.DEBUG if self._function_errors & (self._function_errors - 1) else logging.ERROR
        shown = str(obj) if isinstance(obj, ObjectKey) else repr(obj)
        _log.log(level, "a %s of controller %s failed on %s", what, self._name, shown, exc_info=logged(exc))

    def enqueue(self, key: ObjectKey, priority: int, after: float) -> None:
        """Add a key of a source to the queue."""
        self._requeues.requested(key, priority, after)

    # ── workers ──────────────────────────────────────────────────────────────────────────────

    async def work(self, state: object) -> None:
        """Reconcile, from when the informers are synced until :meth:`stop` is called and all calls have ended.

        They also have to show what the leader before has written.

        Args:
            state: of the contexts.
        """
        self._state = state
        await self._synced.wait()
        with self._catching_up:
            await catch_up(self._name, tuple(self._caches.sources), self._written)
        if self._phase is ControllerPhase.STANDBY:
            self._phase = ControllerPhase.RUNNING
        async with OwnedNursery() as background, trio.open_nursery() as workers:
            self._active = True
            if self._daemons is not None:
                self._daemons.start(background)
            for _ in range(self._controller._concurrency):
                workers.start_soon(self._worker)
            background.start_soon(self._own_writes.verify_deletions)
            background.start_soon(self._own_writes.follow_lists)
            await self._enqueue_all()
            if self._controller._resync is not None:
                background.start_soon(self._resync, self._controller._resync)

    def stop(self) -> None:
        """Start no more calls. Does not block."""
        self._phase = ControllerPhase.STOPPING
        self._queue.close()
        self._synced.set()
        self._catching_up.cancel()
        if self._daemons is not None:
            self._daemons.stop()

    async def _resync(self, interval: float) -> None:
        while True:
            await trio.sleep(interval * (1 + _JITTER * self._random.random()))
            await self._enqueue_all()

    async def _worker(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except ClosedError:
                return
            try:
                if self._phase is ControllerPhase.RUNNING:
                    await self._process(key)
            finally:
                self._requeues.done(key)

    async def _process(self, key: ObjectKey) -> None:
        try:
            await self._own_writes.read_back(key)
        except DynkubeError as exc:
            self._conclude(key, Outcome.ERROR, exc, None)
            return
        try:
            if not await self._is_ours(key):
                return
        except DynkubeError as exc:
            self._conclude(key, *outcome_of(exc, None), None)
            return
        # No checkpoint from here until the call reads its object, which would seem to be deleted if it went meanwhile.
        for source in self._caches.sources:
            if source.reconciled and source.has_lost(key):
                self._own_writes.vanished(key, source.pending)
        if self._own_writes.hold(key) or self._is_left(key):
            return
        if self._daemons is not None and not self._daemons.wants(key):
            self._queue.forget(key)
            if not self._exists(key):
                self._forget(key)
            return
        self._own_writes.echoes.began(key)
        self._conclude(key, *await self._call(key))

    def _is_left(self, key: ObjectKey) -> bool:
        """Return whether a thread of an earlier run still reconciles a key; it is added again when that returns."""
        left = self._caller.is_left(key, partial(self._requeues.thread_ended, key))
        if left:
            text = "controller %s: %s waits for a thread of an earlier run, which still reconciles it"
            _log.warning(text, self._name, key)
        return left

    async def _call(self, key: ObjectKey) -> tuple[Outcome, Exception | None, object]:
        """Call the function, and return how it ended, the failure to report, and the result."""
        applied = self._applied.pop(key, None) or AppliedBefore()
        context = self._context(key, applied)
        info = self._observe_start(context)
        began = self._running[key] = trio.current_time()
        ended: tuple[str, BaseException | None] = "cancelled", None
        try:
            with self._blocked.reconciling(self._name, key):
                calls = self._caller if self._daemons is None else self._daemons
                raised, result = await calls.call(context)
            outcome, failure = ended = outcome_of(raised, result)
        finally:
            seconds = trio.current_time() - began
            self._seconds += seconds
            del self._running[key]
            if applied and self._exists(key):
                self._applied[key] = applied
            self._observe_end(info, *ended, seconds)
        return outcome, failure, result

    def _observe_start(self, context: Context) -> ReconcileInfo | None:
        if not (self._observers.reconcile_started or self._observers.reconcile_finished):
            return None
        info = ReconcileInfo(
            controller=self._controller.name,
            resource=str(self._controller.resource),
            namespace=context.key.namespace,
            name=context.key.name,
            attempt=context.attempt,
            queued=self._queue.waited(context.key),
            cluster=self._cluster,
        )
        for hook in self._observers.reconcile_started:
            hook(info)
        return info

    def _observe_end(
        self, info: ReconcileInfo | None, result: str, error: BaseException | None, seconds: float
    ) -> None:
        if info is not None and self._observers.reconcile_finished:
            outcome = ReconcileOutcome(result=str(result), seconds=seconds, error=error)
            for hook in self._observers.reconcile_finished:
                hook(info, outcome)

    def _reconciles(self, obj: Unstructured | None) -> bool:
        return self._sharding is None or (obj is not None and self._sharding.reconciles(obj))

    async def _is_ours(self, key: ObjectKey) -> bool:
        """Return whether this process reconciles a key. If its object is drained, give that up.

        Not if there is no such object: the cache does not tell whether it was deleted or assigned to another process.
        Called while the key is being processed: none of its calls is running, and none can start. If it returns
        ``True``, there was no checkpoint.

        Raises:
            DynkubeError: the object could not be given up, or the caches are closed.
        """
        if self._sharding is None:
            return True
        obj = self._caches.primary.get(key)
        if self._reconciles(obj):
            return True
        patch = None if obj is None else self._sharding.handover(obj)
        if patch is None or obj is None:
            self._forget(key)
        elif self._given_up.get(key) != obj.resource_version:  # else it was, and the cache does not show that yet
            gvr = next(source.informer.gvr for source in self._caches.sources if source.reconciled)
            assert gvr is not None, "it has an object"
            manager = self._controller.name
            resource = self._client.resource(gvr)
            await resource.patch(obj.name, patch, namespace=obj.namespace or None, field_manager=manager)
            _log.debug("controller %s: gave up %s, which was drained", self._name, key)
            self._given_up[key] = obj.resource_version
        self._queue.forget(key)
        return False

    def _conclude(self, key: ObjectKey, outcome: Outcome, failure: Exception | None, result: object) -> None:
        """Decide when the key is reconciled again."""
        failures = self._queue.failures(key) + 1  # with this one, if it is one: they may be forgotten below
        self._outcomes[outcome] += 1
        self._requeues.ended(key, outcome, result)
        if failure is None:
            self._failed.pop(key, None)
        else:
            self._report(key, outcome, failure, failures)

    def _report(self, key: ObjectKey, outcome: Outcome, failure: Exception, failures: int) -> None:
        self._failed[key] = KeyFailure(key, outcome, failures, text_of(failure))
        self._failed.move_to_end(key)
        if len(self._failed) > _FAILURES:
            self._failed.popitem(last=False)
        name = self._name
        if outcome is Outcome.CONFLICT and failures < _PERSISTENT:
            _log.debug("controller %s: %s is reconciled again, as its cache was not current: %s", name, key, failure)
            return
        # Logged the 1st, 2nd, 4th, 8th, ... time that the key fails.
        grave = logging.WARNING if outcome is Outcome.CONFLICT else logging.ERROR
        level = logging.DEBUG if failures & (failures - 1) else grave
        extra = {**self._fields(key), "error": type(failure).__name__, "failures": failures}
        text = "controller %s: reconciling %s failed (%s, failure %d of this key)"
        _log.log(level, text, name, key, outcome, failures, exc_info=logged(failure), extra=extra)

    def _fields(self, key: ObjectKey) -> dict[str, object]:
        """Return the fields of log records about a key."""
        cluster = {"cluster": self._cluster} if self._cluster else {}
        return {"controller": self._controller.name, **cluster, "key": str(key)}

    def _exists(self, key: ObjectKey) -> bool:
        try:
            return self._caches.primary.get(key) is not None
        except DynkubeError:  # the informer is closed, or the server has sent a name that cannot be one
            return True

    def _forget(self, key: ObjectKey) -> None:
        self._applied.pop(key, None)
        self._given_up.pop(key, None)
        self._failed.pop(key, None)
        self._own_writes.release(key)

    def _context(self, key: ObjectKey, applied: AppliedBefore) -> Context:
        return Context(
            key,
            self._queue.failures(key) + 1,
            cluster=self._cluster,
            clients=self._clients,
            caches=self._caches,
            writes=self._own_writes,
            owner_recheck=self._owner_recheck,
            applied=applied,
            events=self._events,
            field_manager=self._controller.name,
            now=self._now,
            state=self._state,
        )

    def status(self) -> ControllerStatus:
        """Return the status; on any thread, so it iterates over copies only."""
        now = self._clock.current_time()
        return ControllerStatus(
            self._controller.name,
            str(self._controller.resource),
            self._phase,
            self._problem or self._lease_problem() or ("" if self._sharding is None else self._sharding.problem),
            tuple((str(source.watch.resource), source.informer.state) for source in self._caches.sources),
            self._queue._statistics(now),
            {key: now - since for key, since in tuple(self._running.items())},
            self._own_writes.waiting(now),
            dict(self._outcomes),
            tuple(self._failed.values())[::-1],
            self._seconds,
            self._controller._concurrency,
            self._blocked.count(self._name),
            self._function_errors,
            self._last_function_error,
            cluster=self._cluster,
        )
