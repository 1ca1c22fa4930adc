"""``get``, ``api_resources``, ``auth_can_i`` and ``whoami`` of the client agree with the output of kubectl."""

from __future__ import annotations

import pytest

import dynkube
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster
from tests.contract.objects import config, service, version, workload

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(120)]


@pytest.fixture
async def shop(cluster: Cluster) -> Cluster:
    """Objects of several kinds, with strings that YAML must quote or write as blocks."""
    texts = {"a10": "on", "a9": "line\n  line\n", "b": "2026-01-01", "c": "012", "d": " x", "e": "it's: 1"}
    await cluster.create("configmaps", {**config("web"), "data": texts})
    await cluster.create("configmaps", config("other"))
    await cluster.create("deployments", workload("web", replicas=2))
    await cluster.create("services", service("web"))
    return cluster


@pytest.mark.parametrize("resource", ["configmaps", "deployments", "services"])
async def test_objects_and_lists_have_the_yaml_that_kubectl_prints(
    shop: Cluster, client: dynkube.Client, kubectl: Kubectl, resource: str
) -> None:
    one = await client.get(resource, "web")
    many = await client.get(resource, namespace=shop.namespace)

    assert one.to_yaml() == await kubectl.run("get", resource, "web", "-o", "yaml")
    assert one.to_yaml(managed_fields=True) == await kubectl.run(
        "get", resource, "web", "-o", "yaml", "--show-managed-fields"
    )
    assert many.to_yaml() == await kubectl.run("get", resource, "-o", "yaml")


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("resource", ["cm", "deploy", "Service"])
async def test_a_table_has_the_columns_and_rows_that_kubectl_prints(
    shop: Cluster, client: dynkube.Client, kubectl: Kubectl, resource: str, wide: bool
) -> None:
    table = await client.get(resource, namespace=shop.namespace)
    printed = await kubectl.run("get", resource, *(["-o", "wide"] if wide else []))

    shown = [place for place, column in enumerate(table.columns) if wide or not column.wide]
    head, *rows = printed.splitlines()
    assert head.split() == [table.columns[place].name.upper() for place in shown]
    for row, cells in zip(rows, table.cells, strict=True):
        ours = [str(cells[place]) for place in shown if not table.columns[place].shows_age]
        age = next(number for number, place in enumerate(shown) if table.columns[place].shows_age)
        assert [cell for number, cell in enumerate(row.split()) if number != age] == ours


async def test_api_resources_are_those_that_kubectl_lists(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))

    found = await client.api_resources(group=cluster.group)
    every = await client.api_resources()
    printed = await kubectl.run("api-resources", "--no-headers", f"--api-group={cluster.group}")
    names = await kubectl.run("api-resources", "--no-headers", "-o", "name")

    assert [each.gvr.api_version for each in found] == [f"{cluster.group}/v2"]
    assert printed.split() == ["widgets", f"{cluster.group}/v2", "true", "Widget"]
    ours = {f"{each.gvr.resource}.{each.gvr.group}".rstrip(".") for each in every}
    theirs = set(names.split())
    assert {name for name in ours ^ theirs if not name.endswith(".example.com")} == set()  # other tests create CRDs too


async def test_auth_can_i_agrees_with_kubectl(shop: Cluster, client: dynkube.Client, kubectl: Kubectl) -> None:
    assert str(await kubectl.run("auth", "can-i", "delete", "pods")).split()[-1] == "yes"
    assert await client.auth_can_i("delete", "pods")


@pytest.mark.since("1.28", "SelfSubjectReview came with 1.28")
async def test_whoami_agrees_with_kubectl(cluster: Cluster, client: dynkube.Client, kubectl: Kubectl) -> None:
    me = await client.whoami()

    assert await kubectl.run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == me.username
