"""YAML is loaded as by kubectl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta._yaml.loading import MalformedYAML, dump, load_document, load_first, load_located, repeated_keys


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("off", False),
        ("yes", True),
        ("n", False),
        ("true", True),
        ("012", 10),
        ("0o14", 12),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("-7", -7),
        ("0", 0),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("08", 8),
        ("1:30", "1:30"),
        ("2026-11-21", "2026-11-21"),
        ("2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"),
        ("=", "="),
        ("~", None),
        ("null", None),
        ("1.2.3", "1.2.3"),
        ("100m", "100m"),
        ("'on'", "on"),
        ("0b_", "0b_"),
        ("0x_", "0x_"),
        ("1e999", "1e999"),
        ("!!binary aGk=", "hi"),
        ('"012"', "012"),
    ],
)
def test_scalars_have_the_types_of_kubectl(text: str, value: object) -> None:
    assert load_document(f"key: {text}") == {"key": value}


def test_empty_documents_are_skipped_and_their_lines_counted() -> None:
    assert list(load_located("---\n# nothing\n---\na: 1\n---\n")) == [(4, {"a": 1})]


def test_anchors_and_merge_keys_are_resolved() -> None:
    assert load_document("base: &b {x: 1}\nother:\n  <<: *b\n  z: 2") == {
        "base": {"x": 1},
        "other": {"x": 1, "z": 2},
    }


def test_a_merged_mapping_may_itself_merge_and_be_deeper() -> None:
    text = "x: &x {a: 1}\nq: {r: {base: &base {<<: *x, a: 2}}}\nd: {<<: *base, c: 3}"

    assert load_document(text) == {"x": {"a": 1}, "q": {"r": {"base": {"a": 2}}}, "d": {"a": 2, "c": 3}}


@pytest.mark.parametrize(
    "text",
    ["x: " + "[" * 50_000, "{" * 50_000, "- " * 50_000, "? " * 50_000, "\n".join(" " * i + "a:" for i in range(2_000))],
)
def test_too_deep_nesting_is_rejected_without_a_crash(text: str) -> None:
    for form in (text, "\ufeff" + text, text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
        with pytest.raises(MalformedYAML, match=r"line \d+, column \d+: nested more than 1000 levels deep"):
            load_document(form)
    assert repeated_keys(text) == []


def test_moderately_deep_nesting_is_loaded() -> None:
    found = load_document("[" * 600 + "1" + "]" * 600)

    for _ in range(600):
        assert isinstance(found, list)
        found = found[0]
    assert found == 1


@pytest.mark.parametrize("text", ["1" * 5_000, "!!int a", "!!float a", "!!binary a"])
def test_scalars_that_python_cannot_convert_are_malformed(text: str) -> None:
    with pytest.raises(MalformedYAML):
        load_document(f"key: {text}")


@pytest.mark.parametrize(("text", "key"), [("on", "true"), ("n", "false"), ("010", "8"), ("1.5", "1.5"), ("'y'", "y")])
def test_keys_are_always_strings(text: str, key: str) -> None:
    assert load_document(f"{text}: a") == {key: "a"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", r'line 2, column 1: key "a" already set'),
        ("a: [1", r"line 2, column 1: did not find expected"),
        ("a:\n\t- b", r"line 2, column 1"),
        ("a: !!python/object:os.system {}", r"line 1, column 4"),
        ("null: 1", r"line 1, column 1: unsupported map key None"),
        ("[a]: 1", r"line 1, column 1: .*unhashable"),
        ("a: 1\n---\nb: 2", "expected one document, found 2"),
    ],
)
def test_errors_have_their_position(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_document(text)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(_json)
def test_dumped_values_load_to_the_same(data: object) -> None:
    assert load_document(dump({"data": data})) == {"data": data}


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN"])
def test_numbers_that_json_does_not_have_are_rejected_with_the_way_out(text: str) -> None:
    with pytest.raises(MalformedYAML, match="line 1, column 4: infinity and NaN are not JSON numbers: quote"):
        load_document(f"k: {text}")

    assert load_document(f"k: '{text}'") == {"k": text}


def test_the_first_document_is_read_even_if_the_rest_is_malformed() -> None:
    first = load_first("a: 1\na: !x 2\n---\n]")

    assert first is not None
    assert first.data == {"a": "2"}
    assert load_first("# nothing") is None
