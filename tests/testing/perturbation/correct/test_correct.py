"""Correct controllers of many shapes raise no alarm."""

from __future__ import annotations

import pytest

from dynkube_testing import perturb
from tests.testing.perturbation.correct.catalog import CORRECT

PLANS = 5
"""For each controller; ``python -m tests.testing.perturbation.correct --plans 3000`` runs more."""


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_controller_has_no_findings(name: str) -> None:
    report = perturb(CORRECT[name], plans=PLANS)

    report.raise_for_findings()
    assert report.plans == PLANS
