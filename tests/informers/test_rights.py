"""When it is confirmed that the user may not read a namespace."""

from __future__ import annotations

import math
from functools import reduce

import pytest

from dynkube.informers._availability.rights import Right, Rights, judge_rights

NEVER = -math.inf
Step = tuple[str, float]


def observed(*steps: Step) -> Rights:
    """Return the observations after steps like ``("list refused", 3.0)``."""

    def after(rights: Rights, step: Step) -> Rights:
        what, time = step
        match what:
            case "listed":
                return rights.with_list(time)
            case "list refused":
                return rights.with_refused_list(time, "forbidden")
            case "review allows":
                return rights.with_review(time, allowed=True, message="")
        return rights.with_review(time, allowed=False, message="denied")

    return reduce(after, steps, Rights())


BOTH: tuple[Step, ...] = (("listed", 1.0), ("list refused", 10.0), ("review denies", 10.1))
LASTING: tuple[Step, ...] = (*BOTH, ("review denies", 41.0), ("list refused", 41.1))


NOTHING_SHOWN: tuple[Step, ...] = (("list refused", 1.0), ("review denies", 2.0))


@pytest.mark.parametrize(
    ("steps", "shown", "ready_at", "expected"),
    [
        ([], False, 2.0, Right.ALLOWED),
        ([("list refused", 1.0)], False, 2.0, Right.UNDECIDED),
        ([("review denies", 1.0)], False, 2.0, Right.UNDECIDED),
        (NOTHING_SHOWN, False, 1.5, Right.DENIED),
        (NOTHING_SHOWN, False, 0.5, Right.UNDECIDED),
        (NOTHING_SHOWN, False, 2.5, Right.UNDECIDED),
        (NOTHING_SHOWN, False, NEVER, Right.UNDECIDED),
        (BOTH, True, 10.05, Right.UNDECIDED),
        (LASTING, True, 11.0, Right.DENIED),
        (LASTING, True, NEVER, Right.UNDECIDED),
        ([*LASTING, ("review denies", 70.2), ("list refused", 70.2)], True, NEVER, Right.DENIED),
        ([*LASTING, ("review allows", 42.0)], True, 11.0, Right.ALLOWED),
        ([*LASTING, ("listed", 42.0)], True, 11.0, Right.ALLOWED),
        ([("listed", 42.0), *LASTING], True, 11.0, Right.ALLOWED),
    ],
)
def test_a_right_counts_as_lost_once_both_sources_agree_for_long_enough(
    steps: list[Step], shown: bool, ready_at: float, expected: Right
) -> None:
    assert judge_rights(observed(*steps), shown=shown, ready_at=ready_at) is expected


def test_a_review_that_the_user_may_not_make_counts_as_one_that_denies() -> None:
    rights = observed(("list refused", 1.0)).with_refused_review(2.0, "forbidden")
    assert judge_rights(rights, shown=False, ready_at=1.5) is Right.DENIED


def test_what_was_requested_before_a_sign_of_the_right_does_not_count() -> None:
    assert observed(("listed", 5.0), ("review denies", 4.0), ("list refused", 3.0)) == observed(("listed", 5.0))
