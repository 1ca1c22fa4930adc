"""Plans and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube_testing import Perturbation, PerturbationPlan

PERTURBATIONS = st.builds(
    Perturbation,
    family=st.sampled_from(["crash", "lag", "lost_answer"]),
    at=st.integers(1, 10_000),
    resource=st.sampled_from(["", "pods", "widgets.example.com"]),
    how=st.sampled_from(["", "processed", "503"]),
    back=st.integers(0, 50),
    seconds=st.sampled_from([0.0, 0.5, 1.0, 120.0]),
)


@given(st.lists(PERTURBATIONS, max_size=3), st.integers(0, 2**32))
def test_the_text_of_a_plan_is_parsed_back(perturbations: list[Perturbation], seed: int) -> None:
    plan = PerturbationPlan(tuple(perturbations), seed)

    assert PerturbationPlan.parse(str(plan)) == plan


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("crash", "'crash' is not a perturbation: write it like 'crash(at=3, seconds=5)'"),
        ("crash(at=0)", "at must be 1 or more"),
        ("crash(how=unsent)", "at must be 1 or more"),
        ("crash(at=x)", "invalid literal for int"),
        ("crash(at=1, colour=red)", "unknown argument 'colour'; known are at, resource, how, back, seconds"),
        ("crash(at=1) # dice", "'dice' is not a seed: write '# seed 7'"),
    ],
)
def test_a_malformed_plan_is_an_error_that_says_what_is_wrong(text: str, error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PerturbationPlan.parse(text)

    assert error in str(caught.value)
