"""Validation of metadata: names, labels, annotations, finalizers and owner references."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config, service

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
LONG = "x" * 64


@pytest.mark.parametrize(
    ("metadata", "field", "message"),
    [
        ({"name": "No_Good"}, "metadata.name", "a lowercase RFC 1123 subdomain must consist of"),
        ({"name": "a" * 254}, "metadata.name", "must be no more than 253 characters"),
        ({"labels": {"-a": "b"}}, "metadata.labels", "name part must consist of"),
        ({"labels": {LONG: "b"}}, "metadata.labels", "name part must be no more than 63"),
        ({"labels": {"/a": "b"}}, "metadata.labels", "prefix part must be non-empty"),
        ({"labels": {"A.b/c": "d"}}, "metadata.labels", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ({"labels": {"a/b/c": "d"}}, "metadata.labels", "with an optional DNS subdomain prefix and '/'"),
        ({"labels": {"a": "b c"}}, "metadata.labels", "a valid label must be an empty string or consist of"),
        ({"labels": {"a": LONG}}, "metadata.labels", "must be no more than 63"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations", "name part must consist of"),
        ({"annotations": {"a": "x" * 300_000}}, "metadata.annotations", "Too long: "),
        ({"generation": -1}, "metadata.generation", "must be greater than or equal to 0"),
        ({"finalizers": ["plain"]}, "metadata.finalizers[0]", "neither a standard finalizer name nor"),
        ({"finalizers": ["a/b/c"]}, "metadata.finalizers", "with an optional DNS subdomain prefix and '/'"),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "metadata.finalizers",
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        ({"ownerReferences": [{**OWNER, "apiVersion": ""}]}, "metadata.ownerReferences.apiVersion", "version must not"),
        ({"ownerReferences": [{**OWNER, "uid": ""}]}, "metadata.ownerReferences.uid", "must not be empty"),
        ({"ownerReferences": [{**OWNER, "kind": "Event"}]}, "metadata.ownerReferences", "Kind=Event is disallowed"),
        (
            {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}]},
            "metadata.ownerReferences",
            'Only one reference can have Controller set to true. Found "true" in references for',
        ),
    ],
)
async def test_invalid_metadata_is_a_cause_with_its_field(
    cluster: Cluster, metadata: JSONObject, field: str, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("configmaps", config(**{"name": "a", **metadata}))

    (cause,) = caught.value.causes
    assert cause.field == field
    assert message in cause.message


async def test_all_errors_are_reported_together(cluster: Cluster) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("configmaps", config("A", labels={"-": "-"}, finalizers=["plain"]))

    fields = [cause.field for cause in caught.value.causes]
    assert fields == ["metadata.name", "metadata.labels", "metadata.labels", "metadata.finalizers[0]"]
    status = caught.value.status
    assert (status.code, status.kind, status.name, status.group) == (422, "ConfigMap", "A", "")


@pytest.mark.parametrize(
    ("resource", "name", "fine"),
    [
        ("configmaps", "a.b", True),
        ("configmaps", "1", True),
        ("services", "a.b", False),
        ("services", "a" * 64, False),
        ("roles", "system:any thing", True),
        ("roles", "a%b", False),
        ("serviceaccounts", "a.b", True),
        ("serviceaccounts", "A", False),
    ],
)
async def test_the_names_that_each_kind_allows(cluster: Cluster, resource: str, name: str, fine: bool) -> None:
    body = service(name) if resource == "services" else {"metadata": {"name": name}}

    response = await cluster.call("POST", cluster.path(resource), body=body)

    assert response.code == (201 if fine else 422), response.body


async def test_keys_of_annotations_can_have_capital_letters(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config(annotations={"Example.COM/key": "v"}))

    assert created["metadata"]["annotations"] == {"Example.COM/key": "v"}


async def test_finalizers_of_custom_resources_can_have_any_name(cluster: Cluster) -> None:
    await cluster.create_crd()
    body = cluster.widget(metadata={"name": "w", "finalizers": ["plain", "a.b/c"]})

    response = await cluster.call("POST", cluster.path("widgets"), body=body)

    assert response.body["metadata"]["finalizers"] == ["plain", "a.b/c"]
    warnings = ['metadata.finalizers: "plain": prefer a domain-qualified finalizer name']
    assert [text[: len(warnings[0])] for text in response.warnings] == (warnings if cluster.version >= (1, 30) else [])


@pytest.mark.parametrize("verb", ["create", "update", "patch"])
async def test_duplicate_owner_references_are_dropped_with_a_warning(cluster: Cluster, verb: str) -> None:
    body = config(ownerReferences=[OWNER, OWNER, {**OWNER, "name": "q"}])
    path = cluster.path("configmaps", "" if verb == "create" else "a")
    if verb != "create":
        await cluster.create("configmaps", config())

    how: dict[str, Any] = {"method": {"create": "POST", "update": "PUT", "patch": "PATCH"}[verb], "path": path}
    response = await cluster.call(**how, body=body, content_type=MERGE if verb == "patch" else "application/json")

    assert response.body["metadata"]["ownerReferences"] == [OWNER, {**OWNER, "name": "q"}]
    (warning,) = response.warnings
    when = " after mutating admission happens" if verb == "patch" else ""
    assert warning.startswith(f".metadata.ownerReferences contains duplicate entries{when}; API server dedups")
    assert "; duplicate UID(s) observed: u" in warning


async def test_an_update_validates_metadata_like_a_create(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(Invalid) as caught:
        await cluster.update("configmaps", config(labels={"a": "b c"}))

    assert {cause.field for cause in caught.value.causes} == {"metadata.labels"}
    assert caught.value.status.message.count("metadata.labels") == 1


@pytest.mark.parametrize("applied", [False, True])
async def test_kinds_without_generations_keep_the_one_of_their_creation(cluster: Cluster, applied: bool) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "generation": 7}}
    later = {**body, "metadata": {"name": "a", "generation": 8}, "data": {"k": "v"}}

    created = await (cluster.apply("configmaps", body, "m") if applied else cluster.create("configmaps", body))
    changed = await cluster.apply("configmaps", later, "m")

    assert [obj["metadata"]["generation"] for obj in (created, changed)] == [7, 7]
    assert "f:generation" not in str(changed["metadata"]["managedFields"])
