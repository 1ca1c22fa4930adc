"""New ``managedFields`` after releasing fields, or transferring them to another manager."""

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
    """Return the object with these entries."""
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def fields_by_manager(entries: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the fields of each manager."""
    return {
        str(manager): list(
            map(
                str,
                fields_of(having(entries), manager.name, operation=manager.operation, subresource=manager.subresource),
            )
        )
        for manager in owners(having(entries)).managers()
    }


def test_released_fields_are_no_longer_owned_and_other_entries_are_unchanged() -> None:
    entries = released(Unstructured(SHARED), [".spec.replicas", "metadata.labels"], "ops")

    assert entries[1:] == SHARED["metadata"]["managedFields"][1:]
    assert entries[0] == entry("ops", {"f:spec": {"f:selector": {}}})


def test_an_owned_container_is_released_with_its_last_field() -> None:
    entries = released(SHARED, ".metadata.labels.a", "ops")

    assert fields_by_manager(entries)["ops (Apply)"] == [".spec.replicas", ".spec.selector"]


def test_the_entry_of_a_manager_without_fields_is_removed() -> None:
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
def test_by_default_fields_of_all_operations_and_subresources_are_released(chosen: Any, left: Any) -> None:
    found = fields_by_manager(released(SHARED, ".spec.replicas", "hand", **chosen))

    assert {name: fields for name, fields in found.items() if name.startswith("hand")} == left


@given(field_sets.filter(bool), st.data())
def test_releasing_a_path_removes_only_fields_within_it_and_their_containers(
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


def test_transferred_fields_belong_to_the_apply_entry_of_the_new_manager() -> None:
    entries = transferred(SHARED, "ops", "ci", [".spec.replicas"])

    assert fields_by_manager(entries)["ops (Apply)"] == [".metadata.labels", ".metadata.labels.a", ".spec.selector"]
    assert fields_by_manager(entries)["ci (Apply)"] == [".spec.replicas", WEB, f"{WEB}.image", f"{WEB}.name"]
    assert [each["time"] for each in entries] == [each["time"] for each in SHARED["metadata"]["managedFields"]]


def test_a_new_manager_without_an_apply_gets_a_new_entry() -> None:
    entries = transferred(SHARED, "hand", "new", ".spec.paused")

    assert entries[0] == entry("new", {"f:spec": {"f:paused": {}}}, time=LATER)
    assert fields_by_manager(entries)["hand (Update)"] == [".spec.replicas"]


def test_all_fields_or_those_of_one_subresource_can_be_transferred() -> None:
    entries = transferred(SHARED, "hand", "ops")
    through = transferred(SHARED, "hand", "ops", subresource="scale")

    assert "hand (Update)" not in fields_by_manager(entries)
    assert ".spec.paused" in fields_by_manager(entries)["ops (Apply)"]
    assert fields_by_manager(entries)["hand (Update through scale)"] == [".spec.replicas"]
    assert fields_by_manager(through)["ops (Apply through scale)"] == [".spec.replicas"]
    assert "hand (Update)" in fields_by_manager(through)


def test_fields_of_updates_can_be_transferred_to_the_same_managers_apply() -> None:
    obj = deployment(entry("me", {"f:spec": {"f:a": {}}}), entry("me", {"f:spec": {"f:b": {}}}, "Update"))

    assert transferred(obj, "me", "me") == [entry("me", {"f:spec": {"f:a": {}, "f:b": {}}})]


@pytest.mark.parametrize(
    "hand_over",
    [lambda obj, paths: released(obj, paths, "ops"), lambda obj, paths: transferred(obj, "ops", "ci", paths)],
)
@pytest.mark.parametrize("paths", [5, 1.5, True])
def test_invalid_paths_are_rejected(hand_over: Any, paths: Any) -> None:
    with pytest.raises(InvalidInput, match=r"paths must be a path like '.spec.replicas' or several paths, not"):
        hand_over(SHARED, paths)


def test_an_invalid_operation_is_rejected() -> None:
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
def test_fields_that_cannot_be_released_or_transferred_are_errors(
    hand_over: Any, manager: str, path: Any, message: str
) -> None:
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
def test_an_invalid_subresource_is_rejected(hand_over: Any, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=f"invalid subresource {wrong!r}; expected for example 'status'"):
        hand_over(wrong)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"subresource": "status"}, "'hand' through status"),
        ({"operation": "Apply"}, "'hand' by Apply"),
        ({"operation": "Apply", "subresource": "scale"}, "'hand' by Apply through scale"),
    ],
)
def test_the_error_for_a_selection_without_fields_names_the_selection(chosen: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message} owns no fields of Deployment 'web'"):
        released(SHARED, ".spec.replicas", "hand", **chosen)


def test_fields_of_different_versions_are_not_mixed() -> None:
    obj = deployment(
        entry("one", {"f:spec": {"f:a": {}}}),
        entry("two", {"f:spec": {"f:b": {}}}, api_version="apps/v1beta1"),
    )

    with pytest.raises(InvalidInput, match=r"one \(Apply\) wrote Deployment 'web' as apps/v1, and two .* apps/v1beta1"):
        transferred(obj, "one", "two")


def test_an_object_without_managed_fields_is_rejected() -> None:
    with pytest.raises(InvalidObject, match="has no metadata"):
        released(deployment(), ".spec", "me")
