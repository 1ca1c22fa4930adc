"""A part of a cache: the objects of one list and watch.

The cache of most informers has one part. If an informer watches a set of namespaces, each namespace is a part.
"""

from __future__ import annotations

from typing import Protocol

import trio

from dynkube.errors import BadRequest, DynkubeError, EndlessList, Forbidden, Unauthorized
from dynkube.informers._cache.cache import Cache, Version, forgotten
from dynkube.informers._cache.inbox import Inbox
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._reflector.epoch_sink import EpochSink
from dynkube.informers._reflector.recovery import Recovery, reason_of
from dynkube.informers._reflector.reflector import Sink
from dynkube.informers._reflector.transitions import ResourceVersionRegressed
from dynkube.informers._slices import Slices
from dynkube.informers._states import Phase, State, next_state
from dynkube.meta import WatchEvent


class Owner(Protocol):
    """The owner of a cache, as its parts see it. Its async methods are called in its task only."""

    inbox: Inbox
    """Messages for the owner."""
    slices: Slices
    """Limits how long the owner's task runs without yielding to the event loop."""

    def reflect(self, part: Part, sink: Sink, *, consistent: bool) -> trio.CancelScope:
        """Start to list and watch; return the scope that ends it."""
        ...

    async def publish(self, part: Part, version: Version, *, live: bool = False) -> None:
        """Publish a version of a part, set its state to LIVE if ``live``, then notify subscribers."""
        ...

    def proven(self, resource_version: str) -> None:
        """Receive the report that the server has listed the resource."""
        ...

    async def listed(self, part: Part) -> None:
        """Receive the report that the complete list of a part was published."""
        ...

    def state_changed(self) -> None:
        """Receive the report that the state of a part has changed."""
        ...

    def show_state(self) -> None:
        """Show the state of the parts as that of the cache."""
        ...

    async def refused(self, part: Part, exc: DynkubeError, asked: float) -> bool:
        """Receive the report that a list begun at ``asked`` was refused; return whether that is not a failure."""
        ...

    def failed(self, exc: DynkubeError, recovery: Recovery) -> None:
        """Receive a failure, after which the reflector retries."""
        ...


class Part:
    """The objects of one list and watch, with what is known of them.

    Args:
        owner: the owner of the cache.
        namespace: the namespace that is listed; ``None`` for all.
    """

    __slots__ = ("_epoch", "_owner", "_scope", "cache", "known", "namespace", "state", "statistics")

    def __init__(self, owner: Owner, namespace: str | None) -> None:
        self.namespace = namespace
        self.cache: Cache = Cache()
        self.known: bool = False
        """Whether the objects were listed."""
        self.statistics: ReflectorStatistics = ReflectorStatistics()
        """The counters of all its reflectors."""
        self.state: State = State(Phase.SYNCING, "Listing")
        self._owner = owner
        self._epoch = 0  # number of the current reflector; messages of earlier reflectors are ignored
        self._scope: trio.CancelScope | None = None

    def start(self, *, consistent: bool) -> None:
        """List and watch, again if that was done before.

        The objects of an earlier list stay in the cache until the new one is complete.

        Args:
            consistent: whether the first list must come from etcd, as the API server's watch cache may be older than
                what was seen before.
        """
        self.stop()
        self.set_state(Phase.SYNCING, "Listing")
        self._scope = self._owner.reflect(self, EpochSink(self, self._owner.inbox, self._epoch), consistent=consistent)

    def stop(self) -> None:
        """End the list or watch. The objects stay in the cache."""
        self._epoch += 1
        self.known = False
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None

    async def empty(self) -> None:
        """Remove all objects; returns once they are freed."""
        release = self.cache.snapshot.release()
        await self._owner.publish(self, self.cache.emptied())
        await self._owner.slices.run(release)

    def set_state(self, phase: Phase, reason: str, message: str = "") -> None:
        """Replace the state, unless it is the same."""
        if (now := next_state(self.state, phase, reason, message)) is not self.state:
            self.state = now
            self._owner.state_changed()

    # ── messages from the reflector ──────────────────────────────────────────────────────────

    async def replaced(self, epoch: int, objects: Snapshot, resource_version: str, watched: bool) -> None:
        """Replace all objects by a complete list; ``watched`` if its watch stays open."""
        if epoch != self._epoch:
            return
        self._owner.proven(resource_version)
        release, slices = self.cache.snapshot.release(), self._owner.slices
        version = await self.cache.replace(objects, resource_version, slices)
        await self._owner.publish(self, version, live=watched)
        self.known = True
        await self._owner.listed(self)
        await slices.run(forgotten(version.changes))  # first, as they refer to the same objects
        await slices.run(release)

    async def applied(self, epoch: int, events: list[WatchEvent]) -> None:
        """Apply watch events."""
        if epoch == self._epoch:
            await self._owner.publish(self, self.cache.apply(events))

    async def followed(self, epoch: int) -> None:
        """Record that a watch is open and healthy."""
        if epoch == self._epoch and self.known:
            self.set_state(Phase.LIVE, "Watching")

    async def failed(self, epoch: int, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Record a failure of the reflector, which will retry."""
        if epoch != self._epoch or recovery.stop_streaming or recovery.known:
            return
        if recovery.forbidden and await self._owner.refused(self, exc, recovery.asked):
            return
        # If a streaming list is forbidden, a list may not be.
        unknown = isinstance(exc, Forbidden | Unauthorized) and recovery.immediate
        if not unknown:
            self._owner.failed(exc, recovery)
        if isinstance(exc, ResourceVersionRegressed):
            self.cache.versions_reused()  # the server's resourceVersions went back
        # A single failure after which the next attempt succeeds is normal for a watch.
        lasting = isinstance(exc, BadRequest | EndlessList | Forbidden | Unauthorized) and not unknown
        if streak > 0 or lasting:
            self.set_state(Phase.DEGRADED, reason_of(exc), str(exc))
