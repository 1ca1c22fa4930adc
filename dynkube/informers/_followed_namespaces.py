"""Follows the namespaces of a cluster, or the names of a set of namespaces."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import trio

from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._namespace_set import Chosen, NamespaceSet
from dynkube.informers._parts.namespace_parts import SelectedNames
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._states import Phase
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import GVR, LabelSelector, Unstructured
from dynkube.meta._object import Key

_NAMESPACES: Final = GVR("", "v1", "namespaces")


class SharedCaches(Protocol):
    """The part of the factory that is needed here."""

    def acquire(self, key: SharingKey) -> SharedInformer:
        """Return the informer for ``key``, started if needed."""
        ...

    def release(self, informer: SharedInformer) -> None:
        """Remove one user."""
        ...


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
    """The namespaces of the cluster, for one user; the cache is shared.

    Args:
        caches: has the shared cache of namespaces.
        changed: called on each change of a namespace, and when the namespaces have synced.
    """

    def __init__(self, caches: SharedCaches, changed: Callable[[], None]) -> None:
        self._caches = caches
        self._changed: Callable[[], None] | None = None
        self._shared = caches.acquire(SharingKey(_NAMESPACES))
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

    @property
    def failing(self) -> bool:
        """Whether the snapshot may be out of date."""
        return self._shared.state.phase is Phase.DEGRADED

    def call_on_state(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever the state of the informer of namespaces changes, until this is closed."""
        self._changed = changed
        self._shared.call_on_state(changed)

    def close(self) -> None:
        """Release the watch, which other users may still need."""
        if self._changed is not None:
            self._shared.forget(self._changed)
        self._view.close()
        self._shared.detach(self._view)
        self._caches.release(self._shared)


class _FixedNames:
    """Names that do not change."""

    pending: Final = ""

    def __init__(self, names: frozenset[str]) -> None:
        self.names: Final = names

    def close(self) -> None:
        """Do nothing."""


class _ChangingNames:
    """The names of a :class:`NamespaceSet`, which any thread may change."""

    pending: Final = ""

    def __init__(self, among: NamespaceSet, changed: Callable[[], None]) -> None:
        self._among = among
        self._changed = changed
        self._loop = trio.lowlevel.current_trio_token()
        among._listen(self._notify)

    def _notify(self) -> None:
        if trio.lowlevel.in_trio_run() and trio.lowlevel.current_trio_token() is self._loop:
            self._changed()
            return
        with suppress(trio.RunFinishedError):
            self._loop.run_sync_soon(self._changed)

    @property
    def names(self) -> frozenset[str]:
        """The names of the set."""
        return self._among.names

    def close(self) -> None:
        """Stop to listen to changes."""
        self._among._unlisten(self._notify)


class _LabelledNames:
    """The names of the namespaces whose labels match."""

    def __init__(self, selector: LabelSelector, caches: SharedCaches, changed: Callable[[], None]) -> None:
        self._matches = selector.matches
        self._namespaces = FollowedNamespaces(caches, changed)
        self._namespaces.call_on_state(changed)
        self._of: tuple[Snapshot | None, frozenset[str] | None] = (None, None)

    @property
    def names(self) -> frozenset[str] | None:
        """The names; the last ones known while the namespaces are listed again."""
        snapshot = self._namespaces.snapshot
        known, names = self._of
        if known is not snapshot and self._namespaces.synced:
            names = frozenset(namespace.name for namespace in snapshot if self._matches(namespace.labels))
            self._of = (snapshot, names)
        return names

    @property
    def pending(self) -> str:
        """The reason why they are not known yet, or may be out of date; ``""`` if they are up to date."""
        known, _ = self._of
        return "" if known is not None and not self._namespaces.failing else f"waits for {self._namespaces.pending}"

    def close(self) -> None:
        """Release the watch of namespaces."""
        self._namespaces.close()


def follow_names(chosen: Chosen, caches: SharedCaches, changed: Callable[[], None]) -> SelectedNames:
    """Follow the names of a set of namespaces; call ``changed`` after each change."""
    if isinstance(chosen, LabelSelector):
        return _LabelledNames(chosen, caches, changed)
    return _ChangingNames(chosen, changed) if isinstance(chosen, NamespaceSet) else _FixedNames(chosen)
