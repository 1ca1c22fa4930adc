"""``extract``: the partial object that a manager applied, from the whole one and its ``managedFields``."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Unstructured, extract
from dynkube.errors import InvalidInput, InvalidObject
from tests.fields.objects import IDENTITY, deployment, entry


def extracted(spec: Any, mine: dict[str, Any], *others: dict[str, Any]) -> Any:
    """Return the part of ``spec`` that ``me`` owns; others own the other fields."""
    entries = [entry(f"other{number}", {"f:spec": fields}, "Update") for number, fields in enumerate(others)]
    obj = deployment(entry("me", {"f:spec": mine}), *entries) | {"spec": spec}
    found = extract(Unstructured(obj), "me").to_dict()
    return found.get("spec")


def test_only_the_fields_of_the_manager_are_extracted() -> None:
    obj = deployment(entry("me", {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}}))
    obj["metadata"] |= {"uid": "u", "resourceVersion": "7", "labels": {"a": "1", "b": "2"}}
    obj |= {"spec": {"replicas": 3, "paused": True}, "status": {"replicas": 3}}

    metadata = IDENTITY["metadata"] | {"labels": {"a": "1"}}
    assert extract(obj, "me") == IDENTITY | {"metadata": metadata, "spec": {"replicas": 3}}


KEY = 'k:{"name":"%s"}'
WEB, SIDE = KEY % "web", KEY % "side"


@pytest.mark.parametrize(
    ("spec", "mine", "found"),
    [
        ({"a": {"b": 1, "c": 2}, "d": None}, {"f:a": {"f:b": {}}, "f:d": {}}, {"a": {"b": 1}, "d": None}),
        ({"a": {"b": 1}}, {"f:a": {".": {}, "f:b": {}}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"f:a": {}}, {"a": {"b": 1}}),
        ({"a": [{"b": 1}]}, {"f:a": {}}, {"a": [{"b": 1}]}),
        ({"a": {}, "b": []}, {"f:a": {}, "f:b": {}}, {"a": {}, "b": []}),
        ({"a": ["x", "y", "z"]}, {"f:a": {'v:"z"': {}, 'v:"x"': {}}}, {"a": ["x", "z"]}),
        ({"a": [1, True, 2.5]}, {"f:a": {"v:true": {}, "v:2.5": {}}}, {"a": [True, 2.5]}),
        ({"a": ["x", "y"]}, {"f:a": {"i:1": {}, "i:9": {}}}, {"a": ["y"]}),
        ({"a": {"b": 1}}, {"f:a": {".": {}, "f:gone": {}}}, {"a": {}}),
        ({"a": {"b": 1}}, {"f:a": {"f:gone": {}}, "f:b": {}}, None),
        ({"a": "text"}, {"f:a": {"f:b": {}}}, None),
        ({"a": "text"}, {"f:a": {".": {}, "f:b": {}}}, {"a": "text"}),
    ],
)
def test_owned_fields_and_items_are_extracted(spec: Any, mine: dict[str, Any], found: Any) -> None:
    assert extracted(spec, mine) == found


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({".": {}, "f:name": {}, "f:image": {}}, {"name": "web", "image": "web:1"}),
        ({".": {}, "f:name": {}}, {"name": "web"}),
        ({"f:image": {}}, {"name": "web", "image": "web:1"}),
        ({}, {"name": "web"}),
    ],
)
def test_a_partly_owned_item_has_its_key(item: dict[str, Any], found: Any) -> None:
    spec = {"list": [{"name": "side", "image": "side:1"}, {"name": "web", "image": "web:1", "args": []}]}

    mine: dict[str, Any] = {"f:list": {WEB: item}}
    others: dict[str, Any] = {"f:list": {WEB: {".": {}, "f:name": {}, "f:image": {}, "f:args": {}}}}

    assert extracted(spec, mine, others) == {"list": [found]}


def test_items_stay_in_the_order_of_the_list() -> None:
    items = [{"name": name} for name in ("c", "a", "b")]
    mine: dict[str, Any] = {"f:list": {KEY % name: {".": {}, "f:name": {}} for name in "abc"}}

    assert extracted({"list": items}, mine) == {"list": items}


PORT = 'k:{"containerPort":%d,"protocol":"%s"}'


def test_an_omitted_key_with_a_default_is_omitted_again() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    given: dict[str, Any] = {".": {}, "f:containerPort": {}}
    mine = {"f:ports": {PORT % (53, "TCP"): given, PORT % (53, "UDP"): {**given, "f:protocol": {}}}}

    assert extracted({"ports": ports}, mine) == {"ports": [{"containerPort": 53}, ports[1]]}


def test_a_partly_owned_item_has_all_its_keys() -> None:
    ports = [{"containerPort": 53, "protocol": "UDP", "name": "dns"}]

    mine: dict[str, Any] = {"f:ports": {PORT % (53, "UDP"): {"f:name": {}, "f:protocol": {}}}}

    assert extracted({"ports": ports}, mine) == {"ports": ports}


def test_an_item_without_a_key_is_not_mistaken_for_one_with_it() -> None:
    items = [{"name": "a", "zone": "x"}, {"name": "a"}]
    theirs: dict[str, Any] = {"f:list": {'k:{"name":"a","zone":"x"}': {".": {}, "f:name": {}, "f:zone": {}}}}

    assert extracted({"list": items}, {"f:list": {KEY % "a": {".": {}, "f:name": {}}}}, theirs) == {"list": items[1:]}


@pytest.mark.parametrize(
    ("spec", "mine", "theirs", "found"),
    [
        ({"a": {"b": 1}}, {"f:a": {}}, {"f:a": {"f:b": {}}}, {"a": {}}),
        ({"a": ["x"]}, {"f:a": {}}, {"f:a": {'v:"x"': {}}}, {"a": []}),
        (
            {"list": [{"name": "web", "at": {"x": 1}}, {"name": "side", "at": {"x": 2}}]},
            {"f:list": {WEB: {".": {}, "f:name": {}, "f:at": {}}}},
            {"f:list": {SIDE: {"f:at": {"f:x": {}}}}},
            {"list": [{"name": "web", "at": {}}]},
        ),
    ],
)
def test_an_owned_container_with_fields_of_others_is_extracted_empty(
    spec: Any, mine: Any, theirs: Any, found: Any
) -> None:
    assert extracted(spec, mine, theirs) == found


def test_entries_of_other_versions_are_ignored() -> None:
    old = entry("old", {"f:spec": {"f:a": {"f:b": {}}}}, "Update", api_version="apps/v1beta1")

    assert extract(deployment(entry("me", {"f:spec": {"f:a": {}}}), old, a={"b": 1}), "me")["spec"] == {"a": {"b": 1}}


def test_only_applied_fields_of_one_subresource_are_extracted() -> None:
    obj = deployment(
        entry("me", {"f:spec": {"f:a": {}}}),
        entry("me", {"f:spec": {"f:b": {}}}, "Update"),
        entry("me", {"f:spec": {"f:c": {}}}, subresource="scale"),
        a=1,
        b=2,
        c=3,
    )

    assert extract(obj, "me")["spec"] == {"a": 1}
    assert extract(obj, "me", subresource="scale")["spec"] == {"c": 3}


def test_the_error_for_a_manager_without_an_apply_lists_the_managers() -> None:
    obj = deployment(entry("ci", {"f:spec": {"f:a": {}}}), entry("ops", {"f:spec": {"f:b": {}}}, "Update"), a=1)

    with pytest.raises(
        InvalidInput, match=r"manager 'cd' has not applied .* its managers are: ci \(Apply\), ops \(Update\)"
    ):
        extract(obj, "cd")
    with pytest.raises(InvalidInput, match=r"It wrote by Update: .* upgrade_managed_fields\(\)"):
        extract(obj, "ops")
    with pytest.raises(InvalidInput, match=r"has not applied .* through status"):
        extract(obj, "ci", subresource="status")
    assert extract(obj, "cd", missing_ok=True) == IDENTITY


def test_fields_of_another_version_are_an_error() -> None:
    obj = deployment(entry("me", {"f:spec": {"f:a": {}}}, api_version="apps/v1beta1"))

    with pytest.raises(InvalidInput, match="'me' applied Deployment 'web' as apps/v1beta1, but it was read as apps/v1"):
        extract(obj, "me")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apiVersion": None}, "Deployment 'web' has no apiVersion"),
        ({"kind": ""}, "the object 'web' has no kind"),
        ({"metadata": {"managedFields": [entry("me", {})]}}, "the object has no metadata.name"),
        ({"metadata": {"name": "web"}}, "Deployment 'web' has no metadata.managedFields"),
    ],
)
def test_objects_that_cannot_be_applied_are_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        extract(deployment(entry("me", {})) | change, "me")


def test_too_deeply_nested_fields_are_rejected() -> None:
    fields: dict[str, Any] = {}
    value: Any = 1
    for _ in range(3000):
        fields, value = {"f:a": fields}, {"a": value}

    with pytest.raises(InvalidObject, match="nested too deeply"):
        extract(deployment(entry("me", {"f:spec": fields})) | {"spec": value}, "me")
