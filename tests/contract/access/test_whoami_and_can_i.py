"""``Client.whoami`` and ``Client.auth_can_i``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dynkube
from dynkube.errors import Forbidden, NoMatch
from tests.contract.access.kit import allow, rule, user_of
from tests.contract.cluster import Cluster


@pytest.mark.since("1.28", "SelfSubjectReview came with 1.28")
async def test_whoami_returns_the_user_and_the_groups(cluster: Cluster, connect: Callable[..., dynkube.Client]) -> None:
    async with connect(user=user_of(cluster)) as client:
        me = await client.whoami()

    assert me.username == user_of(cluster)
    assert "system:authenticated" in me.groups


async def test_whoami_on_a_server_without_self_subject_reviews_is_an_error(
    cluster: Cluster, client: dynkube.Client
) -> None:
    if cluster.version >= (1, 28):
        pytest.skip("the server serves SelfSubjectReview")

    with pytest.raises(NoMatch, match=r"the server \(v1\.2\d\.\d+\) does not serve SelfSubjectReview"):
        await client.whoami()


async def test_auth_can_i_names_the_binding_that_allows(
    cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    name = await allow(cluster, user_of(cluster), rule("list", "configmaps"))
    async with connect(user=user_of(cluster)) as client:
        here = await client.auth_can_i("list", "configmaps", cluster.namespace)
        everywhere = await client.auth_can_i("list", "cm")

        await client.get("cm", namespace=cluster.namespace)
        with pytest.raises(Forbidden):
            await client.get("cm")

    assert here
    assert name in here.reason
    assert str(here).startswith(f"yes: list configmaps in namespace {cluster.namespace} (RBAC: allowed by RoleBinding")
    assert not everywhere
    assert str(everywhere) == "no: list configmaps in all namespaces"


async def test_auth_can_i_of_one_object_and_a_subresource(
    cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    await allow(cluster, user_of(cluster), rule("get", "pods/log", "", "p"))
    async with connect(user=user_of(cluster)) as client:
        log = await client.auth_can_i("get", "po", cluster.namespace, name="p", subresource="log")
        other = await client.auth_can_i("get", "po", cluster.namespace, name="q", subresource="log")
        pod = await client.auth_can_i("get", "po", cluster.namespace, name="p")

    assert [bool(log), bool(other), bool(pod)] == [True, False, False]
    assert str(pod) == f"no: get pods named p in namespace {cluster.namespace}"


async def test_auth_can_i_impersonate(cluster: Cluster, connect: Callable[..., dynkube.Client]) -> None:
    scopes = rule("impersonate", "userextras/scopes", "authentication.k8s.io")
    await allow(cluster, user_of(cluster), rule("impersonate", "users", "", "jane"), scopes, everywhere=True)
    async with connect(user=user_of(cluster)) as client:
        jane = await client.auth_can_i("impersonate", "users", name="jane")
        anybody = await client.auth_can_i("impersonate", "users")
        groups = await client.auth_can_i("impersonate", "groups")
        extra = await client.auth_can_i("impersonate", "userextras", subresource="scopes")

    assert [bool(jane), bool(anybody), bool(groups), bool(extra)] == [True, False, False, True]


async def test_auth_can_i_of_paths_and_of_everything(
    cluster: Cluster, client: dynkube.Client, connect: Callable[..., dynkube.Client]
) -> None:
    async with connect(user=user_of(cluster)) as unprivileged:
        assert await unprivileged.auth_can_i("get", "/api")
        assert not await unprivileged.auth_can_i("get", "/logs")
        assert not await unprivileged.auth_can_i("*", "*", "*")

    assert await client.auth_can_i("*", "*", "*")


@pytest.mark.parametrize("resource", ["configmaps", "widgets.v1.absent.example.com"])
async def test_a_star_stands_for_all_namespaces(client: dynkube.Client, resource: str) -> None:
    permission = await client.auth_can_i("get", resource, "*")

    assert str(permission).partition(" (")[0].endswith(" in all namespaces")
    assert permission
