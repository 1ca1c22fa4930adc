"""Label selectors are parsed, printed and matched as by the API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta import LabelOperator, LabelRequirement, LabelSelector

WEB = {"app": "web", "tier": "fe", "size": "5", "note": ""}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" \t\r\n", ""),
        ("app=web", "app=web"),
        ("app==web", "app=web"),
        ("app!=web", "app!=web"),
        (" app = web , ! legacy ", "app=web,!legacy"),
        ("app", "app"),
        ("!app", "!app"),
        ("tier in (fe,be)", "tier in (be,fe)"),
        ("tier notin ( fe , be )", "tier notin (be,fe)"),
        ("tier in(fe)", "tier in (fe)"),
        ("tier in ()", "tier in ()"),
        ("tier in (,)", "tier in ()"),
        ("tier in (,a,,b,)", "tier in (,a,b)"),
        ("app=", "app="),
        ("app=,b", "app=,b"),
        ("size>3", "size>3"),
        ("size<007", "size<007"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("!in", "!in"),
        ("app.kubernetes.io/name=web", "app.kubernetes.io/name=web"),
        ("b=1,a=1,b=1", "a=1,b=1"),
    ],
)
def test_selectors_are_parsed_in_all_forms_and_printed_in_one(text: str, canonical: str) -> None:
    selector = LabelSelector.parse(text)

    assert str(selector) == canonical
    assert LabelSelector.parse(canonical) == selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app=web", True),
        ("app=db", False),
        ("absent=web", False),
        ("app!=db", True),
        ("app!=web", False),
        ("absent!=web", True),
        ("tier in (fe,be)", True),
        ("tier in (be)", False),
        ("absent in (a,)", False),
        ("tier notin (be)", True),
        ("tier notin (fe,be)", False),
        ("absent notin (a)", True),
        ("note=", True),
        ("absent=", False),
        ("note in ()", True),
        ("app", True),
        ("absent", False),
        ("!absent", True),
        ("!app", False),
        ("size>4", True),
        ("size>5", False),
        ("size<6", True),
        ("size<5", False),
        ("app>1", False),
        ("absent<1", False),
        ("app=web,size>9", False),
    ],
)
def test_selectors_match_as_on_the_server(text: str, expected: bool) -> None:
    selector = LabelSelector.parse(text)

    assert selector.matches(WEB) is expected
    assert selector.compiled()(WEB) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("+5", True), ("05", True), ("-9", False), ("9223372036854775807", True), ("9223372036854775808", False)]
    + [(value, False) for value in ("5_0", " 5", "5.0", "", "\u0665", "5" * 70)],
)
def test_only_64_bit_integers_are_compared(value: str, expected: bool) -> None:
    assert LabelSelector.parse("size>4").matches({"size": value}) is expected


def test_an_object_without_labels_is_matched_like_one_with_empty_labels() -> None:
    assert LabelSelector.parse("!app,b!=1").matches(None)
    assert not LabelSelector.parse("app").matches(None)


def test_a_dict_requires_equal_labels() -> None:
    selector = LabelSelector.parse({"tier": "fe", "app": "web"})

    assert selector == LabelSelector.parse("app=web,tier=fe")
    assert not selector.empty


def test_a_label_selector_object_is_parsed() -> None:
    selector = LabelSelector.parse(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["fe", "be", "fe"]},
                {"key": "zone", "operator": "NotIn", "values": ["a"]},
                {"key": "b", "operator": "Exists"},
                {"key": "c", "operator": "DoesNotExist", "values": []},
            ],
        }
    )

    assert str(selector) == "app=web,b,!c,tier in (be,fe),zone notin (a)"


@pytest.mark.parametrize(
    "nothing", [None, "", {}, {"matchLabels": {}}, {"matchExpressions": []}, {"matchLabels": None}]
)
def test_a_selector_without_requirements_selects_everything(nothing: object) -> None:
    selector = LabelSelector.parse(nothing)  # type: ignore[arg-type]  # one test for all forms

    assert selector.empty
    assert selector.matches({})


def test_a_label_may_have_the_name_of_a_field_of_label_selector_objects() -> None:
    assert str(LabelSelector.parse({"matchLabels": "x"})) == "matchLabels=x"


def test_equivalent_selectors_are_equal_and_have_the_same_hash() -> None:
    selectors = {LabelSelector.parse(text) for text in ("a in (x,y),b==1", "b=1 , a in (y,x,y)", "b=1,b=1,a in (x,y)")}

    assert len(selectors) == 1


def test_a_parsed_selector_parses_to_itself() -> None:
    selector = LabelSelector.parse("a=b")

    assert LabelSelector.parse(selector) is selector


name = st.from_regex(r"[a-z]([-a-z0-9_.]{0,5}[a-z0-9])?", fullmatch=True) | st.sampled_from(["in", "notin", "exists"])
requirement = (
    st.builds(LabelRequirement, name, st.sampled_from([LabelOperator.EXISTS, LabelOperator.DOES_NOT_EXIST]))
    | st.builds(
        lambda key, operator, values: LabelRequirement(key, operator, tuple(values)),
        name,
        st.sampled_from([LabelOperator.IN, LabelOperator.NOT_IN]),
        st.lists(name | st.just(""), min_size=1, max_size=4),
    )
    | st.builds(
        lambda key, operator, value: LabelRequirement(key, operator, (value,)),
        name,
        st.sampled_from([LabelOperator.EQUALS, LabelOperator.NOT_EQUALS]),
        name | st.just(""),
    )
)


@given(st.lists(requirement, max_size=5))
def test_every_selector_can_be_parsed_from_its_string(requirements: list[LabelRequirement]) -> None:
    selector = LabelSelector(tuple(requirements))

    assert LabelSelector.parse(str(selector)) == selector


@given(requirement, st.dictionaries(name, name | st.just("")))
def test_exactly_one_of_a_requirement_and_its_negation_matches(
    condition: LabelRequirement, labels: dict[str, str]
) -> None:
    opposites = {
        LabelOperator.EQUALS: LabelOperator.NOT_EQUALS,
        LabelOperator.IN: LabelOperator.NOT_IN,
        LabelOperator.EXISTS: LabelOperator.DOES_NOT_EXIST,
    }
    opposite = {**opposites, **{b: a for a, b in opposites.items()}}[condition.operator]

    assert condition.matches(labels) is not LabelRequirement(condition.key, opposite, condition.values).matches(labels)
