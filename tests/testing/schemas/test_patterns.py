"""Regular expressions have RE2's syntax and Go's error messages; expected values are from Go 1.26."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from dynkube_testing._definitions import pattern_checks
from dynkube_testing._schemas.patterns import TOO_LARGE, BadPattern, Pattern, compile_pattern
from tests.testing.engine.cluster import widget
from tests.testing.schemas.kit import STRING, fields, serving

WIDGETS = "widgets.example.com"


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("^a$", "a", "a\n"),
        (r"^a\z", "a", "a\n"),
        ("(?m)^a$", "b\na\nc", "b"),
        ("a|b$", "xb", "c"),
        ("[$]", "$", "a"),
        (r"^\d+$", "12", "\u0661"),
        (r"^\w$", "a", "\u00e4"),
        ("^[[:alpha:]]+$", "ab", "a1"),
        ("^[^[:space:]/]+$", "a-b", "a b"),
        ("^[[:digit:]a-c]$", "b", "d"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        (r"^\Q\C\E$", r"\C", "x"),
        (r"^\x{e4}$", "\u00e4", "a"),
        ("(?i)^abc$", "ABC", "abd"),
        ("a(?i)b", "aB", "Ab"),
        ("(?U)^(a+)$", "aa", "b"),
        ("^(?<name>a)$", "a", "b"),
        ("^(?P<name>a)$", "a", "b"),
        ("^(?P<name>a)(?<name>b)$", "ab", "b"),
        (r"^\p{L}+$", "a\u00e4", "1"),
        (r"^\p{Letter}+$", "a\u00e4", "1"),
        (r"^\p{Greek}$", "\u03b1", "a"),
        (r"^\p{greek}$", "\u03b1", "a"),
        (r"^[\p{Lu}_]$", "A", "a"),
        ("^[(?P<a>)(?P<a>)]$", "?", "b"),
        ("^[][]$", "]", "a"),
        (r"^[\]]$", "]", "a"),
        ("^.$", "\u20ac", "\u20ac\u20ac"),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, found: str, not_found: str) -> None:
    compiled = compile_pattern(pattern)

    assert compiled.found_in(found)
    assert not compiled.found_in(not_found)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}?", "invalid repeat count: `{2,1}`"),
        ("((a{100}){100}){2}", "invalid repeat count: `{100}`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\x{", r"invalid escape sequence: `\x{`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("b(?<=a>)", "invalid named capture: `(?<=a>`"),
        ("b(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(" * 1_000 + ")" * 1_000, "expression nests too deeply: `" + "(" * 1_000 + ")" * 1_000 + "`"),
    ],
)
def test_invalid_patterns_have_the_error_messages_of_go(pattern: str, problem: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)

    assert str(caught.value) == f"error parsing regexp: {problem}"


def test_matches_are_found_from_left_to_right() -> None:
    assert list(compile_pattern("[a-z\u00e4]+").matches("ab 1 c\u00e4")) == ["ab", "c\u00e4"]


def test_patterns_are_matched_in_linear_time() -> None:
    cluster = serving({**STRING, "pattern": "^([a-z0-9]+-?)+$"})

    cluster.create(WIDGETS, widget(spec={"f": "a" * 100_000}))
    with pytest.raises(Invalid, match=r"spec\.f: Invalid value"):
        cluster.create(WIDGETS, widget("b", spec={"f": "a" * 100_000 + "!"}))


def test_formats_are_validated_in_linear_time() -> None:
    cluster = serving({**STRING, "format": "duration"})

    with pytest.raises(Invalid, match=r"spec\.f: Invalid value"):
        cluster.create(WIDGETS, widget(spec={"f": "1" * 200_000}))


@pytest.mark.parametrize("text", ["(" * 100_000, "a" * 100_000 + "@b.c", "(" * 900])
def test_long_and_deeply_nested_email_addresses_are_rejected(text: str) -> None:
    cluster = serving({**STRING, "format": "email"})

    with pytest.raises(Invalid, match=r"spec\.f: Invalid value"):
        cluster.create(WIDGETS, widget(spec={"f": text}))


def test_the_total_size_of_the_patterns_of_a_schema_is_limited() -> None:
    large = {f"f{number}": {**STRING, "pattern": rf"^\pL{{{60 + number}}}$"} for number in range(12)}

    with pytest.raises(Invalid) as caught:
        serving(fields(**large))

    assert [TOO_LARGE in cause.message for cause in caught.value.causes] == [True] * 5


def test_after_a_pattern_that_is_too_large_no_other_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_and_count(text: str) -> Pattern:
        compiled.append(text)
        return compile_pattern(text)

    monkeypatch.setattr(pattern_checks, "compile_pattern", compile_and_count)
    large = {f"f{number}": {**STRING, "pattern": rf"^\pL{{{600 + number}}}$"} for number in range(8)}

    with pytest.raises(Invalid) as caught:
        serving(fields(**large))

    assert [TOO_LARGE in cause.message for cause in caught.value.causes] == [True] * 8
    assert len(compiled) == 1, "each takes as long as all patterns that are allowed"
