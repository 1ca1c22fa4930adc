"""Durations in the format of kubectl."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing._tables.ages import Ages, human_duration, parse_timestamp

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (1.999, "1s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (5 * MINUTE + 3, "5m3s"),
        (10 * MINUTE + 3, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (3 * YEAR + 4 * DAY, "3y4d"),
        (8 * YEAR + 4 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_significant_figures(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("", "<unknown>"),
        ("2026-01-02T03:04:00Z", "5s"),
        ("2026-01-02T05:04:00+02:00", "5s"),
        ("2026-01-02T03:04:00.123456789Z", "4s"),
        ("2026-01-02T03:05:00Z", "<invalid>"),
        ("2026-01-01", "<invalid>"),
        ("yesterday", "<invalid>"),
        ("2026-02-31T00:00:00Z", "<invalid>"),
    ],
)
def test_an_age_is_the_time_since_an_rfc_3339_timestamp(timestamp: str, text: str) -> None:
    assert Ages(NOW).since(timestamp) == text


def test_a_clock_without_a_time_zone_is_utc() -> None:
    assert Ages.at(NOW.replace(tzinfo=None)).since("2026-01-02T03:04:00Z") == "5s"


def test_a_duration_without_an_end_lasts_until_now() -> None:
    assert Ages(NOW).between("2026-01-02T03:04:00Z", "2026-01-02T03:04:03Z") == "3s"
    assert Ages(NOW).between("2026-01-02T03:04:00Z", "") == "5s"
    assert Ages(NOW).between("junk", "") == "<unknown>"


@given(st.integers(min_value=0, max_value=20 * YEAR))
def test_a_duration_is_rounded_down_by_less_than_a_year(seconds: int) -> None:
    assert _at_least(human_duration(seconds)) <= seconds < _at_least(human_duration(seconds)) + YEAR


def _at_least(text: str) -> int:
    """Return the seconds of the shortest duration with this text."""
    units = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}
    total, digits = 0, ""
    for character in text:
        if character.isdigit():
            digits += character
        else:
            total, digits = total + int(digits) * units[character], ""
    return total


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001 - zones are added
def test_timestamps_written_by_the_server_can_be_parsed(moment: datetime) -> None:
    text = moment.replace(microsecond=0).isoformat() + "Z"

    assert parse_timestamp(text) == moment.replace(microsecond=0, tzinfo=UTC)
    assert Ages.at(moment.replace(microsecond=0) + timedelta(seconds=30)).since(text) == "30s"
