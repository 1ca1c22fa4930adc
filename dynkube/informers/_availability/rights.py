"""Whether the user may read the objects of one namespace: observations with their times, and the verdict. Pure.

Kubernetes has no event for a right that is granted or lost, and an open watch goes on without the right. What can be
observed: lists, which succeed or are refused, and reviews of the user's own rights (SelfSubjectAccessReview). Both
are wrong while an API server has not loaded its roles, and right for a moment only while a RoleBinding is replaced. So
they are observations like those of CRDs and discovery, and count together:

==================================================  ===================================================================
newer than each sign that the user may read         verdict
==================================================  ===================================================================
nothing, a refused list only, or a denying review   UNDECIDED: what is shown stays, and nothing is known that was not
only                                                known before
both, or a refused list where the server refuses    DENIED, once both have lasted as long as the next table says; until
reviews as well                                     then UNDECIDED
==================================================  ===================================================================

==================================================  ===================================================================
the API server, since the first of them             they have to last
==================================================  ===================================================================
has reported that it is ready, and no object is     not at all: so a set with forbidden namespaces syncs at once
shown
has reported that it is ready                       ``CONFIRMATION.rights``
has not                                             ``CONFIRMATION.starting``
==================================================  ===================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dynkube.errors._evidence import CONFIRMATION, NegativeAnswers, extended, later_than


@dataclass(frozen=True, slots=True)
class Rights:
    """The newest observations of the right to read one namespace.

    Attributes:
        readable_at: when the newest list was received, or the newest allowing review requested; ``-inf`` if none was.
        refused: the refused lists since then.
        denied: the denying reviews since then.
    """

    readable_at: float = -math.inf
    refused: NegativeAnswers | None = None
    denied: NegativeAnswers | None = None

    def with_refused_list(self, asked: float, message: str) -> Rights:
        """Return the observations with a list that was refused by the authorizer."""
        if asked <= self.readable_at:
            return self
        return replace(self, refused=extended(self.refused, asked, message))

    def with_review(self, asked: float, *, allowed: bool, message: str) -> Rights:
        """Return the observations with a complete review that was requested then."""
        if allowed:
            return self.readable(asked)
        if asked <= self.readable_at:  # it was late
            return self
        return replace(self, denied=extended(self.denied, asked, message))

    def readable(self, time: float) -> Rights:
        """Return the observations after a sign that the user may read, at that time."""
        if time <= self.readable_at:
            return self
        return Rights(time, later_than(self.refused, time), later_than(self.denied, time))

    @property
    def first_doubt(self) -> float:
        """When the first of the negative answers was requested; ``inf`` if there are none."""
        return min((answers.first for answers in (self.refused, self.denied) if answers is not None), default=math.inf)


def may_not_read(rights: Rights, *, shown: bool, reviewable: bool, ready_at: float) -> bool:
    """Return whether it is confirmed that the user may not read the namespace: the verdict DENIED.

    Args:
        rights: the observations.
        shown: whether objects of the namespace are shown, which would be taken back.
        reviewable: whether the server lets the user review their rights.
        ready_at: when the newest report that the API server is ready was requested.
    """
    answers = [rights.refused, rights.denied] if reviewable else [rights.refused]
    if None in answers:
        return False
    lasted = min(each.last for each in answers if each is not None) - rights.first_doubt
    if ready_at <= rights.first_doubt:
        return lasted >= CONFIRMATION.starting
    return not shown or lasted >= CONFIRMATION.rights
