"""New ``managedFields`` from old ones: fields given up, and handed over to others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import FieldPath, FieldSet, Unstructured, extract, fields_of, owners
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._handover import migrated, released, transferred
from tests.fields.objects import deployment, entry, owned_image
from tests.fields.strategies import field_sets

WEB = '.spec.template.spec.containers[name="web"]'
LATER = "2024-01-03T12:00:00Z"
SHARED = deployment(
    entry("ops", {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:replicas": {}, "f:selector": {}}}),
    entry("ci", owned_image()),
    entry("hand", {"f:spec": {"f:replicas": {}, "f:paused": {}}}, "Update", time=LATER),
    entry("hand", {"f:spec": {"f:replicas": {}}}, "Update", subresource="scale"),
)


def having(entries: list[dict[str, Any]], obj: dict[str, Any] = SHARED) -> dict[str, Any]:
    """The object with these entries."""
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def told(entries: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What each manager owns."""
    return {
        str(manager): list(
            map(
                str,
                fields_of(having(entries), manager.name, operation=manager.operation, subresource=manager.subresource),
            )
        )
        for manager in owners(having(entries)).managers()
    }


def test_what_is_released_is_no_longer_owned_and_all_else_stays_as_it_was() -> None:
    entries = released(Unstructured(SHARED), [".spec.replicas", "metadata.labels"], "ops")

    assert entries[1:] == SHARED["metadata"]["managedFields"][1:]
    assert entries[0] == entry("ops", {"f:spec": {"f:selector": {}}})


def test_a_bare_object_goes_with_the_last_of_what_was_in_it() -> None:
    entries = released(SHARED, ".metadata.labels.a", "ops")

    assert told(entries)["ops (Apply)"] == [".spec.replicas", ".spec.selector"]


def test_who_has_released_everything_is_not_listed_any_more() -> None:
    entries = released(SHARED, FieldPath(), "hand")

    assert [each["manager"] for each in entries] == ["ops", "ci"]
    assert released(deployment(entry("ci", owned_image())), ".spec", "ci") == []


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({}, {"hand (Update)": [".spec.paused"]}),
        ({"operation": "Update"}, {"hand (Update)": [".spec.paused"]}),
        ({"subresource": "scale"}, {"hand (Update)": [".spec.paused", ".spec.replicas"]}),
        ({"subresource": ""}, {"hand (Update)": [".spec.paused"], "hand (Update through scale)": [".spec.replicas"]}),
    ],
)
def test_a_manager_releases_what_it_owns_by_every_kind_of_write_unless_told(chosen: Any, left: Any) -> None:
    found = told(released(SHARED, ".spec.replicas", "hand", **chosen))

    assert {name: fields for name, fields in found.items() if name.startswith("hand")} == left


@given(field_sets.filter(bool), st.data())
def test_nothing_is_left_of_what_is_released_and_nothing_else_goes_but_what_it_was_in(
    fields: FieldSet, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(list(fields)))
    obj = deployment(entry("me", fields.to_fields_v1()))

    try:
        entries = released(obj, path, "me")
    except InvalidInput:
        return  # the key of an item

    left = fields_of(having(entries), "me") if entries else FieldSet()
    assert not left.within(path)
    assert all(path.is_within(gone) for gone in fields.without(path) - left)


def test_what_is_transferred_belongs_to_what_the_other_has_applied() -> None:
    entries = transferred(SHARED, "ops", "ci", [".spec.replicas"])

    assert told(entries)["ops (Apply)"] == [".metadata.labels", ".metadata.labels.a", ".spec.selector"]
    assert told(entries)["ci (Apply)"] == [".spec.replicas", WEB, f"{WEB}.image", f"{WEB}.name"]
    assert [each["time"] for each in entries] == [each["time"] for each in SHARED["metadata"]["managedFields"]]


def test_who_has_applied_nothing_yet_gets_an_entry_of_its_own() -> None:
    entries = transferred(SHARED, "hand", "new", ".spec.paused")

    assert entries[0] == entry("new", {"f:spec": {"f:paused": {}}}, time=LATER)
    assert told(entries)["hand (Update)"] == [".spec.replicas"]


def test_all_that_a_manager_owns_can_be_transferred_and_through_one_subresource() -> None:
    entries = transferred(SHARED, "hand", "ops")
    through = transferred(SHARED, "hand", "ops", subresource="scale")

    assert "hand (Update)" not in told(entries)
    assert ".spec.paused" in told(entries)["ops (Apply)"]
    assert told(entries)["hand (Update through scale)"] == [".spec.replicas"]
    assert told(through)["ops (Apply through scale)"] == [".spec.replicas"]
    assert "hand (Update)" in told(through)


