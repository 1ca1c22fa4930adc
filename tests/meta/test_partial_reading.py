"""Reading one path from JSON bytes gives the same result as decoding all of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidObject
from dynkube.meta import MISSING
from dynkube.meta._partial import partial_reader, partial_readers

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


@given(documents, st.lists(st.lists(names, max_size=3).map(tuple), max_size=5).map(tuple))
def test_reading_several_paths_agrees_with_decoding_everything(
    document: object, paths: tuple[tuple[str, ...], ...]
) -> None:
    raw = json.dumps(document).encode()

    assert partial_readers(paths)(raw) == [follow(json.loads(raw), path) for path in paths]


@given(documents, documents, st.permutations([("a",), ("a", "b"), ("a", "a.b", "é"), ("a", "a.b"), ("b", "a"), ("a",)]))
def test_a_path_may_begin_with_another_path(first: object, second: object, paths: list[tuple[str, ...]]) -> None:
    document = {"a": {"b": first, "a.b": {"é": second}}, "b": {"a": first}}
    raw = json.dumps(document).encode()

    assert partial_readers(tuple(paths))(raw) == [follow(document, path) for path in paths]


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
    with pytest.raises(InvalidObject, match="the document is not JSON"):
        partial_readers((("spec", "x"), ("spec", "y")))(raw)


def test_a_path_may_be_longer_than_structs_can_be_nested() -> None:
    path = ("a",) * 500
    raw = b'{"a":' * 500 + b"7" + b"}" * 500

    assert partial_reader(path)(raw) == 7
    assert partial_readers((path, ("a", "b")))(raw) == [7, MISSING]


def test_the_repr_of_missing_is_its_name() -> None:
    assert repr(MISSING) == "MISSING"
