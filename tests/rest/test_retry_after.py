"""Both forms of Retry-After."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.rest._retry import parse_retry_after
from tests.rest.wire import NOON


@pytest.mark.scenario("F23")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("5", 5.0),
        (" 0 ", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 12:00:07 GMT", 7.0),
        ("Sat, 21 Nov 2026 12:00:07 -0000", 7.0),
        ("Saturday, 21-Nov-26 12:00:07 GMT", 7.0),
        ("Sat Nov 21 12:00:07 2026", 7.0),
        ("Sat, 21 Nov 2026 11:59:00 GMT", 0.0),
        ("Sat, 99 Nov 2026 11:59:00 GMT", None),
        ("Sat, 21 Nov 99999999999999 11:59:00 GMT", None),
        ("Sat, 21 Nov 2026 11:59:00 +99999999999999", None),
    ],
)
def test_seconds_and_dates_are_parsed_and_anything_else_is_none(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOON) == seconds


@pytest.mark.scenario("F23")
@given(st.integers(0, 10**6))
def test_a_date_gives_the_seconds_until_then(seconds: int) -> None:
    value = format_datetime(NOON + timedelta(seconds=seconds), usegmt=True)

    assert parse_retry_after(value, now=NOON) == seconds


@given(st.text())
def test_any_string_is_parsed_without_an_error(value: str) -> None:
    result = parse_retry_after(value, now=datetime.now(NOON.tzinfo))

    assert result is None or result >= 0
