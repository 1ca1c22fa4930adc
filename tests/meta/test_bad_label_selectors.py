"""Errors for invalid label selectors have the position and the fix."""

import pytest

from dynkube.errors import InvalidSelector
from dynkube.meta import LabelOperator, LabelRequirement, LabelSelector


@pytest.mark.parametrize(
    ("text", "expected", "column"),
    [
        ("app web", "one of =, ==, !=, in, notin, >, <", 4),
        ("app=web db", "',' or the end", 8),
        ("app=web,", "a label key or '!'", 8),
        (",app", "a label key or '!'", 0),
        ("=web", "a label key or '!'", 0),
        ("!", "a label key", 1),
        ("!!app", "a label key", 1),
        ("!app=web", "',' or the end", 4),
        ("app===web", "a value", 5),
        ("app=!web", "a value", 4),
        ("app => web", "a value", 5),
        ("tier in fe", r"'(' and the values", 8),
        ("tier in", r"'(' and the values", 7),
        ("tier in (fe", "',' or ')'", 11),
        ("tier in (fe be)", "',' or ')'", 12),
        ("tier in (fe,!be)", "',' or ')'", 12),
        ("tier in (fe))", "',' or the end", 12),
        ("tier exists", "one of =, ==, !=, in, notin, >, <", 5),
        ("tier In (fe)", "one of =, ==, !=, in, notin, >, <", 5),
    ],
)
def test_syntax_errors_are_marked_with_a_caret(text: str, expected: str, column: int) -> None:
    with pytest.raises(InvalidSelector) as caught:
        LabelSelector.parse(text)

    message, shown, caret = str(caught.value).split("\n")
    assert f"expected {expected}" in message
    assert shown == f"  {text}"
    assert caret == f"  {' ' * column}^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-app=web", r"label key '-app' may only contain letters"),
        ("app.=web", r"label key 'app.' may only contain letters"),
        ("äpp", r"label key 'äpp' may only contain letters"),
        ("a\0=b", r"may only contain letters"),
        ("a/b/c=1", r"more than one '/'"),
        ("/name", r"empty prefix before the '/'"),
        ("example.com/", r"no name after the '/'"),
        ("Example.com/name", r"prefix 'Example.com', which is not a lowercase DNS name"),
        (f"{'a' * 64}=b", r"is 64 characters long; at most 63"),
        (f"{'a' * 254}/b", r"prefix of 254 characters; at most 253"),
        ("app=web:1", r"value 'web:1' of label 'app' may only contain letters"),
        ("app in (ok,-no)", r"value '-no' of label 'app' may only contain letters"),
        (f"app={'a' * 64}", r"is 64 characters long; at most 63"),
        ("size>big", r"operator '>' requires a 64-bit integer, not 'big'"),
        ("size>", r"operator '>' requires a 64-bit integer, not ''"),
        ("size<9223372036854775808", r"operator '<' requires a 64-bit integer"),
        ("size>-1", r"value '-1' of label 'size' may only contain letters"),
    ],
)
def test_keys_and_values_that_the_server_would_reject_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector, match=message) as caught:
        LabelSelector.parse(text)

    assert str(caught.value).startswith(f"label selector {text!r}: ")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"app": 5}, r"value of label 'app' is 5, not a string: quote it"),
        ({"app": ["a", "b"]}, r"write several values as 'app in \(a,b\)'"),
        ({5: "app"}, r"label key 5 is an int, not a string"),
        ({"-app": "web"}, r"label key '-app' may only contain"),
        (["app=web"], r"label selector is a list: pass a string"),
        ({"matchLabels": {}, "app": "web"}, r"unknown field 'app': expected matchLabels and matchExpressions"),
        ({"matchLabels": ["app"]}, r"matchLabels is \['app'\], not a mapping"),
        ({"matchLabels": {"app": None}}, r"matchLabels: the value of label 'app' is None"),
        ({"matchExpressions": {}}, r"matchExpressions is \{\}, not a list"),
        ({"matchExpressions": ["app"]}, r"matchExpressions\[0\] is 'app', not a mapping"),
        ({"matchExpressions": [{"operator": "In"}]}, r"matchExpressions\[0\]: key is None"),
        ({"matchExpressions": [{"key": "a", "operator": "Gt"}]}, r"operator is 'Gt', not one of In, NotIn, Exists, Do"),
        ({"matchExpressions": [{"key": "a", "operator": "in"}]}, r"operator is 'in', not one of In,"),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            r"\[0\]: label 'a': operator 'in' requires at least one",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, r"'exists' takes no values"),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]},
            r"values is 'b', not a list of strings",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]},
            r"values is \[1\], not a list of strings",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "value": []}]},
            r"\[0\]: unknown field 'value': expected",
        ),
    ],
)
def test_the_error_for_a_malformed_mapping_names_the_field(selector: object, message: str) -> None:
    with pytest.raises(InvalidSelector, match=message):
        LabelSelector.parse(selector)  # type: ignore[arg-type]  # invalid on purpose


def test_an_equality_operator_with_two_values_is_rejected() -> None:
    with pytest.raises(InvalidSelector, match=r"operator '=' requires exactly one value, not \('a', 'b'\)"):
        LabelRequirement("app", LabelOperator.EQUALS, ("a", "b"))
