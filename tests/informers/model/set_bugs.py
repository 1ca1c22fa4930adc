"""Bugs about sets of namespaces, rights and their neighbours, each of which once passed all tests.

Each replaces one method of dynkube by a plausible but wrong version; the machine in ``sets.py`` has to find them, and
that in ``availability.py`` those of :data:`VERDICT_BUGS`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest
import trio

from dynkube.errors import DynkubeError
from dynkube.errors._evidence import CONFIRMATION, extended
from dynkube.informers._availability import verdict
from dynkube.informers._availability.availability import Availability, absent
from dynkube.informers._availability.rights import Rights
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._join_registration import JoinRegistration
from dynkube.informers._parts import access_reviews
from dynkube.informers._parts.access_reviews import AccessReviews
from dynkube.informers._parts.namespace_parts import NamespaceParts
from dynkube.informers._parts.part import Part
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.handlers import HandlerTask
from tests.informers.model.seeded_bugs import Bug


def a_new_namespace_listed_from_the_watch_cache(patch: pytest.MonkeyPatch) -> None:
    """A namespace that comes later is listed from the watch cache, which may be older than what was shown of it."""
    admit = NamespaceParts._admit

    def admit_first(self: NamespaceParts) -> None:
        self._first = True
        admit(self)

    patch.setattr(NamespaceParts, "_admit", admit_first)


def a_restarted_part_listed_from_the_watch_cache(patch: pytest.MonkeyPatch) -> None:
    """After its resource was away a namespace is listed from the watch cache, which may have the old objects."""
    start = Part.start

    def start_anyhow(self: Part, *, consistent: bool) -> None:
        start(self, consistent=consistent and not self.cache.resource_version)

    patch.setattr(Part, "start", start_anyhow)


def an_async_join_handler_that_raises_keeps_its_turn(patch: pytest.MonkeyPatch) -> None:
    """After an async handler of a join has raised, it is never called again."""

    async def finish(self: JoinRegistration, pending: Awaitable[None]) -> None:
        await pending
        self._turn.release()

    patch.setattr(JoinRegistration, "_finish_call", finish)


def objects_that_outlive_their_crd_counted_as_deleted(patch: pytest.MonkeyPatch) -> None:
    """Objects of a CRD that was never seen count as deleted with the CRD that was seen before."""
    judge = verdict._without_crd

    def judge_deleted(gvr: Any, seen: Any, *rest: Any) -> Availability:
        found = judge(gvr, seen, *rest)
        gone = seen.crd_gone_at > float("-inf")
        return absent(found.reason, found.message, found.lost, crd_deleted=gone) if found.generation is None else found

    patch.setattr(verdict, "_without_crd", judge_deleted)


def a_resource_that_is_not_served_never_looked_for_again(patch: pytest.MonkeyPatch) -> None:
    """A built-in resource that the server did not serve stays ABSENT after an upgrade."""
    patch.setattr(AvailabilityTracker, "_renewed", lambda self: self._apis.try_again())


def synced_although_the_filter_was_replaced_during_the_round(patch: pytest.MonkeyPatch) -> None:
    """A handler has synced with what an earlier filter shows."""
    settle = View.settle

    def settle_anyway(self: View, *, after_round: bool = False) -> None:
        self._replaced = False
        settle(self, after_round=after_round)

    patch.setattr(View, "settle", settle_anyway)


def a_handler_that_removes_itself_gets_the_second_event_of_a_changed_uid(patch: pytest.MonkeyPatch) -> None:
    """A handler that removes itself in Deleted gets the Added of the object that has replaced the deleted one."""
    patch.setattr(HandlerTask, "closed", property(lambda self: self._closed and not self._busy))


def trials_never_given_up(patch: pytest.MonkeyPatch) -> None:
    """A forbidden namespace that is tried, and whose list hangs, keeps the place of one that may be listed."""

    def make_room(self: NamespaceParts) -> None:
        """Do nothing."""

    patch.setattr(NamespaceParts, "_make_room", make_room)


def an_evaluation_error_of_a_review_counted_as_a_no(patch: pytest.MonkeyPatch) -> None:
    """A review that the server could not evaluate denies the right, as its result is false."""

    class Status(msgspec.Struct):  # without the name evaluationError
        allowed: bool = False
        evaluation_error: str = ""

    patch.setattr(access_reviews, "_Review", msgspec.defstruct("Review", [("status", Status)]))


def failed_reviews_counted_over_the_whole_round(patch: pytest.MonkeyPatch) -> None:
    """A round of reviews ends after three failures, also if others have succeeded in between."""
    review, allowed = AccessReviews._round, AccessReviews._allowed
    failures: list[DynkubeError] = []

    async def begin(self: AccessReviews) -> None:
        failures.clear()
        await review(self)

    async def allowed_or_failed(self: AccessReviews, *args: Any) -> Any:
        if len(failures) >= 3:
            raise failures[-1]
        try:
            return await allowed(self, *args)
        except DynkubeError as exc:
            failures.append(exc)
            raise

    patch.setattr(AccessReviews, "_round", begin)
    patch.setattr(AccessReviews, "_allowed", allowed_or_failed)


def one_403_of_a_list_empties_a_namespace(patch: pytest.MonkeyPatch) -> None:
    """A namespace is emptied at the first 403 for a list of its objects."""

    async def refused(self: NamespaceParts, part: Part, exc: DynkubeError) -> bool:
        await self._forbid(part.namespace or "", str(exc))
        self._changed()
        return True

    patch.setattr(NamespaceParts, "refused", refused)


def a_late_review_overrules_a_newer_list(patch: pytest.MonkeyPatch) -> None:
    """A negative review counts as of its arrival, and takes away what was listed since its request."""

    def reviewed(self: NamespaceParts, name: str, asked: float, *, allowed: bool) -> None:
        rights = self._rights.get(name, Rights())
        if not allowed and name in self._names and name not in self._forbidden:
            self._rights[name] = replace(rights, lists=rights.lists or extended(None, asked, "the user may not"))
            asked = trio.current_time() + CONFIRMATION.starting
        review(self, name, asked, allowed=allowed)

    review = NamespaceParts.reviewed
    patch.setattr(NamespaceParts, "reviewed", reviewed)


SET_BUGS: Final[tuple[Bug, ...]] = (
    a_new_namespace_listed_from_the_watch_cache,
    an_async_join_handler_that_raises_keeps_its_turn,
    a_resource_that_is_not_served_never_looked_for_again,
    a_handler_that_removes_itself_gets_the_second_event_of_a_changed_uid,
    trials_never_given_up,
    one_403_of_a_list_empties_a_namespace,
    an_evaluation_error_of_a_review_counted_as_a_no,
)
FURTHER_SET_BUGS: Final[tuple[Bug, ...]] = (
    a_restarted_part_listed_from_the_watch_cache,
    synced_although_the_filter_was_replaced_during_the_round,
    failed_reviews_counted_over_the_whole_round,
    a_late_review_overrules_a_newer_list,
)
VERDICT_BUGS: Final[tuple[Bug, ...]] = (objects_that_outlive_their_crd_counted_as_deleted,)
"""These and the last ones have no recorded script yet."""
