"""Bugs in how availability and history are judged: the machine in ``availability.py`` has to find each of them.

Each changes one decision to what other libraries' informers do, or to what dynkube once did.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Any, Final, cast

import pytest

from dynkube.discovery import DiscoveryClient
from dynkube.errors import DynkubeError, NotFound
from dynkube.informers._availability import verdict
from dynkube.informers._availability.availability import Availability, Generation, SourceFailure, absent
from dynkube.informers._availability.crds import CRDWatcher
from dynkube.informers._availability.observations import Observations, ServingProof
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._cache.cache import Cache, Version
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._parts.part import Part
from dynkube.informers._reflector.recovery import Recovery
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._slices import Slices
from dynkube.informers._views.mailbox import Mailbox, _of_namespace, _Pending
from dynkube.meta import GVR, Unstructured
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older
from tests.informers.model.seeded_bugs import Bug


def an_old_response_believed_once_crds_are_lost(patch: pytest.MonkeyPatch) -> None:
    """When CRDs cannot be read any more, a discovery document from before the CRD existed counts again."""

    def with_proof(self: Observations, proof: ServingProof) -> Observations:
        return replaced(self, proof=proof)

    def after_losing(gvr: GVR, crds: Any, observations: Observations, confirm_after: float, lost: Any) -> Availability:
        assert observations.crd is not None
        return observations.crd if observations.denied is None else absent("CRDNotFound", observations.denied.message)

    patch.setattr(Observations, "with_proof", with_proof)
    patch.setattr(verdict, "_after_losing", after_losing)


def lost_crds_taken_for_deleted_ones(patch: pytest.MonkeyPatch) -> None:
    """CRDs that may not be listed are taken for an empty list of CRDs."""
    failing = CRDWatcher.failing

    def failing_empty(self: CRDWatcher, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        gone, self.crds = set(self.crds), {}
        failing(self, exc, streak, recovery)
        if gone:
            self._on_change(gone)

    patch.setattr(CRDWatcher, "failing", failing_empty)


def restored_objects_skipped_as_old(patch: pytest.MonkeyPatch) -> None:
    """A list reverts no object to an earlier version, not even after a backup was restored."""
    complete = Cache.replace

    async def replace(self: Cache, listed: Snapshot, version: str, slices: Slices) -> Version:
        def newer(obj: Unstructured) -> Unstructured:
            known = self.snapshot.get(obj.key)
            if known is None or known.uid != obj.uid:
                return obj
            return known if is_older(obj.resource_version, known.resource_version) else obj

        newest = listed.edit()
        for obj in listed:
            newest.put(obj.key, newer(obj))
        return await complete(self, newest.done(), version, slices)

    patch.setattr(Cache, "replace", replace)


def a_replaced_crd_empties_the_cache(patch: pytest.MonkeyPatch) -> None:
    """A replaced CRD empties the cache, although the cached objects may already be those of the new CRD."""
    follow = SharedInformer._follow_generation

    async def follow_emptied(self: SharedInformer, generation: Generation, lost: SourceFailure | None) -> None:
        if not generation.continues(self._generation):
            for part in self._parts:
                await part.empty()
        await follow(self, generation, lost)

    patch.setattr(SharedInformer, "_follow_generation", follow_emptied)


def a_wait_for_a_write_that_an_absent_resource_ends(patch: pytest.MonkeyPatch) -> None:
    """While the resource is absent, a wait for a write returns at once, although the write shows that it was served."""

    async def object_seen(self: SharedInformer, obj: Unstructured) -> None:
        """Do nothing."""

    patch.setattr(SharedInformer, "object_seen", object_seen)


def an_entry_kept_for_what_came_and_went(patch: pytest.MonkeyPatch) -> None:
    """A slow handler keeps an entry for each object that was created and deleted before the handler got it."""
    offer, take = Mailbox.offer, Mailbox.take

    def offer_and_keep(self: Mailbox, key: Key, visible: Unstructured | None) -> bool:
        found = self._states.part(key[1]).get(key[1])
        state = None if found is None else _of_namespace(found, key[0])
        if visible is None and isinstance(state, _Pending) and state.delivered is None:
            state.visible = None
            return False
        return offer(self, key, visible)

    def take_another(self: Mailbox) -> Any:
        for states in self._states.lists():
            for state in states:
                if isinstance(state, _Pending) and state.delivered is state.visible is None:
                    self._withdraw(state)
        return take(self)

    patch.setattr(Mailbox, "offer", offer_and_keep)
    patch.setattr(Mailbox, "take", take_another)


def a_404_believed_without_the_list_of_groups(patch: pytest.MonkeyPatch) -> None:
    """A 404 for a discovery document is taken for a group-version that is not served, even if a proxy responded."""

    async def check_nothing(self: DiscoveryClient, gv: object, failure: NotFound) -> None:
        """Believe it."""

    patch.setattr(DiscoveryClient, "_check_unlisted", check_nothing)


def one_response_of_discovery_taken_for_two(patch: pytest.MonkeyPatch) -> None:
    """A served resource becomes absent as soon as discovery leaves it out once."""
    judge = verdict.judge

    def judge_at_once(gvr: GVR, crds: Any, observations: Observations, *, confirm_after: float) -> Availability:
        return judge(gvr, crds, observations, confirm_after=0.0)

    patch.setattr("dynkube.informers._availability.tracker.judge", judge_at_once)
    patch.setattr(verdict, "_span", lambda confirm_after, reported: 0.0)


def an_absence_never_doubted(patch: pytest.MonkeyPatch) -> None:
    """An ABSENT resource stays ABSENT while every source of availability fails."""
    patch.setattr(verdict, "_lost", lambda crds, observations: None)


def a_404_of_the_objects_taken_for_absence(patch: pytest.MonkeyPatch) -> None:
    """A 404 for a list of objects empties the informer."""
    failed = Part.failed

    async def failed_for_good(self: Part, epoch: int, exc: Any, streak: int, recovery: Recovery) -> None:
        if epoch == self._epoch and recovery.missing:
            owner = cast("SharedInformer", self._owner)
            await owner._vanish("NotFound", str(exc), None)
        await failed(self, epoch, exc, streak, recovery)

    patch.setattr(Part, "failed", failed_for_good)


def a_list_of_objects_that_proves_nothing(patch: pytest.MonkeyPatch) -> None:
    """A successful list of objects is no evidence that the resource is served; late events of its CRD win."""

    def prove(self: AvailabilityTracker, gvr: GVR, version: str, *, namespaced: bool) -> None:
        """Do nothing."""

    patch.setattr(AvailabilityTracker, "prove", prove)


AVAILABILITY_BUGS: Final[tuple[Bug, ...]] = (
    an_old_response_believed_once_crds_are_lost,
    lost_crds_taken_for_deleted_ones,
    restored_objects_skipped_as_old,
    a_replaced_crd_empties_the_cache,
    a_wait_for_a_write_that_an_absent_resource_ends,
    an_entry_kept_for_what_came_and_went,
    a_404_believed_without_the_list_of_groups,
    one_response_of_discovery_taken_for_two,
    an_absence_never_doubted,
    a_404_of_the_objects_taken_for_absence,
    a_list_of_objects_that_proves_nothing,
)
