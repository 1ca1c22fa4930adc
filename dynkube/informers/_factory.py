"""InformerFactory: one shared informer for each key, for as long as somebody uses it."""

from __future__ import annotations

from collections.abc import Callable

import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.informers._crds import CRDWatcher
from dynkube.informers._reflector import ServerFeatures
from dynkube.informers._settings import InformerSettings
from dynkube.informers._shared import SharedInformer, SharingKey
from dynkube.informers._slices import Slices
from dynkube.informers._store import Snapshot
from dynkube.informers._subscriber import Subscriber
from dynkube.informers._tracker import AvailabilityTracker
from dynkube.informers._view import View
from dynkube.meta import GVR, Key, Unstructured
from dynkube.rest import RESTClient

_NAMESPACES = GVR("", "v1", "namespaces")


class InformerFactory:
    """Makes, shares and ends the informers of one client; everything runs in the client's nursery."""

    def __init__(
        self,
        rest: RESTClient,
        discovery: DiscoveryClient,
        mapper: DeferredRESTMapper,
        nursery: trio.Nursery,
        settings: InformerSettings,
        *,
        namespace: str = "default",
    ) -> None:
        self.mapper = mapper
        self.namespace = namespace
        """The context's namespace, where single objects are looked for if a call names none."""
        self.nursery = nursery
        self.settings = settings
        self._rest = rest
        self._features = ServerFeatures()
        self._tracker = AvailabilityTracker(rest, discovery, mapper, settings, self._features, nursery)
        self._shared: dict[SharingKey, SharedInformer] = {}
        self._users: dict[SharedInformer, int] = {}

    @property
    def shared(self) -> tuple[SharedInformer, ...]:
        """The shared informers that run now."""
        return tuple(self._users)

    def users(self, informer: SharedInformer) -> int:
        """How many use it."""
        return self._users.get(informer, 0)

    @property
    def crd_watcher(self) -> CRDWatcher | None:
        """The watch on CRDs, while an informer needs it."""
        return self._tracker.watcher

    def acquire(self, key: SharingKey) -> SharedInformer:
        """The informer for ``key``, started if nobody uses it yet. Plain; pair it with :meth:`release`."""
        informer = self._shared.get(key)
        if informer is None:
            informer = SharedInformer(key, self._rest, self._tracker, self.settings, self._features)
            self._shared[key] = informer
            self._users[informer] = 0
            self.nursery.start_soon(informer.run, name=f"informer {key.gvr}")
        self._users[informer] += 1
        return informer

    def release(self, informer: SharedInformer) -> bool:
        """One user less; the last one's going ends it. Returns whether it ends."""
        self._users[informer] -= 1
        if self._users[informer]:
            return False
        del self._users[informer]
        del self._shared[informer.key]  # whoever asks from now on gets a new one
        informer.stop()
        return True

    def slices(self) -> Slices:
        """For a task that may have much to do at once."""
        return Slices(self.settings.cpu_clock, budget=self.settings.slice)

    def follow_namespaces(self, changed: Callable[[], None]) -> FollowedNamespaces:
        """The cluster's namespaces, for filters that depend on them."""
        return FollowedNamespaces(self, changed)


class _ChangeListener(Subscriber):
    """Hears that something changed, and does not care what."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(lambda subscriber: None)
        self._changed = changed

    def offer(self, key: Key, visible: Unstructured | None) -> None:
        self._changed()

    def mark_synced(self) -> None:
        if not self.marked:
            self.marked = True
            self._changed()


class FollowedNamespaces:
    """The namespaces of one cluster, for one filter at work; shared with every other informer on them."""

    def __init__(self, factory: InformerFactory, changed: Callable[[], None]) -> None:
        self._factory = factory
        self._shared = factory.acquire(SharingKey(_NAMESPACES))
        self._view = View(self._shared.report)
        self._view.subscribers.append(_ChangeListener(changed))
        self._shared.post(self._attach)

    async def _attach(self) -> None:
        await self._shared.attach(self._view)

    @property
    def snapshot(self) -> Snapshot:
        """The namespaces as they are now."""
        return self._shared.snapshot

    @property
    def synced(self) -> bool:
        """Whether the snapshot is the truth yet."""
        return self._shared.truth_known

    @property
    def pending(self) -> str:
        """What is being waited for, in words."""
        return f"the namespaces, which are {self._shared.state}"

    def close(self) -> None:
        """Stop following."""
        self._view.close()
        self._shared.detach(self._view)
        self._factory.release(self._shared)
