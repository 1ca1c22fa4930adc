"""Field selectors are parsed, printed and matched as by the API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidSelector
from dynkube.meta import FieldRequirement, FieldSelector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",,", ""),
        ("metadata.name=web", "metadata.name=web"),
        ("metadata.name==web", "metadata.name=web"),
        ("status.phase!=Running", "status.phase!=Running"),
        ("spec.nodeName=", "spec.nodeName="),
        ("b=1,,a!=2,b=1,", "a!=2,b=1"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a= b ", "a= b "),
        ("a=!b", "a=!b"),
    ],
)
def test_selectors_are_parsed_in_all_forms_and_printed_in_one(text: str, canonical: str) -> None:
    selector = FieldSelector.parse(text)

    assert str(selector) == canonical
    assert FieldSelector.parse(canonical) == selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name=db", False),
        ("metadata.name!=db", True),
        ("metadata.name!=web", False),
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("spec.nodeName!=n1", True),
        (r"odd=a\,b\=c\\", True),
        ("metadata.name=web,spec.nodeName=n1", False),
    ],
)
def test_an_absent_field_counts_as_empty(text: str, expected: bool) -> None:
    fields = {"metadata.name": "web", "odd": r"a,b=c" + "\\"}

    assert FieldSelector.parse(text).matches(fields) is expected


def test_values_in_a_dict_are_not_unescaped() -> None:
    selector = FieldSelector.parse({"odd": "a,b=c\\", "metadata.name": "web"})

    assert str(selector) == r"metadata.name=web,odd=a\,b\=c\\"


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_a_selector_without_requirements_selects_everything(nothing: str | None) -> None:
    selector = FieldSelector.parse(nothing)

    assert selector.empty
    assert selector.matches(None)
    assert FieldSelector.parse(selector) is selector


def test_equivalent_selectors_are_equal_and_have_the_same_hash() -> None:
    assert len({FieldSelector.parse(text) for text in ("a=1,b!=2", "b!=2,a==1", "a=1,b!=2,a=1")}) == 1


@given(
    st.lists(st.builds(FieldRequirement, st.sampled_from("abc"), st.sampled_from(["=", "!="]), st.text()), max_size=4)
)
def test_every_selector_can_be_parsed_from_its_string(requirements: list[FieldRequirement]) -> None:
    selector = FieldSelector(tuple(requirements))

    assert FieldSelector.parse(str(selector)) == selector


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("web", r"field selector 'web': 'web' has no operator: write FIELD=VALUE"),
        ("a in (b)", r"'a in \(b\)' has no operator.*exist only for labels"),
        ("=web", r"no field name before '='"),
        ("metadata.name = web", r"invalid field 'metadata.name ': .* without spaces"),
        ("a=b=c", r"value 'b=c' has an unescaped '=': write it as \\="),
        (r"a=b\x", r"unknown escape \\x"),
        ("a=b\\", r"unknown escape \\:"),
        ({"a": 1}, r"value of field 'a' is 1, not a string"),
        ({1: "a"}, r"field 1 is an int, not a string"),
        ({"a,b": "c"}, r"invalid field 'a,b'"),
        (["a=b"], r"field selector is a list: pass a string"),
    ],
)
def test_the_error_for_a_malformed_selector_has_the_fix(selector: object, message: str) -> None:
    with pytest.raises(InvalidSelector, match=message):
        FieldSelector.parse(selector)  # type: ignore[arg-type]  # invalid on purpose


def test_an_unknown_operator_is_rejected() -> None:
    with pytest.raises(InvalidSelector, match="operator '>' is neither"):
        FieldRequirement("a", ">", "1")  # type: ignore[arg-type]  # invalid on purpose
