"""Status conditions as Kubernetes' API conventions define them (``metav1.Condition``). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from dynkube.errors import InvalidInput

ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]

# The rules of metav1.Condition, which CRDs copy into their schemas.
_TYPE: Final = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z"
)
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?\Z")
_MOST: Final = {"type": 316, "reason": 1024, "message": 32768}


@dataclass(frozen=True, slots=True)
class StatusCondition:
    """One condition to write into ``status.conditions``.

    Attributes:
        type: the name, like ``"Ready"``.
        status: ``True``, ``False``, or ``None`` if unknown; also as the strings that objects have.
        reason: one CamelCase word for programs, like ``"AllReplicasReady"``.
        message: text for humans; may be empty.

    Raises:
        InvalidInput: a field does not follow the API conventions, so that a server would reject it.
    """

    type: str
    status: bool | ConditionStatus | None
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        if self.status not in (True, False, None, "True", "False", "Unknown"):
            raise InvalidInput(f"condition {self.type!r}: status={self.status!r}: pass True, False or None")
        for field, pattern, example in (("type", _TYPE, "'Ready'"), ("reason", _REASON, "'AllReplicasReady'")):
            text: object = getattr(self, field)
            if not isinstance(text, str) or not pattern.match(text):
                raise InvalidInput(f"condition {self.type!r}: {field}={text!r}: pass one word like {example}")
        for field, most in _MOST.items():
            if len(getattr(self, field)) > most:
                raise InvalidInput(f"condition {self.type!r}: {field} has more than {most:,} characters")

    @property
    def status_text(self) -> ConditionStatus:
        """The status as objects have it."""
        if self.status is None or self.status == "Unknown":
            return "Unknown"
        return "True" if self.status in (True, "True") else "False"


def merged_conditions(
    present: Sequence[Mapping[str, object]],
    conditions: Iterable[StatusCondition],
    *,
    now: datetime,
    generation: int | None = None,
) -> list[dict[str, object]]:
    """Return ``status.conditions`` with some of them set, and all others unchanged.

    ``lastTransitionTime`` changes only together with the status, so that the result equals ``present`` if nothing
    has changed.

    Args:
        present: the conditions of the object as they are.
        conditions: those to set; the last one of a type holds.
        now: the current time, with a time zone.
        generation: ``metadata.generation`` of the object that was observed; ``None`` to leave ``observedGeneration``
            out.

    Raises:
        InvalidInput: ``now`` has no time zone.
    """
    if now.tzinfo is None:
        raise InvalidInput(f"now={now!r} has no time zone: pass datetime.now(UTC)")
    result = [dict(condition) for condition in present]
    places = {condition.get("type"): place for place, condition in enumerate(result)}
    for condition in conditions:
        before = result[places[condition.type]] if condition.type in places else {}
        merged = {**before, "type": condition.type, "status": condition.status_text}
        merged |= {"reason": condition.reason, "message": condition.message}
        if generation is not None:
            merged["observedGeneration"] = generation
        if before.get("status") != condition.status_text or not before.get("lastTransitionTime"):
            merged["lastTransitionTime"] = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if condition.type in places:
            result[places[condition.type]] = merged
        else:
            places[condition.type] = len(result)
            result.append(merged)
    return result
