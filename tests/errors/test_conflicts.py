"""ApplyConflict, the error of server-side apply: its attributes, message, table and HTML."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dynkube.errors import UNREAD, APIError, ApplyConflict, FieldConflict, NotFound, Status, StatusCause

SINCE = datetime(2024, 5, 1, 10, tzinfo=UTC)


def conflict(*causes: tuple[str, str]) -> ApplyConflict:
    """Return the error for a response with these pairs of field and message."""
    found = tuple(StatusCause(field, "FieldManagerConflict", message) for field, message in causes)
    error = APIError.from_status(Status(code=409, reason="Conflict", message="Apply failed", causes=found))
    assert isinstance(error, ApplyConflict)
    return error


def complete_conflict(**fields: object) -> ApplyConflict:
    """Return an error with one conflict whose attributes all have values; ``fields`` replaces some of them."""
    values = {"path": ".data.a", "manager": "kubectl", "time": SINCE, "ours": "1", "live": "2", **fields}
    each = FieldConflict(**values)  # type: ignore[arg-type]  # the types of fields are not checked
    return ApplyConflict(Status(code=409, reason="Conflict"), request="PATCH /x", conflicts=[each])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('conflict with "me"', ("me", "Apply", "", "", None)),
        ('conflict with "me" using apps/v1', ("me", "Update", "", "apps/v1", None)),
        ('conflict with "me" with subresource "status"', ("me", "Apply", "status", "", None)),
        ('conflict with "me" with subresource "scale" using v1', ("me", "Update", "scale", "v1", None)),
        ('conflict with "me" using v1 at 2024-05-01T10:00:00Z', ("me", "Update", "", "v1", SINCE)),
        ('conflict with "me" using v1 at 2024-05-01T12:00:00+02:00', ("me", "Update", "", "v1", SINCE)),
        ('conflict with "me" using v1 at noon', ("me", "Update", "", "v1", None)),
        (r'conflict with "a \"b\" \\ \u00e9\x41\n" using v1', ('a "b" \\ éA\n', "Update", "", "v1", None)),
        ('conflict with "say using v1" using v2', ("say using v1", "Update", "", "v2", None)),
        ("conflict with nobody", ("conflict with nobody", "", "", "", None)),
    ],
)
def test_the_owner_of_a_field_is_parsed_from_the_cause(message: str, expected: tuple[object, ...]) -> None:
    (found,) = conflict((".spec.replicas", message)).conflicts

    assert found.path == ".spec.replicas"
    assert (found.manager, found.operation, found.subresource, found.api_version, found.time) == expected
    assert (found.ours, found.live) == (UNREAD, UNREAD)


def test_causes_of_other_types_stay_in_causes_and_are_not_in_conflicts() -> None:
    causes = (
        StatusCause("spec", "FieldValueInvalid", "no"),
        StatusCause(".a", "FieldManagerConflict", 'conflict with "x"'),
    )
    error = APIError.from_status(Status(code=409, reason="Conflict", causes=causes))

    assert isinstance(error, ApplyConflict)
    assert [each.path for each in error.conflicts] == [".a"]
    assert len(error.causes) == 2


def test_the_message_is_one_line_with_both_values_and_the_owner() -> None:
    assert str(complete_conflict()) == (
        '409 Conflict: Apply failed with 1 conflict: .data.a: yours "1", live "2", '
        'owned by "kubectl" (Update since 2024-05-01T10:00:00Z) [PATCH /x]'
    )


def test_the_message_names_only_the_first_of_many_conflicts() -> None:
    error = conflict(*((f".data.k{number}", 'conflict with "x"') for number in range(500)))

    assert str(error).startswith('409 Conflict: Apply failed with 500 conflicts: .data.k0: owned by "x" (Apply); ')
    assert str(error).endswith("; and 490 more")
    assert len(error.table().splitlines()) > 500


def test_the_table_shows_each_field_and_how_to_resolve_the_conflict() -> None:
    head, row, _, *ways = complete_conflict(subresource="status").table().splitlines()

    assert head.split() == ["FIELD", "YOURS", "LIVE", "MANAGER", "OPERATION", "SINCE"]
    assert row.split() == [".data.a", '"1"', '"2"', "kubectl", "Update", "status", "2024-05-01T10:00:00Z"]
    assert "force=['.data.a', ...]" in "\n".join(ways)
    assert len(ways) == 4


def test_values_that_were_not_read_are_question_marks_in_the_table() -> None:
    _, row, *_ = conflict((".data.a", 'conflict with "x"')).table().splitlines()

    assert row.split() == [".data.a", "?", "?", "x", "Apply"]


def test_control_characters_and_markup_are_escaped() -> None:
    error = complete_conflict(manager="\x1b[31m<b>evil</b>", live="\x1b]0;<script>", path='.data["<i>\x07"]')

    shown = f"{error}\n{error.table()}"
    page = error._repr_html_()

    assert not {"\x1b", "\x07"} & {*shown, *page}
    assert "&lt;b&gt;evil" in page
    assert not any(markup in page for markup in ("<b>", "<i>", "<script>"))


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_copying_and_pickling_keep_conflicts_and_notes(again: Callable[[ApplyConflict], ApplyConflict]) -> None:
    error = complete_conflict(live={"a": [1]}, ours=UNREAD)
    error.add_note("while applying web.yaml")

    other = again(error)

    assert type(other) is ApplyConflict
    assert (str(other), other.conflicts, other.request) == (str(error), error.conflicts, error.request)
    assert other.conflicts[0].ours is UNREAD
    assert other.__notes__ == error.__notes__


def test_copying_keeps_the_class_of_other_errors() -> None:
    error = APIError.from_status(Status(code=404, reason="NotFound", message="no"), request="GET /x")

    assert (type(copy.copy(error)), str(copy.copy(error))) == (NotFound, str(error))


def test_the_message_shortens_long_values() -> None:
    error = complete_conflict(live="x" * 5000)

    assert len(str(error)) < 300
    assert error.conflicts[0].live == "x" * 5000


def test_conflicts_with_unhashable_values_are_hashable() -> None:
    one, other = (FieldConflict(path=".spec.selector", manager="a", ours={"a": [1]}, live=None) for _ in range(2))

    assert {one, other} == {one}
    assert one != FieldConflict(path=".spec.selector", manager="a", ours={"a": [2]}, live=None)
