"""Creating and changing CRDs: defaults, conditions, and the effect of changes on watches of their resources."""

from __future__ import annotations

import pytest

from dynkube.errors import Conflict, Invalid
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS, conditions, config, structural, version


async def test_a_watch_sees_that_a_crd_is_accepted_and_then_established(cluster: Cluster) -> None:
    async with cluster.watch(CRDS, fieldSelector=f"metadata.name=widgets.{cluster.group}") as events:
        created = await cluster.create(CRDS, cluster.crd())

        added, *changes = await events.take(3)
    assert created["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    assert created["spec"]["names"] == names
    assert added["object"] == created
    assert [list(conditions(change["object"]).items()) for change in changes] == [
        [("NamesAccepted", ("True", "NoConflicts")), ("Established", ("False", "Installing"))],
        [("NamesAccepted", ("True", "NoConflicts")), ("Established", ("True", "InitialNamesAccepted"))],
    ]
    assert changes[-1]["object"]["status"]["acceptedNames"] == names


async def test_a_crd_gets_defaults(cluster: Cluster) -> None:
    created = await cluster.create(CRDS, cluster.crd())

    assert created["spec"]["conversion"] == {"strategy": "None"}
    assert created["metadata"]["generation"] == 1
    assert "preserveUnknownFields" not in created["spec"]


async def test_an_update_changes_the_served_versions_and_ends_watches(cluster: Cluster) -> None:
    versions = [version("v1"), version("v2", storage=False)]
    await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.create("widgets.v2", cluster.widget(api_version="v2"))

    async with cluster.watch("widgets.v2") as ended, cluster.watch("configmaps") as other:
        versions[1] = version("v2", storage=False, served=False)
        await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": versions}})
        assert types_and_names(await ended.rest()) == [("ADDED", "w")]
        await cluster.create("configmaps", config())
        assert types_and_names(await other.until("a"))[-1] == ("ADDED", "a")

    await cluster.until_not_served("widgets.v2")
    await cluster.until_served("widgets")
    assert await cluster.names("widgets") == ["w"]


async def test_a_new_label_on_a_crd_ends_no_watches(cluster: Cluster) -> None:
    await cluster.create_crd()

    async with cluster.watch("widgets") as events:
        await cluster.patch(CRDS, f"widgets.{cluster.group}", {"metadata": {"labels": {"a": "b"}}})
        await cluster.create("widgets", cluster.widget())
        assert types_and_names(await events.take(1)) == [("ADDED", "w")]


async def test_a_new_schema_ends_watches_and_validates_later_requests(cluster: Cluster) -> None:
    await cluster.create_crd()

    async with cluster.watch("widgets") as events:
        schema = structural(size={"type": "integer", "maximum": 3})
        patch = {"spec": {"versions": [version(schema=schema)]}}
        await cluster.patch(CRDS, f"widgets.{cluster.group}", patch)
        assert await events.rest() == []

    with pytest.raises(Invalid, match=r"spec.size: Invalid value: 4: spec.size in body should be less than"):
        await cluster.create("widgets", cluster.widget(spec={"size": 4}))


async def test_only_changes_of_the_spec_increase_the_generation(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    name = defined["metadata"]["name"]

    labelled = await cluster.patch(CRDS, name, {"metadata": {"labels": {"a": "b"}}})
    edited = await cluster.patch(CRDS, name, {"spec": {"names": {"shortNames": ["wd"]}}})

    assert [body["metadata"]["generation"] for body in (defined, labelled, edited)] == [1, 1, 2]


async def test_an_update_with_an_old_resource_version_is_a_conflict(cluster: Cluster) -> None:
    created = await cluster.create(CRDS, cluster.crd())
    await cluster.patch(CRDS, created["metadata"]["name"], {"metadata": {"labels": {"a": "c"}}})

    with pytest.raises(Conflict):
        await cluster.update(CRDS, {**created, "metadata": {**created["metadata"], "labels": {"a": "b"}}})


async def test_a_crd_in_a_kubernetes_group_has_a_condition_about_its_approval(cluster: Cluster) -> None:
    kind, group = "KubernetesAPIApprovalPolicyConformant", f"{cluster.group.partition('.')[0]}.k8s.io"
    body = cluster.crd(group=group)
    note = {"annotations": {"api-approved.kubernetes.io": "unapproved, experimental"}}
    body["metadata"] = {"name": f"widgets.{group}", **note}

    created = await cluster.create(CRDS, body)
    rejected = await cluster.wait_for(CRDS, created, lambda found: kind in conditions(found))
    url = "https://github.com/kubernetes/enhancements/pull/1"
    note = {"annotations": {"api-approved.kubernetes.io": url}}
    await cluster.patch(CRDS, created["metadata"]["name"], {"metadata": note})

    assert conditions(rejected)[kind] == ("False", "UnapprovedAnnotation")
    approved = await cluster.wait_for(CRDS, rejected, lambda found: conditions(found)[kind][0] == "True")
    assert conditions(approved)[kind] == ("True", "ApprovedAnnotation")
    (message,) = [entry["message"] for entry in approved["status"]["conditions"] if entry["type"] == kind]
    assert message == f"approved in {url}"


async def test_a_crd_in_a_kubernetes_group_requires_an_approval(cluster: Cluster) -> None:
    body = cluster.crd(group="widgets.k8s.io")
    body["metadata"] = {"name": "widgets.widgets.k8s.io"}

    with pytest.raises(Invalid) as caught:
        await cluster.create(CRDS, body)

    (cause,) = caught.value.causes
    assert cause.field == "metadata.annotations[api-approved.kubernetes.io]"
    message = 'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/'
    assert (cause.message or "").startswith(f"Required value: {message}")


async def test_the_server_owns_the_status_that_it_writes(cluster: Cluster) -> None:
    created = await cluster.create(CRDS, cluster.crd())

    established = await cluster.wait_for(CRDS, created, lambda found: "Established" in conditions(found))

    (entry,) = [entry for entry in established["metadata"]["managedFields"] if entry["manager"] == "kube-apiserver"]
    assert {"f:acceptedNames", "f:conditions"} <= set(entry["fieldsV1"]["f:status"])
    if cluster.version >= (1, 22):
        assert entry["subresource"] == "status"


@pytest.mark.since("1.31", "certificates were only validated at the first conversion")
async def test_a_crd_with_an_invalid_ca_bundle_is_established_when_it_is_removed(cluster: Cluster) -> None:
    client = {"url": "https://hook.example.com", "caBundle": "YWJj"}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    body = cluster.crd(conversion={"strategy": "Webhook", "webhook": webhook})
    created = await cluster.create(CRDS, body)
    bad = ("False", "InvalidCABundle")
    rejected = await cluster.wait_for(CRDS, created, lambda found: conditions(found).get("Established") == bad)

    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}}
    await cluster.patch(CRDS, created["metadata"]["name"], patch)

    fixed = await cluster.wait_for(CRDS, rejected, lambda found: conditions(found)["Established"][0] == "True")
    assert conditions(fixed)["Established"] == ("True", "InitialNamesAccepted")
