"""Whatever happens to a cluster and its informers, every promise holds: random scripts of all that may happen.

Each run of the tests plays the same few hundred; ``make model`` plays 10,000. The README beside this tells more.
"""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.campaign import CI_SEEDS, play
from tests.informers.model.machine import InformerMachine

EXAMPLES = 25


@pytest.mark.scenario("G13", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P9", "P10", "P12", "P13")
@pytest.mark.timeout(600)  # a script that fails is played some hundred times, to shrink it
@pytest.mark.parametrize("seed", CI_SEEDS)
def test_whatever_happens_every_promise_holds(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL, logger="dynkube"):  # trouble is expected, and there is a lot of it
        tally = play(InformerMachine, seed, EXAMPLES)

    assert tally.whole + tally.cut >= EXAMPLES
