"""Patterns are RE2's; most of them mean the same to Python, some after a translation."""

from __future__ import annotations

import pytest

from dynkube.testing._schemas.regexes import compile_pattern


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
        (r"^\x{e4}$", "\u00e4", "a"),
        ("(?i)^abc$", "ABC", "abd"),
        ("^(?<name>a)$", "a", "b"),
        ("^(?P<name>a)$", "a", "b"),
        (r"^\p{L}+$", "a\u00e4", "1"),
        ("^[][]$", "]", "a"),
        (r"^[\]]$", "]", "a"),
    ],
)
def test_a_pattern_finds_what_it_finds_in_re2(pattern: str, found: str, not_found: str) -> None:
    compiled = compile_pattern(pattern)

    assert compiled is not None
    assert compiled.search(found)
    assert not compiled.search(not_found)


@pytest.mark.parametrize("pattern", [r"\p{Greek}", "(?U)a+", r"[\p{Lu}]", r"\C", "a(?i)b"])
def test_what_python_cannot_say_is_left_unchecked(pattern: str) -> None:
    assert compile_pattern(pattern) is None
