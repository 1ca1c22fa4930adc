"""Findings: violations of a schema, with the real server's messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube_testing._calls.gotext import shown

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
# The ``field`` of a cause that concerns the whole object.
NO_FIELD = "<nil>"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a schema, to be reported as a cause in a Status.

    Attributes:
        text: The full error text. Of violations with equal text, only the first is reported.
        body: The ``message`` of the cause.
        reason: The ``reason`` of the cause.
        path: The path of the invalid field; ``None`` if the violation concerns the whole object.
    """

    text: str
    body: str
    reason: str = INVALID
    path: str | None = None

    def cause(self, prefix: str = "") -> StatusCause:
        """Return the status cause; ``prefix`` is the path of the validated value."""
        path = (self.path or "").removeprefix(".")
        field = f"{prefix}.{path}" if prefix and path and not path.startswith("[") else prefix + path
        return StatusCause(field or NO_FIELD, self.reason, self.body)


def invalid(path: str, value: object, text: str, reason: str = INVALID) -> Finding:
    """Return a finding for an invalid value; the message has ``""`` for ``None``."""
    return Finding(text, f"Invalid value: {shown('' if value is None else value)}: {text}", reason, path)


def overall(text: str) -> Finding:
    """Return a finding that concerns the whole object."""
    return Finding(text, f'Invalid value: "": {text}')


class Findings:
    """The result of a validation: distinct findings, and the number of checks done.

    If no schema of an ``anyOf`` or ``oneOf`` matches, the errors of the one with most checks are reported, as in the
    real server.
    """

    __slots__ = ("_texts", "checks", "found")

    def __init__(self, *findings: Finding, checks: int = 0) -> None:
        self.found: list[Finding] = []
        self.checks = checks
        self._texts: set[str] = set()
        if findings:
            self.add(findings)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings, except those whose text equals that of an earlier finding."""
        for finding in findings:
            if finding.text not in self._texts:
                self._texts.add(finding.text)
                self.found.append(finding)

    def merge(self, other: Findings) -> None:
        """Add the findings and the number of checks of ``other``."""
        self.checks += other.checks
        if other.found:
            self.add(other.found)
