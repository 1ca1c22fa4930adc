"""Pruning deletes exactly the members that left the source: no objects of other sets, and nothing after a failure."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import trio

import dynkube
from dynkube.manifests import ApplySet, Outcome
from dynkube.meta import Unstructured
from dynkube_testing import APIServer, Delay, Refuse
from tests.manifests.kit import JSONObject, config, crd, namespace, outcomes, widget

KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
PART_OF = "applyset.kubernetes.io/part-of"


async def names(client: dynkube.Client, resource: str = "configmaps") -> list[str]:
    return sorted(found.name for found in await client.resource(resource).list())


async def annotation(client: dynkube.Client, key: str) -> str:
    return (await client.resource("secrets").get("set")).annotations[key]


async def test_exactly_the_members_removed_from_the_source_are_pruned(client: dynkube.Client) -> None:
    await client.apply_all([config("alien")])
    await client.apply_all([config("a"), config("b"), config("c")], prune="set")

    report = await client.apply_all([config("b")], prune="set")

    assert outcomes(report) == [("unchanged", "configmap/b"), ("pruned", "configmap/a"), ("pruned", "configmap/c")]
    assert report.ok
    assert await names(client) == ["alien", "b"]


async def test_a_second_run_with_pruning_changes_no_resource_version(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a")], prune="set")
    revision = server.revision

    report = await client.apply_all([config("a")], prune="set")

    assert outcomes(report) == [("unchanged", "configmap/a")]
    assert server.revision == revision


async def test_kinds_and_namespaces_no_longer_used_are_pruned_and_then_removed_from_the_parent(
    server: APIServer, client: dynkube.Client
) -> None:
    source = [namespace("n"), config("a", namespace="n"), crd(), widget("w")]
    await client.apply_all(source, prune="set")
    kinds = "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io,Namespace,Widget.example.com"
    assert (await annotation(client, KINDS), await annotation(client, NAMESPACES)) == (kinds, "n")

    report = await client.apply_all([crd()], prune="set")

    deleted = [
        request.resource.resource for request in server.requests if request.verb == "delete" and request.resource
    ]
    assert outcomes(report)[1:] == [
        ("pruned", "configmap/a"),
        ("pruned", "namespace/n"),
        ("pruned", "widget.example.com/w"),
    ]
    assert deleted[2] == "namespaces"
    assert await annotation(client, KINDS) == "CustomResourceDefinition.apiextensions.k8s.io"
    assert await annotation(client, NAMESPACES) == ""


async def test_a_dry_run_lists_what_would_be_pruned(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    revision = server.revision

    report = await client.apply_all([config("b", x="1"), config("new")], prune="set", dry_run=True)

    assert outcomes(report) == [("changed", "configmap/b"), ("created", "configmap/new"), ("pruned", "configmap/a")]
    assert server.revision == revision


async def test_a_first_dry_run_writes_no_parent(server: APIServer, client: dynkube.Client) -> None:
    revision = server.revision

    report = await client.apply_all([config("a")], prune="set", dry_run=True)

    assert report.ok
    assert server.revision == revision


async def test_nothing_is_pruned_after_a_failure_but_by_the_next_run(client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")

    failing = await client.apply_all([config("b"), config("c", namespace="no")], prune="set", on_error="continue")
    between = await names(client)
    later = await client.apply_all([config("b")], prune="set")

    assert failing[-1].outcome is Outcome.SKIPPED
    assert failing[-1].reason == "nothing was pruned, as not all objects were applied"
    assert between == ["a", "b"]
    assert outcomes(later)[1:] == [("pruned", "configmap/a")]


async def test_an_empty_source_is_rejected(client: dynkube.Client) -> None:
    with pytest.raises(dynkube.errors.InvalidInput, match="source has no objects"):
        await client.apply_all([], prune="set")


async def test_two_sets_do_not_affect_each_other(client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="one")
    await client.apply_all([config("c")], prune="two")

    report = await client.apply_all([config("d")], prune="two")

    assert outcomes(report)[1:] == [("pruned", "configmap/c")]
    assert await names(client) == ["a", "b", "d"]


async def test_an_object_of_another_set_is_not_taken_over_even_with_force(client: dynkube.Client) -> None:
    await client.apply_all([config("a")], prune="one")

    report = await client.apply_all([config("a"), config("b")], prune="two", force=True, on_error="continue")

    assert [entry.outcome for entry in report][:2] == [Outcome.FAILED, Outcome.CREATED]
    assert "it belongs to another ApplySet" in report[0].message
    assert outcomes(await client.apply_all([config("a")], prune="one")) == [("unchanged", "configmap/a")]


async def test_an_object_that_joins_another_set_during_pruning_is_not_deleted(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    server.inject(Delay(5), verb="delete", resource="configmaps")

    async with client.apply_all([config("b")], prune="set") as run:
        await trio.sleep(1)  # the members are listed by now, and the deletion was sent
        await client.resource("configmaps").patch("a", {"metadata": {"labels": {PART_OF: "applyset-other-v1"}}})
        pruned = [entry.name async for entry in run]

    assert pruned == ["configmap/b"]
    assert await names(client) == ["a", "b"]


async def test_an_object_that_cannot_be_deleted_is_a_failure_and_stays_a_member(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a"), widget("w"), crd()], prune="set")
    fault = server.inject(Refuse(403), verb="delete", resource="widgets")

    failed = await client.apply_all([config("a"), crd()], prune="set", on_error="continue")
    fault.remove()
    later = await client.apply_all([config("a"), crd()], prune="set")

    assert outcomes(failed)[2:] == [("failed", "widget.example.com/w")]
    assert failed[2].message.startswith("it is no longer in the source, but could not be pruned: 403 ")
    assert outcomes(later)[2:] == [("pruned", "widget.example.com/w")]


async def test_an_object_that_is_being_deleted_is_reported_once(client: dynkube.Client) -> None:
    held = config("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.apply_all([held, config("b")], prune="set")
    first = await client.apply_all([config("b")], prune="set")

    second = await client.apply_all([config("b")], prune="set")

    assert (outcomes(first)[1:], outcomes(second)[1:]) == ([("pruned", "configmap/a")], [])


async def test_members_of_a_deleted_crd_count_as_deleted(client: dynkube.Client) -> None:
    await client.apply_all([crd(), widget("w"), config("a")], prune="set")
    await client.resource("crds").delete("widgets.example.com")
    await client.resource("crds").wait_for("widgets.example.com", "delete")

    report = await client.apply_all([config("a")], prune="set")

    assert report.ok, report
    assert outcomes(report) == [("unchanged", "configmap/a")]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ApplySet("pod", "pods"), "pods.v1 cannot be the parent of an ApplySet"),
        (ApplySet("x", "widgets.example.com"), "whose CRD has the label applyset.kubernetes.io/is-parent-type"),
        (ApplySet("x", "nothing.example.com"), "nothing.example.com"),
        (
            ApplySet("theirs", "configmaps"),
            "configmaps/theirs cannot be used: ConfigMap theirs in namespace default exists",
        ),
        (ApplySet("x", namespace="nowhere"), 'namespaces "nowhere" not found'),
    ],
)
async def test_an_invalid_parent_is_an_error_and_nothing_is_applied(
    server: APIServer, client: dynkube.Client, wanted: ApplySet, message: str
) -> None:
    await client.apply_all([crd(scope="Cluster"), config("theirs")])
    revision = server.revision

    report = await client.apply_all([config("a")], prune=wanted, on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.SKIPPED, Outcome.FAILED, Outcome.SKIPPED][: len(report)]
    assert message in report[1].message
    assert server.revision == revision


async def test_a_custom_resource_can_be_the_parent_if_it_exists(client: dynkube.Client) -> None:
    label = {"applyset.kubernetes.io/is-parent-type": "true"}
    cluster_scoped = crd(scope="Cluster")
    cluster_scoped["metadata"]["labels"] = label
    await client.apply_all([cluster_scoped])
    wanted = ApplySet("set", "widgets.example.com")

    missing = await client.apply_all([config("a")], prune=wanted)
    made = widget("set")
    made["metadata"] |= {
        "labels": {"applyset.kubernetes.io/id": "applyset-GT9klAoGWN4r2dju4MQm0s633nKUtpBkFEYtEFQqBh8-v1"},
        "annotations": {"applyset.kubernetes.io/tooling": "dynkube/v0", KINDS: ""},
    }
    await client.apply_all([made])
    there = await client.apply_all([config("a")], prune=wanted)

    assert "create it first" in missing[1].message
    assert there.ok, there
    parent = await client.resource("widgets.example.com").get("set")
    assert parent.annotations[NAMESPACES] == "default"


async def test_the_parent_may_be_in_a_namespace_of_the_same_source(client: dynkube.Client) -> None:
    source = [config("a", namespace="home"), namespace("home")]

    report = await client.apply_all(source, prune=ApplySet("set", namespace="home"))

    assert report.ok, report
    assert (await client.resource("secrets").get("set", namespace="home")).annotations[NAMESPACES] == ""


async def test_in_a_dry_run_a_parent_in_a_new_namespace_has_no_members(client: dynkube.Client) -> None:
    source = [config("a", namespace="home"), namespace("home")]

    report = await client.apply_all(source, prune=ApplySet("set", namespace="home"), dry_run=True)

    assert report.ok, report
    assert outcomes(report) == [("skipped", "configmap/a"), ("created", "namespace/home")]


async def test_in_a_dry_run_skipped_objects_are_not_pruned(client: dynkube.Client) -> None:
    await client.apply_all([crd(), widget("w")], prune="set")
    source = [crd(served=("v1", "v2")), widget("w", version="v2")]

    report = await client.apply_all(source, prune="set", dry_run=True)

    assert outcomes(report)[1:] == [("skipped", "widget.example.com/w")]


async def test_an_object_created_again_during_the_run_is_not_pruned(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    server.inject(Delay(5), verb="list", resource="configmaps")
    configs = client.resource("configmaps")
    made = await configs.get("a")

    async with client.apply_all([config("a"), config("b")], prune="set") as run:
        assert {(await anext(run)).name, (await anext(run)).name} == {"configmap/a", "configmap/b"}
        await configs.delete("a")
        await configs.create({**config("a"), "metadata": {"name": "a", "labels": dict(made.labels)}})
        rest = [entry async for entry in run]

    assert rest == []
    assert await names(client) == ["a", "b"]


async def test_a_crd_of_another_set_fails_and_so_do_its_objects(client: dynkube.Client) -> None:
    foreign = crd()
    foreign["metadata"]["labels"] = {PART_OF: "other"}

    report = await client.apply_all([foreign, widget("w"), config("a")], prune="set", on_error="continue")

    assert [str(entry.outcome) for entry in report] == ["failed", "failed", "created", "skipped"]
    assert "the CRD of this kind, widgets.example.com (<object 1>), was not applied" in report[1].message


async def test_an_object_that_must_not_be_read_is_not_applied(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a", x="1")], prune="other")
    server.inject(Refuse(403), verb="get", resource="configmaps")

    report = await client.apply_all([config("a", x="2")], prune="set")

    assert report[0].outcome is Outcome.FAILED
    assert "403" in report[0].message
    assert (await client.resource("configmaps").list())[0]["data"] == {"x": "1"}


async def test_the_parent_covers_new_members_before_they_are_applied(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Refuse(500), verb="patch", resource="configmaps")

    await client.apply_all([config("a")], prune="set")

    assert await annotation(client, KINDS) == "ConfigMap"


async def test_members_of_a_kind_unknown_to_the_clients_discovery_are_pruned(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a")], prune="set")
    async with dynkube.connect(transport=server.transport()) as other:
        await other.apply_all([config("a"), crd(), widget("w")], prune="set")

    report = await client.apply_all([config("a"), crd()], prune="set")

    assert outcomes(report)[2:] == [("pruned", "widget.example.com/w")]


async def test_members_of_a_set_of_an_older_kubectl_are_found_by_its_annotation(client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    old = {"applyset.kubernetes.io/contains-group-resources": "configmaps", KINDS: None}
    await client.resource("secrets").patch("set", {"metadata": {"annotations": old}})

    report = await client.apply_all([config("b")], prune="set")

    assert outcomes(report)[1:] == [("pruned", "configmap/a")]
    assert await annotation(client, KINDS) == "ConfigMap"


async def test_if_members_cannot_be_listed_their_kind_stays_in_the_parent(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a"), crd(), widget("w")], prune="set")
    server.inject(Refuse(503), verb="list", resource="widgets")

    report = await client.apply_all([config("a"), crd()], prune="set")

    assert report[2].outcome is Outcome.FAILED
    assert report[2].message.startswith(
        "the members of the ApplySet of Secret set in namespace default cannot be listed"
    )
    assert "Widget.example.com" in await annotation(client, KINDS)


def owned(name: str, owner: Unstructured, labels: Mapping[str, str], *, controller: bool = True) -> JSONObject:
    """Return a ConfigMap with an owner."""
    reference = {"apiVersion": "v1", "kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": controller}
    return {**config(name), "metadata": {"name": name, "labels": dict(labels), "ownerReferences": [reference]}}


@pytest.mark.parametrize("controller", [True, False])
async def test_an_object_to_which_its_owner_copied_the_label_is_not_pruned(
    client: dynkube.Client, controller: bool
) -> None:
    await client.apply_all([config("web"), config("b")], prune="set")
    configs = client.resource("configmaps")
    web = await configs.get("web")
    await configs.create(owned("updated", web, web.labels, controller=controller), field_manager="operator")
    await configs.apply(owned("applied", web, web.labels, controller=controller), field_manager="operator")
    await configs.create({**config("labelled"), "metadata": {"name": "labelled", "labels": dict(web.labels)}})

    shown = await client.diff_all([config("web")], prune="set")
    report = await client.apply_all([config("web")], prune="set")

    assert [entry.object.name for entry in shown if entry.pruned and entry.object is not None] == ["b", "labelled"]
    assert outcomes(report)[1:] == [("pruned", "configmap/b"), ("pruned", "configmap/labelled")]
    assert await names(client) == ["applied", "updated", "web"]


async def test_a_member_that_was_given_an_owner_is_pruned(client: dynkube.Client) -> None:
    await client.apply_all([config("web"), config("b"), config("c")], prune="set")
    configs = client.resource("configmaps")
    web, parent = await configs.get("web"), await client.resource("secrets").get("set")
    adopted = {"metadata": {"ownerReferences": owned("b", web, {})["metadata"]["ownerReferences"]}}
    await configs.patch("b", adopted, field_manager="operator")  # such as a controller that adopts by labels
    await configs.create(owned("d", parent, web.labels), field_manager="tool")

    report = await client.apply_all([config("web")], prune="set")

    assert outcomes(report)[1:] == [("pruned", f"configmap/{name}") for name in "bcd"]
