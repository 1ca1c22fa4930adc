"""Unified differences of long documents: correct, as difflib's for short ones, and in linear time."""

from __future__ import annotations

import random
import sys
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.fields._diff import line_match
from dynkube.fields._diff.line_match import LineMatcher
from dynkube.fields._diff.unified import unified_lines

TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=30)
NAMES = ("one", "two")


def patched(old: list[str], new: list[str]) -> list[str]:
    """Apply the differences to the old text."""
    result: list[str] = []
    for tag, at, to, new_at, new_to in LineMatcher(old, new).get_opcodes():
        result += old[at:to] if tag == "equal" else new[new_at:new_to]
    return result


@given(TEXTS, TEXTS)
def test_short_texts_give_the_same_difference_as_difflib(old: list[str], new: list[str]) -> None:
    assert list(unified_lines(old, new, NAMES)) == list(unified_diff(old, new, *NAMES, lineterm=""))


@given(TEXTS, TEXTS, st.integers(0, 40))
def test_the_difference_of_long_texts_turns_one_into_the_other(old: list[str], new: list[str], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_match, "_MOST_COMPARISONS", most)

        assert patched(old, new) == new


def test_unique_lines_are_matched_among_many_equal_ones() -> None:
    old = [line for number in range(2000) for line in (f"- name: n{number}", "  value: '1'")]
    new = list(old)
    new[2001] = "  value: '2'"

    changed = [line for line in unified_lines(old, new, NAMES) if line[0] in "+-"]
    assert changed[2:] == ["-  value: '1'", "+  value: '2'"]


def steps(number: int) -> int:
    """Count the executed lines of Python for texts of ``number`` lines, of which every second one differs."""
    old = [line for at in range(number // 2) for line in (f"- name: n{at}", "  value: '1'")]
    new = [line.replace("'1'", "'2'") for line in old]
    random.Random(1).shuffle(new[-10:])
    taken = 0

    def count(*_: object) -> object:
        nonlocal taken
        taken += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]  # any function may trace
    try:
        LineMatcher(old, new).get_opcodes()
    finally:
        sys.settrace(before)
    return taken


def test_four_times_the_lines_cost_about_four_times_as_much() -> None:
    assert steps(16_000) < 6 * steps(4_000)
