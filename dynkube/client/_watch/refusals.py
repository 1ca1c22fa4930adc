"""Refusals of an open watch, and when they are confirmed. Pure: times are arguments.

===================================  ==============================================================================
refused requests in a row            confirmed, so that the watch ends with the error
===================================  ==============================================================================
404 for the resource                 ``CONFIRMATION.moment`` after the first, if discovery lacked the resource at each
                                     read since the first, the last one included
any 401, 403 or 404                  ``CONFIRMATION.starting`` after the first
===================================  ==============================================================================

A request that succeeds ends the row.
"""

from __future__ import annotations

from dynkube.errors import APIError, Forbidden, NotFound, TransportError, Unauthorized
from dynkube.errors._evidence import CONFIRMATION, Evidence, NegativeAnswers, evidence_of, extended


def may_be_a_moments(exc: APIError | TransportError) -> bool:
    """Return whether an error response of this kind may be wrong a moment later."""
    return isinstance(exc, NotFound | Forbidden | Unauthorized)


class Refusals:
    """The refused requests in a row."""

    __slots__ = ("_lacking", "_row", "of_resource")

    def __init__(self) -> None:
        self._row: NegativeAnswers | None = None
        self._lacking: NegativeAnswers | None = None  # answers of discovery without the resource, since the first
        self.of_resource: bool = False
        """Whether the last one was a 404 for the resource."""

    def add(self, asked: float, exc: APIError | TransportError) -> None:
        """Add a refused request; ``asked`` is when it was sent."""
        self._row = extended(self._row, asked, str(exc))
        self.of_resource = evidence_of(exc) is Evidence.RESOURCE_UNKNOWN

    def located(self, asked: float, *, served: bool) -> None:
        """Add an answer of discovery, which lists the resource or does not."""
        self._lacking = None if served else extended(self._lacking, asked, "")

    def end(self) -> None:
        """End the row: a request has succeeded."""
        self._row = self._lacking = None
        self.of_resource = False

    @property
    def confirmed(self) -> bool:
        """Whether they are no moment's."""
        if self._row is None:
            return False
        lacking = self._lacking
        absent = self.of_resource and lacking is not None and lacking.span >= CONFIRMATION.moment
        return absent or self._row.span >= CONFIRMATION.starting
