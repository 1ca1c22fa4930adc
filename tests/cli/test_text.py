"""Text for terminals: ages, and text from a cluster without control characters."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube._text.tables import printable
from dynkube.cli._text import age


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (599, "9m59s"),
        (605, "10m"),
        (3600, "1h"),
        (12_000, "3h20m"),
        (36_600, "10h"),
        (86_400, "1d"),
        (90_000, "1d1h"),
        (5_000_000, "57d"),
    ],
)
def test_an_age_has_at_most_two_units(seconds: float, text: str) -> None:
    assert age(timedelta(seconds=seconds)) == text


@given(st.text())
def test_control_characters_are_replaced(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    assert len(shown) == len(text)
    assert printable(shown) == shown


def test_given_control_characters_are_kept() -> None:
    assert printable("a\nb\x1b[2J", keep="\n") == "a\nb\ufffd[2J"
