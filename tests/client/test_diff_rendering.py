"""Rendering of a ``Diff``: without terminal control characters or markup, and with long values cut."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dynkube import MISSING, Diff, FieldChange, FieldPath, Manager
from dynkube.errors import FieldConflict

NASTY = "\x1b[31m<b>evil</b>\u202e"


def diff(before: dict[str, Any] | None, after: dict[str, Any] | None, *changes: FieldChange, **more: Any) -> Diff:
    names = ("live", "applied")
    return Diff(subject="ConfigMap shop/web", names=names, before=before, after=after, changes=changes, **more)


def change(before: Any = "1", after: Any = "2", path: str = ".data.a", **more: Any) -> FieldChange:
    return FieldChange(FieldPath.parse(path), before, after, **more)


def test_values_contain_no_control_characters_and_no_markup() -> None:
    owner = Manager(name=NASTY, operation="Update", time=datetime(2024, 5, 1, tzinfo=UTC))
    nasty = diff({"data": {NASTY: "1"}}, {"data": {NASTY: NASTY, "lines": f"a\n{NASTY}\n"}}, change(after=NASTY))
    owned = diff({}, {"a": 1}, change(NASTY, MISSING, f'["{NASTY}"]', managers=(owner,)))

    for each in (nasty, owned):
        page = each._repr_html_()
        assert not {"\x1b", "\u202e"} & {*f"{each}{each.table()}", *page}
        assert "<b>" not in page


def test_multiline_strings_are_compared_line_by_line() -> None:
    before, after = {"data": {"text": "one\ntwo\n"}}, {"data": {"text": "one\nthree\n"}}

    assert str(diff(before, after, change())).splitlines()[3:] == [
        " data:",
        "   text: |",
        "     one",
        "-    two",
        "+    three",
    ]


def test_repeated_values_are_written_without_yaml_aliases() -> None:
    same = {"a": "b"}

    assert "&id" not in str(diff(None, {"one": same, "two": same}, change()))


def test_long_values_are_cut_in_the_table() -> None:
    assert max(map(len, diff({}, {}, change(after="x" * 5000)).table().splitlines())) < 100


@pytest.mark.parametrize(
    ("number", "note"),
    [(0, None), (1, "1 field is owned by another manager"), (2, "2 fields are owned by other managers")],
)
def test_a_note_below_says_that_force_is_needed(number: int, note: str | None) -> None:
    conflicts = (FieldConflict(path=".data.a", manager="other"),) * number
    shown = diff({}, {}, change(), conflicts=conflicts)

    last = shown.table().splitlines()[-1]
    assert last.startswith(note) if note else last.startswith(".data.a")
    assert (note in shown._repr_html_()) if note else ("is owned by" not in shown._repr_html_())


def test_an_empty_diff_is_rendered_as_such() -> None:
    same = diff({}, {})

    assert (bool(same), str(same)) == (False, "")
    assert same.table() == "ConfigMap shop/web: nothing differs"
    assert "Nothing differs." in same._repr_html_()


def test_a_change_is_rendered_as_one_line() -> None:
    assert str(change(MISSING, {"b": 1})) == '.data.a:  -> {"b": 1}'


def test_a_single_change_contains_no_control_characters() -> None:
    assert str(change("a\x9b31m", "\u202eb")) == '.data.a: "a\ufffd31m" -> "\ufffdb"'
