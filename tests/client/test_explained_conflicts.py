"""The fields of a conflict, from its response and both objects, even if the response is inexact or an object old."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import FieldPath, Unstructured
from dynkube.errors import UNREAD, ApplyConflict, Status, StatusCause
from dynkube.fields import Values
from dynkube.fields._conflicts import explained
from dynkube.fields._printed_paths import meant

FIELDS = {
    "f:metadata": {"f:labels": {"f:a.b/c": {}}},
    "f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:args": {}, "f:image": {}, "f:tty": {}}}},
}
ENTRY = {
    "manager": "first",
    "operation": "Apply",
    "apiVersion": "v1",
    "time": "2024-05-01T10:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": FIELDS,
}
WEB = '.spec.containers[name="web"]'


def pod(label: str = "x", entries: Any = (ENTRY,), **container: Any) -> Unstructured:
    metadata: dict[str, Any] = {"name": "a", "labels": {"a.b/c": label}}
    if entries:
        metadata["managedFields"] = list(entries)
    spec = {"containers": [{"name": "web", "image": "web:1", "args": ["a"], "tty": True, **container}]}
    return Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def conflict(*fields: str, message: str = 'conflict with "first"') -> ApplyConflict:
    causes = tuple(StatusCause(field, "FieldManagerConflict", message) for field in fields)
    return ApplyConflict(Status(code=409, reason="Conflict", causes=causes))


def values_of(error: ApplyConflict) -> list[tuple[str, object, object]]:
    return [(each.path, each.ours, each.live) for each in error.conflicts]


@pytest.mark.parametrize(
    ("fields", "container", "expected"),
    [
        ((f"{WEB}.image",), {"image": "web:2"}, [(f"{WEB}.image", "web:2", "web:1")]),
        (  # v1.20 repeats the last path for all fields of an item
            (f"{WEB}.image", f"{WEB}.image"),
            {"image": "web:2", "args": ["b"]},
            [(f"{WEB}.args", ["b"], ["a"]), (f"{WEB}.image", "web:2", "web:1")],
        ),
        (  # or names another field of the item
            (f"{WEB}.resources",),
            {"args": ["b"]},
            [(f"{WEB}.args", ["b"], ["a"])],
        ),
        ((".spec.unheard",), {}, [(".spec.unheard", UNREAD, UNREAD)]),  # no better path is known
        ((".spec[",), {}, [('[".spec["]', UNREAD, UNREAD)]),
    ],
)
def test_the_fields_are_those_that_differ(fields: tuple[str, ...], container: Any, expected: list[Any]) -> None:
    error = explained(conflict(*fields), pod(entries=(), **container), pod())

    assert values_of(error) == expected
    assert error.status.causes == conflict(*fields).causes


def test_a_name_with_dots_is_the_owned_one() -> None:
    error = explained(conflict(".metadata.labels.a.b/c"), pod("y", entries=()), pod("x"))

    assert values_of(error) == [('.metadata.labels["a.b/c"]', "y", "x")]


@pytest.mark.parametrize("entries", [(), ({**ENTRY, "fieldsType": "FieldsV2"},), ({**ENTRY, "manager": "other"},)])
def test_without_a_readable_entry_of_the_manager_both_values_are_shown(entries: Any) -> None:
    live = pod(entries=entries)

    (found,) = explained(conflict(f"{WEB}.image"), pod(image="web:2"), live).conflicts

    assert (found.path, found.ours, found.live, found.time) == (f"{WEB}.image", "web:2", "web:1", None)


def test_without_the_live_object_our_value_is_shown() -> None:
    error = explained(conflict(f"{WEB}.image"), pod(image="web:2"), None)

    assert values_of(error) == [(f"{WEB}.image", "web:2", UNREAD)]


def test_of_several_entries_of_a_manager_the_matching_one_is_used() -> None:
    status: dict[str, Any] = {"f:status": {"f:phase": {}}}
    entries = [
        {**ENTRY, "operation": "Update", "subresource": "status", "fieldsV1": status},
        {**ENTRY, "operation": "Update", "apiVersion": "v2"},
        {**ENTRY, "operation": "Update", "time": "2025-01-01T00:00:00Z"},
        ENTRY,
    ]
    response = conflict(f"{WEB}.image", message='conflict with "first" using v1')

    (found,) = explained(response, pod(image="web:2"), pod(entries=entries)).conflicts

    assert (found.operation, found.subresource, found.api_version) == ("Update", "", "v1")
    assert found.time is not None
    assert found.time.year == 2025


APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".data.password", "***"),
        (".data", "***"),
        (".stringData.x", "***"),
        (".metadata.annotations", {APPLIED: "***"}),
        (f'.metadata.annotations["{APPLIED}"]', "***"),
    ],
)
@pytest.mark.parametrize("at", ["", ".spec.template", '.spec.list[name="a"]'])
def test_values_of_a_secret_are_hidden(path: str, shown: object, at: str) -> None:
    annotations = {APPLIED: "hunter2"}
    data = {"password": "hunter2"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "name": "a",
        "metadata": {"name": "a", "annotations": annotations},
        "data": data,
        "stringData": {"x": "hunter2"},
    }
    around = {"kind": "Thing", "apiVersion": "v1", "metadata": {}, "spec": {"template": secret, "list": [secret]}}
    obj = Unstructured(around if at else secret)

    error = explained(conflict(f"{at}{path}"), obj, obj)

    assert values_of(error) == [(f"{at}{path}", shown, shown)]


@pytest.mark.parametrize("entries", [(), None], ids=["no managedFields", "not readable"])
def test_names_with_dots_are_found_in_the_objects_without_managed_fields(entries: Any) -> None:
    ours, live = pod("y", entries=()), None if entries is None else pod("x", entries=entries)

    error = explained(conflict(".metadata.labels.a.b/c", f"{WEB}.image", ".metadata.labels.gone.x"), ours, live)

    assert values_of(error) == [
        ('.metadata.labels["a.b/c"]', "y", UNREAD if live is None else "x"),
        (f"{WEB}.image", "web:1", UNREAD if live is None else "web:1"),
        (".metadata.labels.gone.x", UNREAD, UNREAD),
    ]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".data.tls.crt", [".data", "tls.crt"]),
        (".data.tls.crt.old", [".data", "tls.crt.old"]),
        (".data.tls", [".data", "tls"]),
        (".data.tls.nothing", [".data", "tls", "nothing"]),
        ("[", ["["]),
    ],
)
def test_the_longest_existing_name_is_meant(text: str, steps: list[str]) -> None:
    data = {"data": {"tls": "a", "tls.crt": {"x": 1}, "tls.crt.old": "c"}}
    expected = FieldPath()
    for step in steps:
        expected /= step.removeprefix(".")

    assert meant(text, None, Values(data)) == expected


def test_an_empty_field_name_is_used_only_if_the_path_has_it() -> None:
    data = {"": {"a": 1}, "b": 2}

    assert meant(".a", Values(data)) == FieldPath() / "a"
    assert meant("..a", Values(data)) == FieldPath() / "" / "a"
