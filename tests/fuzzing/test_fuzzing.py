"""About a minute of fuzzing; ``make fuzz-inputs`` fuzzes for longer."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given

from tests.fuzzing.targets import TARGETS


@pytest.mark.real_time
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_raises_an_undocumented_exception(name: str) -> None:
    target = TARGETS[name]

    @hypothesis.settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))
    @given(target.inputs)
    def check(given_input: Any) -> None:
        target.check(given_input)

    check()
