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

from dynkube.errors import DynkubeError
from dynkube.informers._availability.availability import Availability, Generation, Presence, ServedAs, SourceFailure
from dynkube.informers._availability.observations import ServingProof
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._cache.cache import AllChanged, Changes, Version
from dynkube.informers._cache.failures import FailureLog
from dynkube.informers._cache.inbox import Inbox
from dynkube.informers._cache.index import Index, prepare
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.store import EMPTY, Snapshot
from dynkube.informers._parts.access_reviews import AccessReviews
from dynkube.informers._parts.namespace_parts import NamespaceParts, SelectedNames
from dynkube.informers._parts.part import Part
from dynkube.informers._parts.parts import OnePart, Parts
from dynkube.informers._parts.requests import Requests
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._reflector.recovery import Recovery
from dynkube.informers._reflector.reflector import ServerFeatures, Sink
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import Slices
from dynkube.informers._states import Phase, State, StateReporter, next_state
from dynkube.informers._statistics import InformerStatus
from dynkube.informers._tasks import start_in_scope
from dynkube.informers._views.event_stream import EventQueue
from dynkube.informers._views.fanout import Fanout
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.handlers import HandlerTask
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import GVR, GroupVersion, Unstructured
from dynkube.meta._versions import is_older
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers


class SharedInformer:
    """One cache and its owner task; created by the factory, used through views."""

    __slots__ = (
        "_about_to_list",
        "_absent",
        "_crd_deleted",
        "_ended",
        "_generation",
        "_gvr",
        "_nursery",
        "_on_ended",
        "_on_state",
        "_parts",
        "_reporter",
        "_requests",
        "_scope",
        "_tracker",
        "_views",
        "failures",
        "inbox",
        "key",
        "progress",
        "slices",
        "snapshot",
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
        follow_names: Callable[[Callable[[], None]], SelectedNames] | None = None,
    ) -> None:
        self.key = key
        self._gvr = key.gvr
        self._on_ended = on_ended
        self._on_state: tuple[Callable[[], None], ...] = ()
        collection = key.collection
        self._reporter = StateReporter(collection, observers)
        self.state: State = State(Phase.UNKNOWN, "Starting")
        self.progress: trio.Event = trio.Event()
        """Set, and replaced by a new one, whenever the state or the version of the cache changes."""
        self.failures: FailureLog = FailureLog(collection)
        self.inbox: Inbox = Inbox()
        """Messages for the owner: calls of this class's async methods."""
        readiness, stamp = tracker.readiness, tracker.stamp
        self._requests = Requests(rest, key, settings, features, observers, self.failures, readiness, stamp)
        self._tracker = tracker
        self.snapshot: Snapshot = EMPTY
        """The current version of the objects. May be read on any thread."""
        self.slices: Slices = Slices(settings.cpu_clock, budget=settings.slice)
        """Limits how long the owner runs without yielding to the event loop."""
        self._views = Fanout(self.slices)
        self._parts: Parts = (
            OnePart(self, key.namespace)
            if follow_names is None
            else NamespaceParts(self, follow_names, self._reviews, settings.max_namespaces, readiness, stamp)
        )
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._about_to_list = False  # whether the newest verdict, which may not be processed yet, leads to a list
        self._absent = False  # whether the resource was not served when that was last observed
        self._crd_deleted = False  # whether it is absent because its CRD was deleted
        self._generation: Generation | None = None  # of the resource that is being reflected

    # ── for readers, on any thread ───────────────────────────────────────────────────────────

    @property
    def resource_version(self) -> str:
        """The last resourceVersion received, of a set of namespaces the oldest; ``""`` before the first list."""
        return self._parts.resource_version

    @property
    def reflected(self) -> ReflectorStatistics:
        """The counters of all lists and watches."""
        return self._parts.statistics

    @property
    def gvr(self) -> GVR:
        """The resource; where the key has no version, in the one that is served, or was last (``""`` if unknown)."""
        return self._gvr

    @property
    def absent(self) -> bool:
        """Whether the resource was not served when that was last observed."""
        return self._absent

    @property
    def gone(self) -> bool:
        """Whether the resource is absent, also by the newest verdict, so that no write to it is going to be cached."""
        return self._absent and not self._about_to_list

    @property
    def served(self) -> bool:
        """Whether the resource seems to be served, so that it is listed and watched."""
        return self._generation is not None

    @property
    def content_known(self) -> bool:
        """Whether the initial list is complete, or the resource is known to be absent."""
        return self._absent or self._parts.known

    @property
    def objects_known(self) -> bool:
        """Whether it is known which objects exist: they were listed, or deleted with their CRD.

        Not if the resource is absent for another reason, such as a version that is not served any more.
        """
        return self._crd_deleted if self._absent else self._parts.known

    @property
    def namespaces(self) -> NamespaceParts | None:
        """The parts, if a set of namespaces is watched."""
        return self._parts if isinstance(self._parts, NamespaceParts) else None

    def caught_up(self, obj: Unstructured) -> bool:
        """Return whether the cache has this version of an object, or has reached its resourceVersion.

        Also if objects of its namespace are not cached because the resource is absent (by an observation that is newer
        than what :meth:`prove` has recorded) or the namespace forbidden.
        """
        known = self.snapshot.get(obj.key)
        if known is not None and known.uid == obj.uid and not is_older(known.resource_version, obj.resource_version):
            return True
        seen = self._parts.version_of(obj.namespace)
        return self.gone or seen is None or (seen != "" and not is_older(seen, obj.resource_version))

    def lacks(self, namespace: str) -> bool:
        """Return whether a namespace is not in the set of namespaces that is watched."""
        return self._parts.lacks(namespace)

    def status(self, now: float, users: int) -> InformerStatus:
        """Return the status; ``now`` is trio's time."""
        collection, reflected = self.key.collection, self.reflected
        subscribers = [subscriber for view in self._views for subscriber in tuple(view.subscribers)]
        return InformerStatus(
            gvr=collection.gvr,
            namespace=collection.namespace,
            namespaces=collection.namespaces,
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
            self._parts.stop()
            release = self.snapshot.release()
            self._clear()
            self.inbox.close()
            self._set_state(Phase.STOPPED, "Closed")
            for view in self._views:
                view.end()
            self._ended.set()
            self._on_ended(self)
            with trio.CancelScope(shield=True):  # takes as long as the objects need, and waits for nothing
                await self.slices.run(release)

    @property
    def stopping(self) -> bool:
        """Whether the shared informer is ending, or has ended, also by the cancellation of its client."""
        return self._scope.cancel_called or self._ended.is_set()

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
        await prepare([index], ((obj.key, None, obj) for obj in self.snapshot), self.slices)
        index.publish()
        index.built = True

    async def subscribe(self, view: View, subscriber: Subscriber) -> None:
        """Add a subscriber: offer it all objects, and from then on each change."""
        if view.join(subscriber):
            await view.show_difference(self.snapshot, [subscriber], self.slices)
            if self.content_known:
                view.settle()

    async def refilter(self, view: View) -> None:
        """Evaluate a view's filter again, and send subscribers the changes."""
        if view in self._views:  # if not, the view is about to be attached, or was detached
            await self._round(view)
            self.wake_waiters()

    async def _round(self, view: View) -> None:
        view.begin_round()
        await view.show_difference(self.snapshot, view.subscribers, self.slices)
        if self.content_known:
            view.settle(after_round=True)

    async def settle(self) -> None:
        """Mark what subscribers were offered as the initial list, if the content of the cache is complete."""
        if self.content_known:
            await self._views.settle()
        self.wake_waiters()

    # ── messages from the tracker: the resource comes and goes ───────────────────────────────

    def _judged(self, availability: Availability) -> None:
        if availability.presence is not Presence.UNKNOWN:  # else the last known state stays
            generation = availability.generation
            self._about_to_list = generation is not None and not self._wrong_scope(generation)
        self.inbox.post(partial(self._follow_availability, availability))

    async def _follow_availability(self, now: Availability) -> None:
        if now.presence is Presence.UNKNOWN:
            if self.state.phase is Phase.UNKNOWN:  # in another phase, the last known state stays
                self._set_state(Phase.UNKNOWN, now.reason, now.message)
        elif now.presence is Presence.ABSENT:
            self._crd_deleted = now.crd_deleted
            await self._vanish(now.reason, now.message, now.lost)
        elif now.generation is not None:
            await self._follow_generation(now.generation, now.lost)

    async def _follow_generation(self, generation: Generation, lost: SourceFailure | None) -> None:
        if argument := self._wrong_scope(generation):
            self._crd_deleted = False
            await self._vanish("WrongScope", f"{self.key.gvr} is cluster-scoped: leave {argument} out", lost)
        elif generation.continues(self._generation):
            self._generation = generation
        else:
            self._appear(generation)

    def _wrong_scope(self, generation: Generation) -> str:
        """Return the argument that a cluster-scoped resource does not have, if it was given; else ``""``."""
        if generation.served_as.namespaced:
            return ""
        key = self.key
        return "namespace=" if key.namespace is not None else "namespaces=" if key.namespaces is not None else ""

    async def _vanish(self, reason: str, message: str, lost: SourceFailure | None) -> None:
        """Empty the cache: the resource is absent, or was when its source could last be read."""
        phase = Phase.ABSENT
        if lost is not None:
            message = f"{message}, according to the last known state; since then: {lost.message}"
            phase, reason = Phase.DEGRADED, lost.reason
        self._stop_reflecting()
        self._absent = True
        before, gone = self.snapshot, AllChanged(self.snapshot, deleted=True)
        release = before.release()
        await self._reveal(gone, self._clear)
        self._set_state(phase, reason, message)
        await self._views.show(before, gone, EMPTY)
        del before, gone
        await self.settle()
        await self.slices.run(release)

    def _clear(self) -> None:
        self._parts.clear()
        self.snapshot = EMPTY

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
            for part in self._parts:
                part.cache.versions_reused()  # another form of the same objects, with the same resourceVersions
        self._absent = False
        self._generation = generation
        self._requests.decode(self.gvr, generation.served_as.kind)
        self._set_state(Phase.SYNCING, "Listing")
        self._parts.start()

    def _stop_reflecting(self) -> None:
        self._generation = None
        self._requests.forget_decoder()
        self._parts.stop()

    # ── for the parts ────────────────────────────────────────────────────────────────────────

    def reflect(self, part: Part, sink: Sink, *, consistent: bool) -> trio.CancelScope:
        """Start to list and watch the objects of a part; return the scope that ends it."""
        assert self._nursery is not None
        reflector = self._requests.reflector(part, self.gvr, sink, consistent=consistent)
        return start_in_scope(self._nursery, reflector.run)

    def _reviews(self, namespaces: NamespaceParts) -> AccessReviews:
        return self._requests.reviews(namespaces, lambda: self.gvr)

    def run_beside(self, task: AccessReviews) -> trio.CancelScope:
        """Start a task that lives as long as the cache at most; return the scope that ends it."""
        assert self._nursery is not None
        return start_in_scope(self._nursery, task.run)

    async def object_seen(self, obj: Unstructured) -> None:
        """Record that the server returned an object, so its resource is served."""
        if not self.served:
            self.prove(self.proof_of(obj))

    def proof_of(self, obj: Unstructured) -> ServingProof:
        """Return what an object shows that the server has just returned."""
        version = self.key.gvr.version or GroupVersion.parse(obj.api_version).version
        served_as = ServedAs(version, bool(obj.namespace), obj.kind)
        return ServingProof(self._tracker.stamp(), obj.resource_version, served_as)

    def proof_of_list(self, resource_version: str) -> ServingProof:
        """Return what the resourceVersion shows of a list that the server has just returned; the scope is assumed."""
        return ServingProof(self._tracker.stamp(), resource_version, ServedAs(self.gvr.version, namespaced=True))

    def prove(self, proof: ServingProof, *, read: bool = True) -> None:
        """Record that the resource was served; :attr:`gone` is up to date after that. Does not block.

        Args:
            proof: a response.
            read: whether it had an object.
        """
        if proof.served_as.version:  # else it is not known in which version to request the objects
            self._tracker.prove_by_response(self.key.gvr, proof, read=read)

    async def publish(self, part: Part, version: Version, *, live: bool = False) -> None:
        """Publish a version of a part, set its state to LIVE if ``live``, then notify subscribers.

        Handlers run only after that, so a handler finds its change in the snapshot and in the indexes.
        """
        before = self.snapshot
        await self._reveal(version.changes, partial(self._show, part, version))
        if live:  # before handlers are called: a handler must not see SYNCING once it has synced
            part.set_state(Phase.LIVE, "Watching")
        await self._views.show(before, version.changes, self.snapshot)
        self.wake_waiters()

    def _show(self, part: Part, version: Version) -> None:
        same = version.snapshot is part.cache.snapshot  # for a bookmark
        part.cache.publish(version)
        part.statistics.listed = 0  # what was listed is shown now
        if self.namespaces is None:
            self.snapshot = version.snapshot
        elif not same:
            self.snapshot = self.snapshot.with_namespace(part.namespace, version.snapshot)

    async def _reveal(self, changes: Changes, show: Callable[[], None]) -> None:
        """Call ``show``, which makes changes visible to readers; they see the cache and all indexes change together."""
        indexes = self._views.indexes()
        await prepare(indexes, changes, self.slices)
        show()  # no checkpoint from here on
        replaced = [index.publish() for index in indexes]
        for before in replaced:  # checkpoints again
            await self.slices.run(before)

    def proven(self, resource_version: str) -> None:
        """Receive the report that the server has listed the resource."""
        if self._generation is not None:
            self._tracker.prove(self.key.gvr, resource_version, self._generation.served_as)

    async def listed(self, part: Part) -> None:
        """Receive the report that the complete list of a part was published."""
        self._parts.listed(part)
        await self.settle()

    async def refused(self, part: Part, exc: DynkubeError, asked: float) -> bool:
        """Receive the report that a list begun at ``asked`` was refused; return whether that is not a failure."""
        return await self._parts.refused(part, exc, asked)

    def failed(self, exc: DynkubeError, recovery: Recovery) -> None:
        """Receive a failure, after which the reflector retries."""
        self.failures.note(exc)
        if recovery.missing:
            self._tracker.suspect(self.key.gvr)

    def state_changed(self) -> None:
        """Receive the report that the state of a part has changed."""
        self._parts.state_changed()

    def show_state(self) -> None:
        """Show the state of the parts as that of the cache."""
        if self._generation is not None:
            state = self._parts.state
            self._set_state(state.phase, state.reason, state.message)

    # ── reports ──────────────────────────────────────────────────────────────────────────────

    def _set_state(self, phase: Phase, reason: str, message: str = "") -> None:
        before, now = self.state, next_state(self.state, phase, reason, message)
        if now is before:
            return
        self.state = now
        if (before.phase, before.reason) != (phase, reason):
            self._reporter.report(before, now)
        for changed in tuple(self._on_state):
            changed()
        self.wake_waiters()

    def call_on_state(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever the state changes, until :meth:`forget`."""
        self._on_state = (*self._on_state, changed)

    def forget(self, changed: Callable[[], None]) -> None:
        """Undo :meth:`call_on_state`."""
        self._on_state = tuple(each for each in self._on_state if each != changed)

    def wake_waiters(self) -> None:
        """Wake all tasks that wait for ``progress``."""
        self.progress.set()
        self.progress = trio.Event()
