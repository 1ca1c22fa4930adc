"""``owners`` and ``fields_of``: the managers of each field, from ``managedFields``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dynkube import FieldPath, FieldSet, Manager, Unstructured, extract, fields_of, owners
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields import managed
from tests.fields.objects import deployment, entry, owned_image

IMAGE = '.spec.template.spec.containers[name="web"].image'
SHARED = deployment(
    entry("ops", {"f:spec": {"f:replicas": {}, "f:selector": {}}}),
    entry("ci", owned_image()),
    entry("autoscaler", {"f:spec": {"f:replicas": {}}}, "Update", subresource="scale", time="2024-01-03T00:00:00Z"),
    entry("ci", {"f:status": {"f:replicas": {}}}, "Update", subresource="status"),
)
OPS = Manager("ops", "Apply", "", "apps/v1", datetime(2024, 1, 2, 12, tzinfo=UTC))
SCALER = Manager("autoscaler", "Update", "scale", "apps/v1", datetime(2024, 1, 3, tzinfo=UTC))


def test_each_owned_field_has_its_managers() -> None:
    found = owners(Unstructured(SHARED))

    assert [str(path) for path in found] == [
        ".spec.replicas",
        ".spec.selector",
        '.spec.template.spec.containers[name="web"]',
        IMAGE,
        '.spec.template.spec.containers[name="web"].name',
        ".status.replicas",
    ]
    assert found[".spec.replicas"] == (OPS, SCALER)
    assert found[FieldPath.parse(".spec.selector")] == (OPS,)
    assert "spec.paused" not in found
    assert [str(manager) for manager in found.managers()] == [
        "ops (Apply)",
        "autoscaler (Update through scale)",
        "ci (Apply)",
        "ci (Update through status)",
    ]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".spec.replicas", ["ops", "autoscaler"]),
        (".spec.selector.matchLabels.app", ["ops"]),
        (IMAGE, ["ci"]),
        ('.spec.template.spec.containers[name="web"].args', []),
        (".spec.paused", []),
        (".spec", []),
        (".", []),
    ],
)
def test_values_within_an_atomic_field_belong_to_its_owner(path: str, names: list[str]) -> None:
    assert [manager.name for manager in owners(SHARED).at(path)] == names


def test_owners_can_be_restricted_to_a_path() -> None:
    found = owners(SHARED).within(".spec.template")

    assert len(found) == 3
    assert {manager.name for manager in found.managers()} == {"ci"}


def test_owners_print_as_a_table() -> None:
    found = owners(SHARED)

    lines = str(found).splitlines()
    assert lines[0].split() == ["FIELD", "MANAGER", "OPERATION", "SINCE"]
    assert lines[1].split() == [".spec.replicas", "ops", "Apply", "2024-01-02T12:00:00Z"]
    assert lines[2].split() == ["autoscaler", "Update", "scale", "2024-01-03T00:00:00Z"]
    assert repr(found).startswith("<Owners of 6 fields: ops (Apply), ")


def test_text_in_tables_is_escaped_for_terminals_and_html() -> None:
    found = owners(deployment(entry("<b>\x1b[2J", {"f:data": {"f:<i>&\n": {}}})))

    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "<i>" not in found._repr_html_()
    assert "\x1b" not in str(found)
    assert len(str(found).splitlines()) == 2


@pytest.mark.parametrize(
    ("chosen", "fields"),
    [
        ({}, [".status.replicas", ".spec.x"]),
        ({"operation": "Update"}, [".status.replicas"]),
        ({"operation": "Apply"}, [".spec.x"]),
        ({"subresource": ""}, [".spec.x"]),
        ({"subresource": "status"}, [".status.replicas"]),
        ({"subresource": "scale"}, []),
    ],
)
def test_fields_of_a_manager_can_be_selected_by_operation_and_subresource(chosen: Any, fields: list[str]) -> None:
    obj = deployment(
        entry("ci", {"f:spec": {"f:x": {}}}),
        entry("ci", {"f:status": {"f:replicas": {}}}, "Update", subresource="status"),
        entry("other", {"f:spec": {"f:y": {}}}),
    )

    assert fields_of(obj, "ci", **chosen) == FieldSet(fields)


def test_a_manager_without_entries_has_no_fields() -> None:
    assert not fields_of(SHARED, "unknown")


def test_a_manager_object_can_be_passed() -> None:
    for manager in owners(SHARED).managers():
        own = [path for path, found in owners(SHARED).items() if manager in found]
        assert fields_of(SHARED, manager) == FieldSet(own)


@pytest.mark.parametrize("read", [fields_of, extract])
@pytest.mark.parametrize("wrong", [3, None, ["ci"]])
def test_an_invalid_manager_is_rejected(read: Any, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"manager must be the name of a field manager, or a Manager .*, not "):
        read(SHARED, wrong)


def test_an_invalid_operation_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="invalid operation 'apply': pass 'Apply' or 'Update'"):
        fields_of(SHARED, "ci", operation="apply")  # type: ignore[arg-type]  # invalid on purpose


@pytest.mark.parametrize("read", [owners, lambda obj: fields_of(obj, "ci")])
@pytest.mark.parametrize(
    "metadata", [{"name": "web"}, {"name": "web", "managedFields": []}, {"managedFields": None}, None]
)
def test_the_error_for_an_object_without_managed_fields_has_the_fix(read: Any, metadata: Any) -> None:
    with pytest.raises(InvalidObject, match=r"has no metadata.managedFields.*get\(\).*transform=None"):
        read({"kind": "Deployment", "metadata": metadata})


def test_entries_survive_a_round_trip() -> None:
    entries = managed(SHARED)

    assert [each.to_json() for each in entries] == SHARED["metadata"]["managedFields"]
    assert managed({"metadata": {}}) == managed({}) == ()


def test_an_entry_without_time_and_fields_is_valid() -> None:
    given = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}

    (found,) = managed({"metadata": {"managedFields": [given]}})

    assert found.manager == Manager("m", "Update", "", "v1", None)
    assert found.to_json() == {**given, "fieldsV1": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operation": "Patch"}, r"managedFields\[0\].operation is 'Patch', expected 'Apply' or 'Update'"),
        ({"fieldsType": "FieldsV2"}, r"managedFields\[0\].fieldsType is 'FieldsV2'; only FieldsV1"),
        ({"manager": 7}, r"managedFields\[0\].manager is 7 \(int\), not a string"),
        ({"time": "noon"}, r"managedFields\[0\].time is 'noon', which is not a timestamp"),
        ({"fieldsV1": {"x:a": {}}}, r"managedFields\[0\], of ci \(Apply\): FieldsV1 has the invalid key 'x:a'"),
        ({"fieldsV1": [1]}, r"managedFields\[0\], of ci \(Apply\): FieldsV1 has \[1\] at \."),
    ],
)
def test_the_error_for_an_invalid_entry_has_its_index(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        owners(deployment(entry("ci", owned_image()) | change))


@pytest.mark.parametrize("listed", [{"manager": "ci"}, [7]])
def test_managed_fields_that_are_not_a_list_of_entries_are_rejected(listed: Any) -> None:
    with pytest.raises(InvalidObject, match=r"metadata\.managedFields is|is 7 "):
        owners({"metadata": {"managedFields": listed}})


@pytest.mark.parametrize("read", [owners, lambda obj: fields_of(obj, "a"), lambda obj: extract(obj, "a")])
@pytest.mark.parametrize(("wrong", "called"), [(None, "None"), ("web", "a str"), ([{}], "a list"), (1, "an int")])
def test_values_that_are_not_objects_are_rejected(read: Any, wrong: Any, called: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected one object as read from the server, not {called}"):
        read(wrong)
