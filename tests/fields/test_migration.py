"""Conversion of ``managedFields`` from client-side to server-side apply."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._handover import migrated
from tests.fields.objects import deployment, entry

CSA = "kubectl-client-side-apply"
ANNOTATION: dict[str, Any] = {
    "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}
}
EARLY, LATE = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"


def spec(*names: str) -> dict[str, Any]:
    return {"f:spec": {f"f:{name}": {} for name in names}}


def test_the_client_side_entry_becomes_the_apply_entry_if_there_is_none() -> None:
    obj = deployment(entry("hand", spec("x"), "Update"), entry(CSA, ANNOTATION | spec("a"), "Update", time=LATE))

    assert migrated(obj, "kubectl") == [
        entry("hand", spec("x"), "Update"),
        entry("kubectl", ANNOTATION | spec("a"), time=LATE),
    ]


def test_client_side_fields_are_added_to_an_existing_apply_entry() -> None:
    obj = deployment(entry("kubectl", spec("b"), time=LATE), entry(CSA, ANNOTATION | spec("a"), "Update", time=EARLY))

    assert migrated(obj, "kubectl") == [entry("kubectl", ANNOTATION | spec("a", "b"), time=LATE)]


def test_only_client_side_entries_of_the_newest_version_are_converted() -> None:
    obj = deployment(
        entry(CSA, spec("old"), "Update", api_version="apps/v1beta1", time=EARLY),
        entry(CSA, ANNOTATION | spec("a"), "Update", time=LATE),
    )

    assert migrated(obj, "kubectl") == [entry("kubectl", ANNOTATION | spec("a"), time=LATE)]


def test_fields_of_another_version_than_the_apply_entry_are_dropped() -> None:
    obj = deployment(entry("kubectl", spec("b")), entry(CSA, ANNOTATION, "Update", api_version="apps/v1beta1"))

    assert migrated(obj, "kubectl") == [entry("kubectl", spec("b"))]


def test_all_managers_that_wrote_the_annotation_are_converted() -> None:
    obj = deployment(
        entry("kubectl", ANNOTATION | spec("a"), "Update"),
        entry(CSA, ANNOTATION | spec("b"), "Update"),
        entry("hand", spec("c"), "Update"),
    )

    assert migrated(obj, "me") == [entry("me", ANNOTATION | spec("a", "b")), entry("hand", spec("c"), "Update")]


@pytest.mark.parametrize("names", ["hand", ["hand"], ["unknown", "hand", "hand"]])
def test_the_managers_to_convert_may_be_named(names: Any) -> None:
    obj = deployment(entry(CSA, ANNOTATION, "Update"), entry("hand", spec("c"), "Update"))

    assert migrated(obj, "me", names) == [entry(CSA, ANNOTATION, "Update"), entry("me", spec("c"))]


def test_subresources_are_converted_separately() -> None:
    status = entry("hand", {"f:status": {"f:x": {}}}, "Update", subresource="status")
    obj = deployment(entry("hand", spec("a"), "Update"), status)

    assert migrated(obj, "me", "hand") == [entry("me", spec("a")), status]
    assert migrated(obj, "me", "hand", subresource="status") == [
        entry("hand", spec("a"), "Update"),
        {**status, "manager": "me", "operation": "Apply"},
    ]


@pytest.mark.parametrize(
    "entries",
    [
        [entry("kubectl", ANNOTATION | spec("a"))],
        [entry("hand", spec("a"), "Update")],
    ],
)
def test_without_client_side_entries_nothing_changes(entries: list[dict[str, Any]]) -> None:
    assert migrated(deployment(*entries), "kubectl") == entries


def test_conversion_is_idempotent() -> None:
    once = migrated(deployment(entry(CSA, ANNOTATION | spec("a"), "Update")), "kubectl")

    assert migrated(deployment(*once), "kubectl") == once


def test_an_object_without_managed_fields_is_rejected() -> None:
    with pytest.raises(InvalidObject, match="has no metadata"):
        migrated(deployment(), "kubectl")


@pytest.mark.parametrize("client_side", [5, [5], [], "", [""], [None]])
def test_invalid_manager_names_are_rejected(client_side: Any) -> None:
    obj = deployment(entry(CSA, ANNOTATION | spec("a"), "Update"))

    with pytest.raises(InvalidInput, match="client_side must be one or more manager names, or None"):
        migrated(obj, "me", client_side)
