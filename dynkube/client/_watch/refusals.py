"""Refusals of an open watch, and when they are confirmed. Pure: times are arguments.

A watch ends with a 401, 403 or 404 once its requests got nothing else for ``CONFIRMATION.starting`` seconds. Any other
outcome ends the row: a success, a failed connection, a 5xx. That the *resource* is gone, so that its objects are
deleted, takes more: after each 404 for it discovery is read, and has to lack it in all versions for as long.
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

    def discovered(self, asked: float, *, lacking: bool) -> None:
        """Add an answer of discovery, and whether it lacks the resource in all versions."""
        self._lacking = extended(self._lacking, asked, "") if lacking else None

    def end(self) -> None:
        """End the row, after any other outcome of a request."""
        self._row = self._lacking = None
        self.of_resource = False

    @property
    def confirmed(self) -> bool:
        """Whether they have lasted for long enough to end the watch."""
        return self._row is not None and self._row.span >= CONFIRMATION.starting

    @property
    def of_uninstalled_resource(self) -> bool:
        """Whether it is confirmed that the resource is not served in any version."""
        lasted = self._lacking is not None and self._lacking.span >= CONFIRMATION.starting
        return self.of_resource and lasted
