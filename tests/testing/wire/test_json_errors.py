"""Whatever bytes come, they are JSON or there is a sentence about why not."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.testing._wire.jsonerrors import parse_json

_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def _trouble(data: bytes) -> str | None:
    try:
        parse_json(data)
    except ValueError as error:
        return str(error)
    return None


@given(_DOCUMENTS)
def test_json_is_read(document: object) -> None:
    assert parse_json(json.dumps(document).encode()) == document


@given(_DOCUMENTS, st.integers(min_value=0), st.binary(max_size=3))
@example({"a": True}, 8, b"")
@example("\\", 1, b"\\")
def test_what_is_damaged_is_read_or_refused_with_its_place(document: object, place: int, inserted: bytes) -> None:
    text = msgspec.json.encode(document)
    cut = place % (len(text) + 1)

    trouble = _trouble(text[:cut] + inserted + text[cut + 1 :])

    assert trouble in {None, "unexpected end of JSON input"} or " at line " in trouble


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    assert _trouble(data) != ""


@pytest.mark.parametrize("literal", ["tru", "fals", "nul"])
def test_a_word_that_breaks_off_is_an_end(literal: str) -> None:
    with pytest.raises(ValueError, match="unexpected end of JSON input"):
        parse_json(literal.encode())
