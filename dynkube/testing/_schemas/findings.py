"""What validation finds, in the words of the real server, and how findings of several checks come together."""

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
# What a cause says for its field where it is about the object as a whole.
NO_FIELD = "<nil>"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation.

    Attributes:
        text: What tells it apart: the same text is reported once.
        body: The cause's message.
        reason: The cause's reason.
        path: The place; ``None`` for a violation that is told of the whole object.
    """

    text: str
    body: str
    reason: str = INVALID
    path: str | None = None

    def cause(self, prefix: str = "") -> StatusCause:
        """As a cause; ``prefix`` is where the object validated is in the object written."""
        path = (self.path or "").removeprefix(".")
        field = f"{prefix}.{path}" if prefix and path and not path.startswith("[") else prefix + path
        return StatusCause(field or NO_FIELD, self.reason, self.body)


def invalid(path: str, value: object, text: str, reason: str = INVALID) -> Finding:
    """A value that is not allowed; ``None`` is shown as the empty text."""
    return Finding(text, f"Invalid value: {shown('' if value is None else value)}: {text}", reason, path)


def overall(text: str) -> Finding:
    """A violation told of the whole object."""
    return Finding(text, f'Invalid value: "": {text}')


class Findings:
    """The outcome of a validation: findings, each once, and how many checks were made.

    The count is what the real server takes to tell which of several alternatives was meant.
    """

    __slots__ = ("_texts", "checks", "found")

    def __init__(self, *findings: Finding, checks: int = 0) -> None:
        self.found: list[Finding] = []
        self.checks = checks
        self._texts: set[str] = set()
        if findings:
            self.add(findings)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add what was not found before."""
        for finding in findings:
            if finding.text not in self._texts:
                self._texts.add(finding.text)
                self.found.append(finding)

    def merge(self, other: Findings) -> None:
        """Take over what another check found, and its count."""
        self.checks += other.checks
        if other.found:
            self.add(other.found)
