"""Findings of validation, with the real server's messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube.testing._calls.gotext import shown

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
# The field of a cause for the object as a whole.
NO_FIELD = "<nil>"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation.

    Attributes:
        text: Its identity: the same text is reported once.
        body: The cause's message.
        reason: The cause's reason.
        path: The field; ``None`` for a violation that is reported for the whole object.
    """

    text: str
    body: str
    reason: str = INVALID
    path: str | None = None

    def cause(self, prefix: str = "") -> StatusCause:
        """Return the cause; ``prefix`` is the path of the validated value."""
        path = (self.path or "").removeprefix(".")
        field = f"{prefix}.{path}" if prefix and path and not path.startswith("[") else prefix + path
        return StatusCause(field or NO_FIELD, self.reason, self.body)


def invalid(path: str, value: object, text: str, reason: str = INVALID) -> Finding:
    """Return a finding for an invalid value; ``None`` is shown as ``""``."""
    return Finding(text, f"Invalid value: {shown('' if value is None else value)}: {text}", reason, path)


def overall(text: str) -> Finding:
    """Return a finding that is reported for the whole object."""
    return Finding(text, f'Invalid value: "": {text}')


class Findings:
    """The result of a validation: distinct findings, and the number of checks.

    The real server uses that number to select the alternative (of ``anyOf`` and ``oneOf``) that was meant.
    """

    __slots__ = ("_texts", "checks", "found")

    def __init__(self, *findings: Finding, checks: int = 0) -> None:
        self.found: list[Finding] = []
        self.checks = checks
        self._texts: set[str] = set()
        if findings:
            self.add(findings)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings, except for those with a text that is already there."""
        for finding in findings:
            if finding.text not in self._texts:
                self._texts.add(finding.text)
                self.found.append(finding)

    def merge(self, other: Findings) -> None:
        """Add the findings and the number of checks of ``other``."""
        self.checks += other.checks
        if other.found:
            self.add(other.found)
