"""Status conditions: when their times change, and which conditions servers would reject."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dynkube.controllers import StatusCondition, merged_conditions
from dynkube.errors import InvalidInput

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
READY = StatusCondition("Ready", True, "AllUp", "3 of 3")
KNOWN: dict[str, object] = {
    "type": "Ready",
    "status": "True",
    "reason": "AllUp",
    "message": "3 of 3",
    "observedGeneration": 7,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def test_a_new_condition_is_appended_with_the_time() -> None:
    other: dict[str, object] = {"type": "Synced", "status": "False"}

    merged = merged_conditions([other], [READY], now=NOON, generation=7)

    assert merged == [other, {**KNOWN, "lastTransitionTime": "2026-01-02T12:00:00Z"}]


def test_an_unchanged_condition_changes_nothing() -> None:
    assert merged_conditions([KNOWN], [READY], now=NOON, generation=7) == [KNOWN]


def test_the_time_stays_while_only_the_reason_changes() -> None:
    merged = merged_conditions([KNOWN], [StatusCondition("Ready", True, "Scaled", "4 of 4")], now=NOON, generation=8)

    assert merged == [{**KNOWN, "reason": "Scaled", "message": "4 of 4", "observedGeneration": 8}]


@pytest.mark.parametrize(("status", "text"), [(False, "False"), (None, "Unknown"), ("Unknown", "Unknown")])
def test_the_time_changes_with_the_status(status: Any, text: str) -> None:
    [merged] = merged_conditions([KNOWN], [StatusCondition("Ready", status, "Down")], now=NOON)

    assert (merged["status"], merged["lastTransitionTime"]) == (text, "2026-01-02T12:00:00Z")
    assert (merged["message"], merged["observedGeneration"]) == ("", 7)


def test_a_condition_without_a_time_gets_one() -> None:
    [merged] = merged_conditions([{"type": "Ready", "status": "True"}], [READY], now=NOON)

    assert merged["lastTransitionTime"] == "2026-01-02T12:00:00Z"


def test_the_time_is_converted_to_utc() -> None:
    [merged] = merged_conditions([], [READY], now=NOON.astimezone(timezone(timedelta(hours=5))))

    assert merged["lastTransitionTime"] == "2026-01-02T12:00:00Z"


def test_the_last_condition_of_a_type_applies_and_the_argument_is_not_modified() -> None:
    present = [dict(KNOWN)]

    merged = merged_conditions(present, [StatusCondition("Ready", False, "Down"), READY], now=NOON)

    assert [condition["status"] for condition in merged] == ["True"]
    assert present == [KNOWN]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Ready", "yes", "Up"), "status='yes': pass True, False or None"),
        (("Ready", 2, "Up"), "status=2: pass True, False or None"),
        (("not one word", True, "Up"), "type='not one word': pass one word like 'Ready'"),
        (("", True, "Up"), "type='': pass one word"),
        (("Ready", True, ""), "reason='': pass one word like 'AllReplicasReady'"),
        (("Ready", True, "two words"), "reason='two words'"),
        (("Ready", True, None), "reason=None"),
        (("Ready", True, "Up", "x" * 32769), "message has more than 32,768 characters"),
        (("Ready", True, "U" * 1025), "reason has more than 1,024 characters"),
    ],
)
def test_a_condition_that_a_server_would_reject_is_rejected(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        StatusCondition(*arguments)


def test_a_time_without_a_time_zone_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="has no time zone"):
        merged_conditions([], [READY], now=datetime(2026, 1, 2))  # noqa: DTZ001  # the mistake under test
