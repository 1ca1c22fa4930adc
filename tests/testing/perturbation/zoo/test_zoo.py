"""Published bugs of controllers are found, and the same controllers without these bugs raise no alarm."""

from __future__ import annotations

import pytest

from dynkube_testing import perturb, replay
from tests.testing.perturbation.zoo.catalog import BUGS

PLANS = 5
"""For each controller without its bug; ``python -m tests.testing.perturbation.zoo --plans 10000`` runs more."""


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found_by_its_plan(name: str) -> None:
    finding = replay(BUGS[name].with_bug, BUGS[name].plan)

    assert finding is not None


@pytest.mark.parametrize("name", BUGS)
def test_without_the_bug_no_plan_finds_anything(name: str) -> None:
    report = perturb(BUGS[name].without_bug, plans=PLANS, families=BUGS[name].families)

    report.raise_for_findings()
    assert report.plans == PLANS
