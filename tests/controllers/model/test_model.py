"""Under any changes, faults and restarts, controllers do what is guaranteed: random scripts.

Each run of the tests plays the same hundred; ``python -m tests.controllers.model`` plays more. See the README in this
directory.
"""

from __future__ import annotations

import logging

import pytest

from tests.controllers.model.scripts import Script, choose, play, shortened
from tests.controllers.model.shapes import Shape


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynkube")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_controllers_do_what_is_guaranteed_in_random_scripts(first: int) -> None:
    wrong = {seed: found for seed in range(first, first + 20) if (found := play(choose(seed)).wrong)}

    assert wrong == {}  # python -m tests.controllers.model --replay SEED


def test_a_script_does_the_same_each_time() -> None:
    once, again = play(choose(7)), play(choose(7))

    assert once.trace == again.trace


def test_a_failing_script_is_shortened_to_the_steps_that_it_needs() -> None:
    script = Script(1, Shape(concurrency=2), (("install", "widgets"), ("wait", 2.0), ("start", 0), ("wait", 12.0)))

    short = shortened(script, lambda each: ("start", 0) in each.steps)

    assert short == Script(1, Shape(), (("start", 0),))
