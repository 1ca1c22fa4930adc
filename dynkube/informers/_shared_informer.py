"""SharedInformer: one cache of one collection, and the task that owns it.

The task (the *owner*) receives messages for everything that changes the cache or the events of subscribers: objects
from the reflector, availability of the resource, added and removed filters, handlers and indexes. It processes them one
by one, so no locks are needed. Readers use the published snapshot and do not involve the owner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import trio

from dynkube._server_text import sanitized
from dynkube.client._listwatch import ListWatch
from dynkube.errors import BadRequest, DynkubeError, EndlessList, Forbidden, Unauthorized
from dynkube.informers._availability.availability import Availability, Generation, Presence, SourceFailure
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._cache.cache import Cache, Version
from dynkube.informers._cache.failures import FailureLog
from dynkube.informers._cache.inbox import Inbox
from dynkube.informers._cache.index import Index, prepare
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._cache.transform import decoder_for
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._reflector.epoch_sink import EpochSink
from dynkube.informers._reflector.recovery import Recovery, reason_of
from dynkube.informers._reflector.reflector import Reflector, ServerFeatures
from dynkube.informers._reflector.transitions import ResourceVersionRegressed
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import Slices
from dynkube.informers._states import Phase, State, StateReporter
from dynkube.informers._statistics import InformerStatus
from dynkube.informers._tasks import start_in_scope
from dynkube.informers._views.fanout import Fanout
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.handlers import EventQueue, HandlerTask
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import GVR, Unstructured, WatchEvent
from dynkube.meta._common import BodyCache
from dynkube.meta._wire.metadata_only import MetadataReader
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers


class SharedInformer:
    """One cache and its owner task; created by the factory, used through views."""

    __slots__ = (
        "_absent",
        "_appeared",
        "_cache",
        "_ended",
        "_epoch",
        "_features",
        "_generation",
        "_gvr",
        "_listed",
        "_nursery",
        "_observers",
        "_on_ended",
        "_reflecting",
        "_reporter",
        "_rest",
        "_scope",
        "_settings",
        "_slices",
        "_tracker",
        "_views",
        "failures",
        "inbox",
        "key",
        "progress",
        "reflected",
        "state",
    )

    def __init__(
        self,
        key: SharingKey,
        rest: RESTClient,
        tracker: AvailabilityTracker,
        settings: InjectedSettings,
        features: ServerFeatures,
        observers: Observers,
        on_ended: Callable[[SharedInformer], None],
    ) -> None:
        self.key = key
        self._gvr = key.gvr
        self._on_ended = on_ended
        collection = key.collection
        self._reporter = StateReporter(collection, observers)
        self._observers = observers
        self.state: State = State(Phase.UNKNOWN, "Starting")
        self.progress: trio.Event = trio.Event()
        """Set, and replaced by a new one, whenever the state or the version of the cache changes."""
        self.reflected: ReflectorStatistics = ReflectorStatistics()
        self.failures: FailureLog = FailureLog(collection)
        self.inbox: Inbox = Inbox()
        """Messages for the owner: calls of this class's async methods."""
        self._rest = rest
        self._tracker = tracker
        self._settings = settings
        self._features = features
        self._cache = Cache()
        self._slices = Slices(settings.cpu_clock, budget=settings.slice)
        self._views = Fanout(self._slices)
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._reflecting: trio.CancelScope | None = None
        self._epoch = 0  # number of the current reflector; messages of earlier reflectors are ignored
        self._absent = False  # whether the resource was not served when that was last observed
        self._appeared = False  # whether the resource was ever served
        self._generation: Generation | None = None  # of the resource that is being reflected
        self._listed = False  # whether its objects were listed

    # ── for readers, on any thread ───────────────────────────────────────────────────────────

    @property
    def snapshot(self) -> Snapshot:
        """The current version of the objects."""
        return self._cache.snapshot

    @property
    def resource_version(self) -> str:
        """The last resourceVersion received; ``""`` before the first list."""
        return self._cache.resource_version

    @property
    def gvr(self) -> GVR:
        """The resource; where the key has no version, in the one that is served, or was last (``""`` if unknown)."""
        return self._gvr

    @property
    def absent(self) -> bool:
        """Whether the resource was not served when that was last observed."""
        return self._absent

    @property
    def served(self) -> bool:
        """Whether the resource seems to be served, so that it is listed and watched."""
        return self._generation is not None

    @property
    def content_known(self) -> bool:
        """Whether the initial list is complete, or the resource is known to be absent."""
        return self._listed or self._absent

    def status(self, now: float, users: int) -> InformerStatus:
        """Return the status; ``now`` is trio's time."""
        collection, reflected = self.key.collection, self.reflected
        subscribers = [subscriber for view in self._views for subscriber in tuple(view.subscribers)]
        return InformerStatus(
            gvr=collection.gvr,
            namespace=collection.namespace,
            label_selector=collection.label_selector,
            field_selector=collection.field_selector,
            shard=collection.shard,
            metadata_only=collection.metadata_only,
            state=self.state,
            objects=len(self.snapshot),
            resource_version=self.resource_version,
            lag=reflected.lag(now),
            backlog=sum(subscriber.backlog for subscriber in subscribers),
            lists=reflected.lists,
            watches=reflected.watches,
            restarts=reflected.restarts,
            failures=reflected.failures,
            handlers=sum(isinstance(subscriber, HandlerTask | EventQueue) for subscriber in subscribers),
            handler_errors=sum(subscriber.errors for subscriber in subscribers if isinstance(subscriber, HandlerTask)),
            last_error=self.failures.last,
            users=users,
        )

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Run as the owner of the cache until :meth:`stop`."""
        try:
            async with trio.open_nursery() as self._nursery:
                with self._scope:
                    self._tracker.follow(self.key.gvr, self._judged)
                    while True:
                        await self._work()
                self._nursery.cancel_scope.cancel()
        finally:
            self._tracker.unfollow(self.key.gvr, self._judged)
            release = self.snapshot.release()
            self._cache = Cache()
            self.inbox.close()
            self._set_state(Phase.STOPPED, "Closed")
            for view in self._views:
                view.end()
            self._ended.set()
            self._on_ended(self)
            with trio.CancelScope(shield=True):  # takes as long as the objects need, and waits for nothing
                await self._slices.run(release)

    @property
    def stopping(self) -> bool:
        """Whether the shared informer is ending, or has ended."""
        return self._scope.cancel_called

    def end_in(self, seconds: float) -> None:
        """End after ``seconds`` unless :meth:`keep` is called. Does not block."""
        self._scope.deadline = trio.current_time() + seconds

    def keep(self) -> None:
        """Cancel :meth:`end_in`."""
        self._scope.deadline = math.inf

    def stop(self) -> None:
        """Close the watch and all subscribers, and free the memory. Does not block."""
        self._scope.cancel()

    async def wait_ended(self) -> None:
        """Wait until its tasks have ended."""
        await self._ended.wait()

    async def _work(self) -> None:
        """Process posted messages.

        A separate function, so that no frame keeps the objects of a message alive while the owner waits.
        """
        for message in await self.inbox.take():
            await message()

    # ── messages from users: views come, go and change ───────────────────────────────────────

    async def attach(self, view: View) -> None:
        """Attach a view with its indexes and subscribers."""
        for index in tuple(view.indexes.values()):
            await self.build(index)
        if view.closed:  # the informer was closed before this
            return
        self._views.add(view)
        await self._round(view)

    def detach(self, view: View) -> None:
        """Detach a view. Called directly, as its subscribers are closed by then."""
        self._views.discard(view)

    async def build(self, index: Index) -> None:
        """Build a new index of all objects."""
        await prepare([index], ((obj.key, None, obj) for obj in self.snapshot), self._slices)
        index.publish()
        index.built = True

    async def subscribe(self, view: View, subscriber: Subscriber) -> None:
        """Add a subscriber: offer it all objects, and from then on each change."""
        if view.join(subscriber):
            await view.show_difference(self.snapshot, [subscriber], self._slices)
            if self.content_known:
                view.settle()

    async def refilter(self, view: View) -> None:
        """Evaluate a view's filter again, and send subscribers the changes."""
        if view in self._views:  # if not, the view is about to be attached, or was detached
            await self._round(view)
            self.wake_waiters()

    async def _round(self, view: View) -> None:
        view.begin_round()
        await view.show_difference(self.snapshot, view.subscribers, self._slices)
        if self.content_known:
            view.settle(after_round=True)

    async def _settle(self) -> None:
        if self.content_known:
            await self._views.settle()

    # ── messages from the tracker: the resource comes and goes ───────────────────────────────

    def _judged(self, availability: Availability) -> None:
        self.inbox.post(partial(self._follow_availability, availability))

    async def _follow_availability(self, now: Availability) -> None:
        if now.presence is Presence.UNKNOWN:
            if self.state.phase is Phase.UNKNOWN:  # in another phase, the last known state stays
                self._set_state(Phase.UNKNOWN, now.reason, now.message)
        elif now.presence is Presence.ABSENT:
            await self._vanish(now.reason, now.message, now.lost)
        elif now.generation is not None:
            await self._follow_generation(now.generation, now.lost)

    async def _follow_generation(self, generation: Generation, lost: SourceFailure | None) -> None:
        if self.key.namespace is not None and not generation.served_as.namespaced:
            await self._vanish("WrongScope", f"{self.key.gvr} is cluster-scoped: leave namespace= out", lost)
        elif generation.continues(self._generation):
            self._generation = generation
        else:
            self._appear(generation)

    async def _vanish(self, reason: str, message: str, lost: SourceFailure | None) -> None:
        """Empty the cache: the resource is absent, or was when its source could last be read."""
        phase = Phase.ABSENT
        if lost is not None:
            message = f"{message}, according to the last known state; since then: {lost.message}"
            phase, reason = Phase.DEGRADED, lost.reason
        self._stop_reflecting()
        self._absent = True
        release = self.snapshot.release()
        await self._publish(self._cache.emptied(), (phase, reason, message))
        await self._settle()
        await self._slices.run(release)

    def _appear(self, generation: Generation) -> None:
        """List a resource that is newly served, or whose CRD was created again.

        Also if another version of the resource is to be followed.

        Objects of the old CRD stay in the cache until the list is complete. The CRD watch may be behind the watch on
        the resource, which may have received objects of the new CRD already. Only the list shows, by UID, which objects
        still exist.
        """
        version = generation.served_as.version
        if version != self._gvr.version:
            self._gvr = replace(self._gvr, version=version)
            self._cache.versions_reused()  # another form of the same objects, with the same resourceVersions
        self._stop_reflecting()
        self._absent = False
        self._set_state(Phase.SYNCING, "Listing")
        self._generation = generation
        self._start_reflecting()

    def _start_reflecting(self) -> None:
        assert self._nursery is not None
        settings = self._settings
        source = ListWatch(
            self._rest,
            self.gvr,
            namespace=self.key.namespace,
            label_selector=self.key.label_selector,
            field_selector=self.key.field_selector,
            shard=self.key.shard,
            decoder=self._decoder(settings),
            honor_retry_after=False,  # the reflector has its own backoff, so that failures are visible in the state
            on_malformed=self.failures.malformed,
        )
        sink = EpochSink(self, self.inbox, self._epoch)
        # List from etcd if the CRD was deleted before, as a watch cache may still have the objects of the old CRD.
        reflector = Reflector(
            source,
            sink,
            settings,
            self._features,
            self._observers,
            consistent=self._appeared,
            statistics=self.reflected,  # counters continue over generations
        )
        self._appeared = True
        self._reflecting = start_in_scope(self._nursery, reflector.run)

    def _decoder(self, settings: InjectedSettings) -> ObjectDecoder:
        """Return a new decoder: an absent resource has none, as it must take little memory."""
        metadata = None
        if self.key.metadata_only and self._generation is not None:
            kind = self._generation.served_as.kind
            metadata = MetadataReader(self.gvr.api_version, kind, self.failures.whole_object_received)
        return decoder_for(
            self.key.transform,
            BodyCache(settings.decoded_bodies),
            self.failures.transform_failed,
            compactor=settings.compactor() if settings.compact else None,
            metadata=metadata,
        )

    def _stop_reflecting(self) -> None:
        self._epoch += 1
        self._generation = None
        self._listed = False
        if self._reflecting is not None:
            self._reflecting.cancel()

    # ── messages from the reflector: objects ─────────────────────────────────────────────────

    async def replaced(self, epoch: int, objects: Snapshot, resource_version: str, watched: bool) -> None:
        """Replace all objects by a complete list; ``watched`` if its watch stays open."""
        if epoch == self._epoch:
            if self._generation is not None:
                self._tracker.prove(self.key.gvr, resource_version, self._generation.served_as)
            version = await self._cache.replace(objects, resource_version, self._slices)
            # LIVE before handlers are called: a handler must not see SYNCING once it has synced.
            await self._publish(version, (Phase.LIVE, "Watching", "") if watched else None)
            self._listed = True
            await self._settle()
            self.wake_waiters()

    async def object_seen(self, obj: Unstructured) -> None:
        """Record that the server returned an object, so its resource is served."""
        if not self.served:
            self._tracker.prove_by_object(self.key.gvr, obj)

    async def applied(self, epoch: int, events: list[WatchEvent]) -> None:
        """Apply watch events."""
        if epoch == self._epoch:
            await self._publish(self._cache.apply(events))
            self.wake_waiters()

    async def _publish(self, version: Version, state: tuple[Phase, str, str] | None = None) -> None:
        """Publish a version of the cache, and a state if given; then notify subscribers.

        Handlers run only after that, so a handler finds its change in the snapshot and in the indexes.
        """
        before = self.snapshot
        await self._reveal(version)
        if state is not None:
            self._set_state(*state)
        await self._views.show(before, version.changes, version.snapshot)

    async def _reveal(self, version: Version) -> None:
        indexes = self._views.indexes()
        await prepare(indexes, version.changes, self._slices)
        # No checkpoint from here on: readers in this loop see the cache and all indexes change together.
        self._cache.publish(version)
        for index in indexes:
            index.publish()

    async def followed(self, epoch: int) -> None:
        """Record that a watch is open and healthy."""
        if epoch == self._epoch and self._listed:
            self._set_state(Phase.LIVE, "Watching")

    async def failed(self, epoch: int, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Record a failure of the reflector, which will retry."""
        if epoch != self._epoch or recovery.stop_streaming:
            return
        self.failures.note(exc)
        if isinstance(exc, ResourceVersionRegressed):
            self._cache.versions_reused()  # the server's resourceVersions went back
        if recovery.missing:
            self._tracker.suspect(self.key.gvr)
        # A single failure after which the next attempt succeeds is normal for a watch.
        if streak > 0 or isinstance(exc, BadRequest | EndlessList | Forbidden | Unauthorized):
            self._set_state(Phase.DEGRADED, reason_of(exc), str(exc))

    # ── reports ──────────────────────────────────────────────────────────────────────────────

    def _set_state(self, phase: Phase, reason: str, message: str = "") -> None:
        before, now = self.state, State(phase, reason, sanitized(message))
        if before == now:
            return
        if (before.phase, before.reason) == (phase, reason):
            self.state = replace(now, since=before.since)  # only the message changed
        else:
            self.state = now
            self._reporter.report(before, now)
        self.wake_waiters()

    def wake_waiters(self) -> None:
        """Wake all tasks that wait for ``progress``."""
        self.progress.set()
        self.progress = trio.Event()
