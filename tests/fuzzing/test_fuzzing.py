"""A minute of what ``make fuzz-inputs`` does for as long as it is given."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given

from tests.fuzzing.targets import TARGETS


@pytest.mark.real_time
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_does_anything_but_what_it_may(name: str) -> None:
    target = TARGETS[name]

    @hypothesis.settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))
    @given(target.inputs)
    def check(given_input: Any) -> None:
        target.check(given_input)

    check()
