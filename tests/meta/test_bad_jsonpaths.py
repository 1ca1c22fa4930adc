"""Errors for invalid JSONPaths mark the position with a caret."""

import pytest

from dynkube.errors import InvalidJSONPath
from dynkube.meta import JSONPath, JSONPathTemplate


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "the expression is empty", 0),
        ("{.a", "expected '}' at the end of the expression, found the end", 3),
        ("{.a}x", "expected '.', '[' or the end, found 'x'", 4),
        ("{.a}{.b}", "expected a single expression, found several", 4),
        ("{range .a[*]}{.b}{end}", "{range} and {end} are not allowed in a single expression", 1),
        ("{.a .b}", "expected '}' at the end of the expression, found '.'", 4),
        ("{.a,.b}", "expected '}' at the end of the expression, found ','", 3),
        ("{.}", "use '$' for the whole object", 2),
        ("{.a.}", "expected a name after '.', found '}'", 4),
        ("{..}", "expected a name after '..', found '}'", 3),
        ("{.a...b}", "expected a name after '..', found '.'", 5),
        ("]", "expected a name after the beginning, found ']'", 0),
        ("{.a[}", "expected an index, a slice, '*' or a quoted key, found '}'", 4),
        ("{.a[]}", "empty brackets: write [0] or [*]", 4),
        ("{.a[b]}", "expected an index, a slice, '*' or a quoted key, found 'b'", 4),
        ("{.a[0}", "expected ',' or ']' in brackets, found '}'", 5),
        ("{.a[0,]}", "empty brackets", 6),
        ("{.a['b]}", "unterminated quote", 4),
        ("{.a['']}", "the key is empty", 4),
        ("{.a[::0]}", "the step of a slice must be greater than 0", 4),
        ("{.a[::-1]}", "the step of a slice must be greater than 0", 4),
        ("{.a[1234567890123456789]}", "expected ',' or ']' in brackets", 22),
        ("{.a[?@.b==1]}", "expected '(' after '[?', found '@'", 5),
        ("{.a[?()]}", "expected a path like '@.x' or a value, found ')'", 6),
        ("{.a[?(@.b=1)]}", "'=' is not an operator: write '=='", 9),
        ("{.a[?(@.b==c)]}", "write '@.c' for a field, or quote a string", 11),
        ("{.a[?(b==1)]}", "write '@.b' for a field, or quote a string", 6),
        ("{.a[?(@.b==1]}", "expected ')' at the end of the filter, found ']'", 12),
        ("{.a[?(@.b==1)}", "expected ']' at the end of the filter, found '}'", 13),
        ("{.a[?(1==1)]}", "both sides are literals", 7),
        ("{.a[?(1)]}", "expected an operator (==, !=, <, <=, >, >=), found ')'", 7),
        ("{.a[?(@.b[*]==@.c[*])]}", "one side must be a single value", 14),
        ("{.a[?(@['b','c']==1)]}", "a path in a filter cannot contain a union", 7),
        ("{.a[?(!1)]}", "'!' requires a path: write '!@.x'", 6),
        ("{.a[?(@.b=~1)]}", "'=~' requires a path on the left and a quoted pattern", 6),
        ('{.a[?(@.b=~"(")]}', "invalid regular expression", 11),
        (r'{.a[?(@.b=="x\qy")]}', r"unknown escape \q", 13),
        ('{.a[?(@.b=="x)]}', "unterminated quote", 11),
        ("{.a\n.b}", "expected '}' at the end of the expression, found '\\n'", 3),
    ],
)
def test_the_caret_marks_the_position_of_the_error(text: str, message: str, column: int) -> None:
    with pytest.raises(InvalidJSONPath) as caught:
        JSONPath.compile(text)

    first, shown, caret = str(caught.value).split("\n")
    assert message in first
    assert shown == f"  {text}".replace("\n", " ")
    assert caret == f"  {' ' * column}^"
    assert caught.value.position == column


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a{.b", "unclosed brace", 1),
        ("{metadata.name}", "unknown word 'metadata': write '.metadata' for a field", 1),
        ("{.a .b}", "expected '}', found '.'; write several expressions as '{.a}{.b}'", 4),
        ("{.a}{end}", "{end} without a preceding {range}", 4),
        ("{range .a[*]}{end}{end}", "{end} without a preceding {range}", 18),
        ('{"a', "unterminated quote", 1),
        (r"{'\x4'}", r"unknown escape \x", 2),
        ("{range items[*]}{end}", "unknown word 'items'", 7),
    ],
)
def test_errors_in_templates_have_their_position(text: str, message: str, column: int) -> None:
    with pytest.raises(InvalidJSONPath) as caught:
        JSONPathTemplate.compile(text)

    assert message in str(caught.value)
    assert caught.value.position == column


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{.l[9]}", "index 9 is out of bounds: the list has 2 elements"),
        ("{.l[1:9]}", "the slice is out of bounds: the list has 2 elements"),
        ("{.l[1:0]}", "the slice starts at 1, after its end at 0"),
        ("{.m[*]}", "an object is not a list and has no elements"),
        ("{.l[*][0]}", "an object is not a list and has no elements"),
        ("{.m[?(@.a)]}", "an object is not a list and cannot be filtered"),
        ("{.l[?(@.n=='1')]}", "an integer and a string are of different types"),
        ("{.l[?(@.m[*]==1)]}", "the path matches 2 values, but only one can be compared"),
        ("{['l','m'][?(@.n==1)]}", "an object is not a list and cannot be filtered"),
    ],
)
def test_in_strict_mode_the_errors_of_kubectl_are_raised(text: str, message: str) -> None:
    document = {"l": [{"n": 1, "m": [1, 2]}, {"n": 2}], "m": {"a": 1}}
    path = JSONPath.compile(text, strict=True)

    with pytest.raises(InvalidJSONPath, match="JSONPath: ") as caught:
        path.find(document)

    assert message in str(caught.value)
    assert isinstance(JSONPath.compile(text).find(document), list)


@pytest.mark.parametrize("compile_", [JSONPath.compile, JSONPathTemplate.compile])
def test_a_path_that_is_not_a_string_is_rejected(compile_: object) -> None:
    with pytest.raises(InvalidJSONPath, match=r"JSONPath is a list: pass a string like '\{.metadata.name\}'"):
        compile_([".a"])  # type: ignore[operator]  # invalid on purpose


@pytest.mark.parametrize("text", ["{.a[?(" + "(" * 5000, "{.a" + "[?(@.a" * 2000])
def test_too_deep_nesting_is_rejected(text: str) -> None:
    with pytest.raises(InvalidJSONPath, match="nested too deeply"):
        JSONPath.compile(text)


def test_a_path_can_only_be_created_by_compile() -> None:
    with pytest.raises(
        InvalidJSONPath, match=r"JSONPath cannot be instantiated directly: use JSONPath\.compile\('\{\.a\}'\)"
    ):
        JSONPath("{.a}")  # would never find anything
