"""Under any changes of rights, and wrong answers about them, no set of namespaces makes a false report.

Each run of the tests plays the same few hundred scripts; ``make model ARGS="--machine sets"`` plays 10,000.
"""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.campaign import CI_SEEDS, play
from tests.informers.model.sets import SetMachine

EXAMPLES = 25


@pytest.mark.scenario("P2", "P3", "P7", "P8")
@pytest.mark.timeout(600)  # a failing script is played some hundred times to shrink it
@pytest.mark.parametrize("seed", CI_SEEDS)
def test_no_report_about_sets_of_namespaces_is_false_in_random_scripts(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL, logger="dynkube"):  # faults are expected, and there are many
        tally = play(SetMachine, seed, EXAMPLES)

    assert tally.whole + tally.cut >= EXAMPLES
