"""Each feature gets each transient answer at one of its requests; ``python -m tests.sweep`` tries all requests."""

from __future__ import annotations

import pytest

from tests.sweep.lab import Scenario
from tests.sweep.scenarios import every
from tests.sweep.sweep import sample
from tests.sweep.table import PAGE, cell, cells_of, violations


@pytest.mark.parametrize("scenario", every(), ids=lambda each: each.feature)
def test_one_transient_answer_causes_no_claim_that_the_server_does_not_justify(scenario: Scenario) -> None:
    results = sample(scenario)

    assert "\n".join(violations(results)) == ""
    page = cells_of(PAGE.read_text(encoding="utf-8"))
    other = [each for each in results if cell([each]) not in page.get((scenario.feature, each.answer), "")]
    assert [str(each) for each in other] == [], "run python -m tests.sweep, and review the changes of the page"
