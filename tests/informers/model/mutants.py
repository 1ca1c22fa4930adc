"""More bugs to seed, to see which of them the machine misses: ``python -m tests.informers.model.mutants``.

Each changes one thing on which some promise depends. They take too long to be run with the tests.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Sequence
from typing import Any, Final

import pytest

from dynkube.informers._availability.availability import Generation
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._cache.cache import Cache
from dynkube.informers._cache.index import Index
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._factory import InformerFactory
from dynkube.informers._followed_namespaces import FollowedNamespaces
from dynkube.informers._informer import Informer
from dynkube.informers._parts.part import Part
from dynkube.informers._reflector.deadlines import Stream
from dynkube.informers._reflector.reflector import Reflector
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.handlers import HandlerTask
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import Unstructured
from tests.informers.model.finding import find, title
from tests.informers.model.machine import InformerMachine
from tests.informers.model.seeded_bugs import Bug


def a_recreated_crd_taken_for_the_old_one(patch: pytest.MonkeyPatch) -> None:
    """A CRD with another UID and the same scope counts as unchanged."""

    def continues(self: Generation, before: Generation | None) -> bool:
        return before is not None and self.served_as == before.served_as

    patch.setattr(Generation, "continues", continues)


def late_messages_of_an_earlier_reflector(patch: pytest.MonkeyPatch) -> None:
    """Messages from a reflector that was stopped are still processed."""
    replaced, applied = Part.replaced, Part.applied

    async def replaced_late(self: Part, epoch: int, *message: Any) -> None:
        await replaced(self, self._epoch, *message)

    async def applied_late(self: Part, epoch: int, *message: Any) -> None:
        await applied(self, self._epoch, *message)

    patch.setattr(Part, "replaced", replaced_late)
    patch.setattr(Part, "applied", applied_late)


def versions_not_compared(patch: pytest.MonkeyPatch) -> None:
    """An event that is older than the cached object is applied."""
    patch.setattr("dynkube.informers._cache.cache.is_older", lambda version, than: False)


def a_watch_for_each_informer(patch: pytest.MonkeyPatch) -> None:
    """Equal informers do not share."""
    acquire = InformerFactory.acquire

    def acquire_another(self: InformerFactory, key: SharingKey) -> SharedInformer:
        self._shared.pop(key, None)
        return acquire(self, key)

    def release(self: InformerFactory, informer: SharedInformer) -> bool:
        del self._users[informer]
        self._shared.pop(informer.key, None)
        informer.stop()
        return True

    patch.setattr(InformerFactory, "acquire", acquire_another)
    patch.setattr(InformerFactory, "release", release)


def a_watch_that_outlives_its_last_user(patch: pytest.MonkeyPatch) -> None:
    """A shared watch goes on after its last user has left."""

    def release(self: InformerFactory, informer: SharedInformer) -> bool:
        self._users[informer] -= 1
        return False

    patch.setattr(InformerFactory, "release", release)


def absent_resources_polled(patch: pytest.MonkeyPatch) -> None:
    """Discovery is polled every 30 seconds while a resource is absent."""
    rejudge = AvailabilityTracker._rejudge

    def rejudge_and_poll(self: AvailabilityTracker, gvrs: Any) -> None:
        rejudge(self, gvrs)
        self._polled.update(gvr.group_version for gvr in gvrs)

    patch.setattr(AvailabilityTracker, "_rejudge", rejudge_and_poll)


def silence_never_noticed(patch: pytest.MonkeyPatch) -> None:
    """A silent watch is never given up."""
    patch.setattr(Stream, "deadline", lambda self, now: math.inf)


def a_filter_change_lost_in_the_middle_of_another(patch: pytest.MonkeyPatch) -> None:
    """A filter change during the evaluation of an earlier one is not shown itself."""
    refilter = SharedInformer.refilter

    async def refilter_once(self: SharedInformer, view: View) -> None:
        await refilter(self, view)
        view.refiltering = False

    def refresh_filter(self: Informer) -> None:
        view = self._view
        if self._shared is not None and not view.refiltering:
            view.refiltering = True
            shared = self._shared

            async def later() -> None:
                await view.show_difference(shared.snapshot, view.subscribers, shared.slices)
                view.refiltering = False

            shared.inbox.post(later)

    patch.setattr(SharedInformer, "refilter", refilter_once)
    patch.setattr(Informer, "refresh_filter", refresh_filter)


def namespaces_not_followed(patch: pytest.MonkeyPatch) -> None:
    """A namespace filter is not notified when namespaces change."""
    follow = FollowedNamespaces.__init__
    patch.setattr(FollowedNamespaces, "__init__", lambda self, factory, changed: follow(self, factory, lambda: None))


def old_values_left_in_an_index(patch: pytest.MonkeyPatch) -> None:
    """An object whose indexed value changes stays under the old value as well."""
    stage = Index.stage

    def stage_only_new(self: Index, changes: Sequence[tuple[str, Unstructured | None]]) -> None:
        for key, after in changes:
            if after is not None and self._filed.get(key) is not None:
                self._filed.remove(key)
        stage(self, changes)

    patch.setattr(Index, "stage", stage_only_new)


def a_handler_that_ends_with_its_first_failure(patch: pytest.MonkeyPatch) -> None:
    """A handler that raised gets no further events."""

    def failed(self: HandlerTask, exc: Exception, event: object) -> None:
        self._errors += 1
        self._scope.cancel()

    patch.setattr(HandlerTask, "_failed", failed)


def synced_as_soon_as_it_is_entered(patch: pytest.MonkeyPatch) -> None:
    """An informer has synced before its initial list is complete."""
    patch.setattr(SharedInformer, "content_known", property(lambda self: True))


def a_handler_given_each_event_in_a_batch_twice(patch: pytest.MonkeyPatch) -> None:
    """Pending events are delivered again after they were delivered."""
    offer = Subscriber.offer

    def offer_copy(self: Subscriber, key: Any, visible: Unstructured | None) -> None:
        offer(self, key, None if visible is None else Unstructured(visible.json))

    patch.setattr(Subscriber, "offer", offer_copy)


def bookmarks_ignored_by_the_cache(patch: pytest.MonkeyPatch) -> None:
    """``wait_for`` does not learn from bookmarks how far the watch has got, and waits longer."""
    apply = Cache.apply

    def apply_without(self: Cache, events: Any) -> Any:
        version = apply(self, events)
        return type(version)(version.changes, version.snapshot, self.resource_version)

    patch.setattr(Cache, "apply", apply_without)


def a_stream_that_is_tried_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Streaming lists are requested again and again from a server that does not support them."""
    patch.setattr(Reflector, "_may_stream", lambda self: True)


MUTANTS: Final[tuple[Bug, ...]] = (
    a_recreated_crd_taken_for_the_old_one,
    late_messages_of_an_earlier_reflector,
    versions_not_compared,
    a_watch_for_each_informer,
    a_watch_that_outlives_its_last_user,
    absent_resources_polled,
    silence_never_noticed,
    a_filter_change_lost_in_the_middle_of_another,
    namespaces_not_followed,
    old_values_left_in_an_index,
    a_handler_that_ends_with_its_first_failure,
    synced_as_soon_as_it_is_entered,
    a_handler_given_each_event_in_a_batch_twice,
    bookmarks_ignored_by_the_cache,
    a_stream_that_is_tried_for_ever,
)


def main() -> None:
    """Print for each mutant whether it is found in 400 examples."""
    logging.disable()
    for bug in MUTANTS:
        if not sys.argv[1:] or bug.__name__ in sys.argv[1:]:
            found = find(InformerMachine, bug, range(8))
            print(f"{title(bug)}: {'survives' if found is None else found}", flush=True)


if __name__ == "__main__":
    main()
