"""Ages are formatted as by kubectl."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube._text.ages import age_of, duration_text
from dynkube_testing._tables.ages import human_duration
from tests.display.kit import NOW


@given(st.integers(-10, 10**10))
def test_durations_are_those_in_the_tables_of_the_server(seconds: int) -> None:
    assert duration_text(seconds) == human_duration(seconds)


@pytest.mark.parametrize(
    ("moment", "age"),
    [
        (NOW - timedelta(seconds=119), "119s"),
        ("2026-05-06T11:55:00Z", "5m"),
        ("2026-05-06T11:54:57.5+00:00", "5m2s"),
        ("2026-05-01T09:00:00Z", "5d3h"),
        ("2026-05-06T13:55:00+02:00", "5m"),
        ("2026-05-06T11:55:00", "5m"),
        ("2027-01-01T00:00:00Z", "<invalid>"),
        ("yesterday", ""),
        ("", ""),
        (None, ""),
        (1767225600, ""),
    ],
)
def test_the_age_since_a_time(moment: object, age: str) -> None:
    assert age_of(moment, NOW) == age
