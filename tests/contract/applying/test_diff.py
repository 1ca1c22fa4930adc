"""``diff``: the changes that an apply would make."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import MISSING, Client, Diff, ResourceClient
from dynkube.errors import InvalidObject
from tests.contract.cluster import Cluster


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**container: Any) -> dict[str, Any]:
    containers = [{"name": "web", "image": "web:1", **container}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


def as_tuples(diff: Diff) -> list[tuple[str, Any, Any]]:
    return sorted((str(each.path), each.before, each.after) for each in diff.changes)


@pytest.fixture
def maps(client: Client) -> ResourceClient:
    return client.resource("configmaps")


async def test_a_diff_lists_each_changed_field_and_writes_nothing(cluster: Cluster, maps: ResourceClient) -> None:
    options: dict[str, Any] = {"namespace": cluster.namespace, "field_manager": "me"}
    before = await maps.apply(config(a="1", b="1", c="1"), **options)

    diff = await maps.diff(config(a="1", b="2", d="1"), **options)

    assert as_tuples(diff) == [(".data.b", "1", "2"), (".data.c", "1", MISSING), (".data.d", MISSING, "1")]
    assert diff.subject == f"ConfigMap {cluster.namespace}/a"
    assert (await maps.get("a", namespace=cluster.namespace)).json == before.json


async def test_a_diff_of_an_applied_object_is_empty(cluster: Cluster, client: Client) -> None:
    deployments, namespace = client.resource("deployments"), cluster.namespace
    await deployments.apply(deployment(), namespace=namespace)

    diff = await deployments.diff(deployment(), namespace=namespace)
    of_somebody_else = await deployments.diff(deployment(), namespace=namespace, field_manager="other")

    assert not diff
    assert not of_somebody_else  # ownership would change, but no value
    assert (str(diff), diff.changes, diff.conflicts) == ("", (), ())
    assert diff.table() == f"Deployment {namespace}/a: nothing differs"


async def test_all_fields_of_a_missing_object_are_new(cluster: Cluster, maps: ResourceClient) -> None:
    diff = await maps.diff(config(a="1"), namespace=cluster.namespace)

    assert (".data.a", MISSING, "1") in as_tuples(diff)
    assert diff.before is None
    assert "+  a: '1'" in str(diff)
    assert not {".metadata.uid", ".metadata.resourceVersion", ".metadata.managedFields"} & {
        str(each.path) for each in diff.changes
    }


async def test_a_diff_names_the_managers_of_changed_fields(cluster: Cluster, client: Client) -> None:
    deployments, namespace = client.resource("deployments"), cluster.namespace
    await deployments.apply(deployment(args=["a"]), namespace=namespace, field_manager="first")

    diff = await deployments.diff(deployment(args=["b"], image="web:2"), namespace=namespace, field_manager="second")

    web = '.spec.template.spec.containers[name="web"]'
    assert as_tuples(diff) == [(f"{web}.args[0]", "a", "b"), (f"{web}.image", "web:1", "web:2")]
    assert [[manager.name for manager in each.managers] for each in diff.changes] == [["first"], ["first"]]
    assert {each.path for each in diff.conflicts} == {f"{web}.args", f"{web}.image"}
    assert diff.table().endswith("2 fields are owned by other managers: an apply without force fails with a conflict.")


async def test_a_diff_is_printed_like_kubectl_diff(cluster: Cluster, maps: ResourceClient) -> None:
    await maps.apply(config(text="one\ntwo\n", a="1"), namespace=cluster.namespace)

    diff = await maps.diff(config(text="one\nthree\n", a="1"), namespace=cluster.namespace)

    lines = str(diff).splitlines()
    assert lines[:2] == [f"--- live ConfigMap {cluster.namespace}/a", f"+++ applied ConfigMap {cluster.namespace}/a"]
    assert [line for line in lines[3:] if line[0] in "+-"] == ["-    two", "+    three"]


async def test_a_diff_of_a_secret_shows_which_values_differ_and_hides_them(cluster: Cluster, client: Client) -> None:
    secrets, namespace = client.resource("secrets"), cluster.namespace
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"p": "b25l", "q": "b25l"}}
    await secrets.apply(secret, namespace=namespace)

    diff = await secrets.diff({**secret, "data": {"p": "dHdv", "q": "b25l", "r": "dHdv"}}, namespace=namespace)

    assert as_tuples(diff) == [(".data.p", "*** (before)", "*** (after)"), (".data.r", MISSING, "***")]
    shown = f"{diff!r}{diff}{diff.table()}{diff._repr_html_()}"
    assert not any(value in shown for value in ("b25l", "dHdv"))


async def test_a_diff_hides_the_last_applied_configuration_of_a_secret(cluster: Cluster, client: Client) -> None:
    secrets, namespace = client.resource("secrets"), cluster.namespace
    last_applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"p":"b25l"}}'}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": last_applied}}

    diff = await secrets.diff(secret, namespace=namespace)

    assert ('.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]', MISSING, "***") in as_tuples(
        diff
    )
    assert "b25l" not in f"{diff!r}{diff}{diff.table()}{diff._repr_html_()}"


async def test_a_status_is_compared_through_the_subresource(cluster: Cluster, client: Client) -> None:
    deployments, namespace = client.resource("deployments"), cluster.namespace
    await deployments.apply(deployment(), namespace=namespace)
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "status": {"replicas": 2}}

    diff = await deployments.diff(status, namespace=namespace, subresource="status")

    assert as_tuples(diff) == [(".status.replicas", MISSING, 2)]


async def test_a_diff_with_an_object_that_was_read_is_an_error(cluster: Cluster, maps: ResourceClient) -> None:
    live = await maps.apply(config(a="1"), namespace=cluster.namespace)

    with pytest.raises(InvalidObject, match="managedFields, so it was read"):
        await maps.diff(live)


async def test_a_diff_has_conflicts_with_fields_that_no_manager_owns(cluster: Cluster, maps: ResourceClient) -> None:
    where = cluster.namespace
    await maps.apply(config(a="1", b="1"), namespace=where, field_manager="first")
    await maps.release_fields("a", ".", "first", namespace=where)

    diff = await maps.diff(config(a="2", b="1"), namespace=where, field_manager="me")

    assert [(each.path, each.ours, each.live) for each in diff.conflicts] == [(".data.a", "2", "1")]
    assert "an apply without force fails with a conflict" in diff.table()
