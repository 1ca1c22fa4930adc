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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"[nu]", "invalid character ']' in literal null (expecting 'l')"),
        (b'["n", +1]', "invalid character '+' looking for beginning of value"),
        (b'["a\\', "invalid character ' ' in string escape code"),
        (b'"\\u12', "invalid character ' ' in \\u hexadecimal character escape"),
        (b'"\\u1x34"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b'"a\x01"', "invalid character '\\x01' in string literal"),
        (b"[1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"[1.5.2]", "invalid character '.' after array element"),
        (b"[1e+]", "invalid character ']' in exponent of numeric literal"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"[01]", "invalid character '1' after array element"),
        (b"[1\\", "invalid character '\\\\' after array element"),
        (b'{"a":1\x7f', "invalid character '\\x7f' after object key:value pair"),
        (b"['a']", "invalid character '\\'' looking for beginning of value"),
        (b'{"a" "b"}', "invalid character '\"' after object key"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{}}", "invalid character '}' after top-level value"),
        (b"\xad", "invalid character '\\u00ad' looking for beginning of value"),
        (b'{"a":[1,{"b":"c"', "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
    ],
)
def test_the_message_names_the_first_byte_that_does_not_fit(body: bytes, message: str) -> None:
    assert _error_message(body) == message


@pytest.mark.parametrize("item", [b"1", b'"a"', b"{}", b"[]"])
def test_an_error_at_the_end_of_a_long_list_is_found(item: bytes) -> None:
    body = b'{"a":[' + b", ".join([item] * 20_000) + b",]}"

    assert _error_message(body) == "invalid character ']' looking for beginning of value"


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert parse_json(b'["\\ud800x", "\\ud83d\\ude00", "\\\\ud800"]') == ["\ufffdx", "\U0001f600", "\\ud800"]
