"""The right to read one collection in one namespace: what was observed, and what follows from it; no I/O or time.

A 403 is also the answer of an API server that has not loaded its roles, of a proxy, and of any server for the second in
which a RoleBinding is replaced. A review (SelfSubjectAccessReview) that says no is no better: the same authorizer
decides it. So a namespace counts as forbidden once lists *and* reviews are refused, and the refusals have lasted for
long enough; the numbers and their reasons are in :data:`~dynkube.errors._evidence.CONFIRMATION`.

Observations are stamped. A negative answer, or an allowed review, has the time of its request, as the server may decide
at any time after it. A list has the time at which it was received: refusals that were requested before are older,
however late they arrive.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from dynkube.errors._evidence import CONFIRMATION, NegativeAnswers, extended, later_than


class Right(enum.Enum):
    """Whether a namespace may be read."""

    ALLOWED = "allowed, or not refused yet"
    UNDECIDED = "refused, but not for certain: nothing changes"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Rights:
    """Observations of the right to read one namespace.

    Attributes:
        allowed_at: the newest sign that it may be read; ``-inf`` before the first. Older negative answers are ignored.
        lists: the refused lists since then.
        reviews: the reviews since then that said no, or that were themselves refused by the server.
    """

    allowed_at: float = -math.inf
    lists: NegativeAnswers | None = None
    reviews: NegativeAnswers | None = None

    def with_list(self, received: float) -> Rights:
        """Return the observations after a list."""
        return self._with_sign(received)

    def with_refused_list(self, asked: float, message: str) -> Rights:
        """Return the observations after a list that the authorizer refused, as ``evidence_of`` says."""
        if asked <= self.allowed_at:
            return self
        return replace(self, lists=extended(self.lists, asked, message))

    def with_review(self, asked: float, *, allowed: bool, message: str = "") -> Rights:
        """Return the observations after a review.

        Args:
            asked: when it was requested.
            allowed: the result. A review that the server could not evaluate has none.
            message: the reason why it is not allowed.
        """
        if allowed:
            return self._with_sign(asked)
        if asked <= self.allowed_at:
            return self
        return replace(self, reviews=extended(self.reviews, asked, message))

    def with_refused_review(self, asked: float, message: str) -> Rights:
        """Return the observations after a review that the user may not make: as one that says no."""
        return self.with_review(asked, allowed=False, message=message)

    @property
    def first_refusal(self) -> float | None:
        """When the first negative answer since the newest positive sign was requested; ``None`` if there is none."""
        return min((answers.first for answers in (self.lists, self.reviews) if answers is not None), default=None)

    @property
    def message(self) -> str:
        """The server's words for the refusal."""
        answers = self.lists or self.reviews
        return answers.message if answers is not None else ""

    def _with_sign(self, time: float) -> Rights:
        if time <= self.allowed_at:
            return self
        return Rights(time, later_than(self.lists, time), later_than(self.reviews, time))


def judge_rights(rights: Rights, *, shown: bool, ready_at: float) -> Right:
    """Return what follows from observations.

    ===============  =================  ======================================  =========
    lists refused    reviews negative   seconds from the first to the last      verdict
    ===============  =================  ======================================  =========
    no               no                                                         ALLOWED
    yes              no                                                         UNDECIDED
    no               yes                                                        UNDECIDED
    yes              yes                >= 0: ready in between, nothing shown   DENIED
    yes              yes                >= ``rights``: ready in between         DENIED
    yes              yes                >= ``starting``                         DENIED
    yes              yes                fewer                                   UNDECIDED
    ===============  =================  ======================================  =========

    Ready *in between*: an answer that was requested after the report is negative as well, as the roles may have been
    loaded after those before it.

    Args:
        rights: the observations.
        shown: whether objects of the namespace are shown.
        ready_at: when the newest report of the API server that it is ready was requested.
    """
    lists, reviews = rights.lists, rights.reviews
    if lists is None and reviews is None:
        return Right.ALLOWED
    if lists is None or reviews is None:
        return Right.UNDECIDED
    first, last = min(lists.first, reviews.first), max(lists.last, reviews.last)
    confirmed = CONFIRMATION.rights if shown else 0.0
    enough = confirmed if first < ready_at < last else CONFIRMATION.starting
    return Right.DENIED if last - first >= enough else Right.UNDECIDED
