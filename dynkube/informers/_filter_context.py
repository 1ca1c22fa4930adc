"""The filter context of an informer: re-evaluation, and the cluster's namespaces."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._factory import InformerFactory
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import GVR, Unstructured
from dynkube.meta._object import Key

_NAMESPACES = GVR("", "v1", "namespaces")


class Surroundings:
    """The :class:`FilterContext` of one informer."""

    __slots__ = ("_changed", "_factory", "metadata_only")

    def __init__(
        self, factory: Callable[[], InformerFactory], changed: Callable[[], None], *, metadata_only: bool
    ) -> None:
        self._factory = factory
        self._changed = changed
        self.metadata_only = metadata_only

    def changed(self) -> None:
        """Evaluate the filter again, as its results may have changed."""
        self._changed()

    def follow_namespaces(self) -> FollowedNamespaces:
        """Watch the namespaces of the informer's cluster."""
        return FollowedNamespaces(self._factory(), self._changed)


class _ChangeListener(Subscriber):
    """Calls ``changed`` on each change, without keeping objects."""

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
    """The namespaces of the cluster, for one filter; the cache is shared."""

    def __init__(self, factory: InformerFactory, changed: Callable[[], None]) -> None:
        self._factory = factory
        self._shared = factory.acquire(SharingKey(_NAMESPACES))
        self._view = View(self._shared.failures.function_failed, lambda: None)
        self._view.subscribers.append(_ChangeListener(changed))
        self._shared.inbox.post(self._attach)

    async def _attach(self) -> None:
        await self._shared.attach(self._view)

    @property
    def snapshot(self) -> Snapshot:
        """The current namespaces."""
        return self._shared.snapshot

    @property
    def synced(self) -> bool:
        """Whether the snapshot has synced."""
        return self._shared.content_known

    @property
    def pending(self) -> str:
        """The reason why the namespaces have not synced yet, for messages."""
        return f"the informer of namespaces, which is {self._shared.state}"

    def close(self) -> None:
        """Release the watch, which other users may still need."""
        self._view.close()
        self._shared.detach(self._view)
        self._factory.release(self._shared)
