"""Under any changes of a cluster, every promise of informers holds: random scripts.

Each run of the tests plays the same few hundred; ``make model`` plays 10,000. See the README in this directory.
"""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.campaign import CI_SEEDS, play
from tests.informers.model.machine import InformerMachine

EXAMPLES = 25


@pytest.mark.scenario("G13", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P9", "P10", "P12", "P13")
@pytest.mark.timeout(600)  # a failing script is played some hundred times to shrink it
@pytest.mark.parametrize("seed", CI_SEEDS)
def test_every_promise_holds_in_random_scripts(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL, logger="dynkube"):  # failures are expected, and there are many
        tally = play(InformerMachine, seed, EXAMPLES)

    assert tally.whole + tally.cut >= EXAMPLES
