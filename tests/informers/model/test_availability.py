"""Under any changes of servers, CRDs and connections, no informer makes a false report: random scripts.

Each run of the tests plays the same few hundred; ``make model`` plays 10,000. See the README in this directory.
"""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.availability import AvailabilityMachine
from tests.informers.model.campaign import CI_SEEDS, play

EXAMPLES = 25


@pytest.mark.scenario("P2", "P3", "P7", "P8", "P9", "P13")
@pytest.mark.timeout(600)  # a failing script is played some hundred times to shrink it
@pytest.mark.parametrize("seed", CI_SEEDS)
def test_no_report_is_false_in_random_scripts(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL, logger="dynkube"):  # faults are expected, and there are many
        tally = play(AvailabilityMachine, seed, EXAMPLES)

    assert tally.whole + tally.cut >= EXAMPLES