def test_what_a_manager_wrote_can_become_what_it_applied() -> None:
    obj = deployment(entry("me", {"f:spec": {"f:a": {}}}), entry("me", {"f:spec": {"f:b": {}}}, "Update"))

    assert transferred(obj, "me", "me") == [entry("me", {"f:spec": {"f:a": {}, "f:b": {}}})]


@pytest.mark.parametrize(
    "hand_over",
    [lambda obj, paths: released(obj, paths, "ops"), lambda obj, paths: transferred(obj, "ops", "ci", paths)],
)
@pytest.mark.parametrize("paths", [5, 1.5, True])
def test_what_is_no_paths_is_refused(hand_over: Any, paths: Any) -> None:
    with pytest.raises(InvalidInput, match=r"paths must be a path like '.spec.replicas' or several paths, not"):
        hand_over(SHARED, paths)


def test_an_operation_that_there_is_not_is_refused() -> None:
    wrong: Any = "apply"

    with pytest.raises(InvalidInput, match="invalid operation 'apply': pass 'Apply' or 'Update'"):
        released(SHARED, ".spec.replicas", "ops", operation=wrong)


@pytest.mark.parametrize("hand_over", [lambda obj, *given: released(obj, given[-1], given[0]), transferred])
@pytest.mark.parametrize(
    ("manager", "path", "message"),
    [
        (
            "ops",
            ".spec.paused",
            r"'ops' does not own .spec.paused of Deployment 'web'; its owners are: hand \(Update\)",
        ),
        ("ops", ".spec.strategy", "its owners are: none"),
        ("ops", ".spec.template", r"its owners are: ci \(Apply\)"),
        ("ops", ".spec.selector.matchLabels", "it owns .spec.selector as a whole; pass that path"),
        ("op", ".spec", r"'op' owns no fields .* its managers are: ops \(Apply\), hand \(Update\)"),
        (
            "ci",
            f"{WEB}.name",
            f"is a key of its list item and cannot be removed alone: pass {WEB.replace('[', '.')[:20]}",
        ),
        ("ci", ".spec[", "invalid path"),
        ("ci", [], "paths is empty"),
    ],
)
def test_what_cannot_be_given_is_refused(hand_over: Any, manager: str, path: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hand_over(SHARED, manager, "new", path)


@pytest.mark.parametrize("wrong", [3, "status/scale"])
@pytest.mark.parametrize(
    "hand_over",
    [
        lambda wrong: released(SHARED, ".spec.replicas", "ops", subresource=wrong),
        lambda wrong: transferred(SHARED, "ops", "new", subresource=wrong),
        lambda wrong: migrated(SHARED, "ops", subresource=wrong),
        lambda wrong: fields_of(SHARED, "ops", subresource=wrong),
        lambda wrong: extract(SHARED, "ops", subresource=wrong),
    ],
)
def test_an_invalid_subresource_is_refused(hand_over: Any, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=f"invalid subresource {wrong!r}; expected for example 'status'"):
        hand_over(wrong)


@pytest.mark.parametrize(
    ("chosen", "who"),
    [
        ({"subresource": "status"}, "'hand' through status"),
        ({"operation": "Apply"}, "'hand' by Apply"),
        ({"operation": "Apply", "subresource": "scale"}, "'hand' by Apply through scale"),
    ],
)
def test_of_what_was_chosen_it_is_said_that_nothing_is_owned(chosen: Any, who: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{who} owns no fields of Deployment 'web'"):
        released(SHARED, ".spec.replicas", "hand", **chosen)


def test_fields_of_different_versions_are_not_mixed() -> None:
    obj = deployment(
        entry("one", {"f:spec": {"f:a": {}}}),
        entry("two", {"f:spec": {"f:b": {}}}, api_version="apps/v1beta1"),
    )

    with pytest.raises(InvalidInput, match=r"one \(Apply\) wrote Deployment 'web' as apps/v1, and two .* apps/v1beta1"):
        transferred(obj, "one", "two")


def test_where_nobody_is_on_record_nothing_can_be_given() -> None:
    with pytest.raises(InvalidObject, match="has no metadata"):
        released(deployment(), ".spec", "me")
