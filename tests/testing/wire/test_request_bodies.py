"""Request bodies are decoded by content type; errors have the position."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest, UnsupportedMediaType
from dynkube_testing._calls.api import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Verb
from dynkube_testing._wire.bodies import decode_body


@pytest.mark.parametrize(
    ("verb", "content_type", "body", "data"),
    [
        ("create", "application/json", b'{"a": 1}', {"a": 1}),
        ("create", "", b'{"a": 1}', {"a": 1}),
        ("create", "application/yaml", b"a: on", {"a": True}),
        ("update", "application/yaml", b'{"a": 1}', {"a": 1}),
        ("patch", JSON_PATCH, b"[]", []),
        ("patch", MERGE_PATCH, b'{"a": null}', {"a": None}),
        ("patch", APPLY_PATCH, b"a: 1", {"a": 1}),
        ("delete", "application/json", b'{"propagationPolicy":"Orphan"}', {"propagationPolicy": "Orphan"}),
        ("delete", "", b"", None),
        ("deletecollection", "text/plain", b"", None),
        ("get", "text/plain", b"ignored", None),
    ],
)
def test_a_body_is_decoded_by_its_content_type(verb: Verb, content_type: str, body: bytes, data: object) -> None:
    assert decode_body(verb, "Pod", content_type, body) == data


def test_integers_of_any_size_are_decoded() -> None:
    assert decode_body("create", "Pod", "", b'{"n": 123456789012345678901}') == {"n": 123456789012345678901}


@pytest.mark.parametrize(
    ("verb", "content_type"),
    [
        ("create", "application/cbor"),
        ("update", "text/plain"),
        ("create", MERGE_PATCH),
        ("delete", "text/plain"),
    ],
)
def test_an_unsupported_content_type_is_a_415_that_names_the_supported_ones(verb: Verb, content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="accepted media types include: application/json"):
        decode_body(verb, "Pod", content_type, b"{}")


@pytest.mark.parametrize("content_type", ["application/json", ""])
def test_an_unsupported_patch_type_is_a_415_with_another_message(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="415: Unsupported Media Type"):
        decode_body("patch", "Pod", content_type, b"{}")


@pytest.mark.parametrize(
    ("verb", "content_type", "body", "message"),
    [
        ("create", "application/json", b'{"a":\n  oops}', "must be of type Pod.*invalid character 'o'"),
        ("create", "application/json", b"", "unexpected end of JSON input"),
        ("create", "application/json", b'{"a": NaN}', "json parse error"),
        (
            "create",
            "application/json",
            b'{"a": \xff}',
            "invalid character 'ÿ' looking for beginning of value",
        ),
        ("create", "application/json", b"[" * 100_000, "json parse error"),
        ("create", "application/json", b"[1]", "json: cannot unmarshal array into Go value"),
        ("create", "application/yaml", b"a: [1", "yaml: line 1: did not find expected ',' or ']'"),
        ("create", "application/yaml", b"- 1", "json: cannot unmarshal array into Go value"),
        (
            "patch",
            JSON_PATCH,
            b"{}",
            r"error decoding patch: json: cannot unmarshal object into Go value of type \[\]handlers",
        ),
        ("patch", MERGE_PATCH, b"{", "error decoding patch: unexpected end of JSON input"),
        (
            "delete",
            "application/json",
            b"[",
            "^400 BadRequest: couldn't get version/kind; json parse error: unexpected end of JSON input",
        ),
    ],
)
def test_a_malformed_body_is_a_400_with_its_cause(verb: Verb, content_type: str, body: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=f"(?s){message}"):
        decode_body(verb, "Pod", content_type, body)
