"""Any bytes are parsed as JSON or rejected with a message."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube_testing._wire.jsonerrors import parse_json

_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def _error_message(data: bytes) -> str | None:
    try:
        parse_json(data)
    except ValueError as error:
        return str(error)
    return None


@given(_DOCUMENTS)
def test_valid_json_is_parsed(document: object) -> None:
    assert parse_json(json.dumps(document).encode()) == document


@given(_DOCUMENTS, st.integers(min_value=0), st.binary(max_size=3))
@example({"a": True}, 8, b"")
@example("\\", 1, b"\\")
def test_damaged_json_is_parsed_or_rejected_with_the_character(document: object, place: int, inserted: bytes) -> None:
    text = msgspec.json.encode(document)
    cut = place % (len(text) + 1)

    message = _error_message(text[:cut] + inserted + text[cut + 1 :])

    assert message in {None, "unexpected end of JSON input"} or message.startswith("invalid character '")


@given(st.binary(max_size=40))
def test_random_bytes_are_parsed_or_rejected(data: bytes) -> None:
    assert _error_message(data) != ""


@pytest.mark.parametrize("literal", ["tru", "fals", "nul"])
def test_a_truncated_literal_is_an_unexpected_end(literal: str) -> None:
    with pytest.raises(ValueError, match="unexpected end of JSON input"):
        parse_json(literal.encode())
