"""Reading one path from JSON bytes gives the same result as decoding all of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidObject
from dynkube.meta import MISSING
from dynkube.meta._partial import partial_reader

names = st.sampled_from(["a", "b", "a.b", "value", "é", "", '"', "class", "__init__", "\n"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def follow(document: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(document, dict) or name not in document:
            return MISSING
        document = document[name]
    return document


@given(documents, st.lists(names, max_size=4).map(tuple))
def test_a_partial_read_agrees_with_decoding_everything(document: object, path: tuple[str, ...]) -> None:
    raw = json.dumps(document).encode()

    assert partial_reader(path)(raw) == follow(json.loads(raw), path)


@given(documents, names, names)
def test_a_partial_read_of_an_existing_path_agrees_with_decoding_everything(
    document: object, outer: str, inner: str
) -> None:
    raw = json.dumps({"x": 1, outer: {"y": [], inner: document}}).encode()

    assert partial_reader((outer, inner))(raw) == follow(json.loads(raw), (outer, inner))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"spec": {"x": 1}}', 1),
        (b'{"spec": {"x": null}}', None),
        (b'{"spec": {}}', MISSING),
        (b"{}", MISSING),
        (b'{"spec": null}', MISSING),
        (b'{"spec": []}', MISSING),
        (b'{"spec": [{"x": 1}]}', MISSING),
        (b'{"spec": "x"}', MISSING),
        (b"null", MISSING),
        (b"[]", MISSING),
        (b'{"spec": 1, "spec": {"x": 2}}', 2),
        (b'{"spec": {"x": 2}, "spec": {}}', MISSING),
        (b'{"spec": {"x": 12345678901234567890123}}', 12345678901234567890123),
    ],
)
def test_an_absent_or_invalid_step_is_missing(raw: bytes, expected: object) -> None:
    assert partial_reader(("spec", "x"))(raw) == expected


@pytest.mark.parametrize("raw", [b"", b'{"spec": {"x": 1}', b'{"spec": [}', b'{"spec": {"x": "\xff"}}', b'{"spec": 1'])
def test_bytes_that_are_not_json_are_rejected(raw: bytes) -> None:
    with pytest.raises(InvalidObject, match="the document is not JSON"):
        partial_reader(("spec", "x"))(raw)


def test_the_repr_of_missing_is_its_name() -> None:
    assert repr(MISSING) == "MISSING"
