"""Plausible but wrong versions of parts of ``dynkube.controllers``, each of which random scripts have to find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import pytest
import trio

from dynkube.controllers import WorkQueue
from dynkube.controllers._cache_sources import CacheSource
from dynkube.controllers._caches import Caches, ResourceReader
from dynkube.controllers._calls import Caller
from dynkube.controllers._context import Context
from dynkube.controllers._leader_election import LeaderElector
from dynkube.controllers._own_writes import OwnWrites
from dynkube.controllers._owner_recheck import OwnerRecheck
from dynkube.controllers._requeues import Requeues
from dynkube.controllers._running import RunningController
from dynkube.controllers._work_queue import Cause, _Entry
from dynkube.meta import Unstructured

Bug: TypeAlias = Callable[[pytest.MonkeyPatch], None]


def unanswered_writes_not_read_back(patch: pytest.MonkeyPatch) -> None:
    """A write without a response counts as one that was not carried out."""
    patch.setattr(OwnWrites, "unanswered", lambda self, key, resource, obj: None)


def own_writes_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    """A key is reconciled although a cache does not show yet what it has written."""
    patch.setattr(OwnWrites, "written", lambda self, key, resource, obj: None)


def own_deletions_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    """A key is reconciled although a cache still shows what it has deleted."""
    patch.setattr(OwnWrites, "deleted", lambda self, key, resource, obj: None)


def overlapping_sources_show_an_object_twice(patch: pytest.MonkeyPatch) -> None:
    """The objects of several informers are listed one after the other."""

    def every(self: ResourceReader) -> list[Unstructured]:
        return [obj for source in self._sources for obj in source.informer.list()]

    patch.setattr(ResourceReader, "list", every)


def the_first_source_preferred_to_the_newest(patch: pytest.MonkeyPatch) -> None:
    """Of an object that several informers have, that of the first one is shown."""
    patch.setattr("dynkube.controllers._caches._is_preferred", lambda source, obj, other, other_obj: False)


def a_call_while_a_source_is_listed_again(patch: pytest.MonkeyPatch) -> None:
    """A resource that has come back counts as empty until it is listed."""
    patch.setattr(Caches, "synced", property(lambda self: True))
    patch.setattr(ResourceReader, "check_synced", lambda self: None)


def a_call_before_all_informers_are_synced(patch: pytest.MonkeyPatch) -> None:
    """Calls start with the first informer."""
    follow = RunningController.follow

    async def follow_started(self: RunningController) -> None:
        self._synced.set()
        await follow(self)

    patch.setattr(RunningController, "follow", follow_started)
    a_call_while_a_source_is_listed_again(patch)


def failures_without_back_off(patch: pytest.MonkeyPatch) -> None:
    """A key that failed is reconciled again at once."""

    def add(self: WorkQueue[Any], key: object, *, priority: int = 0) -> None:
        self._add(key, Cause.RETRY, priority)

    patch.setattr(WorkQueue, "add_rate_limited", add)


def a_change_during_the_call_lost(patch: pytest.MonkeyPatch) -> None:
    """What changes while a key is reconciled does not reconcile it again."""
    done = Requeues.done

    def forgetful(self: Requeues, key: Any) -> None:
        self._during.pop(key, None)
        done(self, key)

    patch.setattr(Requeues, "done", forgetful)


def a_key_handed_out_twice(patch: pytest.MonkeyPatch) -> None:
    """A key that is added while it is processed is ready at once."""
    changed = Requeues.changed

    def changed_at_once(
        self: Requeues, key: Any, old: Any, new: Any, priority: int = 0, *, listed: bool = False
    ) -> None:
        if self._queue._is_processing(key) and key not in self._queue._ready:
            now = trio.current_time()
            self._queue._place(_Entry(key, priority, now, Cause.CHANGE), now)
        else:
            changed(self, key, old, new, priority, listed=listed)

    done = WorkQueue.done

    def done_if_processing(self: WorkQueue[Any], key: object) -> None:
        if self._is_processing(key):
            done(self, key)

    patch.setattr(Requeues, "changed", changed_at_once)
    patch.setattr(WorkQueue, "done", done_if_processing)
    patch.setattr(Requeues, "ended", _ended_if_processing(Requeues.ended))


def _ended_if_processing(ended: Callable[..., None]) -> Callable[..., None]:
    def ended_if_processing(self: Requeues, key: Any, *outcome: Any) -> None:
        if self._queue._is_processing(key):
            ended(self, key, *outcome)

    return ended_if_processing


def a_finalizer_removed_before_the_clean_up(patch: pytest.MonkeyPatch) -> None:
    """The finalizer is removed, and then the object is cleaned up."""
    original = Caller._reconcile_or_clean_up

    async def removed_first(self: Caller, context: Context) -> object:
        obj = context.get()
        if self._finalizer is not None and obj is not None and obj.deletion_timestamp is not None:
            name, clean_up = self._finalizer
            if name in obj["metadata"].get("finalizers", ()):
                await self._remove_finalizer(context, obj, name)
                return await clean_up(context)
        return await original(self, context)

    patch.setattr(Caller, "_reconcile_or_clean_up", removed_first)


def a_finalizer_removed_with_the_resource_version_at_the_start(patch: pytest.MonkeyPatch) -> None:
    """A clean-up that changes its object conflicts with the removal of the finalizer, each time."""
    patch.setattr(Context, "_newest", lambda self, obj: obj)
    patch.setattr("dynkube.controllers._calls.Conflict", _Never)


class _Never(Exception):
    """Never raised."""


def a_renew_deadline_ignored(patch: pytest.MonkeyPatch) -> None:
    """A leader that cannot renew its lease goes on until it reads that another one has it."""
    patch.setattr(LeaderElector, "_deadline", lambda self: trio.current_time() + 10_000)


def writers_not_cancelled_when_the_lease_is_lost(patch: pytest.MonkeyPatch) -> None:
    """When another process holds the lease, the calls go on."""

    async def keep(self: LeaderElector, scope: trio.CancelScope, renewals: trio.CancelScope) -> None:
        with renewals:
            while True:
                await trio.sleep(self._election.retry_period)
                try:
                    await self._attempt()
                except Exception as exc:
                    self._failed(exc)  # type: ignore[arg-type]
                scope.deadline = trio.current_time() + self._election.renew_deadline

    patch.setattr(LeaderElector, "_keep", keep)


def a_deletion_timestamp_hidden_by_a_predicate(patch: pytest.MonkeyPatch) -> None:
    """A predicate is also asked about the change that sets the deletionTimestamp."""
    patch.setattr("dynkube.controllers._cache_sources.deletion_begins", lambda old, new: False)


def children_of_a_deleted_owner_created_again(patch: pytest.MonkeyPatch) -> None:
    """The owner is not read before it gets a child in place of one that was deleted."""
    patch.setattr(OwnerRecheck, "is_due", lambda self, key: False)


def the_last_writes_of_the_leader_before_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    """A new leader reconciles with what its caches show, although they lag behind what the last one has written."""

    async def go_on(*args: object) -> None:
        await trio.lowlevel.checkpoint()

    patch.setattr("dynkube.controllers._running.catch_up", go_on)


def a_resync_dropped(patch: pytest.MonkeyPatch) -> None:
    """Nothing happens after the interval."""

    async def never(self: RunningController, interval: float) -> None:
        await trio.sleep_forever()

    patch.setattr(RunningController, "_resync", never)


def the_old_keys_of_a_mapper_not_added(patch: pytest.MonkeyPatch) -> None:
    """After an update only the keys of the new object are reconciled."""
    keys = CacheSource.keys

    def new_keys(self: CacheSource, old: Unstructured | None, new: Unstructured | None, *others: Any) -> Iterator[Any]:
        yield from keys(self, None if new is not None and not self.reconciled else old, new, *others)

    patch.setattr(CacheSource, "keys", new_keys)


def a_requeue_ignored_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    """A key that failed is not reconciled again."""
    patch.setattr(WorkQueue, "add_rate_limited", lambda self, key, *, priority=0: None)


def a_key_whose_write_is_seen_not_released(patch: pytest.MonkeyPatch) -> None:
    """A key that waits for its own write is not added again when the cache shows that."""
    written = OwnWrites._seen

    def seen(self: OwnWrites, key: Any) -> None:
        self._held.pop(key, None)
        written(self, key)

    patch.setattr(OwnWrites, "_seen", seen)


SEEDED: Final[tuple[Bug, ...]] = (
    unanswered_writes_not_read_back,
    own_writes_not_waited_for,
    own_deletions_not_waited_for,
    overlapping_sources_show_an_object_twice,
    the_first_source_preferred_to_the_newest,
    a_call_while_a_source_is_listed_again,
    a_call_before_all_informers_are_synced,
    failures_without_back_off,
    a_change_during_the_call_lost,
    a_key_handed_out_twice,
    a_finalizer_removed_before_the_clean_up,
    a_finalizer_removed_with_the_resource_version_at_the_start,
    a_renew_deadline_ignored,
    writers_not_cancelled_when_the_lease_is_lost,
    a_deletion_timestamp_hidden_by_a_predicate,
    children_of_a_deleted_owner_created_again,
    the_last_writes_of_the_leader_before_not_waited_for,
    a_resync_dropped,
    the_old_keys_of_a_mapper_not_added,
    a_requeue_ignored_after_a_failure,
    a_key_whose_write_is_seen_not_released,
)
