"""Names of definitions: who gets them, how a clash is told, and who has them when they are free again."""

from __future__ import annotations

from typing import Any

from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, conditions, definition


def _named(plural: str, kind: str, **names: Any) -> JSONObject:
    return definition(names={"plural": plural, "kind": kind, **names}) | {"metadata": {"name": f"{plural}.example.com"}}


def _messages(found: JSONObject) -> dict[str, str]:
    return {entry["type"]: entry["message"] for entry in found["status"]["conditions"]}


def test_every_clash_of_short_names_is_told_and_the_other_names_are_given(cluster: Cluster) -> None:
    cluster.create(CRDS, _named("foos", "Foo", shortNames=["f"]))

    cluster.create(CRDS, _named("bars", "Bar", shortNames=["f", "foos"], categories=["all"]))

    refused = cluster.get(CRDS, "bars.example.com")
    assert list(conditions(refused).items()) == [
        ("NamesAccepted", ("False", "ShortNamesConflict")),
        ("Established", ("False", "NotAccepted")),
    ]
    assert _messages(refused)["NamesAccepted"] == '["f" is already in use, "foos" is already in use]'
    accepted = {"plural": "bars", "singular": "bar", "kind": "Bar", "listKind": "BarList", "categories": ["all"]}
    assert refused["status"]["acceptedNames"] == accepted
    assert not cluster.serves("bars.v1.example.com")


def test_of_several_clashes_the_last_is_told(cluster: Cluster) -> None:
    cluster.create(CRDS, _named("foos", "Foo"))

    cluster.create(CRDS, _named("others", "Foo", listKind="FooList"))

    refused = cluster.get(CRDS, "others.example.com")
    assert conditions(refused)["NamesAccepted"] == ("False", "ListKindConflict")
    assert _messages(refused)["NamesAccepted"] == '"FooList" is already in use'
    assert refused["status"]["acceptedNames"] == {"plural": "others", "kind": ""}


def test_a_short_name_given_up_goes_to_who_waits_for_it(cluster: Cluster) -> None:
    cluster.create(CRDS, _named("foos", "Foo", shortNames=["f"]))
    cluster.create(CRDS, _named("bars", "Bar", shortNames=["f"]))

    cluster.patch(CRDS, "foos.example.com", {"spec": {"names": {"shortNames": None}}})

    assert conditions(cluster.get(CRDS, "bars.example.com"))["Established"] == ("True", "InitialNamesAccepted")
    assert cluster.kind("bars").short_names == ("f",)
    assert cluster.kind("foos").short_names == ()


def test_new_names_of_an_established_definition_are_served_unless_they_are_taken(cluster: Cluster) -> None:
    cluster.create(CRDS, _named("foos", "Foo", shortNames=["f"]))
    cluster.create(CRDS, _named("bars", "Bar", shortNames=["b"]))

    cluster.patch(CRDS, "bars.example.com", {"spec": {"names": {"shortNames": ["f"], "categories": ["all"]}}})

    edited = cluster.get(CRDS, "bars.example.com")
    assert conditions(edited) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert cluster.kind("bars").short_names == ("b",)
    assert cluster.kind("bars").categories == ("all",)


def test_what_the_server_writes_into_the_status_is_its_own() -> None:
    cluster = Cluster(managed_fields=True)

    cluster.create(CRDS, definition())

    managers = cluster.get(CRDS, "widgets.example.com")["metadata"]["managedFields"]
    assert ("kube-apiserver", "status") in {(entry["manager"], entry.get("subresource", "")) for entry in managers}


def test_a_definition_in_a_group_of_the_community_says_whether_it_is_approved(cluster: Cluster) -> None:
    body = definition(group="widgets.k8s.io")
    body["metadata"] = {
        "name": "widgets.widgets.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental"},
    }

    cluster.create(CRDS, body)
    url = "https://github.com/kubernetes/enhancements/pull/1"
    metadata = {"annotations": {"api-approved.kubernetes.io": url}}

    name, kind = "widgets.widgets.k8s.io", "KubernetesAPIApprovalPolicyConformant"
    assert conditions(cluster.get(CRDS, name))[kind] == ("False", "UnapprovedAnnotation")
    cluster.patch(CRDS, name, {"metadata": metadata})
    assert conditions(cluster.get(CRDS, name))[kind] == ("True", "ApprovedAnnotation")
    assert _messages(cluster.get(CRDS, name))[kind] == f"approved in {url}"


def test_a_definition_with_a_bad_certificate_is_established_when_it_is_mended(cluster: Cluster) -> None:
    client = {"url": "https://hook.example.com", "caBundle": "YWJj"}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    cluster.create(CRDS, definition(conversion={"strategy": "Webhook", "webhook": webhook}))
    assert conditions(cluster.get(CRDS, "widgets.example.com"))["Established"] == ("False", "InvalidCABundle")

    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}}
    cluster.patch(CRDS, "widgets.example.com", patch)

    assert conditions(cluster.get(CRDS, "widgets.example.com"))["Established"] == ("True", "InitialNamesAccepted")
