"""When it is confirmed that the user may not read a namespace."""

from __future__ import annotations

import math
from functools import reduce

import pytest

from dynkube.informers._availability.rights import Rights, may_not_read

NEVER = -math.inf
Step = tuple[str, float]


def observed(*steps: Step) -> Rights:
    """Return the observations after steps like ``("list refused", 3.0)``."""

    def after(rights: Rights, step: Step) -> Rights:
        what, time = step
        match what:
            case "listed":
                return rights.readable(time)
            case "list refused":
                return rights.with_refused_list(time, "forbidden")
            case "review allows":
                return rights.with_review(time, allowed=True, message="")
        return rights.with_review(time, allowed=False, message="denied")

    return reduce(after, steps, Rights())


BOTH: tuple[Step, ...] = (("listed", 1.0), ("list refused", 10.0), ("review denies", 10.1))
LASTING: tuple[Step, ...] = (*BOTH, ("review denies", 41.0), ("list refused", 41.1))


@pytest.mark.parametrize(
    ("steps", "shown", "ready_at", "expected"),
    [
        ([("list refused", 1.0)], False, 2.0, False),
        ([("review denies", 1.0)], False, 2.0, False),
        ([("list refused", 1.0), ("review denies", 1.1)], False, 2.0, True),
        ([("list refused", 1.0), ("review denies", 1.1)], False, 0.5, False),
        ([("list refused", 1.0), ("review denies", 1.1)], False, NEVER, False),
        (BOTH, True, 11.0, False),
        (LASTING, True, 11.0, True),
        (LASTING, True, NEVER, False),
        ([*LASTING, ("review denies", 70.2), ("list refused", 70.2)], True, NEVER, True),
        ([*BOTH, ("review denies", 50.0)], True, 11.0, False),
        ([*BOTH, ("list refused", 50.0)], True, 11.0, False),
        ([*LASTING, ("review allows", 42.0)], True, 43.0, False),
        ([*LASTING, ("listed", 42.0)], True, 43.0, False),
        ([("listed", 42.0), *LASTING], True, 43.0, False),
    ],
)
def test_a_right_counts_as_lost_once_both_sources_agree_for_long_enough(
    steps: list[Step], shown: bool, ready_at: float, expected: bool
) -> None:
    assert may_not_read(observed(*steps), shown=shown, reviewable=True, ready_at=ready_at) is expected


@pytest.mark.parametrize(("ready_at", "expected"), [(2.0, True), (NEVER, False)])
def test_where_rights_cannot_be_reviewed_lists_decide(ready_at: float, expected: bool) -> None:
    refused = observed(("list refused", 1.0))
    assert may_not_read(refused, shown=False, reviewable=False, ready_at=ready_at) is expected


def test_what_was_requested_before_a_sign_of_the_right_does_not_count() -> None:
    assert observed(("listed", 5.0), ("review denies", 4.0), ("list refused", 3.0)) == observed(("listed", 5.0))
