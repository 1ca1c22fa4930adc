"""Names of patch types, and JSON merge patch (RFC 7386)."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube.meta import PatchType
from dynkube.meta._patch import merge_patch

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("json", "application/json-patch+json"),
        ("merge", "application/merge-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
        ("apply", "application/apply-patch+yaml"),
    ],
)
def test_each_patch_type_has_a_name_and_a_content_type(name: str, content_type: str) -> None:
    patch_type = PatchType.parse(name)

    assert patch_type.content_type == content_type
    assert PatchType.parse(patch_type) is patch_type


@pytest.mark.parametrize("name", ["", "JSON", "application/merge-patch+json", None])
def test_the_error_for_an_unknown_patch_type_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not one of 'json', 'merge', 'strategic', 'apply'"):
        PatchType.parse(name)


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches_of_the_rfc(target: object, patch: object, expected: object) -> None:
    assert merge_patch(target, patch) == expected


def test_members_keep_their_order_and_new_ones_come_last() -> None:
    assert list(merge_patch({"b": 1, "a": 2, "c": 3}, {"z": 1, "a": 5, "b": None})) == ["a", "c", "z"]


@given(documents, documents)
def test_a_merge_patch_changes_neither_argument_and_is_idempotent(target: object, patch: object) -> None:
    before = copy.deepcopy((target, patch))

    merged = merge_patch(target, patch)

    assert (target, patch) == before
    assert merge_patch(merged, patch) == merged


def containers(value: object) -> list[int]:
    nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [id(value)] if isinstance(value, dict | list) else []
    return own + [found for member in nested for found in containers(member)]


@given(documents, documents)
def test_the_result_shares_no_container_with_the_arguments(target: object, patch: object) -> None:
    merged = merge_patch(target, patch)

    assert not set(containers(merged)) & set(containers([target, patch]))
