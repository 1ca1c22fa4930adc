"""Bugs that other informers have had, or that could easily occur here: the machine has to find each of them.

Each replaces one method of dynkube by a plausible but wrong version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
import trio

from dynkube.informers._cache.cache import Cache, Changes, Version
from dynkube.informers._cache.index import prepare
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._factory import InformerFactory
from dynkube.informers._reflector.reflector import Reflector
from dynkube.informers._reflector.transitions import Watching
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._slices import Slices
from dynkube.informers._states import Phase
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.mailbox import Mailbox, _of_namespace, _Pending
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import Added, Deleted, Unstructured, Updated
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older

Bug = Callable[[pytest.MonkeyPatch], None]


def a_swap_that_loses_a_handler(patch: pytest.MonkeyPatch) -> None:
    """A handler that is added between a CRD's creation and the first list of its objects never gets any event."""
    taken_in = SharedInformer.subscribe

    async def subscribe(self: SharedInformer, view: View, subscriber: Subscriber) -> None:
        if self.state.phase is not Phase.SYNCING:
            await taken_in(self, view, subscriber)

    patch.setattr(SharedInformer, "subscribe", subscribe)


def a_filter_evaluated_on_the_old_object(patch: pytest.MonkeyPatch) -> None:
    """An update is shown if the filter shows the state before it."""

    def show(self: View, changes: Sequence[Any]) -> None:
        for key, before, after in changes:
            visible = after if after is not None and self.accepts(before or after) else None
            for subscriber in self.subscribers:
                subscriber.offer(key, visible)

    patch.setattr(View, "show", show)


def a_delete_dropped_on_deselect(patch: pytest.MonkeyPatch) -> None:
    """A new filter gives adds for the objects that it shows, and no deletes for those that it hides."""

    async def show_difference(self: View, snapshot: Snapshot, subscribers: Sequence[Subscriber], _: Slices) -> None:
        for obj in self.visible(snapshot):
            for subscriber in tuple(subscribers):
                subscriber.offer(obj.key, obj)

    patch.setattr(View, "show_difference", show_difference)


def stale_objects_kept_after_the_crd_went(patch: pytest.MonkeyPatch) -> None:
    """When a resource goes, the watch ends and the state is right, but objects stay: kubernetes/kubernetes#79610."""

    async def vanish(self: SharedInformer, reason: str, message: str, _: object) -> None:
        self._stop_reflecting()
        self._set_state(Phase.ABSENT, reason, message)
        await self.settle()

    patch.setattr(SharedInformer, "_vanish", vanish)


def indexes_published_after_the_handlers_ran(patch: pytest.MonkeyPatch) -> None:
    """Handlers run before the indexes are updated, so a lookup in a handler finds the old index."""

    async def reveal(self: SharedInformer, changes: Changes, show: Callable[[], None]) -> None:
        indexes = [index for view in self._views for index in view.indexes.values()]
        show()
        for view in self._views:
            view.show(list(changes))
        await trio.lowlevel.checkpoint()
        await prepare(indexes, changes, self.slices)
        for index in indexes:
            index.publish()

    patch.setattr(SharedInformer, "_reveal", reveal)


def a_list_without_tombstones(patch: pytest.MonkeyPatch) -> None:
    """Objects that are missing from a new list (after 410, say) stay in the cache."""
    complete = Cache.replace

    async def replace(self: Cache, listed: Snapshot, version: str, slices: Slices) -> Version:
        union = self.snapshot.edit()
        for obj in listed:
            union.put(obj.key, obj)
        return await complete(self, union.done(), version, slices)

    patch.setattr(Cache, "replace", replace)


def a_list_that_takes_nothing_back(patch: pytest.MonkeyPatch) -> None:
    """A listed object that is older than the cached one is skipped, even after a backup was restored."""
    complete = Cache.replace

    async def replace(self: Cache, listed: Snapshot, version: str, slices: Slices) -> Version:
        newest = listed.edit()
        for obj in listed:
            known = self.snapshot.get(obj.key)
            if known is not None and known.uid == obj.uid and is_older(obj.resource_version, known.resource_version):
                newest.put(obj.key, known)
        return await complete(self, newest.done(), version, slices)

    patch.setattr(Cache, "replace", replace)


def a_watch_that_forgets_where_it_was(patch: pytest.MonkeyPatch) -> None:
    """After a failure it watches from the server's current revision, so the events in between are lost."""
    recover = Reflector._recover

    async def recover_anywhere(self: Reflector, exc: Any) -> None:
        await recover(self, exc)
        if isinstance(self._state, Watching):
            self._state = Watching("")

    patch.setattr(Reflector, "_recover", recover_anywhere)


def coalescing_that_drops_an_add_after_a_delete(patch: pytest.MonkeyPatch) -> None:
    """While a delete waits for a slow handler, an object that is created again does not replace it."""
    offer = Mailbox.offer

    def offer_once(self: Mailbox, key: Key, visible: Unstructured | None) -> bool:
        found = self._states.part(key[1]).get(key[1])
        state = None if found is None else _of_namespace(found, key[0])
        if isinstance(state, _Pending) and state.visible is None:
            return False
        return offer(self, key, visible)

    patch.setattr(Mailbox, "offer", offer_once)


def events_after_remove(patch: pytest.MonkeyPatch) -> None:
    """A handler that was removed still gets the events that were waiting for it."""

    def close(self: Subscriber) -> None:
        self._closed = not self._mailbox
        self._settled.set()
        self._on_settled(self)

    patch.setattr(Subscriber, "close", close)


def a_count_that_ends_a_shared_watch_too_early(patch: pytest.MonkeyPatch) -> None:
    """The shared watch ends when the last user but one leaves."""

    def release(self: InformerFactory, informer: SharedInformer) -> None:
        self._users[informer] -= 1
        if self._users[informer] <= 1 and informer.key in self._shared:
            del self._shared[informer.key]
            informer.stop()

    patch.setattr(InformerFactory, "release", release)


def synced_before_the_handler_ran(patch: pytest.MonkeyPatch) -> None:
    """A handler counts as synced when the initial objects are waiting for it."""
    mark_synced = Subscriber.mark_synced

    def mark_at_once(self: Subscriber) -> None:
        mark_synced(self)
        self._synced = True
        self._settled.set()
        self._on_settled(self)

    patch.setattr(Subscriber, "mark_synced", mark_at_once)


def another_uid_reported_as_an_update(patch: pytest.MonkeyPatch) -> None:
    """An object that was deleted and created again between two looks is reported as an update."""
    take = Mailbox.take

    def take_as_update(self: Mailbox) -> Any:
        events = take(self)
        if not isinstance(events, tuple) or len(events) < 2:
            return events
        gone, new = events
        assert isinstance(gone, Deleted)
        assert isinstance(new, Added)
        return (Updated(gone.object, new.object),)

    patch.setattr(Mailbox, "take", take_as_update)


SEEDED: Final[tuple[Bug, ...]] = (
    a_swap_that_loses_a_handler,
    a_filter_evaluated_on_the_old_object,
    a_delete_dropped_on_deselect,
    stale_objects_kept_after_the_crd_went,
    indexes_published_after_the_handlers_ran,
    a_list_without_tombstones,
    a_list_that_takes_nothing_back,
    a_watch_that_forgets_where_it_was,
    coalescing_that_drops_an_add_after_a_delete,
    events_after_remove,
    a_count_that_ends_a_shared_watch_too_early,
    synced_before_the_handler_ran,
    another_uid_reported_as_an_update,
)
