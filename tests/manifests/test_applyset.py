"""The formats of ApplySets (KEP-3659): ids, labels, annotations and parents."""

from __future__ import annotations

import pytest

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.manifests import ApplySet
from dynkube.manifests._applyset import GroupKind, Parent, Scope, check_member, labelled
from dynkube.meta import GVK, Unstructured
from tests.manifests.kit import config

SECRET = GVK("", "v1", "Secret")


def parent(**changes: object) -> Parent:
    given: dict[str, object] = {"gvk": SECRET, "namespace": "shop", "name": "all", "tooling": "dynkube/v1.2.3"}
    return Parent(**{**given, **changes})  # type: ignore[arg-type]  # names and types as above


# Written by kubectl 1.37.1 for parents of these names.
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "applyset-9k1_uDYlheoLJti-aO0qCUf3BS-hpz3asxEbEr-B5Rk-v1"),
        ({"gvk": GVK("", "v1", "ConfigMap")}, "applyset-RKGwuRU81CF79hGduxSXEgZfxv4-i-L-wlcbKDyiwaw-v1"),
    ],
)
def test_the_id_is_a_hash_of_the_parents_identity(changes: dict[str, object], expected: str) -> None:
    assert parent(**changes).id == expected


def test_the_parent_lists_kinds_and_namespaces_of_members_without_its_own() -> None:
    scope = Scope(
        frozenset({GroupKind("apps", "Deployment"), GroupKind("", "ConfigMap")}), frozenset({"shop", "b", "a"})
    )

    metadata = parent().manifest(scope)["metadata"]

    assert metadata["annotations"] == {
        "applyset.kubernetes.io/tooling": "dynkube/v1.2.3",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps",
        "applyset.kubernetes.io/additional-namespaces": "a,b",
    }
    assert metadata["labels"] == {"applyset.kubernetes.io/id": parent().id}
    assert (metadata["name"], metadata["namespace"]) == ("all", "shop")


def test_the_scope_of_a_parent_can_be_read_back() -> None:
    scope = Scope(frozenset({GroupKind("example.com", "Widget")}), frozenset({"shop", "b"}))

    assert parent().scope(parent().manifest(scope)) == (scope, frozenset())
    assert parent().scope(parent().manifest(Scope())) == (Scope(frozenset(), frozenset({"shop"})), frozenset())


def test_the_annotation_of_older_versions_of_kubectl_can_be_read() -> None:
    old = Unstructured(
        {
            "metadata": {
                "annotations": {"applyset.kubernetes.io/contains-group-resources": "configmaps,deployments.apps"}
            }
        }
    )

    assert parent().scope(old)[1] == {"configmaps", "deployments.apps"}


def changed(field: str, key: str, value: str | None) -> Unstructured:
    body = parent().manifest(Scope()).to_dict()
    if value is None:
        del body["metadata"][field][key]
    else:
        body["metadata"][field][key] = value
    return Unstructured(body)


@pytest.mark.parametrize(
    ("field", "key", "value", "message"),
    [
        ("annotations", "tooling", None, "exists and is not an ApplySet"),
        ("annotations", "tooling", "helm/v3", "is managed by 'helm/v3', not by 'dynkube'"),
        ("annotations", "tooling", "a/b/v1", "is managed by 'a/b/v1'"),
        ("labels", "id", None, "has applyset.kubernetes.io/id=None"),
        ("labels", "id", "applyset-other-v1", "it was copied from another object"),
    ],
)
def test_a_parent_of_another_tool_or_set_is_rejected(field: str, key: str, value: str | None, message: str) -> None:
    live = changed(field, f"applyset.kubernetes.io/{key}", value)

    with pytest.raises(InvalidObject, match=message):
        parent().check(live)


def test_another_version_of_the_same_tool_is_accepted() -> None:
    parent(tooling="dynkube/v2").check(parent().manifest(Scope()))


def test_a_parent_without_the_kinds_of_members_is_rejected() -> None:
    with pytest.raises(InvalidObject, match=r"has no annotation .*/contains-group-kinds"):
        parent().scope(changed("annotations", "applyset.kubernetes.io/contains-group-kinds", None))


def test_members_are_labelled_and_keep_their_labels() -> None:
    obj = Unstructured({**config("a"), "metadata": {"name": "a", "labels": {"app": "web"}}})

    assert labelled(obj, "set-id").labels == {"app": "web", "applyset.kubernetes.io/part-of": "set-id"}
    assert labelled(labelled(obj, "set-id"), "set-id").labels == labelled(obj, "set-id").labels


def test_an_object_of_another_set_is_rejected_in_the_source_and_on_the_server() -> None:
    other = labelled(Unstructured(config("a")), "other")

    with pytest.raises(InvalidObject, match="'other', of another ApplySet"):
        labelled(other, "mine")
    with pytest.raises(InvalidObject, match="belongs to another ApplySet"):
        check_member(other, "mine")


@pytest.mark.parametrize(
    ("text", "resource", "name"),
    [
        ("shop", "secrets", "shop"),
        ("configmaps/shop", "configmaps", "shop"),
        ("sets.example.com/x", "sets.example.com", "x"),
    ],
)
def test_names_of_sets_have_the_form_of_kubectl(text: str, resource: str, name: str) -> None:
    assert ApplySet.parse(text) == ApplySet(name, resource)


@pytest.mark.parametrize("text", ["", "/", "configmaps/", "/shop"])
def test_a_set_without_a_name_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="ApplySet"):
        ApplySet.parse(text)


@pytest.mark.parametrize("tooling", ["kubectl", "kubectl/", "/v1"])
def test_tooling_without_a_version_is_rejected(tooling: str) -> None:
    with pytest.raises(InvalidInput, match="is not NAME/VERSION"):
        ApplySet("shop", tooling=tooling)
