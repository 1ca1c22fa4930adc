"""Tables as text."""

from __future__ import annotations

import pytest

from dynkube._display.cards import Card, Span
from dynkube._display.text import plain
from dynkube._text.tables import Table, json_cell, shortened

TABLE = Table(("NAME", "SIZE"), (("web", "1"), ("a longer one", "1000"), ("<b>\x1b\u202e", "")), frozenset({"SIZE"}))


def test_columns_are_aligned_and_numbers_right_aligned() -> None:
    assert str(TABLE).splitlines()[:3] == [
        "NAME          SIZE",
        "web              1",
        "a longer one  1000",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert str(Table(("A", "B"), ())) == "A  B"


def test_control_characters_in_cells_are_replaced() -> None:
    assert str(TABLE).splitlines()[3] == "<b>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("web:1", '"web:1"'),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ("é", '"é"'),
        ({1}, '"{1}"'),
        ("x" * 100, '"' + "x" * 16 + "..."),
    ],
)
def test_a_value_is_written_as_json(value: object, shown: str) -> None:
    assert json_cell(value, 20) == shown


def test_a_string_that_fits_is_not_shortened() -> None:
    assert shortened("abcde", 5) == "abcde"
    assert shortened("abcdef", 5) == "ab..."


def test_a_message_of_several_lines_is_joined_to_one_line() -> None:
    card = Card((Span("denied:\n- rule\u00a0a\r\n- rule b"),), ())

    assert plain(card) == "denied: - rule a  - rule b"
